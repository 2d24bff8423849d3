"""What a world says about itself: `world.yaml` read into one frozen value, whole or refused.

    name: travel                    # must equal the name of the folder, unless a run numbers it
    turn_limit: 16                  # agent turns an episode may take when no knob says less
    success_metric: choice          # one of `metrics`
    metrics: {choice: The best option was chosen., ...}       # name -> sentence
    events: {search_ok: A search returned options., ...}      # name -> sentence
    editable: [env.py, verifier.py, user.yaml, personas/]     # files and folders/ open to edits
    settings: {search_failures: 0.2}                          # optional: defaults given to `make`
    knobs: {}                                                 # optional: JSON Schema by knob name
    judge: {asks: Whether the story is told., metrics: {}}    # optional: what a judge model decides

Nothing here runs the world or knows what its numbers mean; unknown fields are refused.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import AliasEvent, CollectionEndEvent, CollectionStartEvent

DECLARATION_FILE = "world.yaml"
MAX_BYTES = 65_536
MAX_DEPTH = 16
MAX_TURN_LIMIT = 1_000

NEVER_EDITABLE = frozenset({"oracle.py", "gold", "tasks", "evaluation"})
"""First path components that no edit of a running world may touch."""

_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
_PATH = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*(/[A-Za-z0-9_][A-Za-z0-9_.-]*)*/?")
_REQUIRED = ("name", "turn_limit", "success_metric", "metrics", "events", "editable")
_OPTIONAL = ("settings", "knobs", "judge")


class DeclarationError(ValueError):
    """A `world.yaml` that cannot be used; the message names file, line, field and remedy."""


@dataclass(frozen=True)
class JudgeDeclaration:
    """What a world leaves to a judge model where a recipe names one; else its rules decide."""

    asks: str
    """What is asked, in a sentence."""
    metrics: Mapping[str, str] = field(default_factory=dict)
    """Numbers of `Verdict.metrics` that only a judged dialogue has, each with a sentence."""


@dataclass(frozen=True)
class WorldDeclaration:
    """One world's own description."""

    name: str
    turn_limit: int
    """Agent turns an episode may take, in [1, 1000]; the knob `max_steps` may ask for fewer."""
    metric: str
    """The one of `metrics` that `Verdict.success` reports (`success_metric` in the file)."""
    metrics: Mapping[str, str]
    """Every number of `Verdict.metrics`, with a sentence."""
    events: Mapping[str, str]
    """Every event a `StepResult` may carry, with a sentence."""
    editable: tuple[str, ...]
    """Files, and folders ending in `/`, that a revision may change; relative to the world."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Defaults that `make` gets under the resolved knobs; JSON values."""
    knobs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """The world's own knobs: name -> JSON Schema with the keywords of the built-in knobs."""
    judge: JudgeDeclaration | None = None
    """None where the world never asks a judge."""


def read_declaration(folder: Path) -> WorldDeclaration:
    """Return what the world in `folder` declares.

    Raises:
        DeclarationError: if the file is missing, too large, not plain YAML, or has a field that
            is missing, unknown or of the wrong shape.
    """
    path = folder / DECLARATION_FILE
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise DeclarationError(
            f"{path}: cannot be read ({error.strerror}); every world needs a {DECLARATION_FILE}"
        ) from error
    if len(content) > MAX_BYTES:
        raise DeclarationError(f"{path}: larger than {MAX_BYTES} bytes; shorten it")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DeclarationError(
            f"{path}: byte {error.start} is not UTF-8; save it as UTF-8"
        ) from None
    return _Reader(path, text).declaration()


class _Reader:
    """Checks one file field by field, remembering where each field stands."""

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self.lines: dict[str, int] = {}
        self.record = self._parse(text)

    def declaration(self) -> WorldDeclaration:
        """Return the checked value, or raise at the first wrong field."""
        for key in self.record:
            if key not in _REQUIRED + _OPTIONAL:
                known = ", ".join(_REQUIRED + _OPTIONAL)
                raise self._wrong(str(key), f"is not a field; the fields are {known}")
        for key in _REQUIRED:
            if key not in self.record:
                raise self._wrong(key, f"is missing; add `{key}:`")
        metrics = self._sentences("metrics")
        metric = self.record["success_metric"]
        if not isinstance(metric, str) or metric not in metrics:
            raise self._wrong(
                "success_metric", f"is {metric!r}; name one of metrics: {', '.join(metrics)}"
            )
        return WorldDeclaration(
            name=self._name(),
            turn_limit=self._turn_limit(),
            metric=metric,
            metrics=metrics,
            events=self._sentences("events"),
            editable=self._editable(),
            settings=self._map("settings"),
            knobs=self._knobs(),
            judge=self._judge(metrics),
        )

    def _parse(self, text: str) -> dict[Any, Any]:
        try:
            self._refuse_traps(text)
            root = YAML(typ="safe", pure=True).compose(text)
            record = YAML(typ="safe", pure=True).load(text)
        except MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            where = f"{mark.line + 1}:{mark.column + 1}" if mark is not None else "1:1"
            raise DeclarationError(
                f"{self.path}:{where}: {error.problem or error.context}; mend the YAML there"
            ) from error
        except DeclarationError:
            raise
        except (YAMLError, ValueError) as error:
            raise DeclarationError(f"{self.path}: not YAML: {error}") from error
        if not isinstance(record, dict):
            raise DeclarationError(f"{self.path}: must be a map of fields such as `name: travel`")
        self.lines = {str(key.value): key.start_mark.line + 1 for key, _ in root.value}
        return record

    def _refuse_traps(self, text: str) -> None:
        """Refuse aliases and deep nesting on the event stream, before anything is built."""
        depth = 0
        for event in YAML(typ="safe", pure=True).parse(text):
            if isinstance(event, CollectionStartEvent):
                depth += 1
            elif isinstance(event, CollectionEndEvent):
                depth -= 1
            if isinstance(event, AliasEvent) or depth > MAX_DEPTH:
                fault = (
                    "aliases are not allowed; write the value out"
                    if isinstance(event, AliasEvent)
                    else f"nested deeper than {MAX_DEPTH}; flatten it"
                )
                raise DeclarationError(f"{self.path}:{event.start_mark.line + 1}: {fault}")

    def _wrong(self, key: str, what: str) -> DeclarationError:
        where = f"{self.path}:{self.lines[key]}" if key in self.lines else f"{self.path}"
        return DeclarationError(f"{where}: `{key[:64]}` {what}")

    def _name(self) -> str:
        name = self.record["name"]
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise self._wrong("name", f"is {name!r}; use lower-case letters, digits and `_`")
        return name

    def _turn_limit(self) -> int:
        limit = self.record["turn_limit"]
        if type(limit) is not int or not 1 <= limit <= MAX_TURN_LIMIT:
            raise self._wrong(
                "turn_limit", f"is {limit!r}; use a whole number from 1 to {MAX_TURN_LIMIT}"
            )
        return limit

    def _map(self, key: str) -> dict[str, Any]:
        value = self.record.get(key)
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise self._wrong(key, f"is {value!r}; use a map of names to values")
        for name, entry in value.items():
            if not isinstance(name, str) or not _NAME.fullmatch(name):
                raise self._wrong(
                    key, f"has the name {name!r}; use lower-case letters, digits, `_`"
                )
            if not _is_json(entry):
                raise self._wrong(
                    key, f"has {name}: {entry!r}; use finite numbers, strings, lists and maps"
                )
        return value

    def _sentences(self, key: str) -> dict[str, str]:
        sentences = self._map(key)
        for name, sentence in sentences.items():
            if not isinstance(sentence, str) or not sentence.strip():
                raise self._wrong(key, f"has {name}: {sentence!r}; describe it in one sentence")
        return sentences

    def _knobs(self) -> dict[str, dict[str, Any]]:
        knobs = self._map("knobs")
        for name, schema in knobs.items():
            if not isinstance(schema, dict):
                raise self._wrong("knobs", f"has {name}: {schema!r}; use a map, a JSON Schema")
        return knobs

    def _judge(self, usual: Mapping[str, str]) -> JudgeDeclaration | None:
        entry = self._map("judge")
        if not entry:
            return None
        asks, metrics = entry.get("asks"), entry.get("metrics") or {}
        if not isinstance(asks, str) or not asks.strip() or not isinstance(metrics, dict):
            raise self._wrong("judge", "needs `asks:`, a sentence, and may have `metrics:`, a map")
        if unknown := sorted(entry.keys() - {"asks", "metrics"}):
            raise self._wrong("judge", f"has {unknown[0]}; its fields are asks and metrics")
        for name, sentence in metrics.items():
            if name in usual or not isinstance(sentence, str) or not sentence.strip():
                raise self._wrong("judge", f"has {name}: {sentence!r}; describe one that is new")
        return JudgeDeclaration(asks, metrics)

    def _editable(self) -> tuple[str, ...]:
        paths = self.record["editable"]
        if not isinstance(paths, list):
            raise self._wrong("editable", f"is {paths!r}; use a list of file names")
        for path in paths:
            if not isinstance(path, str) or not _PATH.fullmatch(path):
                raise self._wrong("editable", f"has {path!r}; use a path inside the world's folder")
            if path.split("/")[0] in NEVER_EDITABLE:
                raise self._wrong("editable", f"has {path!r}, which is never editable; remove it")
        return tuple(paths)


def _is_json(value: Any) -> bool:
    """True for what survives JSON unchanged; recursion is bounded by `MAX_DEPTH`."""
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_json(entry) for key, entry in value.items())
    if isinstance(value, list):
        return all(map(_is_json, value))
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or isinstance(value, bool | int | str)
