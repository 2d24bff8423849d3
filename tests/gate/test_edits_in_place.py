"""An edit of the worlds in force is told at every step, with the place to edit instead."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gate.contract import ledger, protected
from gate.contract.paths import RunPaths
from gate.guard import Guard, Prober
from tests import live_run
from tests.gate import candidates, fake_probe
from tests.gate.candidates import decided, edit, look, propose, rules_of


@pytest.fixture(autouse=True)
def frozen_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let somebody who edits the checkout meanwhile change nothing here."""
    digests = protected.digests()
    monkeypatch.setattr(protected, "digests", lambda root=None: digests)


@pytest.fixture
def run(tmp_path: Path) -> RunPaths:
    return candidates.launch(tmp_path / "run")


@pytest.fixture
def fake(tmp_path: Path) -> Path:
    return tmp_path / "fake"


@pytest.fixture
def guard(run: RunPaths, fake: Path) -> Iterator[Guard]:
    prober = Prober(run.probe, command=fake_probe.command(fake))
    guard = Guard.open(run, worlds=live_run.WORLDS, prober=prober)
    yield guard
    guard.close()


def test_an_edit_in_place_is_told_at_every_step_and_recorded_once(
    run: RunPaths, guard: Guard
) -> None:
    place = run.world / "0000" / "travel" / "wording.py"
    whole = place.read_bytes()
    assert look(guard).refused == ()
    place.write_bytes(b"OPENING = 'hacked'\n")
    for step in (42, 43, 44):
        (found,) = look(guard, step).refused
        assert (found.rule, found.file) == ("guard.world-edited", "world/0000")
        assert "candidate/world" in found.next_step
    edit(run, "wording.py")
    propose(run)
    assert rules_of(look(guard, 45)) == ["guard.world-edited"]
    refusals = [one for one in ledger.entries(run.ledger) if one.kind.value == "refused"]
    assert len(refusals) == 2
    place.write_bytes(whole)
    assert look(guard, 46).refused == ()


@pytest.mark.parametrize(
    ("how", "path", "what"),
    [
        ("edit", "travel/wording.py", "was edited in place"),
        ("remove", "travel/wording.py", "is gone"),
        ("add", "travel/extra.py", "was put there by hand"),
        ("add", "atlantis/env.py", "was put there by hand"),
        ("link", "travel/extra.py", "was put there by hand"),
        ("vanish", "travel/env.py", "is gone"),
    ],
)
def test_an_edit_of_a_newer_folder_is_told_by_file(
    run: RunPaths, guard: Guard, how: str, path: str, what: str
) -> None:
    edit(run, "wording.py")
    propose(run)
    decided(guard)
    place = run.world_revision(1) / path
    if how == "remove":
        place.unlink()
    elif how == "vanish":
        run.world_revision(1).rename(run.root / "elsewhere")
    elif how == "link":
        place.symlink_to(run.ledger)
    else:
        place.parent.mkdir(exist_ok=True)
        place.write_text("x = 1\n")
    (found, *_) = look(guard, 42).refused
    assert (found.rule, what in found.message) == ("guard.world-edited", True)
    assert (found.file or "").startswith("world/0001/")
