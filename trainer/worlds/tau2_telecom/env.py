"""The tau2_telecom world: the desk of a carrier, with its tools, data, policy and manual.

How a desk works is `trainer.worlds.tau2.desk`; what an ending is worth is `verifier`'s word.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trainer.task import Task
from trainer.worlds.tau2.desk import Desk

from .verifier import SERVICE  # noqa: TID252 - the folder is loaded by path

SECTIONS = ("main_policy", "tech_support_policy")
"""Tags around the texts of the policy, in their order."""
WHOSE = (
    "The manual names tools that are not among yours. They are on the user's phone, and you cannot "
    "call them. Ask the user in words to use one, such as `check_status_bar`; what the phone then "
    "shows is told to you."
)
"""Said after the policy: a manual that leaves it open has agents call what they do not have."""

prepare = SERVICE.prepare


def make(task: Task, *, settings: Mapping[str, Any], seed: int) -> Desk:
    """Return a fresh world for one episode; it has no chance of its own, so no use for a seed."""
    texts = SERVICE.policy_of(task)
    parts = [
        f"<{name}>\n{text.strip()}\n</{name}>" for name, text in zip(SECTIONS, texts, strict=False)
    ]
    return SERVICE.desk(task, settings, policy="\n".join([*parts, WHOSE]))
