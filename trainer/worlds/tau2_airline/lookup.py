"""Tools that look: users, reservations, airports and flights."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date as Date
from datetime import timedelta
from typing import Any

from trainer.worlds.tau2.database import Database
from trainer.worlds.tau2.toolkit import ToolError, read

from . import records  # noqa: TID252 - the folder is loaded by path
from .airports import CITIES  # noqa: TID252

NEXT_DAY = "+1"
"""Stands behind an arrival time on the day after departure."""


@read
def get_user_details(db: Database, user_id: str) -> dict[str, Any]:
    """Show a user's profile: payment methods, membership and reservation ids among others."""
    return records.user(db, user_id)


@read
def get_reservation_details(db: Database, reservation_id: str) -> dict[str, Any]:
    """Show a reservation, such as `8JX2WO`."""
    return records.reservation(db, reservation_id)


@read
def list_all_airports(db: Database) -> list[dict[str, str]]:
    """List the airports with their codes and cities."""
    flights = db.root["flights"].values()
    codes = sorted({flight[end] for flight in flights for end in ("origin", "destination")})
    return [{"iata": code, "city": CITIES.get(code, code)} for code in codes]


@read
def search_direct_flight(
    db: Database, origin: str, destination: str, date: str
) -> list[dict[str, Any]]:
    """Find direct flights on sale between two airports on a date, such as `2024-05-20`."""
    return list(_on_sale(db, date, origin=origin, destination=destination))


@read
def search_onestop_flight(
    db: Database, origin: str, destination: str, date: str
) -> list[list[dict[str, Any]]]:
    """Find pairs of flights on sale with one stop, the first of which leaves on the date."""
    pairs = []
    for first in _on_sale(db, date, origin=origin):
        arrival = first["scheduled_arrival_time_est"]
        second_date = _day_after(date) if NEXT_DAY in arrival else date
        for second in _on_sale(
            db, second_date, origin=first["destination"], destination=destination
        ):
            if second["scheduled_departure_time_est"] >= arrival.removesuffix(NEXT_DAY):
                pairs.append([{**first, "date": date}, {**second, "date": second_date}])
    return pairs


@read
def get_flight_status(db: Database, flight_number: str, date: str) -> str:
    """Say what is so with a flight on a date: available, on time, delayed, cancelled, landed..."""
    return records.flight_on(db, flight_number, date)["status"]


def _on_sale(
    db: Database, date: str, *, origin: str, destination: str | None = None
) -> Iterator[dict[str, Any]]:
    for flight in db.root["flights"].values():
        if flight["origin"] != origin or destination not in (None, flight["destination"]):
            continue
        state = flight["dates"].get(date)
        if state is not None and state["status"] == "available":
            yield {
                "flight_number": flight["flight_number"],
                "origin": flight["origin"],
                "destination": flight["destination"],
                "status": "available",
                "scheduled_departure_time_est": flight["scheduled_departure_time_est"],
                "scheduled_arrival_time_est": flight["scheduled_arrival_time_est"],
                "date": None,
                "available_seats": state["available_seats"],
                "prices": state["prices"],
            }


def _day_after(date: str) -> str:
    try:
        return (Date.fromisoformat(date) + timedelta(days=1)).isoformat()
    except (ValueError, OverflowError) as error:
        raise ToolError(f"{date[:20]!r} is no date; write it as 2024-05-20") from error
