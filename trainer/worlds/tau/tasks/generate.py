"""Makes our own tau tasks, and the shop and airline they are about; the same seed, the same files.

    python -m trainer.worlds.tau.tasks.generate

writes both shelves, `tasks/` and `evaluation/`, and the labelled dialogues of `gold/` under the
world's folder, or with `--out DIR` under another. Shop, airline and wishes are those of the tau2
worlds, drawn anew; left out is what the older tools cannot do, and what a hand-over alone would
win. A task is written only if `drafts.check` finds it sound.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from trainer import seeds
from trainer.worlds.tau import loader, oracle
from trainer.worlds.tau.desks import DESKS
from trainer.worlds.tau.tasks.labelled import transcripts as labelled
from trainer.worlds.tau.tasks.pairs import B, both
from trainer.worlds.tau2 import drafts, transcripts
from trainer.worlds.tau2.drafts import Draft
from trainer.worlds.tau2.office import Bases
from trainer.worlds.tau2.publishing import each_kind
from trainer.worlds.tau2_airline.tasks import generate as airline_tasks
from trainer.worlds.tau2_airline.tasks import wishes as trips
from trainer.worlds.tau2_airline.tasks.timetable import Airline
from trainer.worlds.tau2_retail.tasks import generate as retail_tasks
from trainer.worlds.tau2_retail.tasks import wishes as goods
from trainer.worlds.tau2_retail.tasks.shop import Shop

CANARY = "EAU-EVALUATION-TAU-5b0f93e2-7c14-4d8a-a6b9-3e92d71c08f5"
"""Stands in every evaluation record and nowhere else, so that a leak can be searched for."""

FOLDER = Path(__file__).parents[1]
SEED = 17
SHOP: Mapping[str, Callable[[Shop, str], Draft]] = {
    **{name: make for name, make in goods.KINDS.items() if name != "beyond"},
    "cancel-and-move": both(goods.cancel, goods.move_house),
    "payment-and-redirect": both(goods.pay_otherwise, goods.redirect),
    "return-and-move": both(goods.give_back, goods.move_house),
}
"""Every kind of wish at the shop by the middle of its tasks' ids."""
TRIPS: Mapping[str, Callable[[Airline, str], Draft]] = {
    **{name: one for name, one in airline_tasks.KINDS.items() if name not in ("flown", "state")},
    "cancel-and-passenger": both(trips.cancel_insured, trips.other_passenger),
    "date-and-passenger": both(trips.other_date, trips.other_passenger),
}
"""The same at the airline."""
_MODULES = {"retail": retail_tasks, "airline": airline_tasks}
_HAND_OVER = re.compile(
    r"`transfer_to_human_agents`\s+and\s+then\s+write:\s+YOU ARE BEING TRANSFERRED TO A HUMAN "
    r"AGENT\.\s+PLEASE\s+HOLD\s+ON\."
)


def policy(text: str) -> str:
    """Return a tau2 policy of ours for desks where the hand-over itself ends the conversation.

    Raises:
        ValueError: if the policy does not say how to hand over, as all of ours do.
    """
    changed, num_found = _HAND_OVER.subn(
        "`transfer_to_human_agents`, which ends the conversation.", text
    )
    if num_found != 1:
        raise ValueError(f"the policy tells of the hand-over {num_found} times; it must once")
    return changed


POLICIES = {name: policy(one.POLICY) for name, one in _MODULES.items()}


def make_shelf(split: str, num_each: int) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return the records of a split and, by domain, the databases they are about.

    Args:
        split: `train` or `evaluation`.
        num_each: Tasks of each kind.

    Raises:
        UnsoundTaskError: if a task could not be won, or by doing nothing.
    """
    shop = Shop(random.Random(seeds.derive(SEED, "shop", split)))
    shop.stock()
    airline = Airline(random.Random(seeds.derive(SEED, "airline", split)))
    airline.schedule()
    prefix = "tau" if split == "train" else "held-tau"
    made = {
        "retail": list(_made(shop, SHOP, f"{prefix}-shop", num_each)),
        "airline": list(_made(airline, TRIPS, f"{prefix}-trip", num_each)),
    }
    contents = {"retail": shop.content, "airline": airline.content}
    for domain, entries in made.items():
        for draft, _ in entries:
            drafts.check(draft, DESKS[domain], Bases(contents[domain]))
    records = [
        record(draft, domain, user_id)
        for domain, entries in made.items()
        for draft, user_id in entries
    ]
    return records, contents


def record(draft: Draft, domain: str, user_id: str) -> dict[str, Any]:
    """Return a draft in TauGym's schema, with the desk's name and the customer's facts."""
    return {
        "id": draft.id,
        "obs": draft.opening,
        "info": {
            "task": {
                "user_id": user_id,
                "actions": [
                    {"name": step.name, "kwargs": dict(step.arguments)} for step in draft.steps
                ],
                "instruction": draft.goal,
                "outputs": list(draft.communicate),
            }
        },
        "domain": domain,
        "facts": draft.record()["facts"],
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Write both shelves and the labelled dialogues."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=FOLDER)
    out = parser.parse_args(arguments).out
    trained: list[dict[str, Any]] = []
    for split, num_each, file, canary in (
        ("train", 2, "tasks/train.jsonl", {}),
        ("evaluation", 1, "evaluation/tasks.jsonl", {"canary": CANARY}),
    ):
        records, contents = make_shelf(split, num_each)
        path = out / file
        path.parent.mkdir(parents=True, exist_ok=True)
        for domain, content in contents.items():
            (path.parent / f"{domain}_db.json").write_text(_line(content), "utf-8")
            (path.parent / f"{domain}_policy.md").write_text(POLICIES[domain], "utf-8")
        path.write_text("".join(_line(one | canary) for one in records), "utf-8")
        trained = trained or records
    tasks = [
        loader.task(one, loader.own_data(one["domain"], out / "tasks"), "built-in")
        for one in trained
    ]
    transcripts.write(out / "gold", labelled(tasks), tasks, call_text=oracle.answer)


def _made(
    business: B, kinds: Mapping[str, Callable[[B, str], Draft]], prefix: str, num_each: int
) -> Iterator[tuple[Draft, str]]:
    """Yield each task with the id of its customer, who is the newest when it is made."""
    for draft in each_kind(kinds, business, prefix, num_each):
        yield draft, list(business.users)[-1]


def _line(content: Any) -> str:
    return json.dumps(content, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    main()
