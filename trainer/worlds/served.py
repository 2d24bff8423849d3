"""One episode on the world's side: requests in, `Env` calls, answers out, as bytes.

Whatever the world does comes back as an answer: what it raised, or what it returned and cannot
travel. This module checks nothing that the trainer must be able to rely on, because the world
shares its process; `trainer.worlds.answers` does that on the other side.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from trainer import task as tasks
from trainer.question import Passage, Question
from trainer.worlds import wire
from trainer.worlds.loading import declared_settings, last_line, verifier_of

_MAX_LINE_CHARS = 1_000

_OUT_OF_MEMORY = b'{"raised": "MemoryError, and no memory was left to tell more"}'


class ServedEpisode:
    """The `Env` of one episode behind the seam's requests."""

    def __init__(self, world: ModuleType, folder: Path) -> None:
        self._world = world
        self._folder = folder
        self._begun: Mapping[str, Any] = {}
        self._env: Any = None
        self._broken: str | None = None

    def begin(self, request: Mapping[str, Any]) -> None:
        """Make the world; what it raises is kept as the answer to the first call."""
        self._begun = request
        try:
            settings = {**declared_settings(self._folder), **request["settings"]}
            self._begun = {**request, "settings": settings}
            self._env = self._world.make(
                tasks.from_json(request["task"]),
                settings=settings,
                seed=request["seed"],
            )
        except BaseException as error:
            self._broken = self._line(error)

    def answer(self, request: Mapping[str, Any]) -> bytes:
        """Carry out one call and return the answer's bytes."""
        recorded = request["do"] == "rejudge"
        if self._broken is not None and not recorded:
            return _answer("raised", self._broken)
        try:
            value = self._rejudge(request) if recorded else self._perform(request)
            return _answer("ok", _plain(value))
        except MemoryError:
            return _OUT_OF_MEMORY
        # SystemExit and KeyboardInterrupt too: a world that calls sys.exit has raised.
        except BaseException as error:
            return _answer("raised", self._line(error))

    def _perform(self, request: Mapping[str, Any]) -> Any:
        if request["do"] == "start":
            return self._env.start()
        if request["do"] == "act":
            return self._env.act(wire.action_from(request["action"]))
        if request["do"] == "hear":
            return self._env.hear(wire.reply_from(request["reply"]))
        if request["do"] == "answered":
            return self._env.answered(wire.answers_from(request["answers"]))
        return self._env.verdict()

    def _rejudge(self, request: Mapping[str, Any]) -> Any:
        """Ask the verifier, which needs no `Env`, about a dialogue that was played elsewhere."""
        verifier = verifier_of(self._world)
        task = tasks.from_json(self._begun["task"])
        asked = task, wire.turns_from(request["turns"]), self._begun["settings"]
        # A verifier that asks no judge has no argument for what one said.
        if "answers" in request:
            return verifier.rejudge(*asked, wire.answers_from(request["answers"]))
        return verifier.rejudge(*asked)

    def _line(self, error: BaseException) -> str:
        return last_line(error, self._folder)[:_MAX_LINE_CHARS]


def _plain(value: Any) -> Any:
    """The fields of a dataclass as a map; anything else as it is, for the trainer to refuse."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return value


def _answer(kind: str, body: Any) -> bytes:
    try:
        return json.dumps({kind: body}, default=_plain_or_refuse).encode()
    except (TypeError, ValueError, RecursionError) as error:
        return json.dumps({"no answer": f"it is not JSON: {error}"[:_MAX_LINE_CHARS]}).encode()


def _plain_or_refuse(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Question | Passage):
        return _plain(value)
    raise TypeError(f"a value of type {type(value).__name__} cannot travel")
