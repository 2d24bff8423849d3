"""The colbench world: ten rounds, one answer, scored by the public rules and by ours."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from tests.conformance import env_suite
from tests.conformance.env_suite import Cast
from tests.trainer.worlds.stage import within
from trainer.episode import Speaker, StopReason
from trainer.message import Action, Choice, Reply, read_action
from trainer.task import Task
from trainer.worlds import catalog, processes
from trainer.worlds.calls import Act, Fault, Judge, Start
from trainer.worlds.colbench import env as colbench
from trainer.worlds.colbench import loader, reading
from trainer.worlds.colbench.tasks import family, generate, small
from trainer.worlds.host import WorldHost
from trainer.worlds.limits import Limits
from trainer.worlds.seam import StepResult, Verdict

MARKER = reading.MARKER
REFERENCE = "def twice(x):\n    return 2 * x\n"
LEAK_CHARS = 40


@pytest.fixture(scope="module")
def cast() -> Cast:
    return env_suite.cast("colbench")


def task(reference: str = REFERENCE, calls: tuple[str, ...] = ("twice(1)", "twice('a')")) -> Task:
    record = {
        "problem_description": "Write twice for me.",
        "ground_truth": reference,
        "test_cases": {f"test{index}": call for index, call in enumerate(calls, start=1)},
    }
    return loader.task(record)


def started(entry: Task, **settings: Any) -> colbench.ColbenchEnv:
    env = colbench.make(entry, settings=settings, seed=0)
    env.start()
    return env


def test_an_answer_pays_its_share_and_ends_the_episode() -> None:
    env = started(task())
    assert env.act(read_action("Is x a number?")).say == "Is x a number?"
    result = env.act(read_action(f"{MARKER}\ndef twice(x):\n    return x + 1"))
    assert result == StepResult(events=("tests_some",), reward=0.5, stop=StopReason.FAILED)
    assert env.verdict().metrics["pass"] == 0.5
    assert env.verdict().metrics["succ"] == 0.0
    assert env.verdict().reward == 0.0


def test_pass_is_the_mean_share_and_succ_the_share_of_whole_passes() -> None:
    """The published oracle: shares 1, 0.5, 0 and 1 make Pass 0.625 and Succ 0.5."""
    answers = [REFERENCE, "def twice(x): return x + 1", "no code", REFERENCE]
    verdicts = []
    for answer in answers:
        env = started(task())
        env.act(read_action(f"{MARKER} {answer}"))
        verdicts.append(env.verdict())
    assert [verdict.metrics["pass"] for verdict in verdicts] == [1.0, 0.5, 0.0, 1.0]
    assert sum(verdict.metrics["pass"] for verdict in verdicts) / 4 == 0.625
    assert sum(verdict.metrics["succ"] for verdict in verdicts) / 4 == 0.5


def test_the_last_message_is_the_answer() -> None:
    env = started(task(), max_steps=2)
    assert env.act(read_action("What is x?")).say is not None
    result = env.act(read_action(REFERENCE))
    assert result.stop is StopReason.SOLVED
    assert result.reward == 1.0
    assert result.events == ("tests_all", "answered_at_limit")


def test_a_last_question_is_no_code_and_leaves_the_ending_to_the_limit() -> None:
    env = started(task(), max_steps=1)
    result = env.act(read_action("What is x?"))
    assert result == StepResult(events=("tests_none", "answered_at_limit"))


def test_only_what_follows_output_counts() -> None:
    env = started(task())
    assert env.act(read_action(f"{MARKER} no. OUTPUT: What is x? OUTPUT: y")).say == "What is x?"
    assert env.act(read_action("OUTPUT: ")).events == ("malformed",)
    assert env.act(read_action(f"hm OUTPUT: {MARKER} {REFERENCE}")).stop is StopReason.SOLVED
    assert env.act(read_action(f"{MARKER} {REFERENCE}")).events == ("malformed",)


def test_scoring_decides_what_is_paid_and_both_are_reported() -> None:
    helper = "def half(x):\n    return x\ndef twice(x):\n    return half(x) * 2\n"
    for scoring, share in (("fresh", 1.0), ("strict", 0.0)):
        env = started(task(), scoring=scoring)
        assert env.act(Action(Choice.ANSWER, helper)).reward == share
        metrics = env.verdict().metrics
        assert (metrics["pass"], metrics["succ"]) == (share, share)
        assert (metrics["pass_fresh"], metrics["pass_strict"]) == (1.0, 0.0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"scoring": "kind"}, "fresh, strict"), ({"unsandboxed": "yes"}, "label or refuse")],
)
def test_an_unknown_setting_is_told(settings: dict[str, Any], message: str) -> None:
    env = started(task(), **settings)
    with pytest.raises(ValueError, match=message):
        env.act(Action(Choice.ANSWER, REFERENCE))


def test_facts_count_once_and_are_reported() -> None:
    entry = catalog.tasks("colbench", "train")[0]
    env = started(entry)
    assert env.hear(Reply("so", revealed=("F1", "F2"))).events == ("fact_learnt", "fact_learnt")
    assert env.hear(Reply("so", revealed=("F1",))).events == ("off_topic",)
    assert env.verdict().metrics["facts_learnt"] == pytest.approx(2 / len(entry.facts))


def test_a_hang_costs_calls_and_stays_below_the_deadline_of_a_tool() -> None:
    env = started(task(calls=("twice(1)",) * 10), tool_deadline_s=2.5)
    began = time.monotonic()
    result = env.act(Action(Choice.ANSWER, "def twice(x):\n    while True: pass"))
    assert result.events == ("tests_none",)
    assert time.monotonic() - began < 2.5


def test_a_longer_deadline_of_a_tool_gives_an_answer_more_time() -> None:
    slow = "import time\ndef twice(x):\n    time.sleep(0.3)\n    return 2 * x"
    calls = ("twice(1)",) * 4
    passed = {
        deadline_s: started(task(calls=calls), tool_deadline_s=deadline_s)
        .act(Action(Choice.ANSWER, slow))
        .reward
        for deadline_s in (1.0, 10.0)
    }
    assert passed[1.0] < passed[10.0] == 1.0


def families(split: str) -> list[Task]:
    """The tasks of the families; those of the small tier have tests of their own."""
    return [entry for entry in catalog.tasks("colbench", split) if not small.holds(entry)]


def test_the_expert_hears_every_fact_and_passes_every_call_under_both_scorings(cast: Cast) -> None:
    for split in catalog.SPLITS:
        for entry in families(split):
            episode = cast.play(entry, "oracle")
            assert episode.stop is StopReason.SOLVED, entry.id
            assert episode.metrics["facts_learnt"] == 1.0, entry.id
            assert episode.metrics["pass_strict"] == 1.0, entry.id


def test_the_mediocre_player_is_neither_at_the_floor_nor_at_the_top(cast: Cast) -> None:
    tasks = families("train")[::5]
    shares = [cast.play(entry, "hasty").metrics["pass"] for entry in tasks]
    assert 0.2 < sum(shares) / len(shares) < 0.8


def test_no_reply_leaks_the_reference(cast: Cast) -> None:
    for entry in families("train"):
        _assert_no_leak(entry, cast)


def _assert_no_leak(entry: Task, cast: Cast) -> None:
    """No reply has 40 characters of the reference or 0.6 of its words, or 400 characters."""
    reference = _plain(entry.payload["reference"])
    words = set(reference.split())
    for turn in cast.play(entry, "oracle").turns[2:]:
        if turn.speaker is not Speaker.USER:
            continue
        said = _plain(turn.text)
        pieces = (said[at : at + LEAK_CHARS] for at in range(len(said) - LEAK_CHARS + 1))
        assert not any(piece in reference for piece in pieces), (entry.id, turn.text)
        assert len(words & set(said.split())) < 0.6 * len(words), (entry.id, turn.text)
        assert len(turn.text) <= 400
        assert len(turn.revealed) <= 1


def _plain(text: str) -> str:
    return " ".join(text.split()).lower()


def test_there_are_forty_tasks_to_train_on_and_ten_held_out_with_facts_of_every_kind() -> None:
    train, held_out = (families(split) for split in catalog.SPLITS)
    assert (len(train), len(held_out)) == (40, 10)
    for tasks in (train, held_out):
        assert {fact.kind for entry in tasks for fact in entry.facts} == set(family.KINDS)
        assert all(len(entry.payload["calls"]) == 10 for entry in tasks)
        assert all(len(entry.facts) < 9 for entry in tasks)
        assert all("def " in entry.opening for entry in tasks)


def test_the_shipped_files_are_what_the_generator_makes() -> None:
    train, held_out = generate.make_tasks()
    assert [loader.task(one) for one in train] == list(catalog.tasks("colbench", "train"))
    shipped = catalog.tasks("colbench", "evaluation")
    assert [loader.task(one) for one in held_out] == list(shipped)


def test_an_unsound_task_is_not_made() -> None:
    record = generate.FAMILIES[0].records()[0]
    constant = {**record, "ground_truth": "def late_fee(days_late, is_member):\n    return 1"}
    with pytest.raises(generate.UnsoundTaskError, match="1 different outputs"):
        generate.checked(constant)
    silent = {**record, "ground_truth": "def late_fee(days_late, is_member):\n    return None"}
    with pytest.raises(generate.UnsoundTaskError, match="late-fee-1 gives"):
        generate.checked(silent)


@pytest.fixture
def host() -> Any:
    with WorldHost({"colbench": loader.FOLDER}, limits=Limits()) as host:
        yield host


def test_an_episode_scores_from_inside_its_fenced_process(host: WorldHost) -> None:
    entry = catalog.tasks("colbench", "train")[0]
    results = _answer(host, "one", entry, entry.payload["reference"])
    assert isinstance(results, StepResult) and results.reward == 1.0
    judged = host.call({"one": Judge()}, deadline_s=30.0)["one"]
    assert isinstance(judged, Verdict)
    assert judged.metrics["sandboxed"] == 1.0


def test_a_broken_sandbox_is_a_fault_of_the_world_and_no_zero(host: WorldHost) -> None:
    entry = catalog.tasks("colbench", "train")[0]
    before = set(_wardens())
    assert isinstance(_answer(host, "one", entry, "no code"), StepResult)
    (warden,) = set(_wardens()) - before
    os.kill(warden, signal.SIGKILL)
    assert within(5.0, lambda: warden not in _wardens())
    result = _answer(host, "two", entry, entry.payload["reference"])
    assert isinstance(result, Fault)
    assert result.stop is StopReason.WORLD_ERROR
    assert "SandboxError" in result.detail


def test_the_sandbox_ends_with_its_world() -> None:
    entry = catalog.tasks("colbench", "train")[0]
    before = set(_wardens())
    with WorldHost({"colbench": loader.FOLDER}) as host:
        _answer(host, "one", entry, "no code")
        assert set(_wardens()) - before
    assert within(10.0, lambda: set(_wardens()) <= before)


def _answer(host: WorldHost, key: str, entry: Task, code: str) -> Any:
    host.open(key, entry, settings={"max_steps": 10}, seed=1)
    host.call({key: Start()}, deadline_s=60.0)
    return host.call({key: Act(Action(Choice.ANSWER, code))}, deadline_s=60.0)[key]


def _wardens() -> list[int]:
    """Ids of the wardens that descend from this process, their forks left out."""
    numbers = (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())
    return [
        pid
        for pid in numbers
        if _is_warden(pid) and not _is_warden(processes.parent_of(pid)) and _descends(pid)
    ]


def _is_warden(pid: int | None) -> bool:
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
    # Bubblewrap, where it stands around one, has the same words further back in its command.
    return command.split(b"\0")[0].find(b"python") >= 0 and b"warden.main()" in command


def _descends(pid: int | None) -> bool:
    while pid and pid != os.getpid():
        pid = processes.parent_of(pid)
    return pid == os.getpid()
