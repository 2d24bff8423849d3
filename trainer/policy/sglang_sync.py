"""Giving servers the learner's weights, and making sure that they have them.

The order is pause, weights, flush, resume; the flush is asserted. What a server says about it is
not believed: it is asked (`trainer.policy.sglang_agreement`), and one that disagrees is given the
weights once more, as files, before the run is refused to go on.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from transformers import PreTrainedModel

from trainer.policy import sglang_agreement as agreement
from trainer.policy.sampler import Finish, SampleRequest
from trainer.policy.sglang_agreement import Agreement, Bound, SamplerDisagrees
from trainer.policy.sglang_client import ServerClient, ServerGone, ServerRefused
from trainer.policy.sglang_config import AgreementConfig, SamplerConfig
from trainer.policy.sglang_fleet import Replica
from trainer.policy.sglang_turns import Sent, Wanted, Written, write_turns
from trainer.policy.sglang_weights import DiskWay, DistributedWay, TensorWay, WeightWay
from trainer.policy.turns import open_turns

PROMPT_TOKENS = 512
"""Tokens of a dialogue that is continued to compare log-probabilities."""
_FIRST_PROMPT = [(7 * place + 3) for place in range(32)]
"""What is continued before there is any dialogue."""


class Resent(Protocol):
    """Told when a server had to be given weights a second time."""

    def __call__(self, replica: Replica, why: str) -> None:
        """Take note of it."""
        ...


class WeightSync:
    """Weights for servers, checked.

    Args:
        model: The learner's model, whose weights are given.
        config: By which way, and what agreement means.
        folder: Where weights are written for the servers to read.
        resent: Told when the first way failed or the server disagreed.
        way: The first way; that of the recipe unless given.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        config: SamplerConfig,
        folder: Path,
        *,
        resent: Resent,
        way: WeightWay | None = None,
    ) -> None:
        self._model = model
        self._config = config
        self._resent = resent
        self._disk = DiskWay(folder)
        self._way = way or _way(config, self._disk)
        self._digest = ""
        self.bound: Bound | None = None
        """What the server that proved itself last was allowed to differ by."""

    def write(self, stamp: str) -> Path:
        """Return a directory with the weights for a server that is being started."""
        return self._disk.write(self._model, stamp)

    def prepare(self) -> None:
        """Take note of the learner's weights; once after each update, before `give`."""
        self._digest = agreement.coarse_digest(self._model)

    def forget(self, replica: Replica) -> None:
        """Drop what the ways keep about a server that is being started again."""
        self._way.forget(replica.client)

    def give(self, replica: Replica, stamp: str, wanted: Wanted, prompts: Prompts) -> Agreement:
        """Give a server the weights and return how well it agrees then.

        Args:
            replica: A server that is up.
            stamp: Weight version to serve from now on.
            wanted: How turns are written under it.
            prompts: Dialogues that it has read under older weights, to be asked again.

        Raises:
            ServerGone: if it does not answer.
            SamplerDisagrees: if it disagrees even after the weights were given as files.
        """
        try:
            self._send(replica.client, self._way, stamp)
            return self.verify(replica, wanted, prompts)
        except (ServerRefused, SamplerDisagrees) as error:
            self._resent(replica, str(error))
        try:
            self._send(replica.client, self._disk, stamp)
        except ServerRefused as error:
            raise SamplerDisagrees(f"weights could not be given in any way: {error}") from error
        return self.verify(replica, wanted, prompts)

    def verify(self, replica: Replica, wanted: Wanted, prompts: Prompts) -> Agreement:
        """Return how well a server agrees with the learner.

        Raises:
            ServerGone: if it does not answer.
            SamplerDisagrees: if it serves other weights, an old cache, or other numbers.
        """
        client, stamp = replica.client, wanted.stamp
        serves = client.weight_version()
        if serves != stamp:
            raise SamplerDisagrees(
                f"{client.url} serves weight version {serves} instead of {stamp}: the sync never "
                "reached it; see its log"
            )
        checksum = client.checksum()
        moved = replica.digest not in (None, self._digest)
        if moved and checksum is not None and checksum == replica.checksum:
            raise SamplerDisagrees(
                f"{client.url} says it serves weight version {stamp}, but its weights are those "
                "of the version before; see its log"
            )
        found = self._compare(replica, wanted, prompts)
        stated = self._config.agreement
        served = client.settings().get("dtype")
        self.bound = agreement.bound_of(self._model, served, mean=stated.mean, most=stated.most)
        agreement.judge(found, self.bound, url=client.url, stamp=stamp)
        replica.digest, replica.checksum, replica.stamp = self._digest, checksum, stamp
        return found

    def drop_files(self) -> None:
        """Remove the weights on disk, once every server has read them."""
        self._disk.close()

    def close(self) -> None:
        """Give back files, ports and groups."""
        self._way.close()
        self._disk.close()

    def _send(self, client: ServerClient, way: WeightWay, stamp: str) -> None:
        client.pause()
        try:
            way.send(client, self._model, stamp)
            client.flush()
        finally:
            # A server that is gone cannot be resumed; the first error says what happened.
            with suppress(ServerGone):
                client.resume()

    def _compare(self, replica: Replica, wanted: Wanted, prompts: Prompts) -> Agreement:
        """Let the server continue dialogues, and read the same tokens with the learner."""
        chosen = self._prompts(self._config.agreement, prompts)
        # The first goes alone: of those that follow it, some may share its beginning.
        written = self._continue(replica, wanted, chosen[:1], first=0)
        cached = written[0].cached_tokens
        if cached:
            raise SamplerDisagrees(
                f"{replica.client.url} had {cached} tokens of a prompt in its cache right after "
                "the cache was flushed: keys and values of older weights survived the sync"
            )
        written += self._continue(replica, wanted, chosen[1:], first=1)
        ours = [
            agreement.learner_logprobs(
                self._model, prompt, one.completion.ids, temperature=wanted.temperature
            )
            for prompt, one in zip(chosen, written, strict=True)
        ]
        return agreement.compare(ours, [one.completion.logprobs for one in written])

    def _continue(
        self, replica: Replica, wanted: Wanted, prompts: Prompts, *, first: int
    ) -> list[Written]:
        tokens = self._config.agreement.tokens
        # The deadline of a turn is what an episode can wait; a proof is a matter of the sync.
        unhurried = replace(wanted, deadline_s=max(wanted.deadline_s, self._config.control_s))
        requests = [
            SampleRequest(f"agreement-{first + place}", ids, tokens, seed=first + place)
            for place, ids in enumerate(prompts)
        ]
        turns = open_turns(requests, max_tokens=PROMPT_TOKENS + tokens)
        url = replica.client.url
        names = [f"{wanted.stamp}-{turn.request.dialogue}-{replica.number}" for turn in turns]
        written: list[Written] = []
        for one in write_turns(
            [Sent(turn, url, name) for turn, name in zip(turns, names, strict=True)], unhurried
        ):
            if isinstance(one, ServerGone):
                raise one
            if one.completion.finish is Finish.FAILED:
                raise SamplerDisagrees(str(one.completion.error))
            written.append(one)
        return written

    def _prompts(self, config: AgreementConfig, prompts: Prompts) -> list[Sequence[int]]:
        if not prompts:
            vocabulary = int(self._model.config.vocab_size)
            base = [token % vocabulary for token in _FIRST_PROMPT]
            prompts = [base[place:] for place in range(config.prompts)]
        return [prompt[:PROMPT_TOKENS] for prompt in prompts[: config.prompts]]


Prompts = Sequence[Sequence[int]]
"""Dialogues as token ids, the first of them read by every server that took part."""


def _way(config: SamplerConfig, disk: DiskWay) -> WeightWay:
    if config.weights == "tensor":
        return TensorWay()
    if config.weights == "distributed":
        return DistributedWay(timeout_s=config.control_s)
    return disk
