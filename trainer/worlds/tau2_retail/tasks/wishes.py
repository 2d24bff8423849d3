"""What the customers of our own retail tasks want: one function for each kind of wish.

A wish adds a customer and their orders to the shop and returns the task. Its gold actions are
the ones that the policy asks for, and what is told covers all that they need.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from trainer.worlds.tau2.case import Component
from trainer.worlds.tau2.drafts import Draft, Step, Told
from trainer.worlds.tau2_retail.pending import REASONS
from trainer.worlds.tau2_retail.tasks.shop import Shop, method_of, spoken, total

_SOURCES = ("credit_card", "gift_card", "paypal")
_WORDS = {"credit_card": "credit card", "gift_card": "gift card", "paypal": "paypal account"}


def cancel(shop: Shop, draft_id: str) -> Draft:
    """Cancel a pending order."""
    user, order = _with_order(shop, "pending", 2)
    reason = shop.draw.choice(REASONS)
    return Draft(
        id=draft_id,
        opening="Hello, I want to cancel an order.",
        goal=f"Have order {order['order_id']} cancelled: {reason}. Hear what is refunded.",
        told=(
            *_identity(user),
            _order(order),
            Told("reason", _reason(reason), ("reason", "why cancel")),
        ),
        steps=(
            _find(user),
            _look(order),
            Step("cancel_pending_order", {"order_id": order["order_id"], "reason": reason}),
        ),
        communicate=(total([item["price"] for item in order["items"]]),),
    )


def change_items(shop: Shop, draft_id: str, num_items: int) -> Draft:
    """Replace items of a pending order, several at once where asked for."""
    user, order = _with_order(shop, "pending", 3)
    pairs = _replacements(shop, order, num_items)
    method = method_of(user, "credit_card")
    return Draft(
        id=draft_id,
        opening="Hi, I would like to change what is in an order before it is sent.",
        goal=f"Have {num_items} item(s) of {order['order_id']} replaced, by credit card.",
        told=(
            *_identity(user),
            _order(order),
            *_swaps(pairs),
            Told("payment", "Settle it with my credit card.", ("pay", "payment method")),
        ),
        steps=(
            _find(user),
            _look(order),
            _swap("modify_pending_order_items", order, pairs, method["id"]),
        ),
    )


def exchange(shop: Shop, draft_id: str, num_items: int) -> Draft:
    """Exchange delivered items, and hear the difference in price."""
    user, order = _with_order(shop, "delivered", 3)
    pairs = _replacements(shop, order, num_items)
    difference = sum(new["price"] - old["price"] for old, new in pairs)
    method = method_of(user, "paypal")
    return Draft(
        id=draft_id,
        opening="Good day, something I received should be exchanged.",
        goal=f"Have {num_items} item(s) of {order['order_id']} exchanged, by paypal.",
        told=(
            *_identity(user),
            _order(order),
            *_swaps(pairs),
            Told("payment", "Settle it with my paypal account.", ("pay", "payment method")),
        ),
        steps=(
            _find(user),
            _look(order),
            _swap("exchange_delivered_order_items", order, pairs, method["id"]),
        ),
        communicate=(f"{abs(difference):.2f}",),
    )


def give_back(shop: Shop, draft_id: str) -> Draft:
    """Return some of the delivered items, the money going to a gift card or back."""
    user, order = _with_order(shop, "delivered", 3)
    items = order["items"][: shop.draw.randint(1, 2)]
    source = shop.draw.choice(("gift_card", "credit_card"))
    names = " and the ".join(item["name"] for item in items)
    arguments = {
        "order_id": order["order_id"],
        "item_ids": [item["item_id"] for item in items],
        "payment_method_id": method_of(user, source)["id"],
    }
    return Draft(
        id=draft_id,
        opening="Hello, I want to send something back.",
        goal=f"Return the {names} of {order['order_id']}; refund to the {_WORDS[source]}.",
        told=(
            *_identity(user),
            _order(order),
            Told("item", f"I return the {names}.", ("which item", "return what")),
            Told("refund", f"Refund it to my {_WORDS[source]}.", ("refund", "money back")),
        ),
        steps=(_find(user), _look(order), Step("return_delivered_order_items", arguments)),
    )


def redirect(shop: Shop, draft_id: str) -> Draft:
    """Have a pending order sent elsewhere."""
    user, order = _with_order(shop, "pending", 1)
    address = shop.address()
    arguments = {"order_id": order["order_id"], **address}
    return Draft(
        id=draft_id,
        opening="Hi, an order of mine goes to the wrong address.",
        goal=f"Have {order['order_id']} sent to {_line(address)}. The profile stays as it is.",
        told=(
            *_identity(user),
            _order(order),
            Told("address", f"Send it to {_line(address)}.", ("address", "where to send")),
        ),
        steps=(_find(user), _look(order), Step("modify_pending_order_address", arguments)),
    )


def move_house(shop: Shop, draft_id: str) -> Draft:
    """Change the address in the profile, and in it alone."""
    user, _ = _with_order(shop, "processed", 1)
    address = shop.address()
    arguments = {"user_id": user["user_id"], **address}
    return Draft(
        id=draft_id,
        opening="Hello, I have moved house.",
        goal=f"Have the address in the profile changed to {_line(address)}.",
        told=(
            *_identity(user),
            Told("address", f"I live at {_line(address)} now.", ("address", "where moved")),
        ),
        steps=(_find(user), Step("modify_user_address", arguments)),
    )


def pay_otherwise(shop: Shop, draft_id: str) -> Draft:
    """Have a pending order paid by another method."""
    user, order = _with_order(shop, "pending", 1, paid_by="credit_card")
    method = method_of(user, "paypal")
    arguments = {"order_id": order["order_id"], "payment_method_id": method["id"]}
    return Draft(
        id=draft_id,
        opening="Good morning, I want to pay an order differently.",
        goal=f"Have {order['order_id']} paid by the paypal account.",
        told=(
            *_identity(user),
            _order(order),
            Told("payment", "Take my paypal account.", ("pay", "payment method")),
        ),
        steps=(_find(user), _look(order), Step("modify_pending_order_payment", arguments)),
    )


def count_items(shop: Shop, draft_id: str) -> Draft:
    """Learn how many items of a product are on sale; nothing is to be changed."""
    user, _ = _with_order(shop, "delivered", 1)
    product = shop.draw.choice(list(shop.products.values()))
    num_on_sale = sum(one["available"] for one in product["variants"].values())
    best = min(one["price"] for one in product["variants"].values() if one["available"])
    return Draft(
        id=draft_id,
        opening="Hello, I have a question about your goods.",
        goal=f"Learn how many kinds of {product['name']} are on sale, and the lowest price.",
        told=(
            *_identity(user),
            Told("product", f"How many sorts of {product['name']} can be had?", ("product",)),
            Told("price", "And what is the lowest price among them?", ("budget", "price")),
        ),
        steps=(
            _find(user),
            Step("get_product_details", {"product_id": product["product_id"]}),
        ),
        communicate=(str(num_on_sale), f"{best:.2f}"),
    )


def beyond(shop: Shop, draft_id: str) -> Draft:
    """Ask for what no tool can do, and be handed over."""
    user, order = _with_order(shop, "processed", 1)
    summary = f"Wants the parcel of {order['order_id']} engraved on its way"
    return Draft(
        id=draft_id,
        opening="Hi, I have an unusual request for a parcel.",
        goal=f"Have the parcel of {order['order_id']} engraved, which only a person may arrange.",
        told=(
            *_identity(user),
            _order(order),
            Told("request", "Engrave what is in the parcel, please.", ("request", "want done")),
        ),
        steps=(
            _find(user),
            _look(order),
            Step("transfer_to_human_agents", {"summary": summary}, ()),
        ),
        basis=(Component.DB, Component.ACTION),
    )


KINDS: Mapping[str, Callable[[Shop, str], Draft]] = {
    "cancel": cancel,
    "change-one": lambda shop, draft_id: change_items(shop, draft_id, 1),
    "change-two": lambda shop, draft_id: change_items(shop, draft_id, 2),
    "exchange-one": lambda shop, draft_id: exchange(shop, draft_id, 1),
    "exchange-two": lambda shop, draft_id: exchange(shop, draft_id, 2),
    "return": give_back,
    "redirect": redirect,
    "move": move_house,
    "payment": pay_otherwise,
    "count": count_items,
    "beyond": beyond,
}
"""Every kind of wish by the middle of its tasks' ids."""


def _with_order(
    shop: Shop, status: str, num_items: int, paid_by: str = ""
) -> tuple[dict[str, Any], dict[str, Any]]:
    """A new customer with the order in question and another one that is not."""
    user = shop.customer()
    other = shop.draw.choice(("delivered", "processed", "cancelled"))
    shop.order(user, other, shop.draw.randint(1, 2), shop.draw.choice(_SOURCES))
    source = paid_by or shop.draw.choice(("credit_card", "paypal"))
    # A refund may go to the method that paid or to a gift card; credit cards are asked for.
    source = "credit_card" if status == "delivered" else source
    return user, shop.order(user, status, num_items, source)


def _identity(user: Mapping[str, Any]) -> tuple[Told, ...]:
    name = f"{user['name']['first_name']} {user['name']['last_name']}"
    return (
        Told("email", f"My e-mail address is {user['email']}.", ("email", "e-mail")),
        Told("name", f"I am {name}, zip code {user['address']['zip']}.", ("name", "zip code")),
    )


def _order(order: Mapping[str, Any]) -> Told:
    return Told("order", f"The number is {order['order_id']}.", ("order number", "order id"))


def _reason(reason: str) -> str:
    return "I ordered it by mistake." if "mistake" in reason else "It is no longer needed."


def _replacements(
    shop: Shop, order: Mapping[str, Any], num_items: int
) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    return [(item, shop.draw.choice(shop.others(item))) for item in order["items"][:num_items]]


def _swaps(pairs: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]]) -> list[Told]:
    return [
        Told(
            old["name"].split()[-1].lower(),
            f"Instead of my {old['name']} I want {spoken(new['options'])}.",
            (f"the {old['name']}", "which item"),
        )
        for old, new in pairs
    ]


def _swap(
    tool: str,
    order: Mapping[str, Any],
    pairs: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]],
    method_id: str,
) -> Step:
    arguments = {
        "order_id": order["order_id"],
        "item_ids": [old["item_id"] for old, _ in pairs],
        "new_item_ids": [new["item_id"] for _, new in pairs],
        "payment_method_id": method_id,
    }
    return Step(tool, arguments)


def _find(user: Mapping[str, Any]) -> Step:
    return Step("find_user_id_by_email", {"email": user["email"]})


def _look(order: Mapping[str, Any]) -> Step:
    return Step("get_order_details", {"order_id": order["order_id"]})


def _line(address: Mapping[str, str]) -> str:
    parts = (address["address1"], address["address2"], address["city"], address["state"])
    return f"{', '.join(filter(None, parts))} {address['zip']}, {address['country']}"
