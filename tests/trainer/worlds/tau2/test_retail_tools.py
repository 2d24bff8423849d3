"""The shop's tools, each on a small shop: what they write, whom they pay, what they refuse."""

from __future__ import annotations

from typing import Any

import pytest

from trainer.worlds.tau2.case import NamedCall, Side, read_case
from trainer.worlds.tau2.office import Bases, Office, open_office
from trainer.worlds.tau2_retail.records import shape
from trainer.worlds.tau2_retail.tools import DOMAIN


def variant(item_id: str, hue: str, price: float, *, available: bool = True) -> dict[str, Any]:
    return {"item_id": item_id, "options": {"hue": hue}, "available": available, "price": price}


def shop() -> dict[str, Any]:
    address = dict.fromkeys(("address1", "address2", "city", "country", "state", "zip"), "x")
    items = [
        {
            "name": "Cup",
            "product_id": "P1",
            "item_id": item,
            "price": price,
            "options": {"hue": hue},
        }
        for item, price, hue in (("1", 10.0, "red"), ("1", 10.0, "red"), ("5", 20.0, "oak"))
    ]
    items[2] |= {"name": "Tray", "product_id": "P2"}
    order = {
        "order_id": "#A", "user_id": "u", "address": address, "items": items, "status": "pending",
        "fulfillments": [],
        "payment_history": [
            {"transaction_type": "payment", "amount": 40.0, "payment_method_id": "card"}
        ],
    }  # fmt: skip
    return shape(
        {
            "products": {
                "P1": {
                    "name": "Cup",
                    "product_id": "P1",
                    "variants": {
                        "1": variant("1", "red", 10.0),
                        "2": variant("2", "blue", 12.5),
                        "3": variant("3", "grey", 9.0, available=False),
                    },
                },
                "P2": {
                    "name": "Tray",
                    "product_id": "P2",
                    "variants": {"5": variant("5", "oak", 20.0), "6": variant("6", "ash", 15.25)},
                },
            },
            "users": {
                "u": {
                    "user_id": "u",
                    "name": {"first_name": "Ilse", "last_name": "Brandt"},
                    "address": address,
                    "email": "Ilse@post.example",
                    "payment_methods": {
                        "card": {"source": "credit_card", "id": "card"},
                        "gift": {"source": "gift_card", "id": "gift", "balance": 4.0},
                        "pal": {"source": "paypal", "id": "pal"},
                    },
                    "orders": ["#A", "#B"],
                }
            },
            "orders": {"#A": order, "#B": {**order, "order_id": "#B", "status": "delivered"}},
        }
    )  # fmt: skip


@pytest.fixture
def office() -> Office:
    return open_office(DOMAIN, read_case({"id": "t"}), Bases(shop()))


def run(office: Office, name: str, **arguments: Any) -> str:
    """Carry out a call that is not refused."""
    outcome = office.call(NamedCall(Side.AGENT, name, arguments))
    assert outcome.ok, outcome.text
    return outcome.text


def refusal(office: Office, name: str, **arguments: Any) -> str:
    """Return why a call is refused, and see that nothing was changed by it."""
    before = office.agent.changes()
    outcome = office.call(NamedCall(Side.AGENT, name, arguments))
    assert not outcome.ok
    assert office.agent.changes() == before
    return outcome.text.removeprefix("Error: ")


def balance(office: Office) -> float:
    return office.agent.get("users", "u", "payment_methods", "gift", "balance")


def test_people_are_found_whatever_the_case_of_their_letters(office: Office) -> None:
    assert run(office, "find_user_id_by_email", email="ilse@POST.example") == "u"
    found = run(office, "find_user_id_by_name_zip", first_name="ILSE", last_name="brandt", zip="x")
    assert found == "u"
    assert refusal(office, "find_user_id_by_email", email="no@post.example") == "User not found"


def test_an_item_is_no_product(office: Office) -> None:
    assert '"price": 12.5' in run(office, "get_item_details", item_id="2")
    assert refusal(office, "get_item_details", item_id="P1") == "Item not found"
    assert refusal(office, "get_product_details", product_id="2") == "Product not found"
    assert run(office, "list_all_product_types") == '{"Cup": "P1", "Tray": "P2"}'


def test_a_cancelled_order_gives_back_what_was_paid(office: Office) -> None:
    office.agent.edit("orders", "#A", "payment_history", 0)["payment_method_id"] = "gift"
    run(office, "cancel_pending_order", order_id="#A", reason="no longer needed")
    order = office.agent.get("orders", "#A")
    assert (order["status"], order["cancel_reason"]) == ("cancelled", "no longer needed")
    assert [one["transaction_type"] for one in order["payment_history"]] == ["payment", "refund"]
    assert balance(office) == 44.0


@pytest.mark.parametrize(
    ("order_id", "reason", "why"),
    [
        ("#B", "no longer needed", "Non-pending order cannot be cancelled"),
        ("#A", "too blue", "Invalid reason"),
        ("#Z", "no longer needed", "Order not found"),
    ],
)
def test_not_every_order_is_cancelled(office: Office, order_id: str, reason: str, why: str) -> None:
    assert refusal(office, "cancel_pending_order", order_id=order_id, reason=reason) == why


@pytest.mark.parametrize("backwards", [False, True])
def test_tau2_bench_317_318_the_order_in_which_items_are_named_does_not_matter(
    office: Office, backwards: bool
) -> None:
    step = -1 if backwards else 1
    run(
        office,
        "modify_pending_order_items",
        order_id="#A",
        item_ids=["1", "5"][::step],
        new_item_ids=["2", "6"][::step],
        payment_method_id="card",
    )
    order = office.agent.get("orders", "#A")
    assert [item["item_id"] for item in order["items"]] == ["2", "1", "6"]
    assert [item["price"] for item in order["items"]] == [12.5, 10.0, 15.25]
    assert [item["options"] for item in order["items"]] == [
        {"hue": "blue"}, {"hue": "red"}, {"hue": "ash"},
    ]  # fmt: skip
    assert order["status"] == "pending (item modified)"
    paid = {"transaction_type": "refund", "amount": 2.25, "payment_method_id": "card"}
    assert order["payment_history"][-1] == paid
    assert office.agent.get("products", "P1", "variants", "2", "options") == {"hue": "blue"}


def test_two_of_a_kind_are_two_items(office: Office) -> None:
    arguments = {"order_id": "#A", "payment_method_id": "card"}
    three = {"item_ids": ["1"] * 3, "new_item_ids": ["2"] * 3}
    name = "modify_pending_order_items"
    assert refusal(office, name, **arguments, **three) == "Number of 1 not found."
    run(office, name, **arguments, item_ids=["1", "1"], new_item_ids=["2", "2"])
    assert [item["item_id"] for item in office.agent.get("orders", "#A", "items")] == [
        "2",
        "2",
        "5",
    ]
    again = refusal(office, name, **arguments, item_ids=["5"], new_item_ids=["6"])
    assert again == "Non-pending order cannot be modified"


@pytest.mark.parametrize(
    ("new", "method", "why"),
    [
        ("1", "card", "The new item id should be different from the old item id"),
        ("3", "card", "New item 3 not found or available"),
        ("6", "card", "New item 6 not found or available"),
        ("2", "purse", "Payment method not found"),
    ],
)
def test_items_that_cannot_be_had_are_refused(
    office: Office, new: str, method: str, why: str
) -> None:
    arguments = {"order_id": "#A", "item_ids": ["1"], "new_item_ids": [new]}
    call = {**arguments, "payment_method_id": method}
    assert refusal(office, "modify_pending_order_items", **call) == why
    assert "match" in refusal(
        office, "modify_pending_order_items", **{**call, "new_item_ids": ["2", "2"]}
    )


def test_a_gift_card_pays_as_far_as_it_goes(office: Office) -> None:
    arguments = {"order_id": "#A", "payment_method_id": "gift"}
    dear = {"item_ids": ["1", "1"], "new_item_ids": ["2", "2"]}
    why = refusal(office, "modify_pending_order_items", **arguments, **dear)
    assert why == "Insufficient gift card balance to pay for the new item"
    run(office, "modify_pending_order_items", **arguments, item_ids=["1"], new_item_ids=["2"])
    assert balance(office) == 1.5


def test_an_order_is_paid_by_one_other_method(office: Office) -> None:
    name = "modify_pending_order_payment"
    assert "different" in refusal(office, name, order_id="#A", payment_method_id="card")
    assert "Insufficient" in refusal(office, name, order_id="#A", payment_method_id="gift")
    run(office, name, order_id="#A", payment_method_id="pal")
    history = office.agent.get("orders", "#A", "payment_history")
    assert [(one["transaction_type"], one["payment_method_id"]) for one in history] == [
        ("payment", "card"), ("payment", "pal"), ("refund", "card"),
    ]  # fmt: skip
    assert "exactly one payment" in refusal(office, name, order_id="#A", payment_method_id="card")


def test_an_address_belongs_to_an_order_or_to_a_profile(office: Office) -> None:
    where = {
        "address1": "1 Mill Row", "address2": "", "city": "Tarn", "state": "OR", "country": "USA",
        "zip": "1",
    }  # fmt: skip
    run(office, "modify_pending_order_address", order_id="#A", **where)
    assert office.agent.get("orders", "#A", "address") == where
    assert office.agent.get("users", "u", "address", "city") == "x"
    run(office, "modify_user_address", user_id="u", **where)
    assert list(office.agent.get("users", "u", "address")) == [
        "address1", "address2", "city", "country", "state", "zip",
    ]  # fmt: skip
    assert "Non-pending" in refusal(office, "modify_pending_order_address", order_id="#B", **where)


def test_returns_are_refunded_to_where_the_money_came_from_or_to_a_gift_card(
    office: Office,
) -> None:
    name, arguments = "return_delivered_order_items", {"order_id": "#B", "item_ids": ["5", "1"]}
    why = refusal(office, name, **arguments, payment_method_id="pal")
    assert why == "Payment method should be the original payment method"
    run(office, name, **arguments, payment_method_id="gift")
    order = office.agent.get("orders", "#B")
    assert (order["status"], order["return_items"]) == ("return requested", ["1", "5"])
    assert balance(office) == 4.0


def test_an_exchange_notes_sorted_items_and_the_difference(office: Office) -> None:
    name = "exchange_delivered_order_items"
    arguments = {"order_id": "#B", "item_ids": ["5", "1"], "new_item_ids": ["6", "2"]}
    run(office, name, **arguments, payment_method_id="card")
    order = office.agent.get("orders", "#B")
    assert (order["exchange_items"], order["exchange_new_items"]) == (["1", "5"], ["2", "6"])
    assert order["exchange_price_difference"] == -2.25
    assert order["status"] == "exchange requested"
    why = refusal(office, name, **{**arguments, "order_id": "#A"}, payment_method_id="card")
    assert why == "Non-delivered order cannot be exchanged"


def test_a_field_that_no_form_knows_is_refused_not_dropped() -> None:
    content = shop()
    content["users"]["u"]["nickname"] = "Il"
    with pytest.raises(ValueError, match="nickname"):
        shape(content)
