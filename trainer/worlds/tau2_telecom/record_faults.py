"""Faults of the published records that can be seen without playing them.

They are told when real tasks are loaded, and nothing is mended in silence: the tasks stay what they
are. Each kind names the public report on it, where there is one.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

from trainer.worlds.tau2.case import read_case
from trainer.worlds.tau2_telecom.accounts import TODAY
from trainer.worlds.tau2_telecom.domain import DOMAIN

_log = logging.getLogger(__name__)

_TOOL_NAME = re.compile(r"`(\w+)`\s+tool call")
_AGE = re.compile(r"\b(\d{2})(?:-year-old| years old)")


class RecordFault(StrEnum):
    """What is wrong with a record, as its own sentence."""

    UNKNOWN_TOOL = "the user is told to use a tool that no phone has"
    TICKET = "the ticket leaves out the refuel that the gold actions need (tau2-bench #237)"
    AGE = "the persona's age is not that of the customer's date of birth (tau2-bench #492)"


def faults_of(record: Mapping[str, Any], agent: Mapping[str, Any]) -> Iterator[RecordFault]:
    """Yield what is wrong with a record.

    Args:
        record: A task as the benchmark writes it.
        agent: The carrier's records.
    """
    scenario = record.get("user_scenario") or {}
    named = _TOOL_NAME.findall(str(scenario.get("instructions")))
    if set(named) - set(DOMAIN.user.tools):
        yield RecordFault.UNKNOWN_TOOL
    case = read_case(record)
    refuels = any(action.call.name == "refuel_data" for action in case.actions)
    if refuels and "refuel" not in (record.get("ticket") or "refuel"):
        yield RecordFault.TICKET
    age = _AGE.search(scenario.get("persona") or "")
    numbers = [call.arguments.get("phone_number") for call in case.setups]
    if age is not None and int(age.group(1)) not in _ages(agent, numbers):
        yield RecordFault.AGE


def tell(records: Iterable[Mapping[str, Any]], agent: Mapping[str, Any], path: Path) -> None:
    """Say once for each kind of fault how many records have it."""
    counts = Counter(fault for record in records for fault in faults_of(record, agent))
    for fault in RecordFault:
        if counts[fault]:
            _log.warning("%s: in %d tasks %s", path, counts[fault], fault)


def _ages(agent: Mapping[str, Any], numbers: Iterable[str | None]) -> set[int]:
    """Ages today of the customers with one of these contact numbers."""
    wanted = set(numbers) - {None}
    ages = set()
    for customer in agent["customers"]:
        if customer["phone_number"] in wanted:
            year, rest = customer["date_of_birth"].split("-", 1)
            ages.add(TODAY.year - int(year) - (TODAY.isoformat()[5:] < rest))
    return ages
