"""The airline's desk: tau2's tools, without flight states, and with less written down.

In the older benchmark a booking takes no seats from the flights and has no state until it is
cancelled, and a change of flights leaves the cabin of the reservation as it was noted.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from trainer.worlds.tau2.database import Database
from trainer.worlds.tau2.office import Domain
from trainer.worlds.tau2.toolkit import read, toolkit
from trainer.worlds.tau2_airline import booking, changes, lookup, records

from .older import GENERIC  # noqa: TID252 - the folder is loaded by path


def _book(db: Database, **wish: Any) -> dict[str, Any]:
    booked = booking.book_reservation.function(db, **wish)
    for segment in booked["flights"]:
        place = ("flights", segment["flight_number"], "dates", segment["date"], "available_seats")
        db.edit(*place)[wish["cabin"]] += len(wish["passengers"])
    db.remove("reservations", booked["reservation_id"], "status")
    return records.reservation(db, booked["reservation_id"])


def _change_flights(db: Database, reservation_id: str, **change: Any) -> dict[str, Any]:
    noted = records.reservation(db, reservation_id)["cabin"]
    changes.update_reservation_flights.function(db, reservation_id, **change)
    reservation = db.edit("reservations", reservation_id)
    reservation["cabin"] = noted
    return reservation


def _find_direct(db: Database, **route: str) -> list[dict[str, Any]]:
    found = lookup.search_direct_flight.function(db, **route)
    return [{key: value for key, value in one.items() if key != "date"} for one in found]


book_reservation = replace(booking.book_reservation, function=_book)
update_reservation_flights = replace(
    changes.update_reservation_flights,
    summary="Set all flights of a reservation, in a cabin; the difference in price is settled.",
    function=_change_flights,
)
search_direct_flight = replace(lookup.search_direct_flight, function=_find_direct)


@read
def list_all_airports(db: Database) -> dict[str, str]:
    """List the airports: the city of each code."""
    return {one["iata"]: one["city"] for one in lookup.list_all_airports.function(db)}


DOMAIN = Domain(
    name="airline",
    agent=toolkit(
        book_reservation,
        booking.cancel_reservation,
        lookup.get_reservation_details,
        lookup.get_user_details,
        list_all_airports,
        search_direct_flight,
        lookup.search_onestop_flight,
        booking.send_certificate,
        changes.update_reservation_baggages,
        update_reservation_flights,
        changes.update_reservation_passengers,
        *GENERIC,
    ),
    hand_over_ends=True,
)
"""The airline's tools."""
