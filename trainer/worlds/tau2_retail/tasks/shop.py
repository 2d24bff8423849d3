"""The shop that our own retail tasks are about: goods, people, addresses and past orders.

Everything is drawn from one `random.Random`, so that the same seed builds the same shop. What a
customer wants of it is `wishes`.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from trainer.worlds.tau2_retail.records import ADDRESS

GOODS: Mapping[str, tuple[float, Mapping[str, tuple[str, ...]]]] = {
    "Kettle": (39.0, {"volume": ("1 l", "1.7 l"), "finish": ("steel", "enamel", "glass")}),
    "Desk Lamp": (54.5, {"light": ("warm", "neutral"), "stand": ("clamp", "foot", "wall")}),
    "Rain Jacket": (89.9, {"cut": ("short", "long"), "shade": ("moss", "slate", "rust")}),
    "Hiking Boots": (129.0, {"fit": ("narrow", "wide"), "sole": ("soft", "stiff", "studded")}),
    "Paper Planner": (18.4, {"ruling": ("dots", "lines"), "cover": ("linen", "cork", "felt")}),
    "Garden Shears": (33.2, {"blade": ("bypass", "anvil"), "handle": ("ash", "rubber", "oak")}),
    "Field Radio": (64.0, {"power": ("crank", "cell"), "band": ("FM", "DAB", "AM")}),
    "Wool Blanket": (
        72.6,
        {"weave": ("twill", "plain"), "pattern": ("stripe", "check", "herring")},
    ),
}
"""Products with a price to start from and their options."""

FIRST = (
    "Ilse", "Bram", "Noor", "Tomas", "Edda", "Kofi", "Lene", "Ravi", "Saskia", "Milo", "Anouk",
    "Petra", "Joris", "Amina", "Henk", "Britta",
)  # fmt: skip
LAST = (
    "Brandt", "Okoye", "Lindqvist", "Marek", "Duarte", "Vasko", "Thorne", "Ibarra", "Kessel",
    "Nilsen", "Farrow", "Szabo",
)  # fmt: skip
_STREETS = ("Mill Row", "Harbour Street", "Larch Road", "Chapel Hill", "Brickfield Lane")
_TOWNS = (("Tarn", "OR"), ("Elmford", "VT"), ("Port Vale", "ME"), ("Cedar Flats", "ID"))


@dataclass
class Shop:
    """A shop under construction."""

    draw: random.Random
    products: dict[str, Any] = field(default_factory=dict)
    users: dict[str, Any] = field(default_factory=dict)
    orders: dict[str, Any] = field(default_factory=dict)
    regular: dict[str, Any] | None = None
    """Who comes in next; None for somebody new each time."""

    @property
    def content(self) -> dict[str, Any]:
        """The database as it stands."""
        return {"products": self.products, "users": self.users, "orders": self.orders}

    def stock(self) -> None:
        """Put all goods on the shelves; of each product one item is sold out."""
        for name, (price, options) in GOODS.items():
            product_id = self._number(10)
            combinations = list(itertools.product(*options.values()))
            sold_out = self.draw.randrange(len(combinations))
            variants = {}
            for index, values in enumerate(combinations):
                item_id = self._number(10)
                variants[item_id] = {
                    "item_id": item_id,
                    "options": dict(zip(options, values, strict=True)),
                    "available": index != sold_out,
                    "price": round(price * self.draw.uniform(0.85, 1.25), 2),
                }
            self.products[product_id] = {
                "name": name,
                "product_id": product_id,
                "variants": variants,
            }

    def customer(self) -> dict[str, Any]:
        """Return the regular, or add someone with a credit card, a gift card and an account."""
        if self.regular is not None:
            return self.regular
        free = [name for name in itertools.product(FIRST, LAST) if self._is_free(name)]
        first, last = self.draw.choice(free)
        number = self._number(4)
        user_id = f"{first}_{last}_{number}".lower()
        card, gift, account = (
            f"{kind}_{self._number(7)}" for kind in ("credit_card", "gift_card", "paypal")
        )
        methods = {
            card: {
                "source": "credit_card",
                "id": card,
                "brand": self.draw.choice(("visa", "mastercard")),
                "last_four": self._number(4),
            },
            gift: {"source": "gift_card", "id": gift, "balance": float(self.draw.randint(60, 300))},
            account: {"source": "paypal", "id": account},
        }
        user = {
            "user_id": user_id,
            "name": {"first_name": first, "last_name": last},
            "address": self.address(),
            "email": f"{first}.{last}{number}@post.example".lower(),
            "payment_methods": methods,
            "orders": [],
        }
        self.users[user_id] = user
        return user

    def address(self) -> dict[str, str]:
        """Return an address nobody has to live at."""
        town, state = self.draw.choice(_TOWNS)
        values = (
            f"{self.draw.randint(2, 98)} {self.draw.choice(_STREETS)}",
            self.draw.choice(("", f"Flat {self.draw.randint(1, 9)}")),
            town,
            "USA",
            state,
            self._number(5),
        )
        return dict(zip(ADDRESS.fields, values, strict=True))

    def order(
        self, user: Mapping[str, Any], status: str, num_items: int, paid_by: str
    ) -> dict[str, Any]:
        """Add an order of different products.

        Args:
            user: Whose order it is.
            status: `pending`, `processed`, `delivered` or `cancelled`.
            num_items: How many items it has.
            paid_by: Source of the payment method, such as `credit_card`.
        """
        items = []
        for product in self.draw.sample(list(self.products.values()), num_items):
            variant = self.draw.choice([one for one in product["variants"].values()])
            items.append(
                {
                    "name": product["name"],
                    "product_id": product["product_id"],
                    "item_id": variant["item_id"],
                    "price": variant["price"],
                    "options": dict(variant["options"]),
                }
            )
        order_id = f"#W{self._number(7)}"
        sent = status in ("processed", "delivered")
        parcels = [
            {"tracking_id": [self._number(12)], "item_ids": [item["item_id"] for item in items]}
        ]
        order = {
            "order_id": order_id,
            "user_id": user["user_id"],
            "address": dict(user["address"]),
            "items": items,
            "status": status,
            "fulfillments": parcels if sent else [],
            "payment_history": [
                {
                    "transaction_type": "payment",
                    "amount": round(sum(item["price"] for item in items), 2),
                    "payment_method_id": method_of(user, paid_by)["id"],
                }
            ],
        }
        self.orders[order_id] = order
        user["orders"].append(order_id)
        return order

    def others(self, item: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return the items on sale of the same product, the given one left out."""
        variants = self.products[item["product_id"]]["variants"].values()
        return [one for one in variants if one["available"] and one["item_id"] != item["item_id"]]

    def _number(self, num_digits: int) -> str:
        return str(self.draw.randrange(10 ** (num_digits - 1), 10**num_digits))

    def _is_free(self, name: tuple[str, str]) -> bool:
        taken = [tuple(user["name"].values()) for user in self.users.values()]
        return name not in taken


def method_of(user: Mapping[str, Any], source: str) -> dict[str, Any]:
    """Return a user's payment method of a kind."""
    methods = user["payment_methods"].values()
    return next(method for method in methods if method["source"] == source)


def spoken(options: Mapping[str, str]) -> str:
    """Return an item's options as a customer says them."""
    return " and ".join(f"{name} {value}" for name, value in options.items())


def total(prices: Sequence[float]) -> str:
    """Return a sum in dollars as it is said."""
    return f"{sum(prices):.2f}"
