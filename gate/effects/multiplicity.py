"""Many tests of one run read together: which of their findings stand.

A run with twenty tests finds one harm by chance. The e-values at the end of each test tell which
findings may be kept so that at most a tenth of the kept ones are expected to be false.

Source:
    Wang and Ramdas 2022, False discovery rate control with e-values (e-BH).
"""

from __future__ import annotations

from collections.abc import Sequence

LEVEL = 0.10
"""Expected share of false findings among the kept ones."""


def kept(evidence: Sequence[float], *, level: float = LEVEL) -> tuple[int, ...]:
    """Return the indexes of the tests whose finding stands, the strongest first.

    Args:
        evidence: The e-value of each test.
        level: Share of false findings that is put up with.
    """
    order = sorted(range(len(evidence)), key=lambda index: -evidence[index])
    for count in range(len(order), 0, -1):
        if evidence[order[count - 1]] >= len(order) / (level * count):
            return tuple(order[:count])
    return ()
