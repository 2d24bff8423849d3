"""A run tells what its judge cost, stops at the judge's limit, and asks nothing twice on replay."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gate.contract import files
from gate.contract.paths import RunPaths
from tests import live_run, tiny_run
from tests.trainer import scripted_run
from tests.trainer.judges.scripted import STORY, ScriptedJudge
from tests.trainer.rollout import cast
from tests.trainer.rollout.cast import ScriptedUser
from trainer import loop, playing, progress
from trainer.checkpoint import Snapshot
from trainer.episode import StopReason, Voice
from trainer.judges.seam import JudgeFailure
from trainer.loop import Ending
from trainer.question import Questions
from trainer.runlog import RunLog
from trainer.users import spending
from trainer.users.spending import Limits, Meter, Prices, Spent
from trainer.worlds.calls import Act, Answered
from trainer.worlds.seam import StepResult

EACH = Spent(requests=1, prompt_tokens=100, completion_tokens=10)


class AskingHost(scripted_run.AnyHost):
    """Has the second move of each episode judged, in words of its own."""

    def _answer(self, key: str, call: Any) -> Any:
        if isinstance(call, Act) and len(self.moves[key]) == 1:
            return Questions((question_of(key),))
        if isinstance(call, Answered):
            (answer,) = call.answers.values()
            return StepResult("told", reward=answer[0], stop=StopReason.FAILED)
        return super()._answer(key, call)


def question_of(key: str) -> Any:
    return type(STORY)(f"{STORY.asks} {key}", STORY.criteria, STORY.material, STORY.allowed)


class Metered(ScriptedJudge):
    """Puts what it costs on the run's meter, as a served judge does."""

    def __init__(self, meter: Meter, say: Any = None) -> None:
        super().__init__(**({"say": say} if say else {}))
        self._meter = meter

    def answer(self, questions: Any) -> Any:
        """Answer by the script."""
        for _ in questions:
            self._meter.add(self.each)
        return super().answer(questions)


def make(paths: RunPaths, judge: ScriptedJudge, meter: Meter, **other: Any) -> loop.Run:
    run = scripted_run.make(paths, judge_meter=meter, **other)
    users = {Voice.SYMBOLIC: ScriptedUser(), Voice.NOISY: ScriptedUser(Voice.NOISY)}
    for name, value in {
        "places": cast.places(AskingHost(), users),
        "judge": judge,
        "judged": frozenset({"travel"}),
    }.items():
        object.__setattr__(run.scene, name, value)
    return run


def test_every_step_tells_what_its_judge_was_asked_and_the_status_what_all_was(
    tmp_path: Path,
) -> None:
    paths, meter = live_run.launch(tmp_path / "run"), Meter(Prices(1.0, 2.0))
    run, lines = make(paths, Metered(meter), meter), []
    run.watcher = lambda record, status: lines.append(progress.line(record))
    assert loop.train(run) is Ending.FINISHED
    steps = files.read_lines(paths.steps).records
    for step in steps:
        told = step["judge"]
        assert (told["asked"], told["failed"], told["requests"]) == (2, 0, 2)
        # 200 x 1 + 20 x 2 millionths of a dollar.
        assert (told["prompt_tokens"], told["usd"]) == (200, 0.00024)
        assert step["endpoint"] == {}
    assert tiny_run.status(paths)["judge"]["prompt_tokens"] == 200 * len(steps)
    assert "judge 220 tok $0.0002" in lines[0]


def test_an_episode_keeps_what_a_judge_said_of_it(tmp_path: Path) -> None:
    paths, meter = live_run.launch(tmp_path / "run"), Meter()
    loop.train(make(paths, Metered(meter, lambda question: (0.5, 1.0)), meter))
    (first, _) = files.read_lines(paths.episodes_of(1)).records
    (judged,) = first["judged"]
    assert judged["question"] == question_of(first["id"]).digest
    assert judged["answer"] == [0.5, 1.0]
    assert (judged["judge"], judged["pinned"]) == ("scripted", False)
    log = RunLog(paths, now=lambda: 0.0)
    assert log.answers(1)[first["id"]] == {judged["question"]: (0.5, 1.0)}
    assert log.answers(99) == {}


def test_at_its_limit_a_run_stops_with_a_checkpoint_and_names_the_judge(tmp_path: Path) -> None:
    paths, meter = live_run.launch(tmp_path / "run"), Meter(limits=Limits(tokens=300))
    run = make(paths, Metered(meter), meter)
    assert loop.train(run) is Ending.STOPPED
    assert (run.snapshot.step, run.saved_step) == (2, 2)
    reason = tiny_run.status(paths)["reason"]
    assert reason.startswith("judge.endpoint: 440 tokens of limit.tokens 300 are spent")


def test_the_next_process_goes_on_counting_and_asks_nothing_that_is_on_file(
    tmp_path: Path,
) -> None:
    paths, meter = live_run.launch(tmp_path / "run"), Meter()
    loop.train(make(paths, Metered(meter, lambda question: (0.5, 0.5)), meter))
    episodes = files.read_lines(paths.episodes_of(5)).records
    log = RunLog(paths, now=lambda: 0.0, after=4)
    again = Meter(before=spending.from_record(log.judge_spent))
    assert again.total == meter.total
    # This judge would say something else: a replay that asked it would differ from the record.
    other = Metered(again, lambda question: (1.0, 1.0))
    run = make(paths, other, again, log=log, snapshot=Snapshot(step=4))
    assignments, cursor = loop_dealt(run)
    assert [sorted(one.answers) for one in assignments] == [
        [judged["question"] for judged in episode["judged"]] for episode in episodes
    ]
    assert cursor is not None and other.asked == []


def loop_dealt(run: loop.Run) -> Any:
    status = playing.reconcile(run, run.snapshot.step + 1)
    dealt = playing.deal_step(run, status, run.snapshot)
    return dealt.assignments, dealt.cursor


def test_a_judge_that_is_down_is_told_counted_and_never_scored(tmp_path: Path) -> None:
    paths, meter = live_run.launch(tmp_path / "run"), Meter()
    failure = JudgeFailure("endpoint 127.0.0.1:1 failed after 3 attempts: status 503")
    run = make(paths, Metered(meter, lambda question: failure), meter)
    loop.train(run)
    step = files.read_lines(paths.steps).records[0]
    assert step["stop_reasons"] == {"judge_unavailable": 2}
    assert (step["quarantined"], step["success"], step["judge"]["failed"]) == (2, None, 2)
    events = [
        one for one in files.read_lines(paths.events).records if one["kind"] == "judge_failed"
    ]
    assert events[0]["detail"] == {"questions": 2, "error": failure.reason}


def test_a_run_whose_rules_decide_tells_of_no_judge(tmp_path: Path) -> None:
    paths = live_run.launch(tmp_path / "run")
    loop.train(scripted_run.make(paths))
    assert all(step["judge"] == {} for step in files.read_lines(paths.steps).records)
    assert tiny_run.status(paths)["judge"] == {}
    assert all(one["judged"] == [] for one in files.read_lines(paths.episodes_of(1)).records)
