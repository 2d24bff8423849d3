"""Records of the shop: their form, and the ways to one of them.

Database: `products` (with `variants`), `users` and `orders`, each by id. A record that is not
there is refused in words that the caller reads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trainer.worlds.tau2.database import Database
from trainer.worlds.tau2.forms import Form
from trainer.worlds.tau2.toolkit import ToolError

PRODUCT = Form("name", "product_id", "variants")
VARIANT = Form("item_id", "options", "available", "price")
USER = Form("user_id", "name", "address", "email", "payment_methods", "orders")
NAME = Form("first_name", "last_name")
ADDRESS = Form("address1", "address2", "city", "country", "state", "zip")
METHOD = Form("source", "id", "brand", "last_four", "balance")
ORDER = Form(
    "order_id", "user_id", "address", "items", "status", "fulfillments", "payment_history",
    "cancel_reason", "exchange_items", "exchange_new_items", "exchange_payment_method_id",
    "exchange_price_difference", "return_items", "return_payment_method_id",
)  # fmt: skip
ITEM = Form("name", "product_id", "item_id", "price", "options")
PARCEL = Form("tracking_id", "item_ids")
PAYMENT = Form("transaction_type", "amount", "payment_method_id")


def shape(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return a shop's database with every field of an order there and all fields in one order."""
    return {
        "products": {key: _product(record) for key, record in content["products"].items()},
        "users": {key: _user(key, record) for key, record in content["users"].items()},
        "orders": {key: _order(record) for key, record in content["orders"].items()},
    }


def order(db: Database, order_id: str) -> dict[str, Any]:
    """Return an order to be read.

    Raises:
        ToolError: if there is none of that id.
    """
    return _found(db.get("orders", order_id), "Order not found")


def user(db: Database, user_id: str) -> dict[str, Any]:
    """Return a user to be read.

    Raises:
        ToolError: if there is none of that id.
    """
    return _found(db.get("users", user_id), "User not found")


def product(db: Database, product_id: str) -> dict[str, Any]:
    """Return a product to be read.

    Raises:
        ToolError: if there is none of that id.
    """
    return _found(db.get("products", product_id), "Product not found")


def method(db: Database, user_id: str, method_id: str) -> dict[str, Any]:
    """Return a payment method of a user's to be read.

    Raises:
        ToolError: if the user has none of that id.
    """
    return _found(user(db, user_id)["payment_methods"].get(method_id), "Payment method not found")


def is_gift_card(found: Mapping[str, Any]) -> bool:
    """Return whether a payment method holds money of its own."""
    return found["source"] == "gift_card"


def add_to_gift_card(db: Database, user_id: str, method_id: str, amount: float) -> None:
    """Add an amount, which may be negative, to a payment method if that is a gift card."""
    if is_gift_card(method(db, user_id, method_id)):
        card = db.edit("users", user_id, "payment_methods", method_id)
        card["balance"] = round(card["balance"] + amount, 2)


def positions(found: Mapping[str, Any], item_ids: Sequence[str]) -> list[int]:
    """Return a place in the order for each item id, none twice.

    Raises:
        ToolError: if the order has fewer of an item than are named.
    """
    taken: list[int] = []
    for item_id in item_ids:
        free = (
            index
            for index, item in enumerate(found["items"])
            if item["item_id"] == item_id and index not in taken
        )
        index = next(free, None)
        if index is None:
            raise ToolError(f"Number of {item_id} not found.")
        taken.append(index)
    return taken


def replacements(
    db: Database,
    found: Mapping[str, Any],
    item_ids: Sequence[str],
    new_item_ids: Sequence[str],
    *,
    may_stay: bool = False,
) -> list[tuple[int, dict[str, Any]]]:
    """Return, for each item to be replaced, its place in the order and the variant that comes.

    Args:
        db: The database.
        found: The order.
        item_ids: Items to be replaced.
        new_item_ids: What replaces them, place by place.
        may_stay: Whether an item may be replaced by itself.

    Raises:
        ToolError: if the lists do not match, or a new item is of another product, not available,
            or the old one where it may not stay.
    """
    places = positions(found, item_ids)
    if len(item_ids) != len(new_item_ids):
        raise ToolError("The number of items to be exchanged should match.")
    pairs = []
    for index, item_id, new_item_id in zip(places, item_ids, new_item_ids, strict=True):
        if item_id == new_item_id and not may_stay:
            raise ToolError("The new item id should be different from the old item id")
        variants = product(db, found["items"][index]["product_id"])["variants"]
        variant = variants.get(new_item_id)
        if variant is None or not variant["available"]:
            raise ToolError(f"New item {new_item_id} not found or available")
        pairs.append((index, variant))
    return pairs


def price_difference(
    found: Mapping[str, Any], pairs: Sequence[tuple[int, Mapping[str, Any]]]
) -> float:
    """Return what replacing items costs more, in dollars, not rounded; negative when it is less."""
    difference = 0.0
    for index, variant in pairs:
        difference += variant["price"] - found["items"][index]["price"]
    return difference


def _found(record: Any, refusal: str) -> Any:
    if record is None:
        raise ToolError(refusal)
    return record


def _product(record: Mapping[str, Any]) -> dict[str, Any]:
    variants = {key: VARIANT.of(entry) for key, entry in record["variants"].items()}
    return PRODUCT.of({**record, "variants": variants})


def _user(user_id: str, record: Mapping[str, Any]) -> dict[str, Any]:
    whole = {
        # The older benchmark's users do not carry their ids.
        "user_id": user_id,
        **record,
        "name": NAME.of(record["name"]),
        "address": ADDRESS.of(record["address"]),
        "payment_methods": {
            key: METHOD.of(entry) for key, entry in record["payment_methods"].items()
        },
    }
    return USER.of(whole)


def _order(record: Mapping[str, Any]) -> dict[str, Any]:
    whole = {
        **dict.fromkeys(ORDER.fields),
        **record,
        "address": ADDRESS.of(record["address"]),
        "items": [ITEM.of(entry) for entry in record["items"]],
        "fulfillments": [PARCEL.of(entry) for entry in record["fulfillments"]],
        "payment_history": [PAYMENT.of(entry) for entry in record["payment_history"]],
    }
    return ORDER.of(whole)
