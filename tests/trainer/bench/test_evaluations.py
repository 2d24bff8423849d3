"""The sandbox is timed under both namespaces, each against the same limit."""

from __future__ import annotations

from trainer.bench import evaluations


def test_evaluations_are_timed_under_both_namespaces() -> None:
    figures = evaluations.measure(evaluations.Sizes(programs=2, rounds=1))
    assert [figure.name for figure in figures] == ["evaluations, fresh", "evaluations, strict"]
    assert all(figure.value > 0 for figure in figures)
    assert all(figure.limit == (20.0, False) for figure in figures)
