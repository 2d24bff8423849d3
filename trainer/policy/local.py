"""The sampler in this process: batched decoding that reads every token of a dialogue once.

Keys and values of all dialogues stay in a preallocated cache between turns, so a turn costs its
new tokens. Dialogues at different turns and of different lengths share every step; one that ends
leaves the batch. A result depends on the weights, the dialogue and its seed, not on the batch
(beyond rounding). Ids go in and out; text is not this module's business.

Dimensions: W dialogues still writing, V vocabulary, S tokens of a turn.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from trainer.policy.cache import KeyValueCache
from trainer.policy.decoder import READ_COLUMNS, Reading, causal_mask, group_rows, plan_reading
from trainer.policy.draw import draw, uniforms
from trainer.policy.forward import choose_decoder
from trainer.policy.in_force import WeightsInForce
from trainer.policy.lora import twin
from trainer.policy.memory import DialogueMemory
from trainer.policy.sampler import Completion, Finish, Incident, SampleRequest
from trainer.policy.turns import WritingTurn, check_requests, longest, open_turns, worth_leaving


class LocalSampler:
    """A transformers model in this process behind the `Sampler` seam.

    The model is shared with the learner, or its weights are copied at each `sync`. After the
    learner's weights change, `sync` must be called; until then sampling is refused, so no
    completion can mix two policies. With weights of its own it goes on for dialogues that are
    held.

    Args:
        model: A causal model. Llama, Qwen2 and Qwen3 decode by a hand-written pass, others by
            their own forward.
        stop_ids: Tokens that end a turn (`ChatFormat.stop_ids`).
        max_dialogues: Dialogues remembered at once, and the widest batch; further requests are
            served in waves.
        max_tokens: Longest dialogue in tokens, prompt and answers; at most the model's context.
        dtype: Type to compute in; the model's own unless given. Another type is for the
            hand-written pass alone.
        policy_version: The version of the weights the model has now.
        own_weights: Keep a copy of the model, so that the learner may learn meanwhile.

    Raises:
        ValueError: if `max_tokens` passes the model's context, or the model cannot be decoded
            with a cache (see `trainer.policy.forward`).
    """

    def __init__(
        self,
        model: PreTrainedModel,
        stop_ids: Collection[int],
        *,
        max_dialogues: int,
        max_tokens: int,
        dtype: torch.dtype | None = None,
        policy_version: int = 0,
        own_weights: bool = False,
    ) -> None:
        self._source = model
        # A copy of what learns: what is frozen under adapters is shared.
        self._model = twin(model).requires_grad_(False) if own_weights else model
        self._decoder = choose_decoder(self._model, max_tokens=max_tokens, dtype=dtype)
        self._stop_ids = frozenset(stop_ids)
        self._max_dialogues = max_dialogues
        self._max_tokens = max_tokens
        self._policy_version = policy_version
        self._in_force = WeightsInForce(model)
        self._in_force.take()
        self.close()

    @property
    def policy_version(self) -> int:
        """The version of the weights in force."""
        return self._policy_version

    def sample(
        self, requests: Sequence[SampleRequest], *, temperature: float, greedy: bool = False
    ) -> list[Completion]:
        """Write one turn for each request, in order.

        A dialogue whose context is full gets an empty completion that says `LENGTH`.

        Args:
            requests: Dialogues at any turn; each appears at most once.
            temperature: Divides the logits before the softmax, > 0.
            greedy: Take the likeliest token instead of sampling.

        Raises:
            ValueError: if a request or the temperature is out of bounds.
            RuntimeError: if the weights changed since the last `sync`.
            FloatingPointError: if the model's logits are not finite.
        """
        self._check(requests, temperature)
        completions: list[Completion] = []
        with torch.inference_mode():
            for first in range(0, len(requests), self._max_dialogues):
                wave = requests[first : first + self._max_dialogues]
                completions += self._sample_wave(wave, temperature, greedy)
        return completions

    def release(self, dialogues: Sequence[str]) -> None:
        """Forget what was read of these dialogues; unknown keys are ignored."""
        self._memory.forget(dialogues)

    def hold(self, dialogues: Sequence[str]) -> None:
        """Let dialogues go on under the weights in force until the next sync, and no others.

        Raises:
            RuntimeError: if the model is the learner's own, or its weights have changed already.
        """
        if self._model is self._source:
            raise RuntimeError(
                "this sampler decodes with the learner's own weights, which may not change while "
                "it writes; make it with own_weights"
            )
        self._in_force.hold(dialogues, policy_version=self._policy_version)

    def sync(self, policy_version: int) -> None:
        """Take the learner's present weights; everything read under older ones is forgotten."""
        self._copy_weights()
        # The cache is made anew, not only emptied: how far it had grown may show in the last bit
        # of a result, and a run that is resumed here starts with an empty one.
        self.close()
        self._decoder.refresh()
        self._in_force.take()
        self._policy_version = policy_version

    def health(self) -> Mapping[str, Any]:
        """Return nothing: there is no one else to be ill."""
        return {}

    def incidents(self) -> list[Incident]:
        """Return none, for the same reason."""
        return []

    def close(self) -> None:
        """Forget every dialogue and give the memory back; a later request allocates it anew."""
        self._cache = KeyValueCache(self._decoder.shape, max_columns=self._max_tokens)
        self._memory = DialogueMemory(self._cache, max_rows=self._max_dialogues)

    def _check(self, requests: Sequence[SampleRequest], temperature: float) -> None:
        check_requests(requests, temperature)
        asked = [request.dialogue for request in requests]
        self._in_force.check(asked, policy_version=self._policy_version)

    @torch.no_grad()
    def _copy_weights(self) -> None:
        """Bring the weights of its own, if it has such, to the learner's."""
        if self._model is self._source:
            return
        for parts in (nn.Module.parameters, nn.Module.buffers):
            for mine, theirs in zip(parts(self._model), parts(self._source), strict=True):
                if mine is not theirs:
                    mine.copy_(theirs)

    def _sample_wave(
        self, requests: Sequence[SampleRequest], temperature: float, greedy: bool
    ) -> list[Completion]:
        full = Completion((), (), Finish.LENGTH, self._policy_version)
        completions = [full] * len(requests)
        batch = open_turns(requests, max_tokens=self._max_tokens)
        if not batch:
            return completions
        self._memory.seat([turn.request.dialogue for turn in batch])
        self._cache.reserve(len(batch), max(turn.length + turn.limit for turn in batch))
        self._write(batch, self._read(batch), temperature, greedy)
        for turn in batch:
            completions[turn.place] = turn.completion(self._policy_version)
        return completions

    def _read(self, batch: Sequence[WritingTurn]) -> Tensor:
        """Read what is new of every dialogue; return the logits [W, V] after its last token."""
        starts = [self._memory.keep(turn.request.dialogue, turn.request.ids) for turn in batch]
        new = [list(turn.request.ids[s:]) for turn, s in zip(batch, starts, strict=True)]
        self._check_ids(batch, new)
        logits = torch.empty(
            len(batch), self._decoder.vocab_size, dtype=self._dtype, device=self._device
        )
        for rows in group_rows(new):
            read = 0
            while rows:
                part = [new[row][read : read + READ_COLUMNS] for row in rows]
                at = [starts[row] + read for row in rows]
                plan = plan_reading(part, rows, at, dtype=self._dtype, device=self._device)
                logits[torch.tensor(rows, device=self._device)] = self._decoder.forward(
                    self._cache, plan
                )
                read += READ_COLUMNS
                rows = [row for row in rows if len(new[row]) > read]
        for turn, ids in zip(batch, new, strict=True):
            self._memory.add(turn.request.dialogue, ids)
        return logits

    def _write(
        self, batch: Sequence[WritingTurn], logits: Tensor, temperature: float, greedy: bool
    ) -> None:
        """Decode until every turn of the batch has ended."""
        writing = list(batch)
        chance = uniforms([t.request.seed for t in batch], max(t.limit for t in batch))
        chance = chance.to(self._device)
        lengths = torch.tensor([len(t.request.ids) for t in batch], device=self._device)
        step = 0
        while True:
            tokens, logprobs = draw(logits, chance[:, step], temperature=temperature, greedy=greedy)
            for turn, token, logprob in zip(
                writing, tokens.tolist(), logprobs.tolist(), strict=True
            ):
                if turn.finish is None:
                    turn.take(token, logprob, stop_ids=self._stop_ids)
            going = [row for row, turn in enumerate(writing) if turn.finish is None]
            if not going:
                break
            if worth_leaving(len(going), len(writing)):
                ended = [row for row, turn in enumerate(writing) if turn.finish is not None]
                self._memory.arrange([*going, *ended], longest(writing))
                kept = torch.tensor(going, device=self._device)
                tokens, chance, lengths = tokens[kept], chance[kept], lengths[kept]
                writing = [writing[row] for row in going]
            # An ended turn that stays for the while reads into columns that hold nothing yet.
            positions = (lengths + step).clamp_(max=self._cache.columns - 1)
            plan = self._step(tokens, positions, longest(writing))
            logits = self._decoder.forward(self._cache, plan)
            step += 1
        for turn in batch:
            # The last token was never read: nothing followed it.
            self._memory.add(turn.request.dialogue, turn.ids[:-1])

    def _step(self, tokens: Tensor, positions: Tensor, width: int) -> Reading:
        """Plan the reading of one token by each of the first rows."""
        rows = torch.arange(len(tokens), device=self._device)
        return Reading(
            tokens=tokens,
            rows=rows,
            positions=positions,
            cache_rows=slice(0, len(tokens)),
            within=rows,
            offsets=torch.zeros_like(rows),
            last=rows,
            mask=causal_mask(positions[:, None], width, dtype=self._dtype),
        )

    def _check_ids(self, batch: Sequence[WritingTurn], new: Sequence[Sequence[int]]) -> None:
        for turn, ids in zip(batch, new, strict=True):
            if min(ids) < 0 or max(ids) >= self._decoder.vocab_size:
                raise ValueError(
                    f"dialogue {turn.request.dialogue!r} holds ids outside 0.."
                    f"{self._decoder.vocab_size - 1}; was it made with another tokenizer?"
                )

    @property
    def _dtype(self) -> torch.dtype:
        return self._decoder.shape.dtype

    @property
    def _device(self) -> torch.device:
        return self._decoder.shape.device
