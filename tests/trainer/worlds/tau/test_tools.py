"""The tools are the older benchmark's: tau2's, where the two differ as the older ones work."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

from trainer.task import Task
from trainer.worlds import catalog
from trainer.worlds.tau import verifier
from trainer.worlds.tau.desks import DESKS
from trainer.worlds.tau2.case import NamedCall, Side, read_case
from trainer.worlds.tau2.database import Database
from trainer.worlds.tau2.office import Office, Outcome

RETAIL = {
    "calculate", "cancel_pending_order", "exchange_delivered_order_items", "find_user_id_by_email",
    "find_user_id_by_name_zip", "get_order_details", "get_product_details", "get_user_details",
    "list_all_product_types", "modify_pending_order_address", "modify_pending_order_items",
    "modify_pending_order_payment", "modify_user_address", "return_delivered_order_items", "think",
    "transfer_to_human_agents",
}  # fmt: skip
AIRLINE = {
    "book_reservation", "calculate", "cancel_reservation", "get_reservation_details",
    "get_user_details", "list_all_airports", "search_direct_flight", "search_onestop_flight",
    "send_certificate", "think", "transfer_to_human_agents", "update_reservation_baggages",
    "update_reservation_flights", "update_reservation_passengers",
}  # fmt: skip


def task_named(name: str) -> Task:
    (found,) = (task for task in catalog.tasks("tau", "train") if task.id == name)
    return found


def office_of(task: Task) -> Office:
    base = verifier.bases_of(task)
    return Office(DESKS[task.payload["domain"]], Database(base.agent), Database(base.user))


def gold(task: Task) -> dict[str, Any]:
    """The arguments of the last gold action."""
    return dict(read_case(task.payload["record"]).actions[-1].call.arguments)


def call(office: Office, name: str, **arguments: Any) -> Outcome:
    return office.call(NamedCall(Side.AGENT, name, arguments))


def test_each_desk_has_the_tools_of_the_older_benchmark() -> None:
    assert set(DESKS["retail"].agent.tools) == RETAIL
    assert set(DESKS["airline"].agent.tools) == AIRLINE


@pytest.mark.parametrize(
    ("desk", "newer"), [("retail", "tau2_retail"), ("airline", "tau2_airline")]
)
def test_a_tool_that_both_benchmarks_have_takes_the_same_arguments(desk: str, newer: str) -> None:
    tools = importlib.import_module(f"trainer.worlds.{newer}.tools").DOMAIN.agent.tools
    for name, tool in DESKS[desk].agent.tools.items():
        if name != "think":
            assert tool.signature == tools[name].signature, name


def test_a_thought_says_and_changes_nothing() -> None:
    office = office_of(task_named("tau-shop-cancel-1"))
    outcome = call(office, "think", thought="What now?")
    assert (outcome.text, outcome.ok, office.agent.changes()) == ("", True, [])


def test_a_booking_takes_no_seats_and_has_no_state_until_it_is_cancelled() -> None:
    task = task_named("tau-trip-book-together-1")
    office, arguments = office_of(task), gold(task)
    assert call(office, "book_reservation", **arguments).ok
    touched = {change.pointer.split("/")[1] for change in office.agent.changes()}
    assert touched == {"reservations", "users"}
    assert "status" not in office.agent.get("reservations", "HATHAT")
    assert call(office, "cancel_reservation", reservation_id="HATHAT").ok
    assert office.agent.get("reservations", "HATHAT", "status") == "cancelled"


def test_a_change_of_cabin_is_paid_and_leaves_the_cabin_as_it_was_noted() -> None:
    task = task_named("tau-trip-upgrade-1")
    office, arguments = office_of(task), gold(task)
    name = arguments["reservation_id"]
    assert arguments["cabin"] == "business"
    before = office.agent.get("reservations", name, "flights", 0, "price")
    assert call(office, "update_reservation_flights", **arguments).ok
    reservation = office.agent.get("reservations", name)
    assert reservation["cabin"] == "basic_economy"
    paid = reservation["flights"][0]["price"] - before
    assert paid > 0 and reservation["payment_history"][-1]["amount"] == paid


def test_airports_are_named_by_their_codes() -> None:
    office = office_of(task_named("tau-trip-bags-1"))
    assert '"AMS": "Amsterdam"' in call(office, "list_all_airports").text


def test_a_flight_found_is_shown_without_an_empty_date() -> None:
    task = task_named("tau-trip-book-alone-1")
    (look,) = (
        action.call
        for action in read_case(task.payload["record"]).actions
        if action.call.name == "search_direct_flight"
    )
    text = office_of(task).call(look).text
    assert '"prices"' in text and '"date"' not in text


@pytest.mark.parametrize("name", ["tau-shop-change-one-1", "tau-shop-exchange-one-2"])
def test_an_item_may_be_replaced_by_itself_as_forty_nine_real_tasks_want(name: str) -> None:
    task = task_named(name)
    office, arguments = office_of(task), gold(task)
    name = read_case(task.payload["record"]).actions[-1].call.name
    same = arguments | {"new_item_ids": arguments["item_ids"]}
    assert call(office, name, **same).ok


def test_an_order_whose_items_were_modified_keeps_its_address() -> None:
    task = task_named("tau-shop-change-one-1")
    office, arguments = office_of(task), gold(task)
    order = office.agent.get("orders", arguments["order_id"])
    moved = {"order_id": arguments["order_id"], **order["address"]} | {"address1": "1 New Road"}
    assert call(office, "modify_pending_order_address", **moved).ok
    assert call(office, "modify_pending_order_items", **arguments).ok
    refused = call(office, "modify_pending_order_address", **moved)
    assert refused.text == "Error: Non-pending order cannot be modified"
