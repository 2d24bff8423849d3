"""Loads tau2 tasks, our own or those of a clone of tau2-bench, into `Task` values.

Ours and the benchmark's have one schema: a record per task beside databases and a policy. A clone
is found by its root, by its data folder, or by the folder of one domain. Records keep every key;
keys that nothing reads are told once. Nothing is downloaded.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trainer.task import Fact, Task
from trainer.worlds import source as sources
from trainer.worlds.source import SourceError
from trainer.worlds.tau2 import shelf
from trainer.worlds.tau2.case import read_case, unknown_keys
from trainer.worlds.tau2.scenario import Scenario, scenario

HELD_OUT = 3
"""One task in so many is held out where no file says which."""
SHELVES = {"train": "tasks", "evaluation": "evaluation"}
"""Folder of each split of our own tasks inside a world's."""

_TASKS = {"train": "train.jsonl", "evaluation": "tasks.jsonl"}
_SPLITS = {"train": "train", "evaluation": "test"}
_OWN_KEYS = ("opening", "goal", "facts", "user_calls", "canary")

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Layout:
    """Which files a domain's data consists of."""

    world: str
    domain: str
    """Name of the domain's folder in a clone."""
    folder: Path
    """Folder of the world in the checkout."""
    agent_db: tuple[tuple[str, ...], ...] = (("db.json",), ("db.json.gz",), ("db.toml",))
    """Sets of files that hold the agent's database; the first set that is whole is taken."""
    user_db: tuple[tuple[str, ...], ...] = (("user_db.json",), ("user_db.toml",), ())
    policy: tuple[tuple[str, ...], ...] = (("policy.md",),)
    tasks: tuple[str, ...] = ("tasks.json",)
    """Names of the file of tasks, the best first."""


Tell = Callable[[Mapping[str, Any]], Scenario]
"""Reads what the user of a real record knows and wants."""


def load(
    layout: Layout, split: str, source: Path | None = None, *, tell: Tell = scenario
) -> tuple[Task, ...]:
    """Return the tasks of a split, in file order.

    Args:
        layout: The domain's files.
        split: `train` or `evaluation`.
        source: None for our own; else a clone of tau2-bench, its data folder (`TAU2_DATA_DIR`), or
            the folder of the domain.
        tell: How a real record's user is read.

    Raises:
        SourceError: if a file is missing (all tried paths are listed) or a record is unusable.
    """
    if source is None:
        folder = layout.folder / SHELVES[split]
        path = folder / _TASKS[split]
        records, provenance = sources.read_lines(path), shelf.BUILT_IN
    else:
        folder = domain_folder(layout, source)
        path = sources.first_existing([folder / name for name in layout.tasks], layout.world)
        records, provenance = _real_records(path, split), f"{shelf.REAL}{folder.resolve()}"
    data = _data(layout, folder, SHELVES[split])
    tasks, unknown = [], set[str]()
    for index, record in enumerate(records):
        try:
            tasks.append(_task(layout.world, record, data, provenance, tell))
            unknown |= {key for key in unknown_keys(record) if key not in _OWN_KEYS}
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise SourceError(
                f"{path}: task {index} does not have tau2's schema ({error!r}); it needs id, "
                "user_scenario and evaluation_criteria"
            ) from error
    sources.report_unknown(unknown, path)
    return tuple(tasks)


def domain_folder(layout: Layout, source: Path) -> Path:
    """Return the folder of a domain in a clone, in a data folder, or `source` itself.

    Raises:
        SourceError: if none of them has tasks; the message lists what was tried.
    """
    inside = Path("tau2") / "domains" / layout.domain
    folders = [source / "data" / inside, source / inside, source / layout.domain, source]
    tried = [folder / name for folder in folders for name in layout.tasks]
    return sources.first_existing(tried, layout.world).parent


def _task(
    world: str, record: Mapping[str, Any], data: Mapping[str, Any], provenance: str, tell: Tell
) -> Task:
    read_case(record)
    own = "opening" in record and "facts" in record
    told = _own_scenario(record) if own else tell(record)
    schema = {key: value for key, value in record.items() if key not in _OWN_KEYS}
    return Task(
        id=str(record["id"]),
        world=world,
        goal=told.goal,
        opening=told.opening,
        facts=told.facts,
        payload={**data, "record": schema, "user_calls": dict(record.get("user_calls") or {})},
        provenance=provenance,
        extra={"canary": record["canary"]} if "canary" in record else {},
    )


def _own_scenario(record: Mapping[str, Any]) -> Scenario:
    facts = tuple(
        Fact(entry["id"], entry["kind"], entry["text"], entry["statement"], tuple(entry["cues"]))
        for entry in record["facts"]
    )
    return Scenario(record["goal"], record["opening"], facts)


def _real_records(path: Path, split: str) -> list[Mapping[str, Any]]:
    content = sources.read_json(path)
    listed = content.get("tasks") if isinstance(content, dict) else content
    if not isinstance(listed, list) or not all(isinstance(entry, dict) for entry in listed):
        raise SourceError(f"{path}: must be a list of tasks, or a map with one as `tasks`")
    splits_file = path.with_name("split_tasks.json")
    splits = sources.read_json(splits_file) if splits_file.exists() else {}
    named = {name: set(map(str, splits.get(key) or ())) for name, key in _SPLITS.items()}
    chosen = {
        name: [one for one in listed if str(one.get("id")) in ids] for name, ids in named.items()
    }
    # Only where the file knows none of them: what it trains on must not be held out as well.
    if not any(chosen.values()):
        _log.warning("%s: no task of a split %r; ids are split by their digest", path, split)
        return [one for one in listed if _is_held_out(one) == (split == "evaluation")]
    if len(chosen[split]) < len(named[split]):
        numbers = (len(chosen[split]), len(named[split]))
        _log.warning("%s: has %d of the %d tasks of its split", path, *numbers)
    return chosen[split]


def _is_held_out(record: Mapping[str, Any]) -> bool:
    return hashlib.sha256(str(record.get("id")).encode()).digest()[0] % HELD_OUT == 0


def _data(layout: Layout, folder: Path, shelf_name: str) -> dict[str, Any]:
    agent_db = _whole_set(folder, layout.agent_db, f"{layout.world} database")
    user_db = _whole_set(folder, layout.user_db, f"{layout.world} user database")
    policy = _whole_set(folder, layout.policy, f"{layout.world} policy")
    return {
        "shared": ["shelf", "agent_db", "user_db", "policy"],
        "shelf": shelf_name,
        "agent_db": shelf.named_files(folder, agent_db),
        "user_db": shelf.named_files(folder, user_db),
        "policy": list(map(list, shelf.named_files(folder, policy).items())),
    }


def _whole_set(folder: Path, sets: Iterable[Sequence[str]], what: str) -> Sequence[str]:
    """The first set of files that are all there; an empty set is always whole."""
    known = list(sets)
    for names in known:
        if all((folder / name).is_file() for name in names):
            return names
    tried = [folder / name for names in known for name in names]
    sources.first_existing([path for path in tried if not path.exists()], what)
    raise AssertionError("first_existing raises where no path exists")
