"""Verdicts cannot be bought: easier episodes and worse anchors get no help, and unlock nothing."""

from __future__ import annotations

from typing import Any

import pytest

from gate.contract import knobs
from gate.contract.knobs import Harder, Scope
from gate.effects import anchors
from gate.effects.anchors import Ease
from gate.effects.designs import Declaration, Design
from gate.effects.effect import Effect
from gate.effects.verdicts import Evidence, Verdict, decide

DECLARED = Declaration(Design.CONCURRENT_ARMS, opened=101, window=20)
HELD = Effect.of(0.0, 0.05, steps=20)


def judged(difference: float, ease: Ease, shown: Effect | None, *, elapsed: int = 20) -> Verdict:
    own = decide(DECLARED, Evidence(elapsed, Effect.of(difference, 0.03, steps=elapsed)))
    return anchors.bounded(own, DECLARED, ease=ease, anchors=shown).verdict


@pytest.mark.parametrize("ease", [Ease.HARDER, Ease.UNCHANGED])
def test_a_help_stands_if_the_anchors_held(ease: Ease) -> None:
    assert judged(0.3, ease, HELD) is Verdict.HELP


def test_a_help_with_worse_anchors_is_inconclusive() -> None:
    surely = Effect.of(-0.03, 0.01, steps=20)
    materially = Effect.of(-0.05, 0.10, steps=20)
    for worse in (surely, materially):
        assert judged(0.3, Ease.UNCHANGED, worse) is Verdict.INCONCLUSIVE


def test_a_help_without_anchors_is_inconclusive_and_says_so() -> None:
    own = decide(DECLARED, Evidence(20, Effect.of(0.3, 0.03, steps=20)))
    found = anchors.bounded(own, DECLARED, ease=Ease.UNCHANGED, anchors=None)
    assert found.verdict is Verdict.INCONCLUSIVE
    assert "no anchors were played" in found.because


@pytest.mark.parametrize("ease", [Ease.EASIER, Ease.UNKNOWN])
@pytest.mark.parametrize("shown", [HELD, None, Effect.of(0.3, 0.01, steps=20)])
def test_a_chattier_user_is_never_a_help_on_its_own_episodes(
    ease: Ease, shown: Effect | None
) -> None:
    assert judged(0.3, ease, shown, elapsed=20) is Verdict.LAGGING
    assert judged(0.3, ease, shown, elapsed=39) is Verdict.LAGGING
    assert judged(0.3, ease, shown, elapsed=40) is Verdict.NULL


def test_an_easier_change_may_still_harm_or_do_nothing() -> None:
    assert judged(-0.3, Ease.EASIER, HELD) is Verdict.HARM
    exact = decide(DECLARED, Evidence(20, Effect.of(0.0, 0.01, steps=20)))
    found = anchors.bounded(exact, DECLARED, ease=Ease.EASIER, anchors=HELD)
    assert found.verdict is Verdict.NULL


def test_a_withdrawn_help_is_not_provisional_and_keeps_its_numbers() -> None:
    declared = Declaration(Design.BEFORE_AFTER, opened=101, window=20)
    own = decide(declared, Evidence(20, Effect.of(0.3, 0.03, steps=20)))
    assert own.provisional
    for ease in (Ease.EASIER, Ease.UNKNOWN, Ease.UNCHANGED):
        found = anchors.bounded(own, declared, ease=ease, anchors=None)
        assert not found.provisional
        assert found.evidence == own.evidence
        assert own.because in found.because
    stands = anchors.bounded(own, declared, ease=Ease.UNCHANGED, anchors=HELD)
    assert stands == own


@pytest.mark.parametrize(("path", "spec"), list(knobs.specs().items()))
def test_every_knob_that_may_flatter_itself_is_known_to(path: str, spec: knobs.KnobSpec) -> None:
    if spec.scope is Scope.LEARNER:
        expected = (Ease.UNCHANGED, Ease.UNCHANGED)
    elif spec.harder is Harder.NONE:
        expected = (Ease.UNKNOWN, Ease.UNKNOWN)
    else:
        up_is_harder = spec.harder is Harder.UP
        expected = (Ease.HARDER, Ease.EASIER) if up_is_harder else (Ease.EASIER, Ease.HARDER)
    values: tuple[Any, Any] = (0, 1)
    assert (anchors.ease_of(spec, *values), anchors.ease_of(spec, *values[::-1])) == expected


@pytest.mark.parametrize(
    ("changes", "together"),
    [
        ([], Ease.UNCHANGED),
        ([Ease.UNCHANGED, Ease.HARDER], Ease.HARDER),
        ([Ease.HARDER, Ease.UNKNOWN], Ease.UNKNOWN),
        ([Ease.UNKNOWN, Ease.HARDER, Ease.EASIER], Ease.EASIER),
    ],
)
def test_one_change_that_may_help_itself_decides(changes: list[Ease], together: Ease) -> None:
    assert anchors.ease_together(changes) is together


def test_mastery_is_what_the_anchors_show() -> None:
    assert anchors.mastery([0.2, None, 0.4, 0.6, None]) == (0.2, 0.4, 0.6)
    assert anchors.mastery([]) == ()


def test_anchors_before_a_long_gap_no_longer_count() -> None:
    assert anchors.mastery([0.9] * 20 + [None] * 5 + [0.5]) == (0.9,) * 20 + (0.5,)
    assert anchors.mastery([0.9] * 20 + [None] * 6 + [0.5]) == (0.5,)
    assert anchors.mastery([0.9] * 20 + [None] * 6) == ()
