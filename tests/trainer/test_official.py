"""Official scores: a dialogue becomes the benchmark's messages, and no score is ever made up."""

from __future__ import annotations

import importlib.util
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from gate.contract.paths import RunPaths
from tests import tiny_run
from tests.conformance import env_suite
from tests.nursery import Nursery
from trainer import evaluation, examination, launch, official, recipe_file, session
from trainer.episode import Episode
from trainer.official import OfficialError, OfficialResult, Scored, Tau2Package
from trainer.task import Task
from trainer.worlds import catalog
from trainer.worlds.tau2.case import NamedCall, Side, read_case
from trainer.worlds.tau2.office import open_office
from trainer.worlds.tau2.scoring import score
from trainer.worlds.tau2_telecom import verifier as telecom

INSTALLED = importlib.util.find_spec(official.PACKAGE) is not None


@dataclass
class Replayer:
    """A benchmark that carries messages out on our telecom tools, and refuses other outputs."""

    digests: dict[str, Mapping[str, str]] = field(default_factory=dict)
    tasks: dict[str, Task] = field(default_factory=dict)

    def check(self, domain: str, digests: Mapping[str, str]) -> None:
        """Note what is checked."""
        self.digests[domain] = digests

    def score(
        self,
        domain: str,
        record: Mapping[str, Any],
        messages: Sequence[Mapping[str, Any]],
        *,
        ended: bool,
        judged: bool,
    ) -> Scored:
        """Replay the calls of both sides in order and judge the end."""
        bases = telecom.bases_of(self.tasks[record["id"]])
        office = open_office(telecom.DOMAIN, read_case(record), bases)
        for call, result in pairwise(messages):
            for entry in call.get("tool_calls") or ():
                assert (entry["id"], entry["requestor"]) == (result["id"], result["requestor"])
                assert result["role"] == "tool"
                outcome = office.call(
                    NamedCall(Side(entry["requestor"]), entry["name"], entry["arguments"])
                )
                if outcome.ok and outcome.text != result["content"]:
                    return Scored(None, "outputs differ")
        said = [one["content"] for one in messages if one["role"] == "assistant" and one["content"]]
        case = read_case(record)
        return Scored(score(telecom.DOMAIN, case, bases, office, said, ended=ended).reward)


@dataclass
class Generous:
    """A benchmark that finds every dialogue perfect that it does not refuse."""

    refuses: Mapping[str, str] = field(default_factory=dict)
    """Why, by task."""
    ended: list[bool] = field(default_factory=list)

    def check(self, domain: str, digests: Mapping[str, str]) -> None:
        """Take any data."""

    def score(
        self,
        domain: str,
        record: Mapping[str, Any],
        messages: Sequence[Mapping[str, Any]],
        *,
        ended: bool,
        judged: bool,
    ) -> Scored:
        """Return the best score."""
        self.ended.append(ended)
        reason = self.refuses.get(record["id"], "")
        return Scored(None if reason else 1.0, reason)


def real_tasks(test_data: Path, world: str) -> list[Task]:
    source = test_data / "tau2"
    if not source.is_dir():
        pytest.skip(f"no tau2 data at {source}")
    return list(catalog.tasks(world, "evaluation", source))


def played(tasks: Sequence[Task], player: str) -> list[Episode]:
    cast = env_suite.cast(tasks[0].world)
    return [cast.play(task, player, seed=seed) for seed, task in enumerate(tasks)]


@pytest.mark.skipif(INSTALLED, reason="tau2 is installed here")
def test_without_the_package_the_error_says_how_to_install_it() -> None:
    with pytest.raises(OfficialError) as told:
        Tau2Package()
    assert "pip install git+https://github.com/sierra-research/tau2-bench" in str(told.value)
    assert "Python 3.12 or 3.13" in str(told.value) and "TAU2_DATA_DIR" in str(told.value)


@pytest.mark.skipif(INSTALLED, reason="tau2 is installed here")
def test_the_command_refuses_before_anything_is_played(
    nursery: Nursery, seedling: Path, tmp_path: Path
) -> None:
    child = nursery.run("evaluate_command", tmp_path / "evaluations", seedling, "--official")
    assert child.returncode == 2, child.told()
    assert "error: --official: the package tau2 cannot be imported" in child.told()
    assert not (tmp_path / "evaluations").exists()


@pytest.mark.parametrize("player", ["oracle", "closing", "hasty"])
def test_a_replay_of_the_messages_alone_agrees_with_our_verdict(
    test_data: Path, player: str
) -> None:
    tasks = real_tasks(test_data, "tau2_telecom")
    episodes = played(tasks, player)
    replayer = Replayer(tasks={task.id: task for task in tasks})
    ours = sum(one.success or 0.0 for one in episodes) / len(episodes)
    assert official.score(tasks, episodes, replayer) == {
        "tau2_telecom": OfficialResult(
            scored=len(tasks),
            reward=round(ours, 6),
            agreeing=len(tasks),
            unjudged=0,
            unscored={},
        )
    }
    assert set(replayer.digests["telecom"]) == {"db.toml", "user_db.toml"}


def test_calls_of_the_user_are_among_the_messages_though_in_no_turn(test_data: Path) -> None:
    tasks = real_tasks(test_data, "tau2_telecom")
    task = next(one for one in tasks if "toggle_airplane_mode" in str(one.payload["record"]))
    (episode,) = played([task], "oracle")
    written, ended = official.messages(task, episode.turns)
    assert ended
    calls = [call for entry in written for call in entry.get("tool_calls") or ()]
    assert {"assistant", "user"} == {call["requestor"] for call in calls}
    assert len({call["id"] for call in calls}) == len(calls)
    assert written[0] == {"role": "user", "content": task.opening}


def test_an_unknown_tool_is_a_call_that_failed(test_data: Path) -> None:
    (task, *_) = real_tasks(test_data, "tau2_telecom")
    (episode,) = played([task], "idle")
    wrong = '<tool_call>{"name": "reboot_moon", "arguments": {}}</tool_call>'
    turns = (*episode.turns[:2], replace(episode.turns[2], text=wrong))
    written, ended = official.messages(task, turns)
    assert not ended
    assert written[-2]["tool_calls"][0]["name"] == "reboot_moon"
    assert written[-1]["error"] is True


def test_without_a_judge_model_its_part_is_left_out_and_counted(
    test_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = real_tasks(test_data, "tau2_retail")[:3]
    episodes = played(tasks, "closing")
    monkeypatch.delenv(official.JUDGE_KEY, raising=False)
    (without,) = official.score(tasks, episodes, Generous()).values()
    monkeypatch.setenv(official.JUDGE_KEY, "some key")
    (judged,) = official.score(tasks, episodes, Generous()).values()
    assert (without.scored, without.unjudged) == (3, 3)
    assert (judged.scored, judged.unjudged) == (3, 0)


def test_a_dialogue_without_a_score_is_counted_with_its_reason_and_is_no_zero(
    test_data: Path,
) -> None:
    tasks = real_tasks(test_data, "tau2_telecom")[:4]
    benchmark = Generous(refuses={tasks[0].id: "its tools differ"})
    (result,) = official.score(tasks, played(tasks, "closing"), benchmark).values()
    assert (result.scored, result.reward) == (3, 1.0)
    assert result.unscored == {"its tools differ": 1}


def test_tasks_of_ours_have_no_official_score() -> None:
    tasks = catalog.tasks("tau2_telecom", "evaluation")[:1]
    with pytest.raises(OfficialError, match="a task of ours, which tau2 does not know"):
        official.score(tasks, played(tasks, "closing"), Replayer())


def test_other_worlds_have_no_official_score() -> None:
    tasks = catalog.tasks("function", "evaluation")[:1]
    with pytest.raises(OfficialError, match="none of the episodes is of a world that tau2 scores"):
        official.score(tasks, played(tasks, "idle"), Replayer())


def test_an_evaluation_has_official_scores_beside_its_own(
    test_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real_tasks(test_data, "tau2_mock")
    monkeypatch.setenv(evaluation.ROOT_VARIABLE, str(tmp_path / "evaluations"))
    path = tiny_run.write_recipe(tmp_path)
    overrides = [
        f"worlds={{tau2_mock: {{source: {test_data / 'tau2'}}}}}",
        "policy.warm_start.players={oracle: 1.0}",
        "policy.size.max_positions=2048",
        "rollout.context_tokens=1800",
        "policy.warm_start.tokens_per_batch=2048",
        "total_steps=0",
    ]
    planned = launch.plan(
        recipe_file.load(str(path), overrides),
        run_id="desk",
        runs=tmp_path / "runs",
        knob_dir=tmp_path / "knobs",
    )
    session.start(planned, Console(file=io.StringIO()))
    benchmark = Generous()
    result, written = examination.evaluate(RunPaths(planned.root), limit=2, benchmark=benchmark)
    (one,) = result.official.values()
    assert (one.scored, one.reward, len(benchmark.ended)) == (2, 1.0, 2)
    assert one.agreeing == round(2 * (result.success or 0.0))
    told = json.loads(written.read_bytes())["official"]["tau2_mock"]
    assert (told["scored"], told["reward"]) == (2, 1.0)


@pytest.mark.skipif(not INSTALLED, reason="the package tau2 is not installed")
@pytest.mark.parametrize("world", ["tau2_mock", "tau2_telecom"])
@pytest.mark.parametrize("player", ["oracle", "closing", "hasty"])
def test_the_package_agrees_on_every_dialogue(test_data: Path, world: str, player: str) -> None:
    tasks = real_tasks(test_data, world)
    (result,) = official.score(tasks, played(tasks, player), Tau2Package()).values()
    assert result.agreeing == result.scored
    assert not any("than ours" in reason for reason in result.unscored)
