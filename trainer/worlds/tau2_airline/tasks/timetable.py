"""The airline that our own tasks are about: a timetable, travellers and what they have booked.

Everything is drawn from one `random.Random`, so that the same seed builds the same airline. What a
traveller wants of it is `wishes`.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any

from trainer.worlds.tau2_airline.records import ADDRESS, NOW

CABINS = ("basic_economy", "economy", "business")
FREE_BAGS: Mapping[str, Mapping[str, int]] = {
    "regular": dict(zip(CABINS, (0, 1, 2), strict=True)),
    "silver": dict(zip(CABINS, (1, 2, 3), strict=True)),
    "gold": dict(zip(CABINS, (2, 3, 4), strict=True)),
}
"""Bags free of charge for each passenger, by membership and cabin."""

TODAY = date.fromisoformat(NOW[:10])
FIRST_DAY, LAST_DAY = TODAY - timedelta(days=4), TODAY + timedelta(days=16)

FIRST = (
    "Aino", "Cillian", "Dorota", "Emeric", "Freya", "Goran", "Hilde", "Inigo", "Jana", "Kasper",
    "Liv", "Matej", "Nuria", "Otto", "Pilar", "Rasmus",
)  # fmt: skip
LAST = (
    "Aalto", "Brennan", "Cerny", "Dahl", "Eskola", "Fonseca", "Gruber", "Halloran", "Ivic",
    "Jansen", "Kowal", "Lund",
)  # fmt: skip
_PAIRS = (
    ("AMS", "LIS"), ("OSL", "PRG"), ("DUB", "VIE"), ("HEL", "BCN"), ("CPH", "WAW"), ("AMS", "PRG"),
)  # fmt: skip
_EXTRA = "EX"
_TOWNS = (("Utrecht", "NL"), ("Bergen", "NO"), ("Graz", "AT"), ("Cork", "IE"))


@dataclass
class Airline:
    """An airline under construction."""

    draw: random.Random
    flights: dict[str, Any] = field(default_factory=dict)
    users: dict[str, Any] = field(default_factory=dict)
    reservations: dict[str, Any] = field(default_factory=dict)
    regular: dict[str, Any] | None = None
    """Who comes in next; None for somebody new each time."""

    @property
    def content(self) -> dict[str, Any]:
        """The database as it stands."""
        return {
            "flights": self.flights,
            "users": self.users,
            "reservations": self.reservations,
        }

    def schedule(self) -> None:
        """Have every pair of cities flown both ways, once in the morning and once at night."""
        number = 200
        for one, other in _PAIRS:
            for origin, destination in ((one, other), (other, one)):
                for hour in (7, 19):
                    number += self.draw.randint(1, 7)
                    self._flight(f"EQ{number}", origin, destination, hour)

    def traveller(self, membership: str) -> dict[str, Any]:
        """Return the regular, or add someone with a credit card, a gift card and a certificate."""
        if self.regular is not None:
            return self.regular
        taken = {tuple(user["name"].values()) for user in self.users.values()}
        first, last = self.draw.choice(
            [name for name in itertools.product(FIRST, LAST) if name not in taken]
        )
        number = self.draw.randint(1000, 9999)
        user_id = f"{first}_{last}_{number}".lower()
        card, gift, voucher = (
            f"{kind}_{self.draw.randint(10**6, 10**7 - 1)}"
            for kind in ("credit_card", "gift_card", "certificate")
        )
        methods = {
            card: {"source": "credit_card", "id": card, "brand": "visa", "last_four": f"{number}"},
            gift: {"source": "gift_card", "id": gift, "amount": self.draw.randint(40, 90)},
            voucher: {"source": "certificate", "id": voucher, "amount": 100},
        }
        town, state = self.draw.choice(_TOWNS)
        values = (f"{number % 90 + 2} Quay Street", "", town, "EU", state, f"{number}")
        user = {
            "user_id": user_id,
            "name": {"first_name": first, "last_name": last},
            "address": dict(zip(ADDRESS.fields, values, strict=True)),
            "email": f"{first}.{last}{number}@post.example".lower(),
            "dob": self.birthday(),
            "payment_methods": methods,
            "saved_passengers": [],
            "membership": membership,
            "reservations": [],
        }
        self.users[user_id] = user
        return user

    def book(
        self,
        user: Mapping[str, Any],
        route: Sequence[tuple[str, date]],
        cabin: str,
        *,
        num_passengers: int = 1,
        insurance: str = "no",
        created_at: str = "2024-05-09T10:30:00",
    ) -> dict[str, Any]:
        """Add a reservation, paid by the traveller's credit card, without bags.

        Args:
            user: Whose it is; the first passenger is the traveller.
            route: Flight numbers with their dates.
            cabin: Class of all flights.
            num_passengers: How many fly.
            insurance: `yes` or `no`.
            created_at: When it was made.
        """
        name = "".join(self.draw.choices("BCDFGKLMNPRSTVXZ23456789", k=6))
        segments = [self._segment(number, day, cabin) for number, day in route]
        passengers = [{**user["name"], "dob": user["dob"]}]
        passengers += [self.passenger() for _ in range(num_passengers - 1)]
        ends = (segments[0]["origin"], segments[-1]["destination"])
        destination = segments[0]["destination"] if ends[0] == ends[1] else ends[1]
        total = sum(one["price"] for one in segments) * num_passengers
        total += 30 * num_passengers if insurance == "yes" else 0
        reservation = {
            "reservation_id": name,
            "user_id": user["user_id"],
            "origin": ends[0],
            "destination": destination,
            "flight_type": "round_trip" if ends[0] == ends[1] else "one_way",
            "cabin": cabin,
            "flights": segments,
            "passengers": passengers,
            "payment_history": [{"payment_id": method_of(user, "credit_card"), "amount": total}],
            "created_at": created_at,
            "total_baggages": 0,
            "nonfree_baggages": 0,
            "insurance": insurance,
        }
        self.reservations[name] = reservation
        user["reservations"].append(name)
        return reservation

    def passenger(self) -> dict[str, str]:
        """Return somebody who may fly along."""
        return {
            "first_name": self.draw.choice(FIRST),
            "last_name": self.draw.choice(LAST),
            "dob": self.birthday(),
        }

    def birthday(self) -> str:
        """Return a date of birth of a grown-up."""
        born = date(1950, 1, 1) + timedelta(days=self.draw.randrange(18_000))
        return born.isoformat()

    def pick(self, *, back: bool = False) -> tuple[str, str]:
        """Return two flight numbers of one pair of cities, there and back or both there."""
        regular = [flight for flight in self.flights.values() if not _is_extra(flight)]
        first = self.draw.choice(regular)
        ends = (first["origin"], first["destination"])
        wanted = ends[::-1] if back else ends
        second = next(
            flight
            for flight in regular
            if (flight["origin"], flight["destination"]) == wanted and flight is not first
        )
        return first["flight_number"], second["flight_number"]

    def extra(self) -> str:
        """Add a flight that no other task flies with, so that something may happen to it."""
        number = f"{_EXTRA}{len(self.flights)}"
        self._flight(number, *self.draw.choice(_PAIRS), 11)
        return number

    def price(self, number: str, day: date, cabin: str) -> int:
        """Return what a seat costs on a date on sale."""
        return self.flights[number]["dates"][day.isoformat()]["prices"][cabin]

    def set_state(self, number: str, day: date, state: str) -> None:
        """Let something have happened to a flight on a date."""
        self.flights[number]["dates"][day.isoformat()] = self._state(number, day, state)

    def _flight(self, number: str, origin: str, destination: str, hour: int) -> None:
        minutes = hour * 60 + self.draw.randrange(0, 60, 5)
        arrival = minutes + self.draw.randrange(100, 320, 10)
        overnight = "+1" if arrival >= 24 * 60 else ""
        self.flights[number] = {
            "flight_number": number,
            "origin": origin,
            "destination": destination,
            "scheduled_departure_time_est": _clock(minutes),
            "scheduled_arrival_time_est": _clock(arrival % (24 * 60)) + overnight,
            "dates": {},
        }
        day = FIRST_DAY
        while day <= LAST_DAY:
            state = "available" if day > TODAY else "landed" if day < TODAY else "on time"
            self.set_state(number, day, state)
            day += timedelta(days=1)

    def _segment(self, number: str, day: date, cabin: str) -> dict[str, Any]:
        flight = self.flights[number]
        state = flight["dates"][day.isoformat()]
        price = state["prices"][cabin] if "prices" in state else self.draw.randint(60, 140)
        return {
            "origin": flight["origin"],
            "destination": flight["destination"],
            "flight_number": number,
            "date": day.isoformat(),
            "price": price,
        }

    def _state(self, number: str, day: date, state: str) -> dict[str, Any]:
        times = (f"{day}T08:05:00", f"{day}T10:40:00")
        if state == "available":
            fares = (self.draw.randint(50, 90), self.draw.randint(95, 180), 260)
            return {
                "status": state,
                "available_seats": dict(
                    zip(CABINS, (self.draw.randint(6, 20) for _ in CABINS), strict=True)
                ),
                "prices": dict(zip(CABINS, (*fares[:2], fares[1] + fares[2]), strict=True)),
            }
        if state == "landed":
            return {
                "status": state,
                "actual_departure_time_est": times[0],
                "actual_arrival_time_est": times[1],
            }
        if state == "cancelled":
            return {"status": state}
        return {
            "status": state,
            "estimated_departure_time_est": times[0],
            "estimated_arrival_time_est": times[1],
        }


def method_of(user: Mapping[str, Any], source: str) -> str:
    """Return the id of a traveller's payment method of a kind."""
    methods = user["payment_methods"].values()
    return next(method["id"] for method in methods if method["source"] == source)


def _is_extra(flight: Mapping[str, Any]) -> bool:
    return flight["flight_number"].startswith(_EXTRA)


def _clock(minutes: int) -> str:
    return f"{minutes // 60:02d}:{minutes % 60:02d}:00"
