"""What the travellers of our own tasks want of their bookings: one function for each kind.

A wish adds a traveller and their reservations to the airline and returns the task. Its gold
actions are the ones that the policy asks for, and what is told covers all that they need. New
bookings are `new_trips`.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from trainer.worlds.tau2.case import Component
from trainer.worlds.tau2.drafts import Draft, Step, Told
from trainer.worlds.tau2_airline.tasks.timetable import FREE_BAGS, TODAY, Airline, method_of

SOON = TODAY + timedelta(days=4)
LATER = TODAY + timedelta(days=9)


def cancel_insured(airline: Airline, draft_id: str) -> Draft:
    """Cancel for an illness that the insurance covers."""
    user = airline.traveller("regular")
    trip = _trip(airline, user, "economy", insurance="yes")
    return _cancel(draft_id, user, trip, "I have fallen ill and cannot fly.")


def cancel_business(airline: Airline, draft_id: str) -> Draft:
    """Cancel a business flight, which needs no reason of weight."""
    user = airline.traveller("silver")
    return _cancel(draft_id, user, _trip(airline, user, "business"), "My plans have changed.")


def cancel_recent(airline: Airline, draft_id: str) -> Draft:
    """Cancel what was booked a few hours ago."""
    user = airline.traveller("regular")
    trip = _trip(airline, user, "basic_economy", created_at="2024-05-15T08:20:00")
    return _cancel(draft_id, user, trip, "I booked the wrong week this morning.")


def cancel_dropped(airline: Airline, draft_id: str) -> Draft:
    """Cancel a reservation whose flight the airline has cancelled."""
    user = airline.traveller("regular")
    trip = _dropped(airline, user)
    return _cancel(draft_id, user, trip, "You have cancelled the flight.")


def other_date(airline: Airline, draft_id: str) -> Draft:
    """Fly the same way on a later day."""
    user = airline.traveller("regular")
    trip = _trip(airline, user, "economy")
    number = trip["flights"][0]["flight_number"]
    card = method_of(user, "credit_card")
    arguments = _new_flights(trip, "economy", [(number, LATER.isoformat())], card)
    difference = airline.price(number, LATER, "economy") - trip["flights"][0]["price"]
    return Draft(
        id=draft_id,
        opening="Hello, I have to fly on another day.",
        goal=f"Have {trip['reservation_id']} moved to {LATER}, same flight, by credit card.",
        told=(
            *_identity(user),
            _reservation(trip),
            Told("date", f"Put me on the same flight on {LATER}.", ("new date", "which day")),
            _by_card(),
        ),
        steps=(_look(trip), Step("update_reservation_flights", arguments)),
        communicate=(str(abs(difference)),),
    )


def upgrade(airline: Airline, draft_id: str) -> Draft:
    """Change a basic economy reservation to business, flights unchanged."""
    user = airline.traveller("gold")
    trip = _trip(airline, user, "basic_economy")
    flight = trip["flights"][0]
    card = method_of(user, "credit_card")
    same = [(flight["flight_number"], flight["date"])]
    return Draft(
        id=draft_id,
        opening="Good day, I would like a better seat.",
        goal=f"Have {trip['reservation_id']} changed to business, by credit card.",
        told=(
            *_identity(user),
            _reservation(trip),
            Told("cabin", "Business class, please.", ("cabin class", "which class")),
            _by_card(),
        ),
        steps=(
            _look(trip),
            Step("update_reservation_flights", _new_flights(trip, "business", same, card)),
        ),
    )


def add_bags(airline: Airline, draft_id: str) -> Draft:
    """Add bags, of which some are free for the membership."""
    membership = airline.draw.choice(("regular", "silver"))
    user = airline.traveller(membership)
    trip = _trip(airline, user, "economy")
    total = airline.draw.randint(2, 4)
    nonfree = max(0, total - FREE_BAGS[membership]["economy"])
    arguments = {
        "reservation_id": trip["reservation_id"],
        "total_baggages": total,
        "nonfree_baggages": nonfree,
        "payment_id": method_of(user, "credit_card"),
    }
    return Draft(
        id=draft_id,
        opening="Hi, I am taking more luggage than I thought.",
        goal=f"Have {total} bags in {trip['reservation_id']}, paid by credit card.",
        told=(
            *_identity(user),
            _reservation(trip),
            Told("bags", f"I will check {total} bags in all.", ("bags", "luggage")),
            _by_card(),
        ),
        steps=(
            _profile(user),
            _look(trip),
            Step("update_reservation_baggages", arguments),
        ),
    )


def other_passenger(airline: Airline, draft_id: str) -> Draft:
    """Have somebody else fly in the second seat."""
    user = airline.traveller("regular")
    trip = _trip(airline, user, "economy", num_passengers=2)
    friend = airline.passenger()
    name = f"{friend['first_name']} {friend['last_name']}"
    arguments = {
        "reservation_id": trip["reservation_id"],
        "passengers": [dict(trip["passengers"][0]), friend],
    }
    return Draft(
        id=draft_id,
        opening="Hello, somebody else comes along on my trip.",
        goal=f"Have the second passenger of {trip['reservation_id']} replaced by {name}.",
        told=(
            *_identity(user),
            _reservation(trip),
            Told("companion", f"It is {name}, born {friend['dob']}.", ("name", "born")),
        ),
        steps=(_look(trip), Step("update_reservation_passengers", arguments)),
    )


def make_up(airline: Airline, draft_id: str) -> Draft:
    """Complain about a cancelled flight as a member, and be given a certificate."""
    user = airline.traveller(airline.draw.choice(("silver", "gold")))
    num_passengers = airline.draw.randint(1, 2)
    trip = _dropped(airline, user, num_passengers=num_passengers)
    amount = 100 * num_passengers
    return Draft(
        id=draft_id,
        opening="Hello, I am not happy with you.",
        goal=f"Get something for the cancelled flight of {trip['reservation_id']}; keep the rest.",
        told=(
            *_identity(user),
            _reservation(trip),
            Told(
                "complaint",
                "My flight was cancelled, and I want to be compensated for that.",
                ("complaint", "what happened"),
            ),
        ),
        steps=(
            _profile(user),
            _look(trip),
            Step("send_certificate", {"user_id": user["user_id"], "amount": amount}),
        ),
        communicate=(str(amount),),
    )


def flown(airline: Airline, draft_id: str) -> Draft:
    """Want to cancel a trip that is half flown, and be handed over."""
    user = airline.traveller("regular")
    out, back = airline.pick(back=True)
    route = ((out, TODAY - timedelta(days=2)), (back, SOON))
    trip = airline.book(user, route, "economy")
    summary = f"Wants {trip['reservation_id']} cancelled, of which one flight is flown"
    return Draft(
        id=draft_id,
        opening="Hi, I will not fly back after all.",
        goal=f"Have {trip['reservation_id']} cancelled; the first flight is flown already.",
        told=(
            *_identity(user),
            _reservation(trip),
            Told("reason", "I am staying with friends.", ("reason", "why cancel")),
        ),
        steps=(_look(trip), Step("transfer_to_human_agents", {"summary": summary}, ())),
        basis=(Component.DB, Component.ACTION),
    )


def _cancel(draft_id: str, user: Mapping[str, Any], trip: Mapping[str, Any], reason: str) -> Draft:
    return Draft(
        id=draft_id,
        opening="Hello, I want to cancel a trip.",
        goal=f"Have reservation {trip['reservation_id']} cancelled. {reason}",
        told=(
            *_identity(user),
            _reservation(trip),
            Told("reason", reason, ("reason", "why cancel")),
        ),
        steps=(
            _look(trip),
            Step("cancel_reservation", {"reservation_id": trip["reservation_id"]}),
        ),
    )


def _trip(airline: Airline, user: Mapping[str, Any], cabin: str, **details: Any) -> dict[str, Any]:
    """A one-way reservation for soon, beside an older one that is not in question."""
    other, number = airline.pick()
    airline.book(user, [(other, LATER)], "economy")
    return airline.book(user, [(number, SOON)], cabin, **details)


def _dropped(airline: Airline, user: Mapping[str, Any], **details: Any) -> dict[str, Any]:
    """A reservation for soon whose flight the airline has cancelled since."""
    number = airline.extra()
    trip = airline.book(user, [(number, SOON)], "economy", **details)
    airline.set_state(number, SOON, "cancelled")
    return trip


def _new_flights(
    trip: Mapping[str, Any], cabin: str, flights: list[tuple[str, str]], payment_id: str
) -> dict[str, Any]:
    return {
        "reservation_id": trip["reservation_id"],
        "cabin": cabin,
        "flights": [{"flight_number": number, "date": day} for number, day in flights],
        "payment_id": payment_id,
    }


def _identity(user: Mapping[str, Any]) -> tuple[Told, ...]:
    return (Told("account", f"My user id is {user['user_id']}.", ("user id", "account")),)


def _reservation(trip: Mapping[str, Any]) -> Told:
    statement = f"The reservation is {trip['reservation_id']}."
    return Told("reservation", statement, ("reservation", "booking code"))


def _by_card() -> Told:
    return Told("payment", "Settle it with my credit card.", ("pay", "payment method"))


def _profile(user: Mapping[str, Any]) -> Step:
    return Step("get_user_details", {"user_id": user["user_id"]})


def _look(trip: Mapping[str, Any]) -> Step:
    return Step("get_reservation_details", {"reservation_id": trip["reservation_id"]})
