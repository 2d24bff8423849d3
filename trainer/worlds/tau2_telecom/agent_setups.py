"""What task data does to the carrier's records before a dialogue, and asks of them after it.

Agents can call none of these.
"""

from __future__ import annotations

from datetime import timedelta

from trainer.worlds.tau2.database import Database
from trainer.worlds.tau2.toolkit import ToolError

from . import accounts  # noqa: TID252 - the folder is loaded by path
from .accounts import GRACE, TODAY  # noqa: TID252

_SLACK = 1e-6


def set_data_usage(db: Database, customer_id: str, line_id: str, data_used_gb: float) -> None:
    """Say how much data a line has used."""
    place = accounts.own_line_at(db, customer_id, line_id)
    db.put(data_used_gb, "lines", place, "data_used_gb")


def suspend_line_for_overdue_bill(
    db: Database, customer_id: str, line_id: str, new_bill_id: str, contract_ended: bool
) -> None:
    """Suspend an active line over a bill of last month; its contract may have ended, too."""
    place = accounts.line_at(db, line_id)
    if db.get("lines", place, "status") != "Active":
        raise ToolError("Line must be active to suspend for unpaid bill")
    if accounts.bills_of(db, customer_id, "Overdue"):
        raise ToolError("Customer already has an overdue bill")
    last_day = TODAY.replace(day=1) - timedelta(days=1)
    first_day = last_day.replace(day=1)
    price = accounts.plan(db, db.get("lines", place, "plan_id"))["price_per_month"]
    content = {
        "bill_id": new_bill_id,
        "customer_id": customer_id,
        "period_start": first_day.isoformat(),
        "period_end": last_day.isoformat(),
        "issue_date": first_day.isoformat(),
        "total_due": price,
        "due_date": (first_day + GRACE).isoformat(),
        "line_items": [accounts.item(price, f"Charge for line {line_id}")],
        "status": "Overdue",
    }
    accounts.add_bill(db, customer_id, content)
    db.put("Suspended", "lines", place, "status")
    db.put(TODAY.isoformat(), "lines", place, "suspension_start_date")
    if contract_ended:
        db.put(last_day.isoformat(), "lines", place, "contract_end_date")


def assert_data_refueling_amount(
    db: Database, customer_id: str, line_id: str, expected_amount: float
) -> bool:
    """Return whether a line was refueled with just that much, in GB."""
    place = accounts.own_line_at(db, customer_id, line_id)
    return abs(db.get("lines", place, "data_refueling_gb") - expected_amount) < _SLACK


def assert_line_status(db: Database, customer_id: str, line_id: str, expected_status: str) -> bool:
    """Return whether a line has a status."""
    place = accounts.own_line_at(db, customer_id, line_id)
    return db.get("lines", place, "status") == expected_status


def assert_overdue_bill_exists(db: Database, customer_id: str, overdue_bill_id: str) -> bool:
    """Return whether a bill of the customer's is overdue."""
    owned = overdue_bill_id in accounts.customer(db, customer_id)["bill_ids"]
    return owned and accounts.bill(db, overdue_bill_id)["status"] == "Overdue"


def assert_no_overdue_bill(db: Database, overdue_bill_id: str) -> bool:
    """Return whether a bill is paid, or was never there."""
    bills = [entry for entry in db.get("bills") if entry["bill_id"] == overdue_bill_id]
    return all(entry["status"] == "Paid" for entry in bills)


SETUPS = (set_data_usage, suspend_line_for_overdue_bill)
CHECKS = (
    assert_data_refueling_amount,
    assert_line_status,
    assert_overdue_bill_exists,
    assert_no_overdue_bill,
)
