"""Travellers of our own tasks who book, or only ask: one function for each kind of wish."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trainer.worlds.tau2.drafts import Draft, Step, Told
from trainer.worlds.tau2_airline.airports import CITIES
from trainer.worlds.tau2_airline.tasks.timetable import FREE_BAGS, TODAY, Airline, method_of
from trainer.worlds.tau2_airline.tasks.wishes import LATER, SOON


def book_alone(airline: Airline, draft_id: str) -> Draft:
    """Book one flight for oneself, with a bag that is free and insurance."""
    user = airline.traveller("silver")
    number, _ = airline.pick()
    flight, price = airline.flights[number], airline.price(number, SOON, "economy")
    total = price + 30
    arguments = _booking(
        user, flight, "one_way", [(number, SOON.isoformat())], [_self(user)], "economy"
    ) | {
        "payment_methods": [{"payment_id": method_of(user, "credit_card"), "amount": total}],
        "total_baggages": 1,
        "nonfree_baggages": 0,
        "insurance": "yes",
    }
    return Draft(
        id=draft_id,
        opening="Hello, I would like to book a flight.",
        goal=f"Fly alone from {flight['origin']} to {flight['destination']} on {SOON}.",
        told=(
            _account(user),
            _route(flight, f"on {SOON}, one way"),
            _which(flight, number),
            Told("cabin", "Economy will do.", ("cabin class", "which class")),
            Told("bags", "One bag to check.", ("bags", "luggage")),
            Told("insurance", "Yes, with the insurance.", ("insurance",)),
            Told("payment", "All of it by my credit card.", ("pay", "payment method")),
        ),
        steps=(*_search(user, flight, SOON.isoformat()), Step("book_reservation", arguments)),
        communicate=(str(total),),
    )


def book_together(airline: Airline, draft_id: str) -> Draft:
    """Book there and back for two, with one bag too many, by certificate and credit card."""
    user = airline.traveller("regular")
    out, back = airline.pick(back=True)
    flight, friend = airline.flights[out], airline.passenger()
    route = [(out, SOON.isoformat()), (back, LATER.isoformat())]
    seats = airline.price(out, SOON, "economy") + airline.price(back, LATER, "economy")
    num_bags = 2 * FREE_BAGS["regular"]["economy"] + 1
    total = 2 * seats + 50
    payments = [
        {"payment_id": method_of(user, "certificate"), "amount": 100},
        {"payment_id": method_of(user, "credit_card"), "amount": total - 100},
    ]
    arguments = _booking(user, flight, "round_trip", route, [_self(user), friend], "economy") | {
        "payment_methods": payments,
        "total_baggages": num_bags,
        "nonfree_baggages": 1,
        "insurance": "no",
    }
    name = f"{friend['first_name']} {friend['last_name']}"
    return Draft(
        id=draft_id,
        opening="Good evening, the two of us want to go away for some days.",
        goal=f"Fly with {name} from {flight['origin']} to {flight['destination']} and back.",
        told=(
            _account(user),
            _route(flight, f"on {SOON} and back on {LATER}"),
            Told("numbers", f"There with {out}, back with {back}.", ("flight number",)),
            Told("companion", f"With me flies {name}, born {friend['dob']}.", ("name", "born")),
            Told("cabin", "Economy for both.", ("cabin class", "which class")),
            Told("bags", f"We check {num_bags} bags.", ("bags", "luggage")),
            Told("insurance", "No insurance.", ("insurance",)),
            Told(
                "payment",
                "Use up my certificate, the rest by credit card.",
                ("pay", "payment method"),
            ),
        ),
        steps=(*_search(user, flight, SOON.isoformat()), Step("book_reservation", arguments)),
        communicate=(str(total),),
    )


def ask_state(airline: Airline, draft_id: str) -> Draft:
    """Learn what is so with a flight today; nothing is to be changed."""
    user = airline.traveller("regular")
    number = airline.extra()
    airline.set_state(number, TODAY, "delayed")
    flight = airline.flights[number]
    arguments = {"flight_number": number, "date": TODAY.isoformat()}
    return Draft(
        id=draft_id,
        opening="Hello, a quick question about a flight.",
        goal=f"Learn whether {number} from {flight['origin']} is on time today.",
        told=(
            _account(user),
            Told("flight", f"It is flight {number}, today.", ("flight number", "which flight")),
        ),
        steps=(Step("get_flight_status", arguments),),
        communicate=("delayed",),
    )


def _booking(
    user: Mapping[str, Any],
    flight: Mapping[str, Any],
    flight_type: str,
    route: list[tuple[str, str]],
    passengers: list[Mapping[str, str]],
    cabin: str,
) -> dict[str, Any]:
    return {
        "user_id": user["user_id"],
        "origin": flight["origin"],
        "destination": flight["destination"],
        "flight_type": flight_type,
        "cabin": cabin,
        "flights": [{"flight_number": number, "date": day} for number, day in route],
        "passengers": [dict(passenger) for passenger in passengers],
    }


def _self(user: Mapping[str, Any]) -> dict[str, str]:
    return {**user["name"], "dob": user["dob"]}


def _account(user: Mapping[str, Any]) -> Told:
    return Told("account", f"My user id is {user['user_id']}.", ("user id", "account"))


def _route(flight: Mapping[str, Any], when: str) -> Told:
    cities = [CITIES[flight[end]] for end in ("origin", "destination")]
    statement = f"From {cities[0]} to {cities[1]}, {when}."
    return Told("route", statement, ("route", "where to", "destination"))


def _which(flight: Mapping[str, Any], number: str) -> Told:
    hour = flight["scheduled_departure_time_est"][:5]
    return Told("time", f"The one at {hour}, {number}.", ("departure time", "which flight"))


def _search(user: Mapping[str, Any], flight: Mapping[str, Any], day: str) -> tuple[Step, ...]:
    arguments = {"origin": flight["origin"], "destination": flight["destination"], "date": day}
    return (
        Step("get_user_details", {"user_id": user["user_id"]}),
        Step("search_direct_flight", arguments),
    )
