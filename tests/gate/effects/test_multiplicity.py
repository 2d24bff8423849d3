"""Of many tests only those findings stand that the evidence can carry together."""

from __future__ import annotations

from gate.effects import multiplicity


def test_the_two_strongest_of_five_stand() -> None:
    assert multiplicity.kept([25, 60, 3, 0.4, 12]) == (1, 0)


def test_nothing_stands_without_evidence() -> None:
    assert multiplicity.kept([1.0, 2.0]) == ()
    assert multiplicity.kept([]) == ()


def test_a_stricter_level_keeps_fewer() -> None:
    assert multiplicity.kept([25, 120, 3, 0.4, 12], level=0.05) == (1,)
