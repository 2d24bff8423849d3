"""Families of our own backend tasks: one function with its story, told in several variants.

A family is text with `$name` places and the values that fill them; what the user keeps to
themselves stands in its facts. Nothing here runs code: `generate` does, in the sandbox.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from string import Template
from typing import NamedTuple

KINDS = ("signature", "branch", "constant", "return_shape", "edge_case")
"""What a hidden fact can be about."""

NUM_CALLS = 10


class Secret(NamedTuple):
    """One thing that only the user knows."""

    kind: str
    text: str
    """The fact as a programmer would write it down; no reply may quote it."""
    statement: str
    """The fact as the user says it."""
    cues: tuple[str, ...]
    """What a question about it says; the first is what the expert asks."""


@dataclass(frozen=True)
class Family:
    """One function, to be told in several variants."""

    name: str
    story: str
    signature: str
    reference: str
    secrets: tuple[Secret, ...]
    calls: tuple[str, ...]
    variants: tuple[Mapping[str, object], ...]
    """The last one is held out for evaluation."""

    def records(self) -> list[dict[str, object]]:
        """Return one task record for each variant, without the outputs."""
        return [self._record(number, variant) for number, variant in enumerate(self.variants, 1)]

    def _record(self, number: int, variant: Mapping[str, object]) -> dict[str, object]:
        def fill(text: str) -> str:
            return Template(text).substitute(variant)

        signature = fill(self.signature)
        return {
            "id": f"colbench-{self.name}-{number}",
            "problem_description": (
                f"{fill(self.story)} The signature of the function is: {signature}"
            ),
            "ground_truth": f"{signature}:\n{fill(self.reference)}",
            "test_cases": {
                f"test{index}": fill(call) for index, call in enumerate(self.calls, start=1)
            },
            "facts": [
                {
                    "kind": secret.kind,
                    "text": fill(secret.text),
                    "statement": fill(secret.statement),
                    "cues": [fill(cue) for cue in secret.cues],
                }
                for secret in self.secrets
            ],
        }
