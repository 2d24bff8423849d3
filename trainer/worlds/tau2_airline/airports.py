"""The airports that have a name here, by their codes."""

from __future__ import annotations

from collections.abc import Mapping

CITIES: Mapping[str, str] = {
    "AMS": "Amsterdam", "ATL": "Atlanta", "BCN": "Barcelona", "BOS": "Boston", "CLT": "Charlotte",
    "CPH": "Copenhagen", "DEN": "Denver", "DFW": "Dallas", "DTW": "Detroit", "DUB": "Dublin",
    "EWR": "Newark", "HEL": "Helsinki", "IAH": "Houston", "JFK": "New York", "LAS": "Las Vegas",
    "LAX": "Los Angeles", "LGA": "New York", "LIS": "Lisbon", "MCO": "Orlando", "MIA": "Miami",
    "MSP": "Minneapolis", "ORD": "Chicago", "OSL": "Oslo", "PHL": "Philadelphia", "PHX": "Phoenix",
    "PRG": "Prague", "SEA": "Seattle", "SFO": "San Francisco", "VIE": "Vienna", "WAW": "Warsaw",
}  # fmt: skip
