"""Tools that look: users, orders, products and their items."""

from __future__ import annotations

import json
from typing import Any

from trainer.worlds.tau2.database import Database
from trainer.worlds.tau2.toolkit import ToolError, read

from . import records  # noqa: TID252 - the folder is loaded by path


@read
def find_user_id_by_name_zip(db: Database, first_name: str, last_name: str, zip: str) -> str:
    """Find a user's id by first name, last name and zip code."""
    for user_id, user in db.root["users"].items():
        name = user["name"]
        if (
            name["first_name"].casefold() == first_name.casefold()
            and name["last_name"].casefold() == last_name.casefold()
            and user["address"]["zip"] == zip
        ):
            return user_id
    raise ToolError("User not found")


@read
def find_user_id_by_email(db: Database, email: str) -> str:
    """Find a user's id by e-mail address."""
    for user_id, user in db.root["users"].items():
        if user["email"].casefold() == email.casefold():
            return user_id
    raise ToolError("User not found")


@read
def get_user_details(db: Database, user_id: str) -> dict[str, Any]:
    """Show a user's profile: name, address, e-mail, payment methods and order ids."""
    return records.user(db, user_id)


@read
def get_order_details(db: Database, order_id: str) -> dict[str, Any]:
    """Show an order. Order ids begin with `#`."""
    return records.order(db, order_id)


@read
def get_product_details(db: Database, product_id: str) -> dict[str, Any]:
    """Show a product with all its items. A product id is not an item id."""
    return records.product(db, product_id)


@read
def get_item_details(db: Database, item_id: str) -> dict[str, Any]:
    """Show one item: its options, its price and whether it is available."""
    for product in db.root["products"].values():
        if item_id in product["variants"]:
            return product["variants"][item_id]
    raise ToolError("Item not found")


@read
def list_all_product_types(db: Database) -> str:
    """List the names of all products with their product ids."""
    names = {product["name"]: product["product_id"] for product in db.root["products"].values()}
    return json.dumps(names, sort_keys=True)
