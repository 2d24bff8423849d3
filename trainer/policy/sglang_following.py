"""The sampler of a rank that follows: its turns are written by the servers that rank 0 keeps.

It starts no server, gives none weights and proves nothing: rank 0 does all of that and hands on
which servers there are and under which stamp they write. A server that is gone is told to rank 0
when the step is over; until then the others write, and with none left the turns fail with the
reason. Every wait has a deadline, so no rank waits for this one without end.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from trainer.policy.sampler import Completion, Incident, SampleRequest, SamplerFault
from trainer.policy.sglang_config import SamplerConfig
from trainer.policy.sglang_fleet import SamplerLost
from trainer.policy.sglang_flight import TurnsUnderWay
from trainer.policy.sglang_serving import Serving, home
from trainer.policy.sglang_turns import Sent, Wanted
from trainer.policy.turns import WritingTurn, check_requests


class FollowingSampler:
    """Servers of another rank behind the `Sampler` seam; nothing is sampled before `take`.

    Args:
        stop_ids: Tokens that end a turn (`ChatFormat.stop_ids`).
        config: The recipe's `sampler:` section.
        rank: This process, so that its requests are not taken for another one's.
        max_tokens: Longest dialogue in tokens, prompt and answers.
    """

    def __init__(
        self, stop_ids: Collection[int], config: SamplerConfig, *, rank: int, max_tokens: int
    ) -> None:
        self._rank = rank
        self._wanted = Wanted("", 0, 1.0, False, frozenset(stop_ids), config.deadline_s)
        self._up: list[str] = []
        self._lost: dict[str, str] = {}
        self._asked = 0
        self._under_way = TurnsUnderWay(self._address, self._lose, max_tokens)

    def take(self, serving: Serving) -> None:
        """Take on what rank 0 says of its servers; what was lost before counts no more."""
        self._up, self._lost = list(serving.urls), {}
        stamp, version = serving.stamp, serving.policy_version
        self._wanted = replace(self._wanted, stamp=stamp, policy_version=version)

    def lost(self) -> Mapping[str, str]:
        """Return why each server is thought gone that was, since the last `take`."""
        return dict(self._lost)

    @property
    def policy_version(self) -> int:
        """The version of the weights that rank 0 says are served."""
        return self._wanted.policy_version

    def sample(
        self, requests: Sequence[SampleRequest], *, temperature: float, greedy: bool = False
    ) -> list[Completion]:
        """Write one turn for each request, in order; see `SglangSampler.sample`.

        A turn that no server could write is `FAILED` with the reason.

        Raises:
            ValueError: if a request or the temperature is out of bounds.
        """
        return self._under_way.write(requests, self._asked_for(requests, temperature, greedy))

    def begin(
        self,
        requests: Sequence[SampleRequest],
        *,
        temperature: float,
        greedy: bool = False,
        ring: Callable[[], None],
    ) -> None:
        """Have one turn written for each request, and come back at once; see `TurnsInFlight`."""
        self._under_way.begin(requests, self._asked_for(requests, temperature, greedy), ring)

    def finished(self) -> list[tuple[str, Completion]]:
        """Return the turns that have ended since this was last asked, by dialogue."""
        return self._under_way.finished()

    def abort(self, dialogues: Sequence[str]) -> None:
        """Stop writing these turns; each comes back, as `FAILED` if it was not whole by then."""
        self._under_way.abort(dialogues)

    def release(self, dialogues: Sequence[str]) -> None:
        """Stop what is written of these dialogues; what servers read of them goes at a sync."""
        self._under_way.forget(dialogues)

    def sync(self, policy_version: int) -> None:
        """Make sure that rank 0's servers serve this rank's policy; they got it from rank 0.

        Raises:
            SamplerFault: if they serve another version: the ranks do not fit together.
        """
        if policy_version != self.policy_version:
            raise SamplerFault(
                f"rank {self._rank} has policy version {policy_version}, and the servers of rank 0 "
                f"serve {self.policy_version}; resume the run on all ranks"
            )

    def health(self) -> Mapping[str, Any]:
        """Nothing: rank 0 tells how the servers are."""
        return {}

    def incidents(self) -> list[Incident]:
        """Nothing: what was lost is for rank 0 to judge and to tell."""
        return []

    def close(self) -> None:
        """Stop what is being written; the servers are rank 0's."""
        self._under_way.close()

    def _asked_for(
        self, requests: Sequence[SampleRequest], temperature: float, greedy: bool
    ) -> Wanted:
        check_requests(requests, temperature)
        return replace(self._wanted, temperature=temperature, greedy=greedy)

    def _address(self, turn: WritingTurn) -> Sent:
        if not self._up:
            why = "; ".join(self._lost.values()) or "rank 0 named none"
            raise SamplerLost(f"rank {self._rank} has no SGLang server left in this step: {why}")
        self._asked += 1
        name = f"{self._wanted.stamp}-rank{self._rank}-{self._asked}"
        return Sent(turn, home(turn.request.dialogue, self._up), name)

    def _lose(self, url: str, why: str) -> None:
        if url in self._up:
            self._up.remove(url)
            self._lost[url] = why
