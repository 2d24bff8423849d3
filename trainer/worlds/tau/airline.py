"""The airline's desk: tau2's tools, without flight states, and with less written down.

In the older benchmark a booking takes no seats from the flights and has no state until it is
cancelled, and a change of flights leaves the cabin of the reservation as it was noted.
"""

from __future__ import annotations

from typing import Any, Literal

from trainer.worlds.tau2.database import Database
from trainer.worlds.tau2.office import Domain
from trainer.worlds.tau2.toolkit import read, toolkit, write
from trainer.worlds.tau2_airline import booking, changes, lookup, records
from trainer.worlds.tau2_airline.records import Cabin, FlightInfo, Passenger, Payment

from .older import GENERIC  # noqa: TID252 - the folder is loaded by path


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
    booked = booking.book_reservation.function(
        db, user_id, origin, destination, flight_type, cabin, flights, passengers,
        payment_methods, total_baggages, nonfree_baggages, insurance,
    )  # fmt: skip
    for segment in booked["flights"]:
        place = ("flights", segment["flight_number"], "dates", segment["date"], "available_seats")
        db.edit(*place)[cabin] += len(passengers)
    db.remove("reservations", booked["reservation_id"], "status")
    return records.reservation(db, booked["reservation_id"])


@write
def update_reservation_flights(
    db: Database,
    reservation_id: str,
    cabin: Cabin,
    flights: list[FlightInfo | dict],
    payment_id: str,
) -> dict[str, Any]:
    """Set all flights of a reservation, in a cabin; the difference in price is settled.

    Name every flight, also those that stay. One that stays in its cabin keeps its price.
    """
    noted = records.reservation(db, reservation_id)["cabin"]
    changes.update_reservation_flights.function(db, reservation_id, cabin, flights, payment_id)
    reservation = db.edit("reservations", reservation_id)
    reservation["cabin"] = noted
    return reservation


@read
def search_direct_flight(
    db: Database, origin: str, destination: str, date: str
) -> list[dict[str, Any]]:
    """Find direct flights on sale between two airports on a date, such as `2024-05-20`."""
    found = lookup.search_direct_flight.function(db, origin, destination, date)
    return [{key: value for key, value in one.items() if key != "date"} for one in found]


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
