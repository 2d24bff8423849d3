"""Live knobs: what is on disk is in force one step later, and a bad edit changes nothing."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gate.contract import knobs
from gate.contract.paths import RunPaths
from gate.guard import KnobStatus
from tests import live_run
from trainer.live import LiveKnobs, watching


@pytest.fixture
def run(tmp_path: Path) -> RunPaths:
    return live_run.launch(tmp_path / "run")


@pytest.fixture
def live(run: RunPaths) -> LiveKnobs:
    return LiveKnobs(run, worlds=live_run.WORLDS)


def look(live: LiveKnobs, step: int) -> KnobStatus:
    return live.reconcile(step, success_history=[0.9] * 20, now=float(step))


def another_value(spec: knobs.KnobSpec) -> Any:
    """Return a value that a knob may have and does not have by default."""
    if spec.choices:
        return next(choice for choice in spec.choices if choice != spec.default)
    if spec.type in ("number", "integer"):
        low, high = spec.low, spec.high
        near = spec.default if spec.default is not None else 2
        candidates = (near + 1, near - 1, near * 1.01 + 0.003, near * 0.99 - 0.003)
        for value in candidates:
            whole = spec.type == "number" or float(value).is_integer()
            if whole and (low is None or low <= value) and (high is None or value <= high):
                return value
    examples: dict[str, Any] = {
        "user.reveal_kinds": ["hotel.room"],
        "user.persona": "terse",
        "environment.task_mix": {"travel": 2.0},
        "environment.per_world_scale": {"travel": 0.5},
        "reward.shaping": [{"id": "ask", "event": "asked", "value": 0.02}],
    }
    return examples[spec.path]


def test_a_bad_edit_leaves_the_present_state_in_force(run: RunPaths, live: LiveKnobs) -> None:
    live_run.save(run, "agent.gae_lambda", 0.9)
    look(live, 1)
    live_run.save(run, "agent.gae_lambda", 1.5)
    status = look(live, 2)
    assert status.knobs.get("agent.gae_lambda") == live.current.get("agent.gae_lambda") == 0.9
    assert [finding.path for finding in status.refused] == ["agent.gae_lambda"]


@pytest.mark.parametrize("path", list(knobs.specs()))
def test_every_knob_is_in_force_one_step_after_it_was_saved(
    run: RunPaths, live: LiveKnobs, path: str
) -> None:
    look(live, 3)
    value = another_value(knobs.specs()[path])
    live_run.save(run, path, value)
    status = look(live, 4)
    assert status.refused == ()
    assert [change.path for change in status.changed] == [path]
    assert live.current.get(path) != knobs.specs()[path].default
    assert live.in_force_since(path) == 4
    assert live.revision == 1


def test_a_knob_that_never_changed_is_in_force_since_the_launch(live: LiveKnobs) -> None:
    look(live, 7)
    assert live.in_force_since("user.max_reveals") == 0


def test_a_replayed_step_has_the_knobs_it_had_and_the_present_comes_after(run: RunPaths) -> None:
    first = LiveKnobs(run, worlds=live_run.WORLDS)
    for step, value in enumerate((1e-5, 1e-4), start=1):
        live_run.save(run, "agent.actor_lr", value)
        look(first, step)
    resumed = LiveKnobs(run, worlds=live_run.WORLDS)
    assert resumed.replay({"revision": 0}).knobs.get("agent.actor_lr") == 1e-6
    assert resumed.current.get("agent.actor_lr") == 1e-6
    assert resumed.replay({"revision": 1}).knobs.get("agent.actor_lr") == 1e-5
    live_run.save(run, "agent.actor_lr", 1e-3)
    status = look(resumed, 3)
    assert status.knobs.get("agent.actor_lr") == 1e-3
    assert [(change.old, change.new) for change in status.changed] == [(1e-5, 1e-3)]
    with pytest.raises(ValueError, match="no revision 7"):
        resumed.replay({"revision": 7})


@pytest.fixture
def saving(run: RunPaths) -> Iterator[threading.Timer]:
    timer = threading.Timer(0.05, live_run.save, (run, "agent.gae_lambda", 0.9))
    yield timer
    timer.join()


def test_a_save_ends_an_idle_wait(live: LiveKnobs, saving: threading.Timer) -> None:
    with live.watch() as watch:
        saving.start()
        assert watch.wait_for_change(10.0)
    assert look(live, 1).knobs.get("agent.gae_lambda") == 0.9


def test_looking_at_the_files_ends_no_wait(live: LiveKnobs) -> None:
    with live.watch() as watch:
        watch.wait_for_change(0.1)
        look(live, 1)
        for name in knobs.FILES:
            assert name in live.current.values
        look(live, 2)
        assert not watch.wait_for_change(0.1)


def test_without_notifications_a_wait_ends_by_the_clock(tmp_path: Path) -> None:
    with watching(tmp_path / "missing") as watch:
        assert not watch.wait_for_change(0.01)
