"""A run tells what its user's endpoint cost, step by step and in all, and stops at its limit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gate.contract import files
from gate.contract.paths import RunPaths
from tests import live_run, tiny_run
from tests.trainer import scripted_run
from tests.trainer.rollout import cast
from tests.trainer.rollout.cast import ScriptedUser
from trainer import loop, progress
from trainer.episode import Voice
from trainer.loop import Ending
from trainer.runlog import RunLog
from trainer.users import spending
from trainer.users.spending import Limits, Meter, Prices, Spent
from trainer.worlds.calls import Act

PRICES = Prices(prompt_usd=1.0, completion_usd=2.0)
EACH = Spent(requests=1, prompt_tokens=100, completion_tokens=10)
"""What every move costs; two dialogues of two moves make four a step."""


class DearHost(scripted_run.AnyHost):
    """Every move asks an endpoint."""

    def __init__(self, meter: Meter) -> None:
        super().__init__()
        self._meter = meter

    def _answer(self, key: str, call: Any) -> Any:
        if isinstance(call, Act):
            self._meter.add(EACH)
        return super()._answer(key, call)


def make(paths: RunPaths, meter: Meter) -> loop.Run:
    run = scripted_run.make(paths, meter=meter)
    users = {Voice.SYMBOLIC: ScriptedUser(), Voice.NOISY: ScriptedUser(Voice.NOISY)}
    places = cast.places(DearHost(meter), users)
    object.__setattr__(run.scene, "places", places)
    return run


def test_every_step_tells_what_it_cost_and_the_status_what_all_did(tmp_path: Path) -> None:
    paths = live_run.launch(tmp_path / "run")
    assert loop.train(make(paths, Meter(PRICES))) is Ending.FINISHED
    steps = files.read_lines(paths.steps).records
    for step in steps:
        told = step["endpoint"]
        assert (told["requests"], told["prompt_tokens"], told["completion_tokens"]) == (4, 400, 40)
        # 400 x 1 + 40 x 2 millionths of a dollar.
        assert told["usd"] == 0.00048
    assert tiny_run.status(paths)["endpoint"]["prompt_tokens"] == 400 * len(steps)


def test_a_run_without_an_endpoint_tells_of_none(tmp_path: Path) -> None:
    paths = live_run.launch(tmp_path / "run")
    loop.train(scripted_run.make(paths))
    assert all(step["endpoint"] == {} for step in files.read_lines(paths.steps).records)
    assert tiny_run.status(paths)["endpoint"] == {}


def test_at_its_limit_a_run_stops_with_a_checkpoint_and_says_why(tmp_path: Path) -> None:
    paths = live_run.launch(tmp_path / "run")
    run = make(paths, Meter(limits=Limits(tokens=500)))
    assert loop.train(run) is Ending.STOPPED
    assert (run.snapshot.step, run.saved_step) == (2, 2)
    status = tiny_run.status(paths)
    assert status["phase"] == "stopped"
    assert "880 tokens of limit.tokens 500 are spent" in status["reason"]


def test_the_next_process_of_a_run_goes_on_counting(tmp_path: Path) -> None:
    paths = live_run.launch(tmp_path / "run")
    loop.train(make(paths, Meter(limits=Limits(tokens=500))))
    log = RunLog(paths, now=lambda: 0.0, after=2)
    before = spending.from_record(log.spent)
    assert before.tokens == 880
    log.status(phase="training")
    assert tiny_run.status(paths)["endpoint"]["prompt_tokens"] == 800


def test_a_line_of_progress_tells_tokens_and_dollars(tmp_path: Path) -> None:
    paths = live_run.launch(tmp_path / "run")
    lines: list[str] = []
    run = make(paths, Meter(PRICES))
    run.watcher = lambda record, status: lines.append(progress.line(record))
    loop.train(run)
    assert "endpoint 440 tok $0.0005" in lines[0]
