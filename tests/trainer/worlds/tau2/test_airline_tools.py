"""The airline's tools on a small airline: what they write, whom they pay, what they refuse."""

from __future__ import annotations

import json
from typing import Any

import pytest

from trainer.worlds.tau2.case import NamedCall, Side, read_case
from trainer.worlds.tau2.office import Bases, Office, open_office
from trainer.worlds.tau2_airline.records import NOW, shape
from trainer.worlds.tau2_airline.tools import DOMAIN


def day(seats: int, fare: int) -> dict[str, Any]:
    cabins = ("basic_economy", "economy", "business")
    return {
        "status": "available",
        "available_seats": dict.fromkeys(cabins, seats),
        "prices": {cabin: fare * (place + 1) for place, cabin in enumerate(cabins)},
    }


def flight(
    number: str, ends: str, hours: tuple[str, str], dates: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    return {
        "flight_number": number,
        "origin": ends[:3],
        "destination": ends[4:],
        "scheduled_departure_time_est": hours[0],
        "scheduled_arrival_time_est": hours[1],
        "dates": dates,
    }


def airline() -> dict[str, Any]:
    passenger = {"first_name": "Aino", "last_name": "Dahl", "dob": "1980-02-03"}
    address = dict.fromkeys(("address1", "address2", "city", "country", "state", "zip"), "x")
    return shape(
        {
            "flights": {
                "F1": flight("F1", "OSL-AMS", ("08:00:00", "10:00:00"), {
                    "2024-05-20": day(2, 50), "2024-05-21": day(1, 70),
                    "2024-05-10": {"status": "landed"},
                }),
                "F2": flight("F2", "AMS-LIS", ("09:30:00", "12:00:00"), {"2024-05-20": day(5, 40)}),
                "F3": flight("F3", "AMS-LIS", ("11:00:00", "13:30:00"), {"2024-05-20": day(5, 60)}),
                "N1": flight("N1", "OSL-AMS", ("23:00:00", "01:00:00+1"), {
                    "2024-05-04": day(5, 30), "2024-05-31": day(5, 30),
                }),
                "N2": flight("N2", "AMS-LIS", ("06:00:00", "08:30:00"), {
                    "2024-05-05": day(5, 20), "2024-06-01": day(5, 20),
                }),
            },
            "users": {
                "u": {
                    "name": {"first_name": "Aino", "last_name": "Dahl"},
                    "address": address, "email": "a@post.example", "dob": "1980-02-03",
                    "payment_methods": {
                        "card": {"source": "credit_card", "id": "card"},
                        "gift": {"source": "gift_card", "id": "gift", "amount": 60},
                        "voucher": {"source": "certificate", "id": "voucher", "amount": 100},
                    },
                    "saved_passengers": [], "membership": "regular", "reservations": ["R1"],
                }
            },
            "reservations": {
                "R1": {
                    "reservation_id": "R1", "user_id": "u", "origin": "OSL", "destination": "AMS",
                    "flight_type": "one_way", "cabin": "economy",
                    "flights": [{
                        "origin": "OSL", "destination": "AMS", "flight_number": "F1",
                        "date": "2024-05-20", "price": 80,
                    }],
                    "passengers": [passenger],
                    "payment_history": [{"payment_id": "card", "amount": 80}],
                    "created_at": "2024-05-01T10:00:00", "total_baggages": 1,
                    "nonfree_baggages": 0, "insurance": "no",
                }
            },
        }
    )  # fmt: skip


@pytest.fixture
def office() -> Office:
    return open_office(DOMAIN, read_case({"id": "t"}), Bases(airline()))


BOOKING: dict[str, Any] = {
    "user_id": "u",
    "origin": "OSL",
    "destination": "AMS",
    "flight_type": "one_way",
    "cabin": "economy",
    "flights": [{"flight_number": "F1", "date": "2024-05-20"}],
    "passengers": [{"first_name": "Aino", "last_name": "Dahl", "dob": "1980-02-03"}],
    "payment_methods": [{"payment_id": "card", "amount": 100}],
    "total_baggages": 1,
    "nonfree_baggages": 0,
    "insurance": "no",
}


def run(office: Office, name: str, **arguments: Any) -> str:
    """Carry out a call that is not refused."""
    outcome = office.call(NamedCall(Side.AGENT, name, arguments))
    assert outcome.ok, outcome.text
    return outcome.text


def refusal(office: Office, name: str, **arguments: Any) -> str:
    """Return why a call is refused, and see that nothing was changed by it."""
    before = office.agent.changes()
    outcome = office.call(NamedCall(Side.AGENT, name, arguments))
    assert not outcome.ok
    assert office.agent.changes() == before
    return outcome.text.removeprefix("Error: ")


def paying(*payments: tuple[str, int]) -> list[dict[str, Any]]:
    return [{"payment_id": name, "amount": amount} for name, amount in payments]


def test_only_flights_on_sale_are_found(office: Office) -> None:
    found = json.loads(
        run(office, "search_direct_flight", origin="OSL", destination="AMS", date="2024-05-20")
    )
    assert [one["flight_number"] for one in found] == ["F1"]
    assert found[0]["prices"]["business"] == 150
    past = {"origin": "OSL", "destination": "AMS", "date": "2024-05-10"}
    assert run(office, "search_direct_flight", **past) == "[]"


def test_the_second_of_two_flights_leaves_after_the_first_has_landed(office: Office) -> None:
    found = json.loads(
        run(office, "search_onestop_flight", origin="OSL", destination="LIS", date="2024-05-20")
    )
    assert [[one["flight_number"] for one in pair] for pair in found] == [["F1", "F3"]]
    assert [one["date"] for one in found[0]] == ["2024-05-20", "2024-05-20"]


@pytest.mark.parametrize(
    ("date", "next_day"), [("2024-05-04", "2024-05-05"), ("2024-05-31", "2024-06-01")]
)
def test_fault_one_stop_date_a_connection_on_the_next_morning_is_found_on_every_day(
    office: Office, date: str, next_day: str
) -> None:
    found = json.loads(
        run(office, "search_onestop_flight", origin="OSL", destination="LIS", date=date)
    )
    assert [[one["flight_number"] for one in pair] for pair in found] == [["N1", "N2"]]
    assert [one["date"] for one in found[0]] == [date, next_day]


def test_airports_come_with_their_cities(office: Office) -> None:
    assert json.loads(run(office, "list_all_airports")) == [
        {"iata": "AMS", "city": "Amsterdam"},
        {"iata": "LIS", "city": "Lisbon"},
        {"iata": "OSL", "city": "Oslo"},
    ]


def test_a_state_is_told_as_it_is(office: Office) -> None:
    assert run(office, "get_flight_status", flight_number="F1", date="2024-05-10") == "landed"
    why = refusal(office, "get_flight_status", flight_number="F1", date="2024-07-01")
    assert why == "Flight F1 not found on date 2024-07-01"


def test_a_booking_takes_seats_and_money_and_new_ids_come_in_order(office: Office) -> None:
    run(office, "book_reservation", **BOOKING)
    booked = office.agent.get("reservations", "HATHAT")
    assert booked["created_at"] == NOW and booked["status"] is None
    assert booked["flights"][0]["price"] == 100
    seats = office.agent.get("flights", "F1", "dates", "2024-05-20", "available_seats")
    assert seats == {"basic_economy": 2, "economy": 1, "business": 2}
    run(office, "book_reservation", **BOOKING)
    assert office.agent.get("users", "u", "reservations") == ["R1", "HATHAT", "HATHAU"]
    assert refusal(office, "book_reservation", **BOOKING) == "Not enough seats on flight F1"


def test_gift_cards_are_lowered_and_certificates_used_up(office: Office) -> None:
    payments = paying(("voucher", 40), ("gift", 50), ("card", 90))
    extra = {"insurance": "yes", "total_baggages": 2, "nonfree_baggages": 1}
    run(office, "book_reservation", **{**BOOKING, **extra, "payment_methods": payments})
    methods = office.agent.get("users", "u", "payment_methods")
    assert set(methods) == {"card", "gift"}
    assert methods["gift"]["amount"] == 10


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"payment_methods": paying(("card", 99))}, "does not add up, total price is 100"),
        ({"payment_methods": paying(("purse", 100))}, "Payment method purse not found"),
        ({"payment_methods": paying(("gift", 100))}, "Not enough balance in payment method gift"),
        ({"payment_methods": paying(("voucher", 50), ("voucher", 50))}, "voucher pays once"),
        ({"payment_methods": paying(("card", 150), ("gift", -50))}, "not a negative amount"),
        ({"flights": [{"flight_number": "F1", "date": "2024-05-10"}]}, "not available on date"),
        ({"flights": [{"flight_number": "F9", "date": "2024-05-20"}]}, "Flight F9 not found"),
        ({"flights": [{"date": "2024-05-20"}]}, "flight_number is missing or wrong"),
        ({"passengers": [{"first_name": "A", "last_name": "B", "dob": 3}]}, "dob is missing"),
        ({"cabin": "first"}, "cabin must be one of business, economy, basic_economy"),
        ({"user_id": "v"}, "User v not found"),
    ],
)
def test_bookings_that_do_not_work_out_are_refused(
    office: Office, change: dict[str, Any], why: str
) -> None:
    assert why in refusal(office, "book_reservation", **{**BOOKING, **change})


def test_a_cancelled_reservation_notes_what_goes_back_and_keeps_its_seats(office: Office) -> None:
    run(office, "cancel_reservation", reservation_id="R1")
    assert [(one.pointer, one.new) for one in office.agent.changes()] == [
        ("/reservations/R1/payment_history/1", {"payment_id": "card", "amount": -80}),
        ("/reservations/R1/status", "cancelled"),
    ]


def test_a_flight_that_stays_in_its_cabin_keeps_its_price(office: Office) -> None:
    same = {"reservation_id": "R1", "cabin": "economy", "payment_id": "card"}
    flights = [{"flight_number": "F1", "date": "2024-05-20"}]
    run(office, "update_reservation_flights", **same, flights=flights)
    assert office.agent.changes() == []
    run(office, "update_reservation_flights", **{**same, "cabin": "business"}, flights=flights)
    reservation = office.agent.get("reservations", "R1")
    assert reservation["flights"][0]["price"] == 150
    assert reservation["payment_history"][-1] == {"payment_id": "card", "amount": 70}


def test_a_difference_is_settled_by_a_card_and_not_by_a_certificate(office: Office) -> None:
    change = {
        "reservation_id": "R1",
        "cabin": "economy",
        "flights": [{"flight_number": "F1", "date": "2024-05-21"}],
    }
    name = "update_reservation_flights"
    why = refusal(office, name, **change, payment_id="voucher")
    assert why == "Certificate cannot be used to update reservation"
    assert refusal(office, name, **change, payment_id="purse") == "Payment method not found"
    run(office, name, **change, payment_id="gift")
    assert office.agent.get("users", "u", "payment_methods", "gift", "amount") == 0
    dear = {**change, "cabin": "business", "payment_id": "gift"}
    assert refusal(office, name, **dear) == "Gift card balance is not enough"


def test_bags_cost_where_more_are_not_free(office: Office) -> None:
    name = "update_reservation_baggages"
    bags = {"reservation_id": "R1", "payment_id": "card"}
    run(office, name, **bags, total_baggages=3, nonfree_baggages=2)
    reservation = office.agent.get("reservations", "R1")
    assert reservation["payment_history"][-1]["amount"] == 100
    run(office, name, **bags, total_baggages=2, nonfree_baggages=1)
    assert len(office.agent.get("reservations", "R1", "payment_history")) == 2


def test_passengers_are_replaced_one_for_one(office: Office) -> None:
    other = {"first_name": "Otto", "last_name": "Lund", "dob": "1990-01-01"}
    name = "update_reservation_passengers"
    assert "does not match" in refusal(office, name, reservation_id="R1", passengers=[other] * 2)
    run(office, name, reservation_id="R1", passengers=[other | {"mood": "good"}])
    assert office.agent.get("reservations", "R1", "passengers") == [other]


def test_certificates_have_ids_in_order_until_there_are_three(office: Office) -> None:
    told = run(office, "send_certificate", user_id="u", amount=100)
    assert told == "Certificate certificate_3221322 added to user u with amount 100."
    for _ in range(2):
        run(office, "send_certificate", user_id="u", amount=50)
    assert "certificate_3221324" in office.agent.get("users", "u", "payment_methods")
    assert refusal(office, "send_certificate", user_id="u", amount=5) == "Too many certificates"
