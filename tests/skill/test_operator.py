"""The operator follows the playbook through the scripts, holds, stops, and learns from verdicts."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from gate.contract import files, knobs, ledger, proposal_reading, proposals, restarts
from gate.contract.ledger import EntryKind
from gate.contract.paths import RunPaths
from gate.contract.records import CONVERSATION, StepRecord
from gate.guard import plant
from gate.guard.guard import Guard
from skill.diagnosis import windows
from skill.experience import pool
from skill.experience.lesson import Status
from skill.experience.pool import Draft, Pool
from skill.operator import naive, operator
from skill.operator.decision import Act, decide
from skill.operator.playbook import PLAYBOOK, Move, Turn, markdown
from skill.standing import Standing, State, Told
from tests import live_run, proposed
from tests.project.tree import CHECKOUT
from tests.skill import recorded
from tests.skill.recorded import agent, failure, user

REFUSAL = "I cannot say that yet, please ask me something else first."


def stalled(index: int) -> dict[str, Any]:
    turns = [
        part for at in range(5) for part in (agent(f"[action] what {at}?", at), user(REFUSAL, at))
    ]
    return failure(index, turns, stop="out_of_steps")


@pytest.fixture
def run(tmp_path: Path) -> RunPaths:
    made = live_run.launch(tmp_path / "runs" / "a")
    recorded.write(made.root, steps=recorded.steps(30))
    for index in range(24):
        files.append_line(made.episodes_of(1), stalled(index))
    proposed.record_launch(made)
    return made


@pytest.fixture
def experience(tmp_path: Path) -> Path:
    folder = tmp_path / "experience"
    (folder / "lessons").mkdir(parents=True)
    return folder


def test_the_playbook_has_a_play_for_every_symptom_that_a_detector_names() -> None:
    sources = (CHECKOUT / "skill/diagnosis/detectors").glob("*.py")
    named = {
        name
        for path in sources
        for name in re.findall(r'Symptom\(\s*"(\w+)"', path.read_text("utf-8"))
    }
    assert named == set(PLAYBOOK)
    ways = [(play.moves, play.leave, play.takes_back) for play in PLAYBOOK.values()]
    assert all(sum(map(bool, way)) == 1 for way in ways)


def test_every_move_turns_a_knob_that_exists_and_is_proved_by_a_field_on_record() -> None:
    told = {entry.name for entry in fields(StepRecord)}
    for play in PLAYBOOK.values():
        for move in play.moves:
            spec = knobs.specs()[move.knob]
            home, _, measure = move.metric.partition(".")
            assert home in told and (home != "conversation" or measure in CONVERSATION)
            if move.turn is not Turn.WEAKEN:
                old = spec.default or 0.01
                assert spec.max_step.allows(old, move.value(old, {})), move


def test_the_page_shows_the_playbook_as_it_is() -> None:
    assert markdown() in (CHECKOUT / "docs/operator.md").read_text("utf-8")


def test_a_move_stays_within_the_range_of_its_knob() -> None:
    assert Move("user.match_threshold", Turn.ADD, 0.1).value(0.6, {}) == 0.7
    assert Move("user.facts_per_reply", Turn.ADD, 1).value(3, {}) == 3
    assert Move("user.facts_per_reply", Turn.ADD, 1).value(None, {}) is None
    rules = [
        {"id": "ask", "event": "e", "value": 0.1, "once": False},
        {"id": "fine", "event": "e", "value": -0.5, "once": False},
    ]
    weaker = Move("reward.shaping", Turn.WEAKEN, 0.5).value(rules, {"ask": 0.4, "fine": 0.9})
    assert weaker == [{**rules[0], "value": 0.05, "once": True}, rules[1]]
    assert Move("reward.shaping", Turn.WEAKEN, 0.5).value(rules[1:], {}) == rules[1:]


def looked_at(run: RunPaths) -> windows.Window:
    return windows.read(run, now=recorded.NOW)


def choose(
    run: RunPaths, found: tuple[Standing, ...] = (), lessons: Pool | None = None, **more: Any
):
    window = looked_at(run)
    symptoms = operator.examine(window)
    rest = more.get("resting", frozenset())
    revisions = ledger.revisions(run.ledger)
    return decide(window, symptoms, found, lessons or Pool(()), revisions=revisions, resting=rest)


def test_the_first_symptom_leads_to_its_first_move_with_room(run: RunPaths) -> None:
    decision = choose(run)
    assert decision.act is Act.PROPOSE and decision.symptom is not None
    assert decision.symptom.name == "deadlock"
    assert [(one.knob, one.old, one.new) for one in decision.options] == [
        ("user.match_threshold", 0.6, 0.5)
    ]
    assert choose(run) == decision


@pytest.mark.parametrize("state", [State.DRAFT, State.WAITING, State.OPEN])
def test_nothing_is_changed_while_something_is_open(run: RunPaths, state: State) -> None:
    decision = choose(run, (Standing(4, state, window_ends=40),))
    assert decision.act is Act.HOLD and "proposal 4" in decision.because


def test_what_was_judged_refused_or_written_lately_is_not_tried_again(run: RunPaths) -> None:
    moved = {"user.match_threshold": (0.7, 0.6)}
    for state in (State.REFUSED, State.TAKEN_BACK, State.JUDGED):
        decision = choose(run, (Standing(1, state, changes=moved),))
        assert decision.act is Act.LEAVE and "proposal 1 tried it" in decision.because
    helped = Told(seq=1, step=9, verdict="help", because="")
    assert choose(run, (Standing(1, State.JUDGED, changes=moved, told=helped),)).options
    assert choose(run, resting=frozenset({"user.match_threshold"})).act is Act.LEAVE


def test_a_lesson_that_speaks_against_a_move_is_heeded(run: RunPaths, experience: Path) -> None:
    body = {"revision": 1, "verdict": "harm"}
    seq = ledger.append(run.ledger, EntryKind.OUTCOME, body, step=9, now=1.0).seq
    told = Draft(
        title="A lower threshold harms",
        body="We saw it.",
        status=Status.REFUTED,
        world="travel",
        policy="any",
        knobs=("user.match_threshold",),
        evidence=(f"runs/a/ledger#{seq}",),
    )
    pool.add(experience / "lessons", told, today="2026-03-01", runs=run.root.parent)
    decision = choose(run, lessons=pool.read(experience / "lessons"))
    assert decision.act is Act.LEAVE and "lesson 1 speaks against it" in decision.because


def test_a_run_that_is_well_is_left_alone(tmp_path: Path, experience: Path) -> None:
    made = live_run.launch(tmp_path / "well")
    recorded.write(made.root, steps=recorded.steps(12), episodes=recorded.mixed(40))
    report = operator.tick(made, experience=experience)
    assert (report["act"], report["tried"]) == ("leave", [])
    assert proposals.names(made) == []


def test_symptom_to_proposal_to_verdict_to_lesson(tmp_path: Path, experience: Path) -> None:
    run = live_run.launch(tmp_path / "runs" / "a")
    steps = recorded.steps(30, kl=[0.05] * 26 + [3.0] * 4)
    recorded.write(run.root, steps=steps, episodes=recorded.mixed(40))
    proposed.record_launch(run)
    report = operator.tick(run, experience=experience)
    assert report["act"] == "propose" and report["tried"][0]["submitted"], str(report)
    proposal = proposal_reading.load(run, 1, worlds=live_run.WORLDS)
    assert proposal.author == "operator" and proposal.steps
    assert operator.tick(run, experience=experience)["act"] == "hold"
    guard = Guard.open(run, worlds=live_run.WORLDS)
    status = guard.reconcile(31, success_history=[0.5] * 20, now=1.0)
    assert status.knobs.get("agent.actor_lr") == 5e-07
    body = {
        "experiment": 1, "proposal": 1, "revision": 1, "verdict": "help",
        "because": "0.12 (0.05 to 0.19)", "window": [31, 40], "rolled_back_by": None,
        "effect": {"difference": 0.12, "low": 0.05, "high": 0.19},
    }  # fmt: skip
    seq = ledger.append(run.ledger, EntryKind.OUTCOME, body, step=41, now=2.0).seq
    report = operator.tick(run, experience=experience)
    assert [one["verdict"] for one in report["lessons"]] == ["help"], report
    (lesson,) = pool.read(experience / "lessons").lessons
    assert lesson.status is Status.SUPPORTED and lesson.effect == 0.12
    assert lesson.evidence == (f"runs/a/ledger#{seq}",)
    assert operator.tick(run, experience=experience)["lessons"] == []


def test_after_the_gates_refusal_it_stops_and_tells(run: RunPaths, experience: Path) -> None:
    proposed.record_launch(run, parent="gone", attempt=9)
    report = operator.tick(run, experience=experience)
    assert [one["submitted"] for one in report["tried"]] == [False]
    assert report["tried"][0]["refused_by"] == ["rules.restart-budget"]
    assert proposals.names(run) == []


def test_the_naive_one_says_nothing_in_a_run_and_asks_for_another_after_it(run: RunPaths) -> None:
    recorded.write(run.root, status={"phase": "training"})
    assert naive.tick(run, seed=3)["act"] == "hold"
    recorded.write(run.root, status={"phase": "finished"})
    report = naive.tick(run, seed=3)
    (request,) = restarts.read(run)
    assert report["act"] == "restart" and request.author == "naive"
    assert request.sets["knobs.user.user_strategy_mix"] == 0.0 and len(request.sets) == 2
    assert naive.tick(run, seed=3)["act"] == "hold"
    drawn = {naive.draw(looked_at(run), seed=seed, attempt=1).key for seed in range(40)}
    assert len(drawn) >= 4
    once = naive.draw(looked_at(run), seed=3, attempt=1)
    assert once == naive.draw(looked_at(run), seed=3, attempt=1)


def fallen(tmp_path: Path) -> RunPaths:
    """Return a run whose success fell with a revision, while its anchors held."""
    run = live_run.launch(tmp_path / "runs" / "b")
    success = [*recorded.ramp(0.6, 0.7, 16, noise=0.05), 0.2, 0.25, 0.2, 0.3]
    revisions = [0] * 16 + [1] * 4
    recorded.write(
        run.root,
        steps=recorded.steps(20, success=success, revision=revisions, anchor_success=[0.7] * 20),
    )
    for step in range(1, 21):
        files.append_line(run.episodes_of(step), recorded.episode(0, step=step))
    proposed.record_launch(run)
    plant(
        run,
        {"environment.max_steps": 11},
        reason="planted",
        worlds=live_run.WORLDS,
        step=17,
        now=1.0,
        timeout_s=1.0,
    )
    return run


def test_what_fell_with_a_revision_is_put_back_by_a_proposal(
    tmp_path: Path, experience: Path
) -> None:
    run = fallen(tmp_path)
    report = operator.tick(run, experience=experience)
    assert (report["act"], report["symptom"]) == ("propose", "fell_with_revision")
    assert [one["takes_back"] for one in report["tried"]] == [1]
    assert report["tried"][0]["submitted"]
    guard = Guard.open(run, worlds=live_run.WORLDS)
    guard.reconcile(21, success_history=(), now=2.0)
    assert guard.status.knobs.get("environment.max_steps") == 16
