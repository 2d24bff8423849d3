"""The tools of the shop's agent, in one toolkit; its customers have none."""

from __future__ import annotations

from trainer.worlds.tau2.generic_tools import calculate, transfer_to_human_agents
from trainer.worlds.tau2.office import Domain
from trainer.worlds.tau2.toolkit import toolkit

from . import delivered, lookup, pending  # noqa: TID252 - the folder is loaded by path
from .records import shape  # noqa: TID252

__all__ = ["DOMAIN", "shape"]

DOMAIN = Domain(
    name="retail",
    agent=toolkit(
        calculate,
        pending.cancel_pending_order,
        delivered.exchange_delivered_order_items,
        lookup.find_user_id_by_name_zip,
        lookup.find_user_id_by_email,
        lookup.get_order_details,
        lookup.get_product_details,
        lookup.get_item_details,
        lookup.get_user_details,
        lookup.list_all_product_types,
        pending.modify_pending_order_address,
        pending.modify_pending_order_items,
        pending.modify_pending_order_payment,
        pending.modify_user_address,
        delivered.return_delivered_order_items,
        transfer_to_human_agents,
    ),
)
"""The shop's tools."""
