"""The telecom domain: both toolkits, and what keeps the phone and the carrier's records in line.

The phone does not read the carrier's records: after each call the state of its line is copied to
the user's surroundings, a payment that was made is booked, and a bill that waits is shown.
"""

from __future__ import annotations

from trainer.worlds.tau2.office import Domain, Office
from trainer.worlds.tau2.toolkit import toolkit

from . import (  # noqa: TID252 - the folder is loaded by path
    accounts,
    agent_setups,
    agent_tools,
    phone_looks,
    phone_setups,
    phone_switches,
    requests,
)


def synchronise(office: Office) -> None:
    """Bring phone and records in line; a second time changes nothing.

    Raises:
        ToolError: if the phone has a number that is no line's: the task is wrong.
    """
    number = office.user.get("surroundings", "phone_number")
    if number is None:
        return
    line = accounts.line_by_phone(office.agent, number)
    plan = accounts.plan(office.agent, line["plan_id"])
    allowance = plan["data_limit_gb"] + line["data_refueling_gb"]
    _surround(office, "line_active", line["status"] == "Active")
    _surround(office, "roaming_allowed", bool(line["roaming_enabled"]))
    _surround(office, "mobile_data_usage_exceeded", line["data_used_gb"] >= allowance)
    _book_payment(office)
    if office.user.get("surroundings", "payment_request") is None:
        _show_waiting_bill(office, number)


def _surround(office: Office, key: str, value: bool) -> None:
    if office.user.get("surroundings", key) is not value:
        office.user.put(value, "surroundings", key)


def _book_payment(office: Office) -> None:
    request = office.user.get("surroundings", "payment_request")
    if request is not None and request["paid"]:
        place = accounts.bill_at(office.agent, request["bill_id"])
        office.agent.put("Paid", "bills", place, "status")
        office.user.put(None, "surroundings", "payment_request")


def _show_waiting_bill(office: Office, number: str) -> None:
    if all(bill["status"] != accounts.AWAITING for bill in office.agent.get("bills")):
        return
    customer = accounts.customer_by_phone(office.agent, number)
    waiting = accounts.bills_of(office.agent, customer["customer_id"], accounts.AWAITING)
    if waiting:
        bill = waiting[0]
        asked = {"bill_id": bill["bill_id"], "amount_due": bill["total_due"], "paid": False}
        office.user.put(asked, "surroundings", "payment_request")


DOMAIN = Domain(
    name="telecom",
    agent=toolkit(*agent_tools.TOOLS, setups=agent_setups.SETUPS, checks=agent_setups.CHECKS),
    user=toolkit(
        *phone_looks.TOOLS,
        *phone_switches.TOOLS,
        setups=phone_setups.SETUPS,
        checks=phone_setups.CHECKS,
    ),
    sync=synchronise,
    heeds=requests.asked_of,
)
"""The carrier's tools, the phone's, and what holds them together."""
