"""Reads tau tasks, our own or TauGym's, into `Task` values; both have one schema.

TauGym's tasks are in a clone of UserRL, the databases they are about in one of tau-bench (or of
tau2-bench, whose records are the same). Both are looked for under one path and beside it. What a
real customer knows is read from prose, sentence by sentence. Nothing is downloaded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from trainer.task import Fact, Task
from trainer.worlds import source as sources
from trainer.worlds import task_records, userrl
from trainer.worlds.tau import customer, verifier
from trainer.worlds.tau.desks import DESKS
from trainer.worlds.tau2 import data_faults, shelf
from trainer.worlds.tau2.case import Component, read_case

FOLDER = Path(__file__).parent
BUILT_IN = sources.own_files(FOLDER)
GYM = Path("gyms") / "TauGym" / "taugym" / "data"
"""Folder of the tasks inside a clone of UserRL."""

_FILES = {"train": "tau_train.json", "evaluation": "tau_test.json"}
_CLONES = ("", "userrl", "UserRL")
_HOMES = (
    "taubench/{}", "tau-bench/tau_bench/envs/{}", "tau_bench/envs/{}", "{}",
    "tau2/data/tau2/domains/{}", "tau2-bench/data/tau2/domains/{}", "data/tau2/domains/{}",
)  # fmt: skip
"""Where, under a path, a domain's database may lie."""
_DATABASES: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "retail": (("orders.json", "products.json", "users.json"), ("db.json",)),
    "airline": (
        ("flights.json", "reservations.json", "users.json"),
        ("flights.json.gz", "reservations.json.gz", "users.json"),
        ("db.json",),
        ("db.json.gz",),
    ),
}
"""Sets of files that hold a domain's database; the first set that is whole is taken."""
_POLICIES = ("wiki.md", "policy.md")
_BASIS = [Component.DB.value, Component.COMMUNICATE.value]
_KEYS = ("id", "obs", "info", "domain", "facts", "canary")
_SCHEMA = "id, obs and info.task with actions (name, kwargs), instruction and outputs"


def load(split: str, source: Path | None = None) -> tuple[Task, ...]:
    """Return the tasks of a split, in file order.

    Faults of real data that a replay shows are told, and the tasks stay what they are.

    Args:
        split: `train` or `evaluation`.
        source: None for our own tasks; else a clone of UserRL, or the folder with its files
            `tau_train.json` and `tau_test.json`, with the databases under that path or beside it.

    Raises:
        SourceError: if a file is missing (all tried paths are listed) or a record is unusable.
    """
    if source is None:
        return task_records.load(BUILT_IN[split], _own, schema=_SCHEMA)
    name = _FILES[split]
    tried = [source / name, *(source / clone / GYM / name for clone in _CLONES)]
    path = sources.first_existing(tried, "tau tasks")
    records = userrl.listed(sources.read_json(path), path)

    @cache
    def data_of(domain: str) -> tuple[Path, Mapping[str, Any]]:
        return _real_data(domain, source)

    def real(record: Mapping[str, Any], provenance: str) -> Task:
        home, data = data_of(_domain(record))
        return task(record, data, f"{provenance}{home}")

    tasks = task_records.build(records, path, real, provenance=shelf.OLDER, schema=_SCHEMA)
    for domain, desk in DESKS.items():
        of_domain = [one for one in tasks if one.payload["domain"] == domain]
        data_faults.tell(of_domain, desk, verifier.bases_of)
    return tasks


def task(record: Mapping[str, Any], data: Mapping[str, Any], provenance: str) -> Task:
    """Return the task that one record describes.

    Args:
        record: A record of TauGym's; ours has the customer's `facts` beside it.
        data: What the payload says of the databases and the policy.
        provenance: Where the task is from.

    Raises:
        KeyError: if the record lacks a field of the schema.
        ValueError: if a field has a value that cannot be.
    """
    asked = record["info"]["task"]
    instruction = asked["instruction"].strip()
    actions = [
        {"requestor": "assistant", "name": one["name"], "arguments": dict(one["kwargs"])}
        for one in asked["actions"]
    ]
    case = {
        "id": record["id"],
        "user_scenario": {"instructions": instruction},
        "evaluation_criteria": {
            "actions": actions,
            "communicate_info": list(asked["outputs"]),
            "reward_basis": _BASIS,
        },
    }
    read_case(case)
    facts = record.get("facts")
    extra = sources.unknown(record, _KEYS)
    return Task(
        id=record["id"],
        world="tau",
        goal=instruction,
        opening=record["obs"],
        facts=customer.facts_of(instruction) if facts is None else tuple(map(_fact, facts)),
        payload={**data, "record": case},
        provenance=provenance,
        extra=extra | ({"canary": record["canary"]} if "canary" in record else {}),
    )


def data_in(domain: str, folder: Path, names: tuple[str, ...], policy: str) -> dict[str, Any]:
    """Return what a payload says of a domain's data.

    Args:
        domain: Name of the desk.
        folder: Where the policy lies.
        names: Files of the database, in that folder or all in its folder `data`.
        policy: File of the policy.
    """
    inside = "" if (folder / names[0]).is_file() else "data"
    return {
        "shared": ["domain", "shelf", "db_folder", "agent_db", "user_db", "policy"],
        "domain": domain,
        "shelf": folder.name,
        "db_folder": inside,
        "agent_db": shelf.named_files(folder / inside, names),
        "user_db": {},
        "policy": [list(one) for one in shelf.named_files(folder, (policy,)).items()],
    }


def _own(record: Mapping[str, Any], provenance: str) -> Task:
    folder = FOLDER / ("evaluation" if "canary" in record else "tasks")
    return task(record, own_data(_domain(record), folder), provenance)


@cache
def own_data(domain: str, folder: Path) -> Mapping[str, Any]:
    """Return what the payload of a task of ours says of its data, which lies in a shelf."""
    return data_in(domain, folder, (f"{domain}_db.json",), f"{domain}_policy.md")


def _domain(record: Mapping[str, Any]) -> str:
    """The desk of a record: told, or else the first word of its id."""
    name = record.get("domain") or record["id"].partition("-")[0]
    if name not in DESKS:
        raise ValueError(f"{record['id']!r} is for no desk; there are {', '.join(DESKS)}")
    return name


def _real_data(domain: str, source: Path) -> tuple[Path, Mapping[str, Any]]:
    """The folder of a domain's real data, and what a payload says of it."""
    tried: list[Path] = []
    for home in _homes(domain, source):
        for names in _DATABASES[domain]:
            for folder in (home, home / "data"):
                missing = [folder / name for name in names if not (folder / name).is_file()]
                policy = next((one for one in _POLICIES if (home / one).is_file()), None)
                if not missing and policy is not None:
                    return home.resolve(), data_in(domain, home, names, policy)
                tried += missing or [home / one for one in _POLICIES]
    sources.first_existing(
        [one for one in dict.fromkeys(tried) if not one.exists()], f"the {domain} data of tau-bench"
    )
    raise AssertionError("first_existing raises where no path exists")


def _homes(domain: str, source: Path) -> Iterator[Path]:
    for root in (source, source.parent):
        yield from (root / home.format(domain) for home in _HOMES)


def _fact(entry: Mapping[str, Any]) -> Fact:
    return Fact(entry["id"], entry["kind"], entry["text"], entry["statement"], tuple(entry["cues"]))
