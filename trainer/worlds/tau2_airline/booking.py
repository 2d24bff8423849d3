"""Tools that make reservations and end them, and the certificate that makes up for trouble.

None of them knows the policy: whether a booking may be cancelled is for the agent to see.
"""

from __future__ import annotations

from typing import Any, Literal

from trainer.worlds.tau2.database import Database
from trainer.worlds.tau2.toolkit import ToolError, write

from . import records  # noqa: TID252 - the folder is loaded by path
from .records import Cabin, FlightInfo, Passenger, Payment  # noqa: TID252

INSURANCE = 30
"""Dollars for each passenger."""
EXTRA_BAG = 50
"""Dollars for each bag that is not free."""
_NEW_IDS = ("HATHAT", "HATHAU", "HATHAV")
_CERTIFICATES = ("certificate_3221322", "certificate_3221323", "certificate_3221324")


@write
def book_reservation(
    db: Database,
    user_id: str,
    origin: str,
    destination: str,
    flight_type: Literal["round_trip", "one_way"],
    cabin: Cabin,
    flights: list[FlightInfo | dict],
    passengers: list[Passenger | dict],
    payment_methods: list[Payment | dict],
    total_baggages: int,
    nonfree_baggages: int,
    insurance: Literal["yes", "no"],
) -> dict[str, Any]:
    """Book flights for passengers; the payments must add up to the price."""
    user = records.user(db, user_id)
    reservation_id = next((name for name in _NEW_IDS if not db.get("reservations", name)), None)
    if reservation_id is None:
        raise ToolError("Too many reservations")
    travellers = records.entries(passengers, records.PASSENGER.fields)
    wanted = records.entries(flights, ("flight_number", "date"))
    payments = records.entries(payment_methods, records.PAYMENT.fields)
    segments = [records.segment(db, one, cabin, len(travellers)) for one in wanted]
    total = sum(one["price"] for one in segments) * len(travellers)
    total += INSURANCE * len(travellers) if insurance == "yes" else 0
    total += EXTRA_BAG * nonfree_baggages
    _check_payments(user, payments, total)
    _take_payments(db, user_id, payments)
    for one in segments:
        db.edit("flights", one["flight_number"], "dates", one["date"], "available_seats")[
            cabin
        ] -= len(travellers)
    values = (
        reservation_id, user_id, origin, destination, flight_type, cabin, segments, travellers,
        payments, records.NOW, total_baggages, nonfree_baggages, insurance, None,
    )  # fmt: skip
    reservation: dict[str, Any] = dict(zip(records.RESERVATION.fields, values, strict=True))
    db.put(reservation, "reservations", reservation_id)
    db.edit("users", user_id, "reservations").append(reservation_id)
    return reservation


@write
def cancel_reservation(db: Database, reservation_id: str) -> dict[str, Any]:
    """Cancel a whole reservation; all payments go back to where they came from in some days."""
    records.reservation(db, reservation_id)
    reservation = db.edit("reservations", reservation_id)
    reservation["payment_history"] += [
        {"payment_id": payment["payment_id"], "amount": -payment["amount"]}
        for payment in reservation["payment_history"]
    ]
    reservation["status"] = "cancelled"
    return reservation


@write
def send_certificate(db: Database, user_id: str, amount: int) -> str:
    """Give a user a travel certificate of so many dollars."""
    methods = records.user(db, user_id)["payment_methods"]
    name = next((name for name in _CERTIFICATES if name not in methods), None)
    if name is None:
        raise ToolError("Too many certificates")
    certificate = {"source": "certificate", "id": name, "amount": amount}
    db.edit("users", user_id, "payment_methods")[name] = certificate
    return f"Certificate {name} added to user {user_id} with amount {amount}."


def _check_payments(user: dict[str, Any], payments: list[dict[str, Any]], total: float) -> None:
    methods = user["payment_methods"]
    names = [payment["payment_id"] for payment in payments]
    for payment in payments:
        name = payment["payment_id"]
        if names.count(name) > 1 or payment["amount"] < 0:
            raise ToolError(f"Payment method {name} pays once, and not a negative amount")
        if name not in methods:
            raise ToolError(f"Payment method {name} not found")
        # A credit card has no balance here.
        if methods[name].get("amount", payment["amount"]) < payment["amount"]:
            raise ToolError(f"Not enough balance in payment method {name}")
    paid = sum(payment["amount"] for payment in payments)
    if paid != total:
        raise ToolError(f"Payment amount does not add up, total price is {total}, but paid {paid}")


def _take_payments(db: Database, user_id: str, payments: list[dict[str, Any]]) -> None:
    """Lower what gift cards hold; a certificate is used up whole."""
    for payment in payments:
        methods = db.edit("users", user_id, "payment_methods")
        method = methods[payment["payment_id"]]
        if method["source"] == "gift_card":
            method["amount"] -= payment["amount"]
        elif method["source"] == "certificate":
            del methods[payment["payment_id"]]
