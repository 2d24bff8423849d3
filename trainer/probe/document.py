"""The table of checks in the page on the probe, made from what each check says of itself."""

from __future__ import annotations

import inspect
import re
import sys

from trainer.probe.checks import CHECKS

_SOURCE = re.compile(r"Source:\n(.*)", re.DOTALL)


def markdown() -> str:
    """Return a row for each check: its name, its promise and what it answers."""
    rows = ["| check | promise | answers |", "|---|---|---|"]
    for name, check in CHECKS.items():
        module = inspect.getdoc(sys.modules[check.__module__]) or ""
        promise = " ".join(module.split("\n\n")[0].split())
        source = _SOURCE.search(inspect.getdoc(check) or "")
        answers = " ".join(source.group(1).split()) if source else ""
        rows.append(f"| `probe.{name}` | {promise} | {answers} |")
    return "\n".join(rows)
