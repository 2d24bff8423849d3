"""Reading recipes: YAML with `extends:` and `--set`, checked whole before anything starts.

Every fault of a recipe is told as file, place, value and next step, before any training. This
module knows nothing about what the values mean beyond their types.
"""

from __future__ import annotations

import dataclasses
import difflib
import math
import reprlib
import types
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from trainer import seeds
from trainer.errors import Unusable
from trainer.recipe import RunConfig

BUILT_IN = Path(__file__).parent / "recipes"
MAX_BYTES = 256 * 1024
Settings = TypeVar("Settings")
REPLACED = ("worlds", "held_out")
"""Maps that a recipe gives anew, rather than adding to what it extends."""


class RecipeError(Unusable):
    """A recipe that cannot be used; the message says where, why and what to do."""


def names() -> tuple[str, ...]:
    """Return the names of the built-in recipes."""
    return tuple(sorted(path.stem for path in BUILT_IN.glob("*.yaml")))


def load(recipe: str, overrides: Sequence[str] = ()) -> RunConfig:
    """Read a recipe by its built-in name or by a path.

    Args:
        recipe: Name of a built-in recipe, or path of a YAML file.
        overrides: Entries such as `rollout.dialogues_per_step=8`, values in YAML.

    Raises:
        RecipeError: if the recipe, one that it extends, or an override cannot be used.
    """
    path = _find(recipe)
    merged = _merge_chain(path, seen=())
    _override(merged, overrides)
    merged.setdefault("name", path.stem)
    return from_values(merged, where=path.name)


def from_values(values: Mapping[str, Any], *, where: str = "recipe") -> RunConfig:
    """Build a run's configuration from plain values, as a recipe or `run.yaml` holds them."""
    config = _build(RunConfig, values, where)
    if config.total_steps < 0:
        raise RecipeError(f"{where}: total_steps is {config.total_steps}; it must be 0 or more")
    if not 0 <= config.seed < 1 << seeds.SEED_BITS:
        raise RecipeError(
            f"{where}: seed is {_short(config.seed)}; it must be from 0 to "
            f"2**{seeds.SEED_BITS} - 1, as in seed: 0"
        )
    if not config.worlds or not any(world.weight > 0 for world in config.worlds.values()):
        raise RecipeError(f"{where}: worlds: name at least one world with a weight above 0")
    if both := sorted(set(config.worlds) & set(config.held_out)):
        raise RecipeError(f"{where}: held_out: {both[0]} is trained on; take it out of one of them")
    if config.rollout.dialogues_per_step < 1 or config.rollout.group_size < 1:
        raise RecipeError(f"{where}: rollout: dialogues_per_step and group_size start at 1")
    if config.rollout.dialogues_per_step % config.rollout.group_size:
        raise RecipeError(
            f"{where}: rollout.dialogues_per_step {config.rollout.dialogues_per_step} is not a "
            f"multiple of group_size {config.rollout.group_size}; change one of them"
        )
    if config.policy.kind in ("path", "checkpoint") and not config.policy.path:
        raise RecipeError(
            f"{where}: policy.kind is {config.policy.kind}; set policy.path to its directory"
        )
    return config


def to_values(config: RunConfig) -> dict[str, Any]:
    """Return a configuration as plain values; `from_values` is its inverse."""
    return dataclasses.asdict(config)


def with_settings(settings: Settings, overrides: Sequence[str], *, where: str) -> Settings:
    """Return one section of a recipe with some of its settings replaced.

    Args:
        settings: The section, a frozen dataclass.
        overrides: Entries such as `model=toy`, values in YAML.
        where: What messages call the section.

    Raises:
        RecipeError: if an entry cannot be used.
    """
    values = dataclasses.asdict(typing.cast(Any, settings))
    _override(values, overrides)
    return _build(type(settings), values, where)


def _override(values: dict[str, Any], overrides: Sequence[str]) -> None:
    for override in overrides:
        key, separator, text = override.partition("=")
        if not separator or not key.strip():
            raise RecipeError(f"--set {override!r}: write it as a.b=value")
        _set(values, key.strip().split("."), _parse(text, f"--set {key}"), override)


def _find(recipe: str) -> Path:
    for path in (Path(recipe), BUILT_IN / f"{recipe}.yaml"):
        if path.is_file():
            return path
    raise RecipeError(
        f"no recipe {recipe!r}: neither a file nor one of the built-in ones: {', '.join(names())}"
    )


def _merge_chain(path: Path, seen: tuple[Path, ...]) -> dict[str, Any]:
    resolved = path.resolve()
    if resolved in seen:
        raise RecipeError(f"{path.name}: extends itself; break the circle")
    content = path.read_bytes()
    if len(content) > MAX_BYTES:
        raise RecipeError(f"{path.name}: {len(content)} bytes; a recipe has at most {MAX_BYTES}")
    try:
        values = _parse(content.decode("utf-8"), path.name)
    except UnicodeDecodeError as error:
        raise RecipeError(f"{path.name}: not a UTF-8 text file ({error.reason})") from error
    if not isinstance(values, dict):
        raise RecipeError(f"{path.name}: a recipe is a map of settings, found {_short(values)}")
    base = values.pop("extends", None)
    if base is None:
        return values
    sibling = path.parent / f"{base}.yaml"
    parent = sibling if sibling.is_file() else _find(str(base))
    inherited = _merge_chain(parent, (*seen, resolved))
    inherited.pop("name", None)
    return _merged(inherited, values)


def _parse(text: str, where: str) -> Any:
    try:
        return YAML(typ="safe", pure=True).load(text)
    except (YAMLError, RecursionError) as error:
        raise RecipeError(f"{where}: not readable YAML: {error}") from error


def _merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(base)
    for key, value in over.items():
        inner = result.get(key)
        both = isinstance(inner, dict) and isinstance(value, dict) and key not in REPLACED
        result[key] = _merged(inner, value) if both else value  # pyright: ignore
    return result


def _set(values: dict[str, Any], keys: list[str], value: Any, override: str) -> None:
    for key in keys[:-1]:
        inner = values.setdefault(key, {})
        if not isinstance(inner, dict):
            raise RecipeError(f"--set {override!r}: {key} holds {_short(inner)}, not a map")
        values = inner
    values[keys[-1]] = value


def _build(kind: Any, value: Any, where: str) -> Any:
    """Return `value` as `kind`, a dataclass, map, list, optional, literal or plain type."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if dataclasses.is_dataclass(kind):
        return _build_dataclass(typing.cast(type, kind), value, where)
    if kind is Any:
        return value
    if origin in (typing.Union, types.UnionType):
        if value is None and type(None) in arguments:
            return None
        return _build(next(part for part in arguments if part is not type(None)), value, where)
    if origin is typing.Literal:
        if value in arguments:
            return value
        choices = ", ".join(map(str, arguments))
        raise RecipeError(f"{where}: {_short(value)} is not one of {choices}")
    if origin is not None and issubclass(origin, Mapping):
        if not isinstance(value, Mapping):
            raise RecipeError(f"{where}: expected a map, found {_short(value)}")
        return {
            str(key): _build(arguments[1], inner, f"{where}: {key}") for key, inner in value.items()
        }
    if origin is not None and issubclass(origin, Sequence):
        if isinstance(value, str) or not isinstance(value, Sequence):
            raise RecipeError(f"{where}: expected a list, found {_short(value)}")
        return tuple(_build(arguments[0], inner, where) for inner in value)
    return _plain(kind, value, where)


def _build_dataclass(kind: type, value: Any, where: str) -> Any:
    if value is None:
        value = {}
    if not isinstance(value, Mapping):
        raise RecipeError(f"{where}: expected a map of settings, found {_short(value)}")
    hints = typing.get_type_hints(kind)
    known = {entry.name: entry for entry in dataclasses.fields(kind)}
    for key in value:
        if key not in known:
            near = difflib.get_close_matches(str(key), known, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else f"; known: {', '.join(known)}"
            raise RecipeError(f"{where}: unknown setting {key!r}{hint}")
    for name, entry in known.items():
        required = entry.default is entry.default_factory is dataclasses.MISSING
        if required and name not in value:
            raise RecipeError(f"{where}: {name} is missing; add it")
    fields = {key: _build(hints[key], inner, f"{where}: {key}") for key, inner in value.items()}
    try:
        return kind(**fields)
    except ValueError as error:
        raise RecipeError(f"{where}: {error}") from error


def _plain(kind: type, value: Any, where: str) -> Any:
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, bool) is not (kind is bool) or not isinstance(value, kind):
        raise RecipeError(f"{where}: expected {kind.__name__}, found {_short(value)}")
    if kind is float and not math.isfinite(value):
        raise RecipeError(f"{where}: {value!r} is not a finite number")
    return value


def _short(value: Any) -> str:
    """Return a value for a message: anchors can make a small file hold an endless one."""
    return reprlib.repr(value)
