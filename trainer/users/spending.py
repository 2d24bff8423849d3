"""What a served model was asked and what it cost: counts, prices, and limits that end the asking.

Counts are the server's own where it tells them. Where it does not, or where an answer never came,
a request counts at its most, so that a limit is kept at the price of being reached too early.
Who is asked, and about what, is not known here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from threading import Lock
from typing import Any

MILLION = 1_000_000


@dataclass(frozen=True)
class Spent:
    """What was asked of a served model."""

    requests: int = 0
    """Attempts that were sent, repetitions included."""
    failures: int = 0
    """Those among them that brought no answer."""
    assumed: int = 0
    """Those whose tokens nobody told: counted as a token for each byte of the request, and as
    many tokens of answer as it allowed."""
    prompt_tokens: int = 0
    completion_tokens: int = 0

    @property
    def tokens(self) -> int:
        """All tokens, read and written."""
        return self.prompt_tokens + self.completion_tokens

    def plus(self, other: Spent) -> Spent:
        """Return both together."""
        return Spent(*(a + b for a, b in zip(self._counts(), other._counts(), strict=True)))

    def minus(self, other: Spent) -> Spent:
        """Return what came after an earlier reading of the same meter."""
        return Spent(*(a - b for a, b in zip(self._counts(), other._counts(), strict=True)))

    def _counts(self) -> tuple[int, ...]:
        return tuple(asdict(self).values())


@dataclass(frozen=True)
class Prices:
    """What the service charges, in US dollars per million tokens; null where nobody said."""

    prompt_usd: float | None = None
    completion_usd: float | None = None

    def __post_init__(self) -> None:
        given = [price for price in (self.prompt_usd, self.completion_usd) if price is not None]
        if any(price < 0 for price in given) or len(given) == 1:
            raise ValueError(
                f"prices prompt_usd {self.prompt_usd} and completion_usd {self.completion_usd}: "
                "state both, neither below 0, or none"
            )

    def cost(self, spent: Spent) -> float | None:
        """Return the dollars that were spent; None without prices."""
        if self.prompt_usd is None or self.completion_usd is None:
            return None
        charged = spent.prompt_tokens * self.prompt_usd
        return (charged + spent.completion_tokens * self.completion_usd) / MILLION


@dataclass(frozen=True)
class Limits:
    """Where the asking ends, over all processes of a run; null for no limit."""

    tokens: int | None = None
    usd: float | None = None

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if value is not None and not (value > 0 and math.isfinite(value)):
                raise ValueError(f"limit {name} is {value}; it must be above 0, or null")


class Meter:
    """Adds up what one served model was asked."""

    def __init__(
        self,
        prices: Prices | None = None,
        limits: Limits | None = None,
        *,
        before: Spent | None = None,
    ) -> None:
        """Begin where an earlier process of the same run ended.

        Args:
            prices: What the service charges.
            limits: Where the asking ends.
            before: What was spent already.

        Raises:
            ValueError: if there is a limit in dollars and no price.
        """
        self._prices, self._limits = prices or Prices(), limits or Limits()
        if self._limits.usd is not None and self._prices.cost(Spent()) is None:
            raise ValueError(
                f"limit usd is {self._limits.usd} and no price is stated; state price.prompt_usd "
                "and price.completion_usd, or limit tokens instead"
            )
        self._total = before or Spent()
        self._lock = Lock()

    @property
    def total(self) -> Spent:
        """What was spent so far."""
        return self._total

    def add(self, spent: Spent) -> None:
        """Add what one attempt cost; attempts of several threads are all counted."""
        with self._lock:
            self._total = self._total.plus(spent)

    def exhausted(self) -> str | None:
        """Return the limit that is reached, in a sentence; None while there is room.

        Requests under way are let go, so a total may end above its limit by what is in flight.
        """
        tokens, usd = self._limits.tokens, self._limits.usd
        if tokens is not None and self._total.tokens >= tokens:
            told = f"{self._total.tokens} tokens of limit.tokens {tokens}"
        elif usd is not None and (cost := self._prices.cost(self._total) or 0.0) >= usd:
            told = f"${cost:.4f} of limit.usd {usd:g}"
        else:
            return None
        return f"{told} are spent; go on with a new run that begins with the last checkpoint"

    def told(self, spent: Spent) -> dict[str, float]:
        """Return counts as a record holds them: with `usd` where prices are stated.

        Args:
            spent: The total, or a part of it.
        """
        cost = self._prices.cost(spent)
        return asdict(spent) | ({} if cost is None else {"usd": round(cost, 6)})


def from_record(values: Mapping[str, Any]) -> Spent:
    """Return the counts that a record holds; what is missing or no count is 0."""
    names = (entry.name for entry in fields(Spent))
    found = {name: values.get(name) for name in names}
    return Spent(**{k: v for k, v in found.items() if isinstance(v, int) and v >= 0})
