"""What turned a knob against a move is put back before anything else is turned further."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gate.contract import files, ledger, proposal_reading
from gate.contract.knobs import KnobChange
from gate.contract.ledger import Author, Revision, RevisionKind
from gate.contract.paths import RunPaths
from gate.guard import plant
from skill.operator import operator
from skill.operator.playbook import Move, Turn
from skill.operator.suspicion import turned_against
from skill.standing import Standing, State, Told
from tests import live_run, proposed
from tests.skill import recorded
from tests.skill.recorded import agent, failure, user

LONGER = Move("environment.max_steps", Turn.ADD, 4)
WEAKER = Move("reward.shaping", Turn.WEAKEN, 0.5)


def wrote(
    number: int,
    old: Any,
    new: Any,
    *,
    kind: RevisionKind = RevisionKind.DIRECT_EDIT,
    path: str = "environment.max_steps",
    **details: Any,
) -> Revision:
    changes = (KnobChange(path, old, new),)
    return Revision(number, kind, Author.PERSON, "", number, 0.0, changes, {}, details=details)


def suspected(*revisions: Revision, found: tuple[Standing, ...] = ()) -> int | None:
    now = revisions[-1].changes[0].new
    revision = turned_against(LONGER, now, now + 4, revisions, found)
    return None if revision is None else revision.number


@pytest.mark.parametrize("kind", [RevisionKind.DIRECT_EDIT, RevisionKind.COMMAND])
def test_who_lowered_what_a_move_would_raise_is_suspected(kind: RevisionKind) -> None:
    assert suspected(wrote(1, 12, 9, kind=kind)) == 1


def test_only_the_last_writer_of_a_knob_can_be_to_blame_for_its_value() -> None:
    assert suspected(wrote(1, 12, 9), wrote(2, 9, 11)) is None
    assert suspected(wrote(1, 12, 16), wrote(2, 16, 9)) == 2


def test_a_launch_a_way_back_and_what_helped_are_not_suspected() -> None:
    assert suspected(wrote(0, 12, 9, kind=RevisionKind.LAUNCH)) is None
    assert suspected(wrote(3, 12, 9, kind=RevisionKind.REVERT, reverts=2)) is None
    assert suspected(wrote(3, 12, 9, kind=RevisionKind.PROPOSAL, reverts=2)) is None
    helped = Told(seq=1, step=9, verdict="help", because="")
    judged = Standing(1, State.JUDGED, revision=3, told=helped)
    proposed_one = wrote(3, 12, 9, kind=RevisionKind.PROPOSAL)
    assert suspected(proposed_one, found=(judged,)) is None
    assert suspected(proposed_one) == 3


def test_reward_rules_are_compared_by_what_they_pay() -> None:
    none: list[dict[str, Any]] = []
    paying = [{"id": "ask", "event": "e", "value": 0.4, "once": False}]
    weaker = [{**paying[0], "value": 0.2, "once": True}]
    added = wrote(1, none, paying, path="reward.shaping")
    assert turned_against(WEAKER, paying, weaker, [added], ()) is added
    halved = wrote(2, [{**paying[0], "value": 0.8}], paying, path="reward.shaping")
    assert turned_against(WEAKER, paying, weaker, [halved], ()) is None


@pytest.fixture
def cut(tmp_path: Path) -> RunPaths:
    """Return a run whose episodes are cut since a limit was lowered, its success too noisy."""
    run = live_run.launch(tmp_path / "runs" / "c")
    success = [0.3, 0.6, 0.2, 0.5, 0.4, 0.7, 0.3, 0.5] * 2 + [0.3, 0.4, 0.2, 0.5]
    revisions = [0] * 16 + [1] * 4
    recorded.write(run.root, steps=recorded.steps(20, success=success, revision=revisions))
    turns = [
        part
        for at in range(5)
        for part in (agent(f"[action] what {at}?", at), user(f"The {at} is {at * 7}.", at))
    ]
    for index in range(24):
        files.append_line(run.episodes_of(20), failure(index, turns, step=20, stop="out_of_steps"))
    proposed.record_launch(run)
    limit = {"environment.max_steps": 11}
    plant(run, limit, reason="planted", worlds=live_run.WORLDS, step=17, now=1.0, timeout_s=1.0)
    return run


def test_a_symptom_and_the_ledger_together_name_a_change_that_success_does_not_show(
    cut: RunPaths, tmp_path: Path
) -> None:
    report = operator.tick(cut, experience=tmp_path)
    assert (report["act"], report["symptom"]) == ("propose", "step_cap")
    assert "Revision 1 (planted) turned environment.max_steps the wrong way" in report["because"]
    assert [one["takes_back"] for one in report["tried"]] == [1]
    assert report["tried"][0]["submitted"] and report["tried"][0]["refused_by"] == []
    proposal = proposal_reading.load(cut, 1, worlds=live_run.WORLDS)
    assert proposal.reverts == 1


def test_a_way_back_that_was_refused_is_not_asked_for_again(cut: RunPaths, tmp_path: Path) -> None:
    body = {
        "proposal": 1,
        "findings": [{"rule": "rules.pace", "severity": "error"}],
        "changes": [{"path": "environment.max_steps", "old": 11, "new": 20}],
    }
    ledger.append(cut.ledger, ledger.EntryKind.REFUSED, body, step=18, now=2.0)
    report = operator.tick(cut, experience=tmp_path, dry_run=True)
    assert [one["takes_back"] for one in report["options"]] == [None, None]
