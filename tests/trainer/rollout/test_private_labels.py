"""A user's private label is worth credit and stays unseen: no token, text or call holds it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace

from gate.contract.sides import Side
from tests.trainer.rollout import cast
from trainer.rollout import schedule
from trainer.rollout.collect import Rollout, collect
from trainer.rollout.config import RolloutConfig
from trainer.rollout.scene import Scene
from trainer.task import Task
from trainer.trajectory import Reaction, Trajectory
from trainer.users.seam import UserReply
from trainer.worlds.seam import StepResult

SECRETS = (
    "challenge_solution", "challenge-solution", "challenge solution", "PLANTED", "hidden_rule",
    "confirm",
)  # fmt: skip
"""Two labels, a thought and a rule's id, as they are planted below."""

TELLING = replace(
    cast.answer(
        "That one is dear.",
        private={"strategy": "challenge_solution", "thought": "PLANTED"},
    ),
    rule="hidden_rule",
)
HAPPY = cast.answer("Fine with me.", private={"strategy": "confirm", "thought": "PLANTED"})


MOVES = ("[action] one", "[search] rooms", "[action] two", "[answer] 3")


def play(
    told: dict[str, UserReply],
    *,
    placeholder: str | None = None,
    moves: tuple[str, ...] = MOVES,
    notes: dict[tuple[str, int], StepResult] | None = None,
) -> tuple[cast.Stage, Rollout]:
    """Play one dialogue whose last move solves it; every seam keeps what it was given."""
    stage = cast.stage(moves)
    stage.user.told = told
    stage.host.results = {("e0", len(moves) - 1): cast.SOLVED, **(notes or {})}
    scene = Scene(
        sampler=stage.sampler,
        chat=cast.ByteChat(),
        places=cast.places(stage.host, {stage.user.voice: stage.user}),
        other_voice=stage.user.voice,
        config=RolloutConfig(max_new_tokens=20, context_tokens=600),
        prompt_styles={},
        temperature=1.0,
        clock=cast.Clock(),
        placeholder=placeholder,
    )
    found = collect(cast.assignments(1), scene, conditions=cast.conditions())
    return stage, found


def words(ids: Sequence[int]) -> str:
    """Return every byte of a token list as text."""
    return bytes(token for token in ids if token < 256).decode()


def test_a_planted_label_is_in_no_byte_that_agent_or_world_can_read() -> None:
    stage, found = play({"one": TELLING, "two": HAPPY}, placeholder="Nothing.")
    (trajectory,), (episode,) = found.trajectories, found.episodes
    readable = [words(request.ids) for request in stage.sampler.asked]
    readable += [request.dialogue for request in stage.sampler.asked]
    readable.append(words(trajectory.ids))
    readable += [words(ids) for ids in trajectory.masked_feedback]
    readable += [turn.text for turn in episode.turns]
    readable += stage.host.heard["e0"]
    readable += [repr(move) for move in stage.host.moves["e0"]]
    readable += [turn.text for request in stage.user.asked for turn in request.history]
    assert any("That one is dear." in text for text in readable)
    for secret in SECRETS:
        assert not any(secret.lower() in text.lower() for text in readable), secret
    # The label was there to be found, and credit has it.
    assert [turn.private.get("strategy") for turn in episode.turns if turn.private] == [
        "challenge_solution",
        "confirm",
    ]
    assert trajectory.reactions == (Reaction(-1), Reaction(1))


def test_another_label_changes_credit_and_not_one_token() -> None:
    praised = replace(TELLING, private={"strategy": "confirm"})
    stage, found = play({"one": TELLING, "two": HAPPY}, placeholder="Nothing.")
    other_stage, other_found = play({"one": praised, "two": HAPPY}, placeholder="Nothing.")
    (one,), (other,) = found.trajectories, other_found.trajectories
    assert one.reactions != other.reactions
    assert one.masked_feedback
    assert without_credit(one) == without_credit(other)
    assert stage.sampler.asked == other_stage.sampler.asked
    assert stage.host.heard == other_stage.host.heard
    assert stage.host.moves == other_stage.host.moves


def without_credit(trajectory: Trajectory) -> dict[str, object]:
    """Return everything that is not for credit alone."""
    return {name: part for name, part in asdict(trajectory).items() if name != "reactions"}


def test_reactions_lie_on_the_segments_that_they_answer() -> None:
    (trajectory,) = play({"one": TELLING, "two": HAPPY})[1].trajectories
    # Turn 1 searches between the two replies: it shares a segment with the words after it.
    by_turn = dict(zip(trajectory.turn_ids, trajectory.segment_ids, strict=True))
    assert by_turn == {-1: -1, 0: 0, 1: 1, 2: 1, 3: 2}
    assert len(trajectory.reactions) == 2, "the last segment was answered by nobody"


def test_the_masked_feedback_keeps_the_speakers_and_not_their_words() -> None:
    stage, found = play({"one": TELLING, "two": HAPPY}, placeholder="Nothing.")
    (trajectory,) = found.trajectories
    assert len(trajectory.masked_feedback) == 3
    assert [words(ids) for ids in trajectory.masked_feedback] == ["Nothing."] * 3
    marks = [[token for token in ids if token >= 256] for ids in trajectory.masked_feedback]
    assert marks[0] == marks[2] == [cast.USER, cast.END, cast.AGENT]
    assert marks[1] == [cast.TOOL, cast.END, cast.AGENT]
    assert stage.host.heard["e0"] == ["That one is dear.", "Fine with me."]


def test_no_masked_feedback_is_kept_where_no_credit_asks_for_it() -> None:
    (trajectory,) = play({})[1].trajectories
    assert trajectory.masked_feedback == ()


def test_two_messages_between_turns_are_both_silenced() -> None:
    notes = {("e0", 0): StepResult("a note", say="one")}
    _, found = play({}, placeholder="-", moves=("[action] one", "[answer] 2"), notes=notes)
    (silent,) = found.trajectories[0].masked_feedback
    assert words(silent) == "--"


def test_rollouts_of_one_task_share_its_group_and_none_of_its_chance() -> None:
    task = Task("t0", "travel", "goal", "hello")
    dealt, _ = schedule.deal(
        {"travel": [task]},
        schedule.TaskCursor(),
        step=3,
        group_size=4,
        sides=[Side.IN_FORCE] * 2,
        mixes={Side.IN_FORCE: {"travel": 1.0}},
        seed=5,
    )
    assert [one.group_id for one in dealt] == ["000003-g00"] * 4 + ["000003-g01"] * 4
    assert len({one.seed for one in dealt}) == 8
