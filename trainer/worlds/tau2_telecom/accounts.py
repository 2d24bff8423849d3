"""The carrier's records: customers, lines, plans and bills found by what callers know of them.

Finds positions rather than copies, so that whoever changes a record names its place. Raises
`ToolError` with the words that a caller of a tool reads. Nothing here changes a record but
`charge`, which puts an item on the next bill.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any

from trainer.worlds.tau2.database import Database
from trainer.worlds.tau2.toolkit import ToolError

TODAY = date(2025, 2, 25)
"""The day on which every dialogue takes place."""
GRACE = timedelta(days=14)
"""Between a bill's issue and its due date."""
AWAITING = "Awaiting Payment"
"""Status of a bill that the customer was asked to pay."""

Record = Mapping[str, Any]


def customer_at(db: Database, customer_id: str) -> int:
    """Return where a customer stands among `customers`."""
    return _at(db, "customers", "customer_id", customer_id, "Customer with ID {} not found")


def line_at(db: Database, line_id: str) -> int:
    """Return where a line stands among `lines`."""
    return _at(db, "lines", "line_id", line_id, "Line with ID {} not found")


def bill_at(db: Database, bill_id: str) -> int:
    """Return where a bill stands among `bills`."""
    return _at(db, "bills", "bill_id", bill_id, "Bill with ID {} not found")


def customer(db: Database, customer_id: str) -> Record:
    """Return a customer, to be read."""
    return db.get("customers", customer_at(db, customer_id))


def line(db: Database, line_id: str) -> Record:
    """Return a line, to be read."""
    return db.get("lines", line_at(db, line_id))


def bill(db: Database, bill_id: str) -> Record:
    """Return a bill, to be read."""
    return db.get("bills", bill_at(db, bill_id))


def plan(db: Database, plan_id: str) -> Record:
    """Return a plan, to be read."""
    return db.get("plans", _at(db, "plans", "plan_id", plan_id, "Plan with ID {} not found"))


def device(db: Database, device_id: str) -> Record:
    """Return a device, to be read."""
    place = _at(db, "devices", "device_id", device_id, "Device with ID {} not found")
    return db.get("devices", place)


def customer_by_phone(db: Database, phone_number: str) -> Record:
    """Return the customer whose contact number or line it is."""
    for entry in db.get("customers"):
        if entry["phone_number"] == phone_number:
            return entry
        if any(line(db, one)["phone_number"] == phone_number for one in entry["line_ids"]):
            return entry
    raise ToolError(f"Customer with phone number {phone_number} not found")


def line_by_phone(db: Database, phone_number: str) -> Record:
    """Return the line of a number."""
    message = "Line with phone number {} not found"
    return db.get("lines", _at(db, "lines", "phone_number", phone_number, message))


def own_line_at(db: Database, customer_id: str, line_id: str) -> int:
    """Return where a customer's own line stands among `lines`."""
    if line_id not in customer(db, customer_id)["line_ids"]:
        raise ToolError(f"Line {line_id} not found for customer {customer_id}")
    return line_at(db, line_id)


def bills_of(db: Database, customer_id: str, status: str) -> list[Record]:
    """Return a customer's bills of one status, in the order of the account."""
    found = [bill(db, bill_id) for bill_id in customer(db, customer_id)["bill_ids"]]
    return [entry for entry in found if entry["status"] == status]


def charge(db: Database, customer_id: str, amount: float, description: str) -> None:
    """Put a charge on the customer's next bill, which is drafted where there is none."""
    drafts = bills_of(db, customer_id, "Draft")
    bill_id = drafts[0]["bill_id"] if drafts else _draft_bill(db, customer_id)
    draft = db.edit("bills", bill_at(db, bill_id))
    draft["line_items"].append(item(amount, description))
    draft["total_due"] += amount


def add_bill(db: Database, customer_id: str, content: dict[str, Any]) -> None:
    """Add a bill to the records and to its customer's account."""
    db.edit("bills").append(content)
    db.edit("customers", customer_at(db, customer_id), "bill_ids").append(content["bill_id"])


def item(amount: float, description: str) -> dict[str, Any]:
    """Return an item of a bill, dated today."""
    return {
        "description": description,
        "amount": amount,
        "date": TODAY.isoformat(),
        "item_type": "Credit" if amount < 0 else "Charge",
    }


def _draft_bill(db: Database, customer_id: str) -> str:
    """Draft the bill of the next month and return its id.

    The id is a digest of whose bill it is: drawn at random, as in the public tools, it would make
    every state that holds one differ from every other.
    """
    count = len(customer(db, customer_id)["bill_ids"])
    bill_id = "B" + hashlib.sha256(f"{customer_id} {count}".encode()).hexdigest()[:8]
    start = (TODAY.replace(day=1) + timedelta(days=32)).replace(day=1)
    end = (start + timedelta(days=32)).replace(day=1) - timedelta(days=1)
    content = {
        "bill_id": bill_id,
        "customer_id": customer_id,
        "period_start": start.isoformat(),
        "period_end": end.isoformat(),
        "issue_date": start.isoformat(),
        "total_due": 0.0,
        "due_date": (start + GRACE).isoformat(),
        "line_items": [],
        "status": "Draft",
    }
    add_bill(db, customer_id, content)
    return bill_id


def _at(db: Database, table: str, key: str, value: str, message: str) -> int:
    for index, entry in enumerate(db.get(table)):
        if entry[key] == value:
            return index
    raise ToolError(message.format(value))
