"""Makes our own tau2_airline tasks and the airline they are about; the same seed, the same files.

    python -m trainer.worlds.tau2_airline.tasks.generate

writes both shelves, `tasks/` and `evaluation/`, and the labelled dialogues of `gold/` under the
world's folder, or with `--out DIR` under another. A task is written only if `drafts.write` finds it
sound.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence

from trainer import seeds
from trainer.worlds.tau2.drafts import Draft
from trainer.worlds.tau2.office import Bases
from trainer.worlds.tau2.publishing import Shelf, chosen, each_kind, publish
from trainer.worlds.tau2_airline.loader import LAYOUT
from trainer.worlds.tau2_airline.tasks import new_trips, wishes
from trainer.worlds.tau2_airline.tasks.labelled import TRANSCRIPTS
from trainer.worlds.tau2_airline.tasks.timetable import Airline
from trainer.worlds.tau2_airline.tools import DOMAIN, shape

CANARY = "EAU-EVALUATION-TAU2-AIRLINE-e84b07d3-1f6a-49c2-8d70-b5a2c39f61e8"
"""Stands in every evaluation record and nowhere else, so that a leak can be searched for."""

SEED = 13
KINDS: Mapping[str, Callable[[Airline, str], Draft]] = {
    "book-alone": new_trips.book_alone,
    "book-together": new_trips.book_together,
    "cancel-insured": wishes.cancel_insured,
    "cancel-business": wishes.cancel_business,
    "cancel-recent": wishes.cancel_recent,
    "cancel-dropped": wishes.cancel_dropped,
    "other-date": wishes.other_date,
    "upgrade": wishes.upgrade,
    "bags": wishes.add_bags,
    "passenger": wishes.other_passenger,
    "certificate": wishes.make_up,
    "flown": wishes.flown,
    "state": new_trips.ask_state,
}
"""Every kind of wish by the middle of its tasks' ids."""
POLICY = """\
# Rules of the airline's service

It is 2024-05-15, 15:00.

- You may book, change and cancel reservations, and make up for trouble where these rules say so.
- Ask for the user id first, then for what else you need; look up what the tools can show.
- Before anything is written, name exactly what you are about to do and have it confirmed.
- Make nothing up, give no opinions. One tool call at a time, and no words beside it.
- Decline what these rules forbid. Only if a matter is beyond them, or where they say so, call
  `transfer_to_human_agents` and then write: YOU ARE BEING TRANSFERRED TO A HUMAN AGENT. PLEASE HOLD
  ON.

## Booking
- All flights of a reservation are in one cabin: basic economy, economy or business. At most five
  passengers, each with first name, last name and date of birth. Only flights that are `available`.
- Pay with methods of the profile: at most one certificate, one credit card and three gift cards. A
  certificate is used up whole. Tell the total.
- Free bags for each passenger, in basic economy, economy and business: regular members 0, 1, 2;
  silver 1, 2, 3; gold 2, 3, 4. Each further bag costs 50. Add no bag that nobody asked for.
- Ask whether insurance is wanted: 30 for each passenger.

## Changing
- Basic economy flights cannot be changed, others only between the same cities. The cabin can be
  changed in every reservation, for all its flights at once, as long as none is flown. The
  difference is settled with one gift card or credit card; tell it.
- Bags can be added, not removed. Insurance cannot be added. Passengers can be replaced, but their
  number stays.

## Cancelling
- Ask for the reason. If a flight of the reservation is flown, hand over.
- A reservation may be cancelled if it was made within the last 24 hours, if the airline has
  cancelled a flight of it, if it is business, or if it is insured and the reason is illness or
  weather.

## Making up
- Offer nothing unasked. Only silver and gold members, the insured, and business travellers get
  something, and only after you have checked what happened: for a cancelled flight a certificate of
  100 for each passenger; for a delayed one, once it is changed or cancelled, 50 for each.
"""


def make_shelf(split: str, num_each: int) -> Shelf:
    """Return the tasks of a split and the airline they are about.

    Args:
        split: `train` or `evaluation`.
        num_each: Tasks of each kind.
    """
    airline = Airline(random.Random(seeds.derive(SEED, "airline", split)))
    airline.schedule()
    prefix = "trip" if split == "train" else "held-trip"
    made = tuple(each_kind(KINDS, airline, prefix, num_each))
    return Shelf(made, {"db.json": airline.content}, Bases(shape(airline.content)))


def main(arguments: Sequence[str] | None = None) -> None:
    """Write both shelves and the labelled dialogues."""
    publish(
        chosen(LAYOUT, arguments, __doc__),
        {"train": make_shelf("train", 2), "evaluation": make_shelf("evaluation", 1)},
        domain=DOMAIN,
        policy=POLICY,
        canary=CANARY,
        labelled=lambda tasks: TRANSCRIPTS,
    )


if __name__ == "__main__":
    main()
