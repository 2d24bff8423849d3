"""Tools that take delivered items back, for money or for other items."""

from __future__ import annotations

from typing import Any

from trainer.worlds.tau2.database import Database
from trainer.worlds.tau2.toolkit import ToolError, write

from . import records  # noqa: TID252 - the folder is loaded by path


@write
def return_delivered_order_items(
    db: Database, order_id: str, item_ids: list[str], payment_method_id: str
) -> dict[str, Any]:
    """Take items of a delivered order back; the refund goes to its own method or to a gift card."""
    order = records.order(db, order_id)
    if order["status"] != "delivered":
        raise ToolError("Non-delivered order cannot be returned")
    method = records.method(db, order["user_id"], payment_method_id)
    original = order["payment_history"][0]["payment_method_id"]
    if not records.is_gift_card(method) and payment_method_id != original:
        raise ToolError("Payment method should be the original payment method")
    records.positions(order, item_ids)
    order = db.edit("orders", order_id)
    order["status"] = "return requested"
    order["return_items"] = sorted(item_ids)
    order["return_payment_method_id"] = payment_method_id
    return order


@write
def exchange_delivered_order_items(
    db: Database,
    order_id: str,
    item_ids: list[str],
    new_item_ids: list[str],
    payment_method_id: str,
    *,
    may_stay: bool = False,
) -> dict[str, Any]:
    """Exchange items of a delivered order for other items of the same products; only once an order.

    The lists belong together, place by place. An item may be exchanged for itself where it may
    stay.
    """
    order = records.order(db, order_id)
    if order["status"] != "delivered":
        raise ToolError("Non-delivered order cannot be exchanged")
    pairs = records.replacements(db, order, item_ids, new_item_ids, may_stay=may_stay)
    difference = round(records.price_difference(order, pairs), 2)
    method = records.method(db, order["user_id"], payment_method_id)
    if records.is_gift_card(method) and method["balance"] < difference:
        raise ToolError("Insufficient gift card balance to pay for the price difference")
    order = db.edit("orders", order_id)
    order["status"] = "exchange requested"
    order["exchange_items"] = sorted(item_ids)
    order["exchange_new_items"] = sorted(new_item_ids)
    order["exchange_payment_method_id"] = payment_method_id
    order["exchange_price_difference"] = difference
    return order


exchange_items = exchange_delivered_order_items.function
"""The same for a desk of its own rules, which may let items stay."""
