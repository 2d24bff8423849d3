"""Whose weights a sampler's words are: those that it took last, and for whom when others learn on.

A sampler speaks for the learner's weights of its last sync. Once these have changed, nothing new
may begin under the old ones, or a missed sync would go unnoticed; only dialogues that were named
while both were the same go on, to the next sync. How tokens are written is not known here.
"""

from __future__ import annotations

from collections.abc import Iterable

from transformers import PreTrainedModel

from trainer.policy.forward import weights_mark


class WeightsInForce:
    """What a sampler took of a learner's model, and which dialogues may outlive it."""

    def __init__(self, model: PreTrainedModel) -> None:
        """Take nothing yet.

        Args:
            model: The learner's model.
        """
        self._model = model
        self._mark: int | None = None
        self._held: frozenset[str] = frozenset()

    @property
    def held(self) -> bool:
        """Whether the learner may move on at any moment, because dialogues were named."""
        return bool(self._held)

    def take(self) -> None:
        """Note that the sampler has just taken the learner's present weights; nobody is held."""
        self._mark = weights_mark(self._model)
        self._held = frozenset()

    def hold(self, dialogues: Iterable[str], *, policy_version: int) -> None:
        """Let these dialogues, and no others, go on under the weights taken.

        Args:
            dialogues: Their keys.
            policy_version: The version that was taken, for the message.

        Raises:
            RuntimeError: if the learner's weights have changed already.
        """
        self._require_same(policy_version)
        self._held = frozenset(dialogues)

    def check(self, dialogues: Iterable[str], *, policy_version: int) -> None:
        """Make sure that these dialogues may be written under the weights taken.

        Raises:
            RuntimeError: if one that is not held would be written after the learner moved on.
        """
        if not self._held.issuperset(dialogues):
            self._require_same(policy_version)

    def _require_same(self, policy_version: int) -> None:
        if weights_mark(self._model) != self._mark:
            raise RuntimeError(
                f"the model's weights changed after policy version {policy_version} was taken; "
                "call sync(policy_version) after every update"
            )
