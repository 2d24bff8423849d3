"""The sampler that asks SGLang servers: the `Sampler` seam over a fleet of them.

Token ids go out and come back; a dialogue is passed whole each turn and its server remembers
what it read. A server that dies in a turn costs no turn: another one writes it, or the server is
started again on the weights in force. After every sync each server proves that it speaks for the
learner's weights, or nothing more is sampled.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from transformers import PreTrainedModel

from trainer.policy.in_force import WeightsInForce
from trainer.policy.sampler import Completion, Incident, SampleRequest, SamplerFault
from trainer.policy.sglang_agreement import Agreement
from trainer.policy.sglang_client import ServerGone
from trainer.policy.sglang_config import SamplerConfig
from trainer.policy.sglang_fleet import Fleet, Replica, SamplerLost
from trainer.policy.sglang_flight import TurnsUnderWay
from trainer.policy.sglang_serving import Serving
from trainer.policy.sglang_sync import WeightSync
from trainer.policy.sglang_turns import Sent, Wanted
from trainer.policy.sglang_weights import WeightWay
from trainer.policy.turns import WritingTurn, check_requests


class SglangSampler:
    """SGLang servers behind the `Sampler` seam.

    Nothing is sampled before the first `sync`, which starts the servers.

    Args:
        model: The learner's model; its weights are what the servers are given.
        stop_ids: Tokens that end a turn (`ChatFormat.stop_ids`).
        config: The recipe's `sampler:` section.
        name: Marks this run's weight versions, so that another run's are not taken for them.
        max_tokens: Longest dialogue in tokens, prompt and answers.
        way: How weights travel first; that of the recipe unless given.
        clock: Returns seconds, for what a sync took.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        stop_ids: Collection[int],
        config: SamplerConfig,
        *,
        name: str,
        max_tokens: int,
        way: WeightWay | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._config = config
        self._name = name
        self._clock = clock
        self._folder = Path(tempfile.mkdtemp(prefix="eau-sglang-"))
        shared = Path(config.exchange) if config.exchange else self._folder
        self._sync = WeightSync(model, config, shared, resent=self._note_resent, way=way)
        self._fleet = Fleet(config, self._folder)
        self._wanted = Wanted("", 0, 1.0, False, frozenset(stop_ids), config.deadline_s)
        self._in_force = WeightsInForce(model)
        self._prompts: dict[str, tuple[int, ...]] = {}
        self._asked = 0
        self._incidents: list[Incident] = []
        self._agreement: Agreement | None = None
        self._sync_s = 0.0
        self._none_left: str | None = None
        """Why no server could be brought back since the last sync."""
        self._under_way = TurnsUnderWay(
            self._address, self._lose_at, max_tokens, wrote=self._fleet.wrote
        )

    @property
    def policy_version(self) -> int:
        """The version of the weights in force."""
        return self._wanted.policy_version

    def sample(
        self, requests: Sequence[SampleRequest], *, temperature: float, greedy: bool = False
    ) -> list[Completion]:
        """Write one turn for each request, in order.

        A dialogue whose context is full gets an empty completion that says `LENGTH`; one that no
        server could write gets `FAILED` and the reason. Seeds decide the tokens where servers
        run with deterministic inference, and are ignored by others.

        Args:
            requests: Dialogues at any turn; each appears at most once.
            temperature: Divides the logits before the softmax, > 0.
            greedy: Take the likeliest token instead of sampling; the log-probabilities are then
                those at temperature 1.

        Raises:
            ValueError: if a request or the temperature is out of bounds.
            RuntimeError: if the weights changed since the last `sync`.
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
        """Have one turn written for each request, and come back at once; see `TurnsInFlight`.

        What `sample` promises of a turn holds here too. With no server up it takes as long as
        bringing one back.
        """
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

    def hold(self, dialogues: Sequence[str]) -> None:
        """Let dialogues go on under the weights in force until the next sync, and no others.

        A server that dies meanwhile stays down until then: what it served is the learner's no more.

        Raises:
            RuntimeError: if the learner's weights have changed since the last `sync`.
        """
        self._in_force.hold(dialogues, policy_version=self.policy_version)

    def sync(self, policy_version: int) -> None:
        """Give every server the learner's present weights and make sure that it has them.

        Raises:
            SamplerDisagrees: if a server does not speak for these weights.
            SamplerLost: if no server is left.
        """
        began = self._clock()
        stamp = f"{self._name}-{policy_version}"
        self._wanted = replace(self._wanted, stamp=stamp, policy_version=policy_version)
        self._none_left = None
        self._sync.prepare()
        if not self._fleet.replicas:
            self._fleet.start(self._sync.write(stamp), stamp)
        found = [self._bring_up_to_date(replica) for replica in self._fleet.replicas]
        measured = [one for one in found if one is not None]
        if not measured:
            raise SamplerLost(
                "no SGLang server is left: start those of sampler.urls again, or see the log "
                f"of the last one; then resume the run ({self._last_words()})"
            )
        self._agreement = max(measured, key=lambda one: one.most)
        self._sync.drop_files()
        self._in_force.take()
        self._prompts.clear()
        self._sync_s = self._clock() - began

    def serving(self) -> Serving:
        """Return the servers that answered last, and the weights in force, for other ranks."""
        urls = tuple(replica.client.url for replica in self._fleet.up())
        return Serving(urls, self._wanted.stamp, self.policy_version)

    def hear(self, lost: Mapping[str, str]) -> None:
        """Look at servers that another rank thinks gone; the next sync brings back those that are.

        Args:
            lost: By address, why it is thought gone. One that has a new address by now, or
                answers, stays as it is.
        """
        for replica in self._fleet.up():
            why = lost.get(replica.client.url)
            if why is None:
                continue
            if replica.client.is_healthy():
                self._note("engine_unreachable", replica, why)
            else:
                self._lose(replica, why)

    def health(self) -> Mapping[str, Any]:
        """Return servers, the agreement right after the last sync, and how long that took."""
        found, bound = self._agreement, self._sync.bound
        return {
            "kind": "sglang",
            "servers": [replica.to_json() for replica in self._fleet.replicas],
            "sync_s": round(self._sync_s, 3),
            "logprob_gap_mean": found and float(f"{found.mean:.3g}"),
            "logprob_gap_max": found and float(f"{found.most:.3g}"),
            "logprob_gap_bounds": bound and list(bound),
        }

    def incidents(self) -> list[Incident]:
        """Return what went wrong and was mended since this was last asked."""
        told, self._incidents = self._incidents, []
        return told

    def close(self) -> None:
        """End the servers that were started, leave joined ones, and remove all files."""
        self._under_way.close()
        self._fleet.close()
        self._sync.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _asked_for(
        self, requests: Sequence[SampleRequest], temperature: float, greedy: bool
    ) -> Wanted:
        """Return what the turns of a batch have in common, once it is known that all may begin."""
        check_requests(requests, temperature)
        asked = [request.dialogue for request in requests]
        self._in_force.check(asked, policy_version=self.policy_version)
        self._wanted = replace(self._wanted, temperature=temperature)
        return replace(self._wanted, greedy=greedy)

    def _address(self, turn: WritingTurn) -> Sent:
        """Return the server for a turn; with none up, bring them back first."""
        if not self._fleet.up():
            self._bring_any_back()
        self._prompts.setdefault(turn.request.dialogue, tuple(turn.request.ids))
        self._asked += 1
        url = self._fleet.of(turn.request.dialogue).client.url
        return Sent(turn, url, f"{self._wanted.stamp}-{self._asked}")

    def _bring_any_back(self) -> None:
        """Bring servers back; where none comes, the turns of the step are not asked to wait again.

        Raises:
            SamplerLost: if none is left.
            ServerGone: if none came back.
        """
        if self._in_force.held:
            raise SamplerLost(
                f"no SGLang server is left that has the weights of {self._wanted.stamp}, and "
                "the learner, which learns meanwhile, has them no more: the next sync brings "
                f"servers back ({self._last_words()})"
            )
        if self._none_left is not None:
            raise SamplerLost(self._none_left)
        try:
            for replica in self._fleet.replicas:
                self._bring_back(replica, wait=True)
        except (SamplerFault, ServerGone) as error:
            self._none_left = str(error)
            raise

    def _bring_up_to_date(self, replica: Replica) -> Agreement | None:
        """Return how a server agrees under the new weights; None if it is down."""
        try:
            if replica.is_up:
                if replica.stamp == self._wanted.stamp:
                    return self._sync.verify(replica, self._wanted, self._asked_of(replica))
                return self._give(replica)
        except ServerGone as error:
            self._lose(replica, str(error))
        try:
            # One that was joined is waited for only where no other could go on.
            return self._bring_back(replica, wait=not self._fleet.up())
        except ServerGone as error:
            self._lose(replica, str(error))
            return None

    def _bring_back(self, replica: Replica, *, wait: bool) -> Agreement:
        """Start a server again, or find it, on the weights in force."""
        stamp = self._wanted.stamp
        self._sync.forget(replica)
        self._fleet.bring_back(replica, self._sync.write(stamp), stamp, wait=wait)
        self._note("engine_restart", replica, "it is back")
        if replica.process is None:
            return self._give(replica)
        return self._sync.verify(replica, self._wanted, ())

    def _give(self, replica: Replica) -> Agreement:
        return self._sync.give(replica, self._wanted.stamp, self._wanted, self._asked_of(replica))

    def _asked_of(self, replica: Replica) -> list[tuple[int, ...]]:
        """Return dialogues that a server has read under older weights."""
        most = self._config.agreement.prompts
        read = [ids for name, ids in self._prompts.items() if self._fleet.of(name) is replica]
        return read[:most]

    def _lose_at(self, url: str, why: str) -> None:
        for replica in self._fleet.replicas:
            if replica.client.url == url:
                self._lose(replica, why)

    def _lose(self, replica: Replica, why: str) -> None:
        if replica.is_up:
            replica.is_up = False
            self._note("engine_lost", replica, why)

    def _note_resent(self, replica: Replica, why: str) -> None:
        self._note("weights_resent", replica, why)

    def _note(self, kind: str, replica: Replica, why: str) -> None:
        detail = {"server": replica.number, "url": replica.client.url, "reason": why}
        self._incidents.append(Incident(kind, detail))

    def _last_words(self) -> str:
        return str(self._incidents[-1].detail["reason"]) if self._incidents else "none was seen"
