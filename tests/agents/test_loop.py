"""A real client closes the loop: symptom, proposal, gate, adoption by the trainer, verdict, lesson.

The model is scripted, so this says that the pieces fit, not that a model would choose so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from gate.contract import files, ledger
from gate.contract.paths import RunPaths
from skill.experience import pool
from tests.agents import live, policies, supervised, workshop
from tests.agents.clients import Client
from tests.agents.supervised import Tick
from tests.agents.workshop import Workshop

pytestmark = pytest.mark.agents

KNOB, VALUE = "user.facts_per_reply", 2
ENOUGH = 60
"""Steps after which it is plain that nothing is ever solved, and how noisy that is."""


@dataclass(frozen=True)
class Story:
    """A run in which a client proposed something, and wrote down what the gate found."""

    client: Client
    shop: Workshop
    run: RunPaths
    proposed: Tick
    written: Tick
    code: set[str]
    """Files of the checkout, its runs left out, that are not as they were."""


@pytest.fixture(scope="module")
def story(client: Client, tmp_path_factory: pytest.TempPathFactory) -> Story:
    """Two supervised ticks on a training run, with the verdict in between."""
    folder = tmp_path_factory.mktemp(f"loop-{client.name}")
    shop = Workshop(folder / "checkout")
    policy = policies.Loop("live", client.name, knob=KNOB, value=VALUE, symptom="never_solved")
    with live.training(shop, "live", done=ENOUGH) as training:
        run = training.run
        before = code(shop.contents())
        proposed = supervised.tick(client, shop, run, policy, home=folder / "home")
        assert proposed.record["proposals"] == [1], proposed.outcome.told()
        training.until(lambda: supervised.ledger_lines(run, "outcome"), "the gate's verdict")
        written = supervised.tick(client, shop, run, policy, home=folder / "home")
        after = code(shop.contents())
        last = training.last_step
        training.until(lambda: training.last_step > last, "the run to go on")
    return Story(client, shop, run, proposed, written, workshop.changed(before, after))


def code(contents: Mapping[str, str]) -> dict[str, str]:
    """Return contents without runs and what their trainers print."""
    others = ("runs/", "start-")
    return {path: digest for path, digest in contents.items() if not path.startswith(others)}


def outcome_of(story: Story) -> Mapping[str, Any]:
    (line,) = supervised.ledger_lines(story.run, "outcome")
    return line


def test_the_trainer_adopts_what_the_client_proposed(story: Story) -> None:
    (revision,) = [one for one in ledger.revisions(story.run.ledger) if one.number]
    assert (revision.number, revision.author.value) == (1, "meta_agent")
    assert [(c.path, c.old, c.new) for c in revision.changes] == [(KNOB, 1, VALUE)]
    steps = files.read_lines(story.run.steps).records
    assert {one["revision"] for one in steps if one["step"] < revision.step} == {0}
    assert {one["revision"] for one in steps if one["step"] >= revision.step} == {1}
    assert f"facts_per_reply: {VALUE}" in story.run.knob_file("user").read_text("utf-8")


def test_the_proposal_names_its_author_and_cites_records_of_the_run(story: Story) -> None:
    (intent,) = supervised.ledger_lines(story.run, "intent")
    proposal = intent["details"]["proposal"]
    assert proposal["author"] == story.client.name
    assert proposal["evidence"]["episodes"] or proposal["evidence"]["steps"]


def test_the_gate_tests_the_change_and_gives_a_verdict(story: Story) -> None:
    (opened,) = supervised.ledger_lines(story.run, "opened")
    told = outcome_of(story)
    assert (told["proposal"], told["revision"], opened["proposal"]) == (1, 1, 1)
    assert told["verdict"] and told["because"]
    sides = {
        side
        for one in files.read_lines(story.run.steps).records
        if opened["step"] <= one["step"] < told["step"]
        for side in one["sides"]
    }
    assert {"old", "new"} <= sides, "episodes under both values, at the same steps"


def test_the_client_writes_a_lesson_that_cites_the_verdict(story: Story) -> None:
    found = pool.read(story.shop.root / "experience" / "lessons")
    assert found.refused == ()
    lesson = max(found.lessons, key=lambda one: one.id)
    assert lesson.evidence == (f"runs/live/ledger#{outcome_of(story)['seq']}",)
    assert lesson.knobs == (KNOB,) and outcome_of(story)["verdict"] in lesson.body


def test_each_tick_is_on_file_and_nothing_else_was_written(story: Story) -> None:
    for tick in (story.proposed, story.written):
        assert tick.record["agent"] == story.client.name
        assert (tick.record["end"], tick.record["code"]) == ("exited", 0), tick.outcome.told()
        assert tick.record["breaches"] == []
    assert story.written.record["proposals"] == []
    assert all(path.startswith("experience/") for path in story.code), story.code
    assert ledger.verify(story.run.ledger).ok


def test_no_process_is_left_behind_and_no_other_host_was_asked(story: Story) -> None:
    for tick in (story.proposed, story.written):
        assert tick.outcome.left == ()
        assert tick.model.wanted == []
