"""The shop's desk: tau2's tools, without a look at single items.

In the older benchmark an item may be replaced by itself, which its tasks do, and the address of an
order whose items were modified is fixed.
"""

from __future__ import annotations

from typing import Any

from trainer.worlds.tau2.database import Database
from trainer.worlds.tau2.office import Domain
from trainer.worlds.tau2.toolkit import ToolError, toolkit, write
from trainer.worlds.tau2_retail import delivered, lookup, pending, records

from .older import GENERIC  # noqa: TID252 - the folder is loaded by path


@write
def modify_pending_order_address(
    db: Database,
    order_id: str,
    address1: str,
    address2: str,
    city: str,
    state: str,
    country: str,
    zip: str,
) -> dict[str, Any]:
    """Have a pending order sent to another address; not once its items were modified."""
    if records.order(db, order_id)["status"] != "pending":
        raise ToolError("Non-pending order cannot be modified")
    return pending.modify_pending_order_address.function(
        db, order_id, address1, address2, city, state, country, zip
    )


@write
def modify_pending_order_items(
    db: Database,
    order_id: str,
    item_ids: list[str],
    new_item_ids: list[str],
    payment_method_id: str,
) -> dict[str, Any]:
    """Replace items of a pending order by other items of the same products; only once an order.

    The lists belong together, place by place.
    """
    return pending.replace_items(
        db, order_id, item_ids, new_item_ids, payment_method_id, may_stay=True
    )


@write
def exchange_delivered_order_items(
    db: Database,
    order_id: str,
    item_ids: list[str],
    new_item_ids: list[str],
    payment_method_id: str,
) -> dict[str, Any]:
    """Exchange items of a delivered order for other items of the same products; only once an order.

    The lists belong together, place by place.
    """
    return delivered.exchange_items(
        db, order_id, item_ids, new_item_ids, payment_method_id, may_stay=True
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
