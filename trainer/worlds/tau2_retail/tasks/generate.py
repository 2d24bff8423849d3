"""Makes our own tau2_retail tasks and the shop they are about; the same seed, the same files.

    python -m trainer.worlds.tau2_retail.tasks.generate

writes both shelves, `tasks/` and `evaluation/`, and the labelled dialogues of `gold/` under the
world's folder, or with `--out DIR` under another. A task is written only if `drafts.write` finds it
sound.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from trainer import seeds
from trainer.task import Task
from trainer.worlds.tau2.office import Bases
from trainer.worlds.tau2.publishing import Shelf, chosen, each_kind, publish
from trainer.worlds.tau2.transcripts import Transcript
from trainer.worlds.tau2_retail.loader import LAYOUT
from trainer.worlds.tau2_retail.tasks.labelled import transcripts as labelled
from trainer.worlds.tau2_retail.tasks.shop import Shop
from trainer.worlds.tau2_retail.tasks.wishes import KINDS
from trainer.worlds.tau2_retail.tools import DOMAIN, shape

CANARY = "EAU-EVALUATION-TAU2-RETAIL-2c91e6a0-84bd-4f37-9e15-60d7b3a8f24c"
"""Stands in every evaluation record and nowhere else, so that a leak can be searched for."""

SEED = 11
POLICY = """\
# Rules of the shop's service

- Find out first who writes, by e-mail address or by name and zip code, even if they name a user id.
  One conversation serves one customer.
- You may cancel or change orders that are `pending`, take back or exchange items of orders that are
  `delivered`, change the address in a profile, and answer from what the tools show. Nothing else.
- Before anything is written, name exactly what you are about to do and have it confirmed.
- Make nothing up, give no opinions. One tool call at a time, and no words beside it.
- Decline what these rules forbid. Only if no tool could do what is wanted and no rule forbids it,
  call `transfer_to_human_agents` and then write: YOU ARE BEING TRANSFERRED TO A HUMAN AGENT. PLEASE
  HOLD ON.

## Pending orders
- Cancelling needs one of two reasons: `no longer needed` or `ordered by mistake`. Tell what is
  refunded. It goes back to where it came from, to a gift card at once.
- Items may be replaced by items of the same product that are available, once an order: collect all
  of them first. The customer names a method for the difference; a gift card must cover it.
- Another payment method must differ from the first and, if it is a gift card, cover the whole.
- The address of an order is its own; it is not the one in the profile.

## Delivered orders
- A return is refunded to the method that paid or to a gift card of the customer's.
- An exchange is for available items of the same product, once an order: collect all of them first.
  Tell the difference in price. The customer names a method for it; a gift card must cover it.
"""


def make_shelf(split: str, num_each: int) -> Shelf:
    """Return the tasks of a split and the shop they are about.

    Args:
        split: `train` or `evaluation`.
        num_each: Tasks of each kind.
    """
    shop = Shop(random.Random(seeds.derive(SEED, "shop", split)))
    shop.stock()
    prefix = "shop" if split == "train" else "held-shop"
    made = tuple(each_kind(KINDS, shop, prefix, num_each))
    return Shelf(made, {"db.json": shop.content}, Bases(shape(shop.content)))


def main(arguments: Sequence[str] | None = None) -> None:
    """Write both shelves and the labelled dialogues."""
    publish(
        chosen(LAYOUT, arguments, __doc__),
        {"train": make_shelf("train", 3), "evaluation": make_shelf("evaluation", 1)},
        domain=DOMAIN,
        policy=POLICY,
        canary=CANARY,
        labelled=_labelled,
    )


def _labelled(tasks: Sequence[Task]) -> tuple[Transcript, ...]:
    """The labelled dialogues; they name items of one task the other way round, and a refund."""
    criteria = {task.id: task.payload["record"]["evaluation_criteria"] for task in tasks}
    change = criteria["shop-change-two-1"]["actions"][2]["arguments"]
    swapped = {key: change[key][::-1] for key in ("item_ids", "new_item_ids")}
    return labelled(swapped, criteria["shop-cancel-1"]["communicate_info"][0])


if __name__ == "__main__":
    main()
