"""What both desks of the older benchmark have besides their domain's tools.

The newer benchmark took its tools over and changed some. Here a tool is the newer one with its own
name and parameters, and only what the older one does otherwise is laid around it.
"""

from __future__ import annotations

from trainer.worlds.tau2.database import Database
from trainer.worlds.tau2.generic_tools import calculate, transfer_to_human_agents
from trainer.worlds.tau2.toolkit import Tool, generic


@generic
def think(db: Database, thought: str) -> str:
    """Note a thought; nothing is looked up and nothing changes."""
    return ""


GENERIC: tuple[Tool, ...] = (calculate, think, transfer_to_human_agents)
"""The tools of both desks."""
