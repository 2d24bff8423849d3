"""A served model as the user of an evaluation: chosen by name, labelled, and paid by a meter.

The pinned evaluation has the symbolic user, and nothing here changes that. Whoever asks for a model
instead gets another test, told apart by its label in every result. This module knows nothing about
tasks or scores.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from trainer.recipe import EndpointConfig, UsersConfig
from trainer.users.spending import Meter

PINNED = "symbolic"
"""The label of the pinned evaluation's user."""


@dataclass(frozen=True)
class AskedUser:
    """A model behind an endpoint that plays the user."""

    endpoint: EndpointConfig
    meter: Meter

    @property
    def label(self) -> str:
        """What results call it: the model's name, and never where it is served."""
        return f"endpoint {self.endpoint.model}"

    def of(self, users: UsersConfig) -> UsersConfig:
        """Return the users of a run with this one in the place of the other user."""
        return replace(users, other="llm", endpoint=self.endpoint)
