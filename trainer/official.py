"""Official scores: recorded tau2 dialogues, carried out and judged again by the package `tau2`.

Dialogues are lived at our desks, with our users. Here each becomes a list of the benchmark's own
messages; its package makes every call again in an environment of its own, compares what its tools
say with what ours said, and scores the end. What it cannot score is told with the reason and is
never a zero. The package is optional; without it nothing here runs.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, Protocol

from trainer.episode import Episode, Outcome, Speaker, Turn
from trainer.errors import Unusable
from trainer.message import Choice, read_action
from trainer.task import Task
from trainer.worlds.tau2 import office, shelf, verdicts
from trainer.worlds.tau2.case import Component, read_case
from trainer.worlds.tau2.session import Session
from trainer.worlds.tau2_airline import verifier as airline
from trainer.worlds.tau2_mock import verifier as mock
from trainer.worlds.tau2_retail import verifier as retail
from trainer.worlds.tau2_telecom import verifier as telecom

PACKAGE = "tau2"
JUDGE_KEY = "OPENAI_API_KEY"
"""Where the package finds the key of the model that judges statements in natural language."""
INSTALL = (
    "install it where eau runs (Python 3.12 or 3.13; it is not on PyPI under this name): "
    "pip install git+https://github.com/sierra-research/tau2-bench, and set TAU2_DATA_DIR to the "
    "data folder of a clone"
)

WORLDS: Mapping[str, tuple[str, ModuleType]] = {
    "tau2_mock": ("mock", mock),
    "tau2_retail": ("retail", retail),
    "tau2_airline": ("airline", airline),
    "tau2_telecom": ("telecom", telecom),
}
"""The benchmark's name of each world that it can score, and the world's verifier."""

SUCCESS_SLACK = 1e-6
MAX_REASON_CHARS = 120


class OfficialError(Unusable):
    """Official scores that cannot be had; the message says what to do."""


class Scored(NamedTuple):
    """The package's word on one dialogue."""

    reward: float | None
    """None where it has none."""
    reason: str = ""
    """Why it has none."""


class Benchmark(Protocol):
    """Whoever carries out and scores a dialogue as the benchmark does."""

    def check(self, domain: str, digests: Mapping[str, str]) -> None:
        """Make sure that the benchmark's data are those that the tasks were loaded from.

        Raises:
            OfficialError: if they are not there, or others.
        """
        ...

    def score(
        self,
        domain: str,
        record: Mapping[str, Any],
        messages: Sequence[Mapping[str, Any]],
        *,
        ended: bool,
        judged: bool,
    ) -> Scored:
        """Return what a dialogue is worth.

        Args:
            domain: The benchmark's name of the world.
            record: The task, as the benchmark writes it.
            messages: The dialogue, in the benchmark's schema.
            ended: True where the user ended it.
            judged: False to have the texts that must be said (`COMMUNICATE`) stand in for the
                statements that only a judge model could decide.
        """
        ...


@dataclass(frozen=True)
class OfficialResult:
    """What the dialogues of one world are worth officially."""

    scored: int
    reward: float | None
    """Mean over the scored dialogues, in [0, 1]."""
    agreeing: int
    """Scored dialogues to which our verifier gave the same reward."""
    unjudged: int
    """Scored dialogues in which `COMMUNICATE` stood in for a judge model's word: a mean with any of
    them is no pass^1 of the benchmark's."""
    unscored: Mapping[str, int]
    """How many dialogues have no official score, by reason."""


class Tau2Package:
    """The package itself; see `Benchmark`."""

    def __init__(self) -> None:
        """Import the package.

        Raises:
            OfficialError: if it is not installed.
        """
        if importlib.util.find_spec(PACKAGE) is None:
            raise OfficialError(f"--official: the package {PACKAGE} cannot be imported; {INSTALL}")
        # The package looks prices up at its import; a copy of them comes with it.
        os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
        self._message = _part("data_model.message")
        self._simulation = _part("data_model.simulation")
        self._tasks = _part("data_model.tasks")
        self._evaluator = _part("evaluator.evaluator")
        self._data = Path(_part("utils.utils").DATA_DIR) / "tau2" / "domains"

    def check(self, domain: str, digests: Mapping[str, str]) -> None:
        """See `Benchmark.check`."""
        for name, digest in digests.items():
            path = self._data / domain / name
            if not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != digest:
                raise OfficialError(
                    f"--official: {path} is not the file that the tasks were loaded with; set "
                    "TAU2_DATA_DIR to the folder that the recipe's source names"
                )

    def score(
        self,
        domain: str,
        record: Mapping[str, Any],
        messages: Sequence[Mapping[str, Any]],
        *,
        ended: bool,
        judged: bool,
    ) -> Scored:
        """See `Benchmark.score`."""
        reasons = self._simulation.TerminationReason
        run = self._simulation.SimulationRun(
            id=record["id"],
            task_id=record["id"],
            start_time="",
            end_time="",
            duration=0.0,
            termination_reason=reasons.USER_STOP if ended else reasons.MAX_STEPS,
            messages=[self._read(entry) for entry in messages],
        )
        task = self._tasks.Task.model_validate(record)
        kind = self._evaluator.EvaluationType
        kinds = [kind.ALL] if judged else [kind.ENV, kind.COMMUNICATE]
        try:
            infos = [
                self._evaluator.evaluate_simulation(run, task, one, False, domain) for one in kinds
            ]
        except ValueError as error:
            # An output that differs from ours, or a check of theirs that raises: neither is a word
            # about the policy.
            return Scored(None, _reason(str(error)))
        return Scored(math.prod(float(info.reward) for info in infos))

    def _read(self, entry: Mapping[str, Any]) -> Any:
        kinds = {
            "assistant": self._message.AssistantMessage,
            "user": self._message.UserMessage,
            "tool": self._message.ToolMessage,
        }
        return kinds[entry["role"]].model_validate(entry)


def _part(name: str) -> Any:
    """Import a module of the package, which no index has and so nothing can declare."""
    return importlib.import_module(f"{PACKAGE}.{name}")


def _reason(message: str) -> str:
    tool = re.search(r"^name: (\w+)$", message, re.MULTILINE)
    if tool is not None and "Expected:" in message:
        return f"its {tool.group(1)} says something else than ours"
    return f"the package refuses it: {message[:MAX_REASON_CHARS]}"


class _Pair(NamedTuple):
    theirs: Scored
    ours: float
    judged: bool


def score(
    tasks: Iterable[Task], episodes: Iterable[Episode], benchmark: Benchmark
) -> dict[str, OfficialResult]:
    """Have every finished dialogue of a tau2 world scored; returns the results by world.

    Args:
        tasks: The tasks that were played, all of them.
        episodes: The dialogues.
        benchmark: Who scores.

    Raises:
        OfficialError: if there is no dialogue that the benchmark knows, or its data are others.
    """
    known = {(task.world, task.id): task for task in tasks if task.world in WORLDS}
    lived = [one for one in episodes if one.stop.outcome is Outcome.FINISHED]
    pairs = [
        (known[one.world, one.task_id], one) for one in lived if (one.world, one.task_id) in known
    ]
    if not pairs:
        raise OfficialError(
            f"--official: none of the episodes is of a world that tau2 scores; these are "
            f"{', '.join(WORLDS)}"
        )
    _check_data(known.values(), benchmark)
    found: dict[str, list[_Pair]] = {}
    for task, episode in pairs:
        theirs = _score(task, episode.turns, benchmark)
        pair = _Pair(theirs, episode.success or 0.0, _is_judged(task))
        found.setdefault(task.world, []).append(pair)
    return {world: _result(entries) for world, entries in sorted(found.items())}


def messages(task: Task, turns: Sequence[Turn]) -> tuple[list[dict[str, Any]], bool]:
    """Return a recorded dialogue as the benchmark's messages, and whether the user ended it.

    Calls of the user's own tools are in no turn; they follow from the words and are made again.
    """
    verifier = WORLDS[task.world][1]
    session = Session(verifier.DOMAIN, task, verifier.bases_of(task))
    written: list[dict[str, Any]] = [dict(entry) for entry in session.case.history]
    for turn, done in verdicts.retrace(session, turns):
        role = {Speaker.AGENT: "assistant", Speaker.USER: "user"}.get(turn.speaker)
        if role is not None and not (role == "assistant" and done):
            written += _spoken(role, turn.text, len(written))
        for outcome in done:
            written += _called(outcome, len(written))
    return written, session.ended


def _score(task: Task, turns: Sequence[Turn], benchmark: Benchmark) -> Scored:
    written, ended = messages(task, turns)
    return benchmark.score(
        WORLDS[task.world][0],
        task.payload["record"],
        written,
        ended=ended,
        judged=_is_judged(task),
    )


def _is_judged(task: Task) -> bool:
    """True where no judge model is needed, or one is there."""
    basis = read_case(task.payload["record"]).basis
    return Component.NL_ASSERTION not in basis or bool(os.environ.get(JUDGE_KEY))


def _check_data(tasks: Iterable[Task], benchmark: Benchmark) -> None:
    for task in {task.world: task for task in tasks}.values():
        if not task.provenance.startswith(shelf.REAL):
            raise OfficialError(
                f"--official: {task.id} is a task of ours, which tau2 does not know; give "
                f"worlds.{task.world}.source the benchmark's data and evaluate again"
            )
        digests = {**task.payload["agent_db"], **task.payload["user_db"]}
        benchmark.check(WORLDS[task.world][0], digests)


def _spoken(role: str, text: str, number: int) -> list[dict[str, Any]]:
    """Words, or a call that nothing could carry out: to the package, a tool nobody has."""
    action = read_action(text) if role == "assistant" else None
    if action is None or action.choice is Choice.ACTION:
        return [{"role": role, "content": text if action is None else action.content}]
    if action.choice is not Choice.TOOL:
        return [{"role": role, "content": text or "-"}]
    return _call_pair(role, action.name, action.arguments, "Error: no such tool", number, ok=False)


def _called(outcome: office.Outcome, number: int) -> list[dict[str, Any]]:
    call = outcome.call
    return _call_pair(
        call.side.value, call.name, call.arguments, outcome.text, number, ok=outcome.ok
    )


def _call_pair(
    role: str, name: str, arguments: Mapping[str, Any], result: str, number: int, *, ok: bool
) -> list[dict[str, Any]]:
    call_id = f"call-{number}"
    call = {"id": call_id, "name": name, "arguments": dict(arguments), "requestor": role}
    return [
        {"role": role, "content": None, "tool_calls": [call]},
        {"role": "tool", "id": call_id, "content": result, "requestor": role, "error": not ok},
    ]


def _result(entries: Sequence[_Pair]) -> OfficialResult:
    scored = [(one.theirs.reward, one) for one in entries if one.theirs.reward is not None]
    reasons = [one.theirs.reason for one in entries if one.theirs.reward is None]
    mean = sum(reward for reward, _ in scored) / len(scored) if scored else None
    return OfficialResult(
        scored=len(scored),
        reward=None if mean is None else round(mean, 6),
        agreeing=sum(abs(reward - one.ours) <= SUCCESS_SLACK for reward, one in scored),
        unjudged=sum(not one.judged for _, one in scored),
        unscored={reason: reasons.count(reason) for reason in sorted(set(reasons))},
    )
