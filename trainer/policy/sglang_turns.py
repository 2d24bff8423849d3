"""Turns written by SGLang servers: token ids out, token ids and log-probabilities back.

Ids are those beside the log-probabilities, never a text that is encoded again. A turn that its
server did not finish in time is aborted there, and a turn whose weights are not those in force
is no turn. What servers there are is not known here.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import httpx

from trainer.policy.sampler import Completion, Finish
from trainer.policy.sglang_client import LONGEST_QUOTE, ServerGone
from trainer.policy.turns import WritingTurn

ABORT_S = 5.0
"""How long a server may take to hear that a turn is not wanted any more."""
SEEDS = 2**63
"""SGLang's seeds are signed."""


@dataclass(frozen=True)
class Wanted:
    """What all turns of one batch have in common."""

    stamp: str
    """Weight version that must have written every token."""
    policy_version: int
    temperature: float
    greedy: bool
    stop_ids: Collection[int]
    deadline_s: float


class Sent(NamedTuple):
    """A turn and the server that is to write it."""

    turn: WritingTurn
    url: str
    rid: str


class Written(NamedTuple):
    """What came of a turn."""

    completion: Completion
    """`FAILED` where the server gave nothing that can be used."""
    cached_tokens: int = 0
    """Tokens of the dialogue that the server did not have to read again."""


def write_turns(sent: Sequence[Sent], wanted: Wanted) -> list[Written | ServerGone]:
    """Let servers write turns, all at once.

    Returns:
        For each turn what came of it, or the error that says that its server is gone, so that
        another one may be asked.
    """
    return asyncio.run(_write_all(sent, wanted))


async def _write_all(sent: Sequence[Sent], wanted: Wanted) -> list[Written | ServerGone]:
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(limits=limits, timeout=None, trust_env=False) as http:
        return list(await asyncio.gather(*(write_turn(http, one, wanted) for one in sent)))


async def write_turn(http: httpx.AsyncClient, sent: Sent, wanted: Wanted) -> Written | ServerGone:
    """Let a server write one turn; see `write_turns` for what is returned.

    Args:
        http: Without a deadline of its own, which would count from byte to byte.
        sent: The turn and its server.
        wanted: Under which weights, and how long it may take.
    """
    try:
        async with asyncio.timeout(wanted.deadline_s):
            response = await http.post(f"{sent.url}/generate", json=_body(sent, wanted))
    except TimeoutError:
        await abort_turn(http, sent)
        return failed(
            f"{sent.url} did not finish a turn within {wanted.deadline_s:g} s; see its load, or "
            "raise sampler.deadline_s",
            wanted,
        )
    except httpx.HTTPError as error:
        return ServerGone(f"{sent.url}: {type(error).__name__} while it wrote a turn")
    if not response.is_success:
        said = response.text[:LONGEST_QUOTE]
        return failed(f"{sent.url}/generate: status {response.status_code}, {said!r}", wanted)
    try:
        return read_turn(response.json(), sent.turn, wanted)
    except (ValueError, KeyError, TypeError, IndexError) as error:
        return failed(f"{sent.url}/generate: an answer that cannot be read ({error})", wanted)


async def abort_turn(http: httpx.AsyncClient, sent: Sent) -> None:
    """Tell the server that nobody waits; a server that does not hear it is found out later."""
    try:
        async with asyncio.timeout(ABORT_S):
            await http.post(f"{sent.url}/abort_request", json={"rid": sent.rid})
    except (TimeoutError, httpx.HTTPError):
        return


def _body(sent: Sent, wanted: Wanted) -> dict[str, Any]:
    sampling: dict[str, Any] = {
        "temperature": wanted.temperature,
        "top_p": 1.0,
        "top_k": 1 if wanted.greedy else -1,
        "max_new_tokens": sent.turn.limit,
        "stop_token_ids": sorted(wanted.stop_ids),
        "no_stop_trim": True,
        "skip_special_tokens": False,
        "sampling_seed": sent.turn.request.seed % SEEDS,
    }
    return {
        "rid": sent.rid,
        "input_ids": list(sent.turn.request.ids),
        "sampling_params": sampling,
        "return_logprob": True,
    }


def read_turn(reply: Mapping[str, Any], turn: WritingTurn, wanted: Wanted) -> Written:
    """Return what a server's answer holds.

    Args:
        reply: The answer of `/generate`.
        turn: What was asked.
        wanted: Under which weights, and what may end it.

    Raises:
        ValueError: if the answer contradicts itself or what was asked.
        KeyError: if a part is missing.
    """
    meta = reply["meta_info"]
    ids = tuple(int(entry[1]) for entry in meta["output_token_logprobs"])
    logprobs = tuple(float(entry[0]) for entry in meta["output_token_logprobs"])
    stamps = {str(span["version"]) for span in meta.get("weight_versions") or ()}
    stamps.add(str(meta["weight_version"]))
    if stamps != {wanted.stamp}:
        return failed(
            f"tokens of weight version {', '.join(sorted(stamps))} instead of {wanted.stamp}: the "
            "server missed a sync, or another run gave it weights",
            wanted,
        )
    ending = meta["finish_reason"] or {}
    if ending.get("type") not in ("stop", "length"):
        return failed(f"the server ended the turn: {ending}", wanted)
    if list(reply["output_ids"]) != list(ids):
        raise ValueError(f"{len(reply['output_ids'])} ids and {len(ids)} log-probs that differ")
    if not ids or len(ids) > turn.limit:
        raise ValueError(f"{len(ids)} tokens of {turn.limit} that were asked for")
    wrong = [value for value in logprobs if not (math.isfinite(value) and value <= 1e-4)]
    if wrong:
        raise ValueError(f"log-probability {wrong[0]}")
    stopped = ids[-1] in wanted.stop_ids
    if stopped != (ending["type"] == "stop") and len(ids) < turn.limit:
        raise ValueError(f"token {ids[-1]} ended the turn, which the policy's end tokens do not")
    finish = Finish.STOP if stopped else Finish.LENGTH
    completion = Completion(ids, logprobs, finish, wanted.policy_version)
    return Written(completion, int(meta.get("cached_tokens") or 0))


def failed(why: str, wanted: Wanted) -> Written:
    """Return what comes of a turn that nobody can use."""
    return Written(Completion((), (), Finish.FAILED, wanted.policy_version, why))
