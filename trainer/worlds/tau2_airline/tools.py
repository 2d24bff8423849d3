"""The tools of the airline's agent, in one toolkit; its customers have none."""

from __future__ import annotations

from trainer.worlds.tau2.generic_tools import calculate, transfer_to_human_agents
from trainer.worlds.tau2.office import Domain
from trainer.worlds.tau2.toolkit import toolkit

from . import booking, changes, lookup  # noqa: TID252 - the folder is loaded by path
from .records import shape  # noqa: TID252

__all__ = ["DOMAIN", "shape"]

DOMAIN = Domain(
    name="airline",
    agent=toolkit(
        booking.book_reservation,
        calculate,
        booking.cancel_reservation,
        lookup.get_reservation_details,
        lookup.get_user_details,
        lookup.list_all_airports,
        lookup.search_direct_flight,
        lookup.search_onestop_flight,
        booking.send_certificate,
        transfer_to_human_agents,
        changes.update_reservation_baggages,
        changes.update_reservation_flights,
        changes.update_reservation_passengers,
        lookup.get_flight_status,
    ),
)
"""The airline's tools."""
