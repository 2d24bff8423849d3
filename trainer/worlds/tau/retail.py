"""The shop's desk: tau2's tools, without a look at single items.

In the older benchmark an item may be replaced by itself, which its tasks do, and the address of an
order whose items were modified is fixed.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from trainer.worlds.tau2.database import Database
from trainer.worlds.tau2.office import Domain
from trainer.worlds.tau2.toolkit import ToolError, toolkit
from trainer.worlds.tau2_retail import delivered, lookup, pending, records

from .older import GENERIC  # noqa: TID252 - the folder is loaded by path


def _redirect(db: Database, order_id: str, **address: str) -> dict[str, Any]:
    if records.order(db, order_id)["status"] != "pending":
        raise ToolError("Non-pending order cannot be modified")
    return pending.modify_pending_order_address.function(db, order_id, **address)


modify_pending_order_address = replace(
    pending.modify_pending_order_address,
    summary="Have a pending order sent to another address; not once its items were modified.",
    function=_redirect,
)
modify_pending_order_items = replace(
    pending.modify_pending_order_items, function=partial(pending.replace_items, may_stay=True)
)
exchange_delivered_order_items = replace(
    delivered.exchange_delivered_order_items,
    function=partial(delivered.exchange_items, may_stay=True),
)

DOMAIN = Domain(
    name="retail",
    agent=toolkit(
        pending.cancel_pending_order,
        exchange_delivered_order_items,
        lookup.find_user_id_by_email,
        lookup.find_user_id_by_name_zip,
        lookup.get_order_details,
        lookup.get_product_details,
        lookup.get_user_details,
        lookup.list_all_product_types,
        modify_pending_order_address,
        modify_pending_order_items,
        pending.modify_pending_order_payment,
        pending.modify_user_address,
        delivered.return_delivered_order_items,
        *GENERIC,
    ),
    hand_over_ends=True,
)
"""The shop's tools."""
