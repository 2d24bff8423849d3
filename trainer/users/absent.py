"""A user who is not there: every message is answered with the reason.

It takes the place of a user whose files cannot be used, so that the episodes say what is wrong
and nothing else breaks. It never speaks.
"""

from __future__ import annotations

from collections.abc import Sequence

from trainer.episode import Voice
from trainer.users.seam import UserFailure, UserReply, UserRequest


class AbsentUser:
    """Fails at every message, for one reason."""

    def __init__(self, voice: Voice, reason: str) -> None:
        """Remember why.

        Args:
            voice: Whose place it takes.
            reason: What is wrong and what to look at, in one sentence.
        """
        self.voice = voice
        self._reason = reason

    def reply(self, requests: Sequence[UserRequest]) -> list[UserReply | UserFailure]:
        """Return one failure for each message."""
        return [UserFailure(self._reason) for _ in requests]
