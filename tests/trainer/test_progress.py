"""A line a step: refusals until they are mended, doubts once, and no text that acts as markup."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from gate.contract import files, knobs
from gate.contract.experiments import Experiment
from gate.contract.findings import Finding, Severity
from gate.contract.records import StepRecord
from gate.guard import EffectTold, KnobStatus
from trainer.progress import StepPrinter, line, sparkline

GOLDEN = Path(__file__).parents[1] / "golden" / "run-v1"


@pytest.fixture
def record() -> StepRecord:
    """The first step of a recorded run."""
    return StepRecord(**files.read_lines(GOLDEN / "steps.jsonl").records[0])


def printed(record: StepRecord, *statuses: KnobStatus) -> list[str]:
    screen = io.StringIO()
    with StepPrinter(Console(file=screen, width=80), total_steps=9) as printer:
        for status in statuses:
            printer(record, status)
    return screen.getvalue().splitlines()


def status(*, refused: str = "", doubt: str = "", old: object = None) -> KnobStatus:
    def findings(severity: Severity, message: str) -> tuple[Finding, ...]:
        return (Finding("rule", severity, message, "Mend it."),) if message else ()

    change = knobs.KnobChange("user.persona", old, "new")
    return KnobStatus(
        knobs=knobs.defaults(),
        revision=3,
        changed=(change,) if old is not None else (),
        refused=findings(Severity.ERROR, refused),
        warnings=findings(Severity.WARNING, doubt),
    )


def test_a_refusal_is_told_at_every_step_and_a_doubt_once(record: StepRecord) -> None:
    told = printed(record, *[status(refused="No.", doubt="Large step.")] * 3)
    assert sum("refused No. Mend it." in entry for entry in told) == 3
    assert sum("doubtful Large step." in entry for entry in told) == 1


def test_a_doubt_that_comes_back_is_told_again(record: StepRecord) -> None:
    told = printed(record, status(doubt="Large."), status(), status(doubt="Large."))
    assert sum("doubtful Large." in entry for entry in told) == 2


def test_a_knob_in_force_is_told_with_its_revision(record: StepRecord) -> None:
    told = printed(record, status(old="plain"))
    assert "knob user.persona: plain -> new (revision 3)" in told


def test_markup_and_escapes_in_a_value_stay_text(record: StepRecord) -> None:
    told = "\n".join(printed(record, status(old="[/bold][red]\x1b[2J")))
    assert "[/bold][red]\\x1b[2J" in told
    assert "\x1b" not in told


def test_a_line_tells_success_by_arm_and_what_was_lost(record: StepRecord) -> None:
    lost = StepRecord(**{**record.__dict__, "quarantined": 2, "dropped": 1, "success": None})
    assert "quarantined 2 dropped 1" in line(lost)
    assert f"step {record.step:4d}" in line(record)
    assert all(f"{arm} {value:.2f}" in line(record) for arm, value in record.success_by_arm.items())


def test_a_sparkline_goes_from_low_to_high_and_keeps_its_width() -> None:
    assert sparkline([0.0, 0.5, 1.0]) == "▁▅█"
    assert sparkline([-1.0, 2.0]) == "▁█"
    assert len(sparkline([0.5] * 500, width=25)) == 25
    assert sparkline([]) == ""


def test_a_line_tells_the_anchors_and_both_sides_of_an_open_test(record: StepRecord) -> None:
    assert "anchors" not in line(record)
    assert "test" not in line(record)
    sides = {
        "new": {
            "noisy": {"success": 0.5, "episodes": 3},
            "symbolic": {"success": 1.0, "episodes": 2},
        },
        "old": {"symbolic": {"success": 0.25, "episodes": 4}},
    }
    told = line(replace(record, anchor_success=0.4, test=3, sides=sides))
    assert "anchors 0.40" in told
    assert "test 3: old 0.25 new 0.75" in told
    assert "test 3: no episode" in line(replace(record, test=3))


def test_a_test_and_what_it_found_are_told(record: StepRecord) -> None:
    effect = EffectTold(7, 4, 1, 2, "harm", "the evidence of harm reached 21.0", rolled_back_by=3)
    test = Experiment(1, 1, 2, 0, 3, judged=False, because="nothing is known")
    told = printed(record, replace(status(), opened=(test,), verdicts=(effect,)))
    assert told[:2] == [
        "opened test 1 cannot judge it: nothing is known",
        "effect harm of revision 2: the evidence of harm reached 21.0; taken back by revision 3",
    ]
    kept = replace(effect, verdict="null", rolled_back_by=None)
    assert printed(record, replace(status(), verdicts=(kept,)))[0].startswith("effect null of rev")
