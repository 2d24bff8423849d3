"""Tools that change orders not yet sent, and the address in a user's profile.

What an item becomes is taken from its own replacement, each item from the one named beside it, so
that the order in which items are named does not matter.
"""

from __future__ import annotations

from typing import Any

from trainer.worlds.tau2.database import Database
from trainer.worlds.tau2.toolkit import ToolError, write
from trainer.worlds.tau2.values import clone

from . import records  # noqa: TID252 - the folder is loaded by path

REASONS = ("no longer needed", "ordered by mistake")


@write
def cancel_pending_order(db: Database, order_id: str, reason: str) -> dict[str, Any]:
    """Cancel a pending order, for the reason `no longer needed` or `ordered by mistake`.

    The total goes back to where it came from.
    """
    if records.order(db, order_id)["status"] != "pending":
        raise ToolError("Non-pending order cannot be cancelled")
    if reason not in REASONS:
        raise ToolError("Invalid reason")
    order = db.edit("orders", order_id)
    for payment in list(order["payment_history"]):
        refund = _entry("refund", payment["amount"], payment["payment_method_id"])
        order["payment_history"].append(refund)
        records.add_to_gift_card(
            db, order["user_id"], payment["payment_method_id"], payment["amount"]
        )
    order["status"] = "cancelled"
    order["cancel_reason"] = reason
    return order


@write
def modify_pending_order_items(
    db: Database,
    order_id: str,
    item_ids: list[str],
    new_item_ids: list[str],
    payment_method_id: str,
    *,
    may_stay: bool = False,
) -> dict[str, Any]:
    """Replace items of a pending order by other items of the same products; only once an order.

    The lists belong together, place by place. An item may be replaced by itself where it may stay.
    """
    order = records.order(db, order_id)
    if order["status"] != "pending":
        raise ToolError("Non-pending order cannot be modified")
    pairs = records.replacements(db, order, item_ids, new_item_ids, may_stay=may_stay)
    difference = records.price_difference(order, pairs)
    method = records.method(db, order["user_id"], payment_method_id)
    if records.is_gift_card(method) and method["balance"] < difference:
        raise ToolError("Insufficient gift card balance to pay for the new item")
    kind = "payment" if difference > 0 else "refund"
    records.add_to_gift_card(db, order["user_id"], payment_method_id, -difference)
    order = db.edit("orders", order_id)
    order["payment_history"].append(_entry(kind, abs(difference), payment_method_id))
    for index, variant in pairs:
        item = order["items"][index]
        item["item_id"] = variant["item_id"]
        item["price"] = variant["price"]
        item["options"] = clone(variant["options"])
    order["status"] = "pending (item modified)"
    return order


replace_items = modify_pending_order_items.function
"""The same for a desk of its own rules, which may let items stay."""


@write
def modify_pending_order_payment(
    db: Database, order_id: str, payment_method_id: str
) -> dict[str, Any]:
    """Have a pending order paid by another method; the first one gets its money back."""
    order = records.order(db, order_id)
    if order["status"] != "pending":
        raise ToolError("Non-pending order cannot be modified")
    method = records.method(db, order["user_id"], payment_method_id)
    history = order["payment_history"]
    if len(history) != 1 or history[0]["transaction_type"] != "payment":
        raise ToolError("There should be exactly one payment for a pending order")
    if history[0]["payment_method_id"] == payment_method_id:
        raise ToolError("The new payment method should be different from the current one")
    amount, old = history[0]["amount"], history[0]["payment_method_id"]
    if records.is_gift_card(method) and method["balance"] < amount:
        raise ToolError("Insufficient gift card balance to pay for the order")
    records.add_to_gift_card(db, order["user_id"], payment_method_id, -amount)
    records.add_to_gift_card(db, order["user_id"], old, amount)
    order = db.edit("orders", order_id)
    order["payment_history"] += [
        _entry("payment", amount, payment_method_id),
        _entry("refund", amount, old),
    ]
    return order


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
    """Have a pending order sent to another address."""
    if "pending" not in records.order(db, order_id)["status"]:
        raise ToolError("Non-pending order cannot be modified")
    order = db.edit("orders", order_id)
    order["address"] = _address(address1, address2, city, state, country, zip)
    return order


@write
def modify_user_address(
    db: Database,
    user_id: str,
    address1: str,
    address2: str,
    city: str,
    state: str,
    country: str,
    zip: str,
) -> dict[str, Any]:
    """Change the address in a user's profile; orders keep theirs."""
    records.user(db, user_id)
    user = db.edit("users", user_id)
    user["address"] = _address(address1, address2, city, state, country, zip)
    return user


def _entry(kind: str, amount: float, method_id: str) -> dict[str, Any]:
    return {"transaction_type": kind, "amount": amount, "payment_method_id": method_id}


def _address(
    address1: str, address2: str, city: str, state: str, country: str, zip_code: str
) -> dict[str, str]:
    values = (address1, address2, city, country, state, zip_code)
    return dict(zip(records.ADDRESS.fields, values, strict=True))
