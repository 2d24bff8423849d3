"""Records of the airline: their form, and the ways to one of them.

Database: `flights` (with what is so on each date), `users` and `reservations`, each by id. A record
that is not there is refused in words that the caller reads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from trainer.worlds.tau2.database import Database
from trainer.worlds.tau2.forms import Form
from trainer.worlds.tau2.toolkit import ToolError
from trainer.worlds.tau2.values import is_number

NOW = "2024-05-15T15:00:00"
"""The moment at which every dialogue takes place."""

Cabin = Literal["business", "economy", "basic_economy"]

USER = Form(
    "user_id", "name", "address", "email", "dob", "payment_methods", "saved_passengers",
    "membership", "reservations",
)  # fmt: skip
NAME = Form("first_name", "last_name")
ADDRESS = Form("address1", "address2", "city", "country", "state", "zip")
METHOD = Form("source", "id", "brand", "last_four", "amount")
RESERVATION = Form(
    "reservation_id", "user_id", "origin", "destination", "flight_type", "cabin", "flights",
    "passengers", "payment_history", "created_at", "total_baggages", "nonfree_baggages",
    "insurance", "status",
)  # fmt: skip
SEGMENT = Form("flight_number", "origin", "destination", "date", "price")
PASSENGER = Form("first_name", "last_name", "dob")
PAYMENT = Form("payment_id", "amount")


@dataclass(frozen=True)
class FlightInfo:
    """A flight on a date."""

    flight_number: str
    date: str


@dataclass(frozen=True)
class Passenger:
    """Who flies."""

    first_name: str
    last_name: str
    dob: str


@dataclass(frozen=True)
class Payment:
    """An amount in dollars by a payment method."""

    payment_id: str
    amount: int


def shape(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return an airline's database with all fields in one order; ids stand in their records."""
    return {
        "flights": dict(content["flights"]),
        "users": {key: _user(key, record) for key, record in content["users"].items()},
        "reservations": {
            key: _reservation(record) for key, record in content["reservations"].items()
        },
    }


def user(db: Database, user_id: str) -> dict[str, Any]:
    """Return a user to be read.

    Raises:
        ToolError: if there is none of that id.
    """
    return _found(db.get("users", user_id), f"User {user_id} not found")


def reservation(db: Database, reservation_id: str) -> dict[str, Any]:
    """Return a reservation to be read.

    Raises:
        ToolError: if there is none of that id.
    """
    found = db.get("reservations", reservation_id)
    return _found(found, f"Reservation {reservation_id} not found")


def flight(db: Database, flight_number: str) -> dict[str, Any]:
    """Return a flight to be read.

    Raises:
        ToolError: if there is none of that number.
    """
    return _found(db.get("flights", flight_number), f"Flight {flight_number} not found")


def flight_on(db: Database, flight_number: str, date: str) -> dict[str, Any]:
    """Return what is so with a flight on a date.

    Raises:
        ToolError: if it does not fly on that date.
    """
    found = flight(db, flight_number)["dates"].get(date)
    return _found(found, f"Flight {flight_number} not found on date {date}")


def segment(
    db: Database, wanted: Mapping[str, Any], cabin: str, num_passengers: int
) -> dict[str, Any]:
    """Return a flight at today's price as a reservation notes it.

    Args:
        db: The database.
        wanted: Number and date of the flight.
        cabin: Cabin class, for the price and the seats.
        num_passengers: Seats that must be free.

    Raises:
        ToolError: if the flight is not on sale on that date, or has too few seats.
    """
    number, date = wanted["flight_number"], wanted["date"]
    state = flight_on(db, number, date)
    if state["status"] != "available":
        raise ToolError(f"Flight {number} not available on date {date}")
    if state["available_seats"][cabin] < num_passengers:
        raise ToolError(f"Not enough seats on flight {number}")
    found = flight(db, number)
    values = (number, found["origin"], found["destination"], date, state["prices"][cabin])
    return dict(zip(SEGMENT.fields, values, strict=True))


def entries(given: Sequence[Any], fields: Sequence[str]) -> list[dict[str, Any]]:
    """Return given records with just these fields, each of them text, an amount a number.

    Raises:
        ToolError: if a record lacks one.
    """
    for record in given:
        for field in fields:
            found = record.get(field)
            if not (is_number(found) if field == "amount" else isinstance(found, str)):
                raise ToolError(
                    f"each entry needs {', '.join(fields)}; {field} is missing or wrong"
                )
    return [{field: record[field] for field in fields} for record in given]


def _found(record: Any, refusal: str) -> Any:
    if record is None:
        raise ToolError(refusal)
    return record


def _user(user_id: str, record: Mapping[str, Any]) -> dict[str, Any]:
    whole = {
        # The older benchmark's users do not carry their ids.
        "user_id": user_id,
        **record,
        "name": NAME.of(record["name"]),
        "address": ADDRESS.of(record["address"]),
        "payment_methods": {
            key: _method(entry) for key, entry in record["payment_methods"].items()
        },
        "saved_passengers": [PASSENGER.of(entry) for entry in record["saved_passengers"]],
    }
    return USER.of(whole)


def _method(record: Mapping[str, Any]) -> dict[str, Any]:
    picked = METHOD.of(record)
    return picked | ({"amount": float(picked["amount"])} if "amount" in picked else {})


def _reservation(record: Mapping[str, Any]) -> dict[str, Any]:
    whole = {
        "status": None,
        **record,
        "flights": [SEGMENT.of(entry) for entry in record["flights"]],
        "passengers": [PASSENGER.of(entry) for entry in record["passengers"]],
        "payment_history": [PAYMENT.of(entry) for entry in record["payment_history"]],
    }
    return RESERVATION.of(whole)
