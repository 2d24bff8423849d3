"""A served model as the judge of an evaluation: chosen by name, labelled, and paid by a meter.

The pinned evaluation has no judge: the rules of revision 0 decide. Whoever asks for a model gets
another test in the worlds that ask one, told apart by its label in every result. This module knows
nothing about tasks or scores.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from trainer.recipe import JudgeConfig, JudgeEndpoint
from trainer.users.spending import Meter

RULES = "rules"
"""The label of an evaluation without a judge."""


@dataclass(frozen=True)
class AskedJudge:
    """A model behind an endpoint that judges."""

    endpoint: JudgeEndpoint
    meter: Meter

    @property
    def label(self) -> str:
        """What results call it: the model's name, and never where it is served."""
        return f"endpoint {self.endpoint.model}"

    def of(self, judge: JudgeConfig) -> JudgeConfig:
        """Return the judge of a run with this one in its place."""
        return replace(judge, kind="endpoint", endpoint=self.endpoint)
