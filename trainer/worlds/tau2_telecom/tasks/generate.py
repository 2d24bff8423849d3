"""Makes our own tau2_telecom tasks: the same plan gives the same files, each task checked.

    python -m trainer.worlds.tau2_telecom.tasks.generate

writes `tasks/`, `evaluation/` and `gold/` of the world's folder, or with `--out DIR` of another:
records, databases, for evaluation a copy of the policy, and labelled dialogues. A task is written
only if its symptom is there before the dialogue, gone after the gold actions, and no gold action
is refused.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from trainer.worlds.tau2 import loading
from trainer.worlds.tau2.case import read_case
from trainer.worlds.tau2.drafts import UnsoundTaskError
from trainer.worlds.tau2.office import Bases, close_by_gold, open_office
from trainer.worlds.tau2.scoring import score
from trainer.worlds.tau2_telecom import loader, records
from trainer.worlds.tau2_telecom.domain import DOMAIN
from trainer.worlds.tau2_telecom.tasks import carrier, faults, plan, transcripts
from trainer.worlds.tau2_telecom.tasks.carrier import Person
from trainer.worlds.tau2_telecom.tasks.faults import FAULTS, Call, Symptom
from trainer.worlds.tau2_telecom.tasks.plan import Trouble

CANARY = "EAU-EVALUATION-TELECOM-b81f2c60-4d0e-4a7f-9d35-7e1c06f2a9b4"
"""Stands in every evaluation record and nowhere else, so that a leak can be searched for."""
FOLDER = Path(__file__).parents[1]
POLICY = ("main_policy.md", "tech_support_manual.md")
HAND_OVER: Call = ("assistant", "transfer_to_human_agents", {"summary": "No tool mends this."})

OPENINGS: Mapping[Symptom, str] = {
    Symptom.SERVICE: "My phone says there is no service, and I cannot call anybody.",
    Symptom.DATA: "The internet on my phone stands still, or it crawls. Please get it up to speed.",
    Symptom.MMS: "Pictures that I send from my phone do not go out any more. Can you help?",
}
GOALS: Mapping[Symptom, str] = {
    Symptom.SERVICE: "Have the phone connected to the network again.",
    Symptom.DATA: "Have mobile data at excellent speed again.",
    Symptom.MMS: "Be able to send picture messages again.",
}


def record(trouble: Trouble, person: Person, code: int) -> dict[str, Any]:
    """Return one task as a record of the file.

    Args:
        trouble: The symptom and the faults behind it.
        person: Who calls.
        code: The number in the ids of that person's records.
    """
    symptom, names = trouble
    chosen = [FAULTS[name] for name in names]
    abroad = any(fault.abroad for fault in chosen)
    limit = carrier.PLANS[int(person.plan[-1]) - 1][1]
    ids = {
        "customer": f"C{code}",
        "line": f"L{code}",
        "bill": f"B{code}9",
        "over": limit + 0.5,
    }
    handed_over = any(not fault.mended_by for fault in chosen)
    setups = [("user", "set_user_info", {"name": person.name, "phone_number": person.number})]
    setups += [("user", "set_user_location", {"abroad": abroad})]
    setups += [call for fault in chosen for call in fault.made_by]
    mends = [HAND_OVER] if handed_over else _mends([fault.mended_by for fault in chosen])
    checks = list(faults.STILL_BROKEN if handed_over else faults.CHECKS[symptom])
    if not handed_over:
        checks += [call for fault in chosen for call in fault.checked_by]
    told = list(_told(person, names, abroad=abroad))
    task_id = f"{symptom}-{'-'.join(names)}"
    return {
        "id": task_id,
        "user_scenario": {
            "persona": None,
            "instructions": {
                "reason_for_call": OPENINGS[symptom],
                "known_info": " ".join(fact["statement"] for fact in told),
                "task_instructions": GOALS[symptom],
            },
        },
        "initial_state": {"initialization_actions": [_setup(call, ids) for call in setups]},
        "evaluation_criteria": {
            "actions": [_action(call, ids, task_id, at) for at, call in enumerate(mends)],
            "env_assertions": [_setup(call, ids) | {"assert_value": True} for call in checks],
            "reward_basis": ["ENV_ASSERTION", "ACTION"] if handed_over else ["ENV_ASSERTION"],
        },
        "opening": OPENINGS[symptom],
        "goal": GOALS[symptom],
        "facts": told,
    }


def check(entry: Mapping[str, Any], bases: Bases) -> None:
    """Make sure that a task may be shipped.

    Raises:
        UnsoundTaskError: if a gold action is refused or does not lead to the end, or the end is
            there from the beginning.
    """
    case = read_case(entry)
    gold = close_by_gold(DOMAIN, case, bases)
    refused = [outcome.text for outcome in gold.log if not outcome.ok]
    if refused:
        raise UnsoundTaskError(f"{case.id}: a gold action is refused: {refused[0]}")
    if score(DOMAIN, case, bases, gold, (), ended=True).reward != 1.0:
        raise UnsoundTaskError(f"{case.id}: the gold actions do not lead to the end; mend them")
    untouched = open_office(DOMAIN, case, bases)
    if score(DOMAIN, case, bases, untouched, (), ended=True).reward != 0.0:
        raise UnsoundTaskError(f"{case.id}: nothing is wrong in the beginning; add a fault")


def write(folder: Path) -> None:
    """Write both shelves under a world's folder."""
    shelves = (
        ("tasks", "train.jsonl", plan.TRAINING, carrier.TRAINING, 2, None),
        ("evaluation", "tasks.jsonl", plan.EVALUATION, carrier.EVALUATION, 3, CANARY),
    )
    for name, file, troubles, people, series, canary in shelves:
        shelf = folder / name
        shelf.mkdir(parents=True, exist_ok=True)
        agent, user = carrier.carrier(people, series), carrier.phone()
        bases = Bases(records.agent_records(agent), records.user_records(user))
        entries = list(_records(troubles, people, series))
        for entry in entries:
            check(entry, bases)
        lines = [entry | ({"canary": canary} if canary else {}) for entry in entries]
        (shelf / file).write_text("".join(_line(entry) for entry in lines), "utf-8")
        (shelf / "db.json").write_text(_line(agent), "utf-8")
        (shelf / "user_db.json").write_text(_line(user), "utf-8")
        for text in POLICY:
            (shelf / text).write_bytes((FOLDER / "tasks" / text).read_bytes())
    _write_gold(folder)


def _write_gold(folder: Path) -> None:
    """Write the labelled dialogues, each with its task as the loader reads it."""
    layout = replace(loader.LAYOUT, folder=folder)
    known = {task.id: task.to_json() for task in loading.load(layout, "train")}
    (folder / "gold").mkdir(exist_ok=True)
    lines = [transcripts.gold(one, known[one.task_id]) for one in transcripts.TRANSCRIPTS]
    (folder / "gold" / "verdicts.jsonl").write_text("".join(lines), "utf-8")


def _records(
    troubles: Sequence[Trouble], people: Sequence[Person], series: int
) -> Iterator[dict[str, Any]]:
    for index, trouble in enumerate(troubles):
        at = index % len(people)
        yield record(trouble, people[at], series * 100 + at + 1)


def _told(person: Person, names: Sequence[str], *, abroad: bool) -> Iterator[dict[str, Any]]:
    """Yield what a caller knows."""
    place = f"I am in {person.place} at the moment." if abroad else "I am at home, in the country."
    known = [
        (
            "identity",
            f"I am {person.name}, and my number is {person.number}.",
            ["your name", "phone number", "who are you"],
        ),
        ("place", place, ["where are you", "abroad", "travelling"]),
        ("since", "It began yesterday evening.", ["since when", "when did it start", "how long"]),
    ]
    if "used_up" in names:
        known.append(
            (
                "refuel",
                f"I would take {faults.REFUEL_GB} GB more, but I keep my plan.",
                ["how much data", "refuel", "extra gigabytes"],
            )
        )
    if "bill" in names:
        known.append(
            (
                "bill",
                "Yes, I will pay what is overdue.",
                ["willing to pay", "overdue bill", "settle the bill"],
            )
        )
    for index, (kind, statement, cues) in enumerate(known, start=1):
        yield {
            "id": f"F{index}",
            "kind": kind,
            "text": f"what the caller knows of {kind}: {statement}",
            "statement": statement,
            "cues": cues,
        }


def _mends(ways: Sequence[tuple[Call, ...]]) -> list[Call]:
    """Return all ways to mend one after the other, with one restart for all that need one."""
    calls = [call for way in ways for call in way]
    restarts = [call for call in calls if call[1] == "reboot_device"]
    return [call for call in calls if call not in restarts] + restarts[:1]


def _filled(arguments: Mapping[str, Any], ids: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: ids.get(value.strip("{}"), value) if isinstance(value, str) else value
        for key, value in arguments.items()
    }


def _setup(call: Call, ids: Mapping[str, Any]) -> dict[str, Any]:
    side, name, arguments = call
    return {"env_type": side, "func_name": name, "arguments": _filled(arguments, ids)}


def _action(call: Call, ids: Mapping[str, Any], task_id: str, at: int) -> dict[str, Any]:
    side, name, arguments = call
    return {
        "action_id": f"{task_id}_{at}",
        "requestor": side,
        "name": name,
        "arguments": _filled(arguments, ids),
        "compare_args": [] if call is HAND_OVER else None,
    }


def _line(content: Any) -> str:
    return json.dumps(content, ensure_ascii=False) + "\n"


def main() -> None:
    """Write the files."""
    parser = argparse.ArgumentParser(description="Make the tau2_telecom tasks anew.")
    parser.add_argument("--out", type=Path, default=FOLDER, help="the world's folder")
    write(parser.parse_args().out)


if __name__ == "__main__":
    main()
