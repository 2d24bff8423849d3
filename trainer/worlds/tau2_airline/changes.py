"""Tools that change reservations: flights and cabin, bags, and who flies.

None of them knows the policy: whether a change is allowed is for the agent to see. Seats are not
moved by a change.
"""

from __future__ import annotations

from typing import Any

from trainer.worlds.tau2.database import Database
from trainer.worlds.tau2.toolkit import ToolError, write

from . import records  # noqa: TID252 - the folder is loaded by path
from .booking import EXTRA_BAG  # noqa: TID252
from .records import Cabin, FlightInfo, Passenger  # noqa: TID252


@write
def update_reservation_flights(
    db: Database,
    reservation_id: str,
    cabin: Cabin,
    flights: list[FlightInfo | dict],
    payment_id: str,
) -> dict[str, Any]:
    """Set all flights and the cabin of a reservation; the difference in price is settled.

    Name every flight, also those that stay. One that stays in its cabin keeps its price.
    """
    reservation = records.reservation(db, reservation_id)
    num_passengers = len(reservation["passengers"])
    segments = []
    for wanted in records.entries(flights, ("flight_number", "date")):
        kept = next((one for one in reservation["flights"] if _is_same(one, wanted)), None)
        if kept is not None and cabin == reservation["cabin"]:
            segments.append(dict(kept))
        else:
            segments.append(records.segment(db, wanted, cabin, num_passengers))
    prices = [sum(one["price"] for one in part) for part in (segments, reservation["flights"])]
    difference = (prices[0] - prices[1]) * num_passengers
    payments = _settle(db, reservation["user_id"], payment_id, difference)
    reservation = db.edit("reservations", reservation_id)
    reservation["payment_history"] += payments
    reservation["flights"] = segments
    reservation["cabin"] = cabin
    return reservation


@write
def update_reservation_baggages(
    db: Database,
    reservation_id: str,
    total_baggages: int,
    nonfree_baggages: int,
    payment_id: str,
) -> dict[str, Any]:
    """Set the number of bags of a reservation, and how many of them are not free."""
    reservation = records.reservation(db, reservation_id)
    price = EXTRA_BAG * max(0, nonfree_baggages - reservation["nonfree_baggages"])
    payments = _settle(db, reservation["user_id"], payment_id, price)
    reservation = db.edit("reservations", reservation_id)
    reservation["payment_history"] += payments
    reservation["total_baggages"] = total_baggages
    reservation["nonfree_baggages"] = nonfree_baggages
    return reservation


@write
def update_reservation_passengers(
    db: Database, reservation_id: str, passengers: list[Passenger | dict]
) -> dict[str, Any]:
    """Set who flies; the number of passengers stays."""
    reservation = records.reservation(db, reservation_id)
    if len(passengers) != len(reservation["passengers"]):
        raise ToolError("Number of passengers does not match")
    travellers = records.entries(passengers, records.PASSENGER.fields)
    reservation = db.edit("reservations", reservation_id)
    reservation["passengers"] = travellers
    return reservation


def _settle(db: Database, user_id: str, payment_id: str, amount: float) -> list[dict[str, Any]]:
    """Take an amount, or give it back where it is negative; return what the history notes."""
    method = records.user(db, user_id)["payment_methods"].get(payment_id)
    if method is None:
        raise ToolError("Payment method not found")
    if method["source"] == "certificate":
        raise ToolError("Certificate cannot be used to update reservation")
    if method["source"] == "gift_card":
        if method["amount"] < amount:
            raise ToolError("Gift card balance is not enough")
        if amount:
            db.edit("users", user_id, "payment_methods", payment_id)["amount"] -= amount
    return [{"payment_id": payment_id, "amount": amount}] if amount else []


def _is_same(segment: dict[str, Any], wanted: dict[str, Any]) -> bool:
    return all(segment[field] == wanted[field] for field in ("flight_number", "date"))
