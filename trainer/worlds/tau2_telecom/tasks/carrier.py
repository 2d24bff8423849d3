"""Two small carriers of our own: one for training, one, with other people, for evaluation.

Each has plans, customers with lines and phones, and the bills of the last month and the next.
Nothing in it belongs to anybody.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple


class Person(NamedTuple):
    """A customer with one line and the phone on it."""

    name: str
    born: str
    """YYYY-MM-DD."""
    city: str
    number: str
    plan: str
    used_gb: float
    roaming: bool
    place: str
    """Where the customer is when calling from abroad."""


TRAINING = (
    Person("Dana Okafor", "1988-03-09", "Leeds", "555-310-4401", "P21", 1.4, False, "Portugal"),
    Person("Milan Horvat", "1979-11-30", "Bath", "555-310-4402", "P22", 6.2, True, "Norway"),
    Person("Ines Duarte", "1994-07-17", "York", "555-310-4403", "P21", 2.6, False, "Greece"),
    Person("Tom Berglund", "1967-01-22", "Truro", "555-310-4404", "P23", 18.0, True, "Japan"),
    Person("Aisha Rahman", "1990-05-05", "Derby", "555-310-4405", "P22", 9.9, False, "Egypt"),
    Person("Owen Pritchard", "1982-09-13", "Wells", "555-310-4406", "P23", 3.1, False, "Peru"),
    Person("Sofia Lindqvist", "1999-12-01", "Ripon", "555-310-4407", "P21", 0.8, True, "Chile"),
    Person("Hugo Marchetti", "1973-04-26", "Exeter", "555-310-4408", "P22", 4.5, True, "Kenya"),
)
EVALUATION = (
    Person("Leila Haddad", "1986-08-19", "Oban", "555-470-9011", "P31", 2.2, False, "Spain"),
    Person("Jonas Weber", "1992-02-03", "Perth", "555-470-9012", "P32", 7.7, True, "Brazil"),
    Person("Grace Nakamura", "1971-10-28", "Elgin", "555-470-9013", "P33", 11.3, False, "India"),
    Person("Pavel Novotny", "1997-06-11", "Nairn", "555-470-9014", "P31", 0.4, True, "Malta"),
)

PLANS = (
    ("Small", 3.0, 12.0, 4.0),
    ("Medium", 12.0, 24.0, 2.5),
    ("Large", 40.0, 39.0, 1.0),
)
"""Name, GB a month, price a month, price of a refueled GB."""


def carrier(people: Sequence[Person], series: int) -> dict[str, Any]:
    """Return the records of a carrier.

    Args:
        people: Its customers.
        series: Begins every id, so that no id is in two carriers.
    """
    content: dict[str, Any] = {"plans": _plans(series)}
    tables = ("customers", "lines", "bills", "devices")
    content |= {table: [] for table in tables}
    for index, person in enumerate(people, start=1):
        rows = _rows(person, series * 100 + index)
        for table, entries in zip(tables, rows, strict=True):
            content[table] += entries
    return content


def phone() -> dict[str, Any]:
    """Return the phone that every caller has, with nothing wrong; other fields keep defaults."""
    return {"device": {"battery_level": 67}}


def _plans(series: int) -> list[dict[str, Any]]:
    return [
        {
            "plan_id": f"P{series}{index}",
            "name": f"{name} {series}",
            "data_limit_gb": limit,
            "price_per_month": price,
            "data_refueling_price_per_gb": refuel,
        }
        for index, (name, limit, price, refuel) in enumerate(PLANS, start=1)
    ]


def _rows(person: Person, code: int) -> tuple[list[dict[str, Any]], ...]:
    price = PLANS[int(person.plan[-1]) - 1][2]
    first, last = person.name.lower().split()
    customer = {
        "customer_id": f"C{code}",
        "full_name": person.name,
        "date_of_birth": person.born,
        "email": f"{first}.{last}@mail.example",
        "phone_number": person.number,
        "address": {
            "street": f"{code % 100} Mill Lane",
            "city": person.city,
            "state": "UK",
            "zip_code": f"{code}X",
        },
        "account_status": "Active",
        "payment_methods": [
            {
                "method_type": "Debit Card",
                "account_number_last_4": f"{code:04d}",
                "expiration_date": "09/2027",
            }
        ],
        "line_ids": [f"L{code}"],
        "bill_ids": [f"B{code}1", f"B{code}2"],
        "created_at": "2023-06-01T09:00:00",
    }
    line = {
        "line_id": f"L{code}",
        "phone_number": person.number,
        "status": "Active",
        "plan_id": person.plan,
        "device_id": f"D{code}",
        "data_used_gb": person.used_gb,
        "roaming_enabled": person.roaming,
        "contract_end_date": "2026-10-31",
    }
    device = {
        "device_id": f"D{code}",
        "device_type": "phone",
        "model": "Pebble 4",
        "is_esim_capable": False,
        "activated": True,
        "activation_date": "2023-06-02T10:15:00",
    }
    bills = [
        _bill(f"B{code}1", f"C{code}", "2025-02", price, "Issued"),
        _bill(f"B{code}2", f"C{code}", "2025-03", 0.0, "Draft"),
    ]
    return [customer], [line], bills, [device]


def _bill(bill_id: str, customer_id: str, month: str, total: float, status: str) -> dict[str, Any]:
    item = {
        "description": "Monthly price",
        "amount": total,
        "date": f"{month}-03",
        "item_type": "Plan Charge",
    }
    return {
        "bill_id": bill_id,
        "customer_id": customer_id,
        "period_start": f"{month}-01",
        "period_end": f"{month}-28" if month.endswith("02") else f"{month}-31",
        "issue_date": f"{month}-03",
        "total_due": total,
        "due_date": f"{month}-17",
        "line_items": [item] if total else [],
        "status": status,
    }
