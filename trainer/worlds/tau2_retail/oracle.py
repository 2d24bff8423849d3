"""Scripted agents at the desk of the shop; see `trainer.worlds.tau2.players`."""

from __future__ import annotations

from collections.abc import Mapping

from trainer.worlds.player import PlayerFactory
from trainer.worlds.tau2 import players

PLAYERS: Mapping[str, PlayerFactory] = players.players()
"""Scripted players by name."""
