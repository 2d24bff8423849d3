"""The agent's tools: looking customers up, lines, bills, data and roaming.

What a tool says is what the benchmark's tool says, to the letter; whether policy allows a call is
the agent's to know. Nothing here knows about the user's phone.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from trainer.worlds.tau2.database import Database
from trainer.worlds.tau2.toolkit import ToolError, generic, read, write

from . import accounts  # noqa: TID252 - the folder is loaded by path
from .accounts import TODAY  # noqa: TID252

_MOMENTS = ("created_at", "activation_date", "last_esim_transfer_date")
"""Fields that hold a day and a time; a tool shows them with a space between the two."""


@read
def get_customer_by_phone(db: Database, phone_number: str) -> dict[str, Any]:
    """Find a customer by their contact number or by the number of one of their lines."""
    return _shown(accounts.customer_by_phone(db, phone_number))


@read
def get_customer_by_id(db: Database, customer_id: str) -> dict[str, Any]:
    """Return a customer by their id."""
    return _shown(accounts.customer(db, customer_id))


@read
def get_customer_by_name(db: Database, full_name: str, dob: str) -> list[dict[str, Any]]:
    """Return the customers of a full name and a date of birth (YYYY-MM-DD)."""
    return [
        _shown(entry)
        for entry in db.get("customers")
        if entry["full_name"].lower() == full_name.lower() and entry["date_of_birth"] == dob
    ]


@read
def get_details_by_id(db: Database, id: str) -> dict[str, Any]:
    """Return the record of an id: a customer (C), line (L), device (D), bill (B) or plan (P)."""
    finders = {
        "L": accounts.line,
        "D": accounts.device,
        "B": accounts.bill,
        "C": accounts.customer,
        "P": accounts.plan,
    }
    finder = finders.get(id[:1])
    if finder is None:
        raise ToolError(f"Unknown ID format or type: {id}")
    return _shown(finder(db, id))


@write
def suspend_line(db: Database, customer_id: str, line_id: str, reason: str) -> dict[str, Any]:
    """Suspend an active line, for six months at most."""
    place = accounts.own_line_at(db, customer_id, line_id)
    if db.get("lines", place, "status") != "Active":
        raise ToolError("Line must be active to suspend")
    db.put("Suspended", "lines", place, "status")
    db.put(TODAY.isoformat(), "lines", place, "suspension_start_date")
    return {
        "message": "Line suspended successfully. $5/month holding fee will apply.",
        "line": _shown(db.get("lines", place)),
    }


@write
def resume_line(db: Database, customer_id: str, line_id: str) -> dict[str, Any]:
    """Resume a line that is suspended or waits for its activation."""
    place = accounts.own_line_at(db, customer_id, line_id)
    if db.get("lines", place, "status") not in ("Suspended", "Pending Activation"):
        raise ToolError("Line must be suspended to resume")
    db.put("Active", "lines", place, "status")
    db.put(None, "lines", place, "suspension_start_date")
    return {"message": "Line resumed successfully", "line": _shown(db.get("lines", place))}


@read
def get_bills_for_customer(db: Database, customer_id: str, limit: int = 12) -> list[dict[str, Any]]:
    """Return a customer's bills, the newest first."""
    bills = [accounts.bill(db, one) for one in accounts.customer(db, customer_id)["bill_ids"]]
    newest_first = sorted(bills, key=lambda bill: bill["issue_date"], reverse=True)
    return [_shown(bill) for bill in newest_first[:limit]]


@write
def send_payment_request(db: Database, customer_id: str, bill_id: str) -> str:
    """Ask the customer to pay a bill; whether it is paid already is not checked.

    Only one bill of a customer may wait for its payment.
    """
    if accounts.bills_of(db, customer_id, accounts.AWAITING):
        raise ToolError("A bill is already awaiting payment for this customer")
    if bill_id not in accounts.customer(db, customer_id)["bill_ids"]:
        raise ToolError(f"Bill {bill_id} not found for customer {customer_id}")
    db.put(accounts.AWAITING, "bills", accounts.bill_at(db, bill_id), "status")
    return f"Payment request sent to the customer for bill {bill_id}"


@read
def get_data_usage(db: Database, customer_id: str, line_id: str) -> dict[str, Any]:
    """Return what a line has used, may use and has refueled in this billing cycle."""
    entry = db.get("lines", accounts.own_line_at(db, customer_id, line_id))
    next_month = (TODAY.replace(day=1) + timedelta(days=32)).replace(day=1)
    return {
        "line_id": line_id,
        "data_used_gb": str(entry["data_used_gb"]),
        "data_limit_gb": str(accounts.plan(db, entry["plan_id"])["data_limit_gb"]),
        "data_refueling_gb": str(entry["data_refueling_gb"]),
        "cycle_end_date": (next_month - timedelta(days=1)).isoformat(),
    }


@write
def enable_roaming(db: Database, customer_id: str, line_id: str) -> str:
    """Allow a line to be used abroad."""
    return _set_roaming(db, customer_id, line_id, wanted=True)


@write
def disable_roaming(db: Database, customer_id: str, line_id: str) -> str:
    """Stop a line from being used abroad."""
    return _set_roaming(db, customer_id, line_id, wanted=False)


@generic
def transfer_to_human_agents(db: Database, summary: str) -> str:
    """Hand the user over to a human agent, with a summary of the issue.

    Only where the user asks for one, or where policy and tools leave no way to help.
    """
    return "Transfer successful"


@write
def refuel_data(db: Database, customer_id: str, line_id: str, gb_amount: float) -> dict[str, Any]:
    """Add data to a line and charge it on the next bill at the plan's rate."""
    amount = float(gb_amount)
    place = accounts.own_line_at(db, customer_id, line_id)
    if amount <= 0:
        raise ToolError("Refuel amount must be positive")
    price = accounts.plan(db, db.get("lines", place, "plan_id"))["data_refueling_price_per_gb"]
    charge = amount * price
    refueled = db.get("lines", place, "data_refueling_gb") + amount
    db.put(refueled, "lines", place, "data_refueling_gb")
    accounts.charge(db, customer_id, charge, f"Data refueling: {amount} GB at ${price}/GB")
    return {
        "message": f"Successfully added {amount} GB of data for line {line_id} for ${charge:.2f}",
        "new_data_refueling_gb": str(refueled),
        "charge": str(charge),
    }


def _set_roaming(db: Database, customer_id: str, line_id: str, *, wanted: bool) -> str:
    place = accounts.own_line_at(db, customer_id, line_id)
    word = "enabled" if wanted else "disabled"
    if db.get("lines", place, "roaming_enabled") is wanted:
        return f"Roaming was already {word}"
    db.put(wanted, "lines", place, "roaming_enabled")
    return f"Roaming {word} successfully"


def _shown(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record as a tool shows it."""
    return {
        key: value.replace("T", " ") if key in _MOMENTS and isinstance(value, str) else value
        for key, value in record.items()
    }


TOOLS = (
    get_customer_by_phone,
    get_customer_by_id,
    get_customer_by_name,
    get_details_by_id,
    suspend_line,
    resume_line,
    get_bills_for_customer,
    send_payment_request,
    get_data_usage,
    enable_roaming,
    disable_roaming,
    transfer_to_human_agents,
    refuel_data,
)
"""All of them, as a toolkit takes them."""
