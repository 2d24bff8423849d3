"""A candidate that tries to fool its probe is refused, in time, and leaves nothing behind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests import candidates
from trainer.probe.report import Report

WORLD = "intention"
MAKE = "    return IntentionEnv(task, settings)"
ACT = "    def act(self, action: Action) -> StepResult:"
HEAR = "        details = verifier.importance_by_id(self._task)"
PAID = ("solvable", "floor", "recomputed", "gains")
IMPORT = "from collections.abc import Mapping"


def report_on(tmp_path: Path, env: dict[str, str], *checks: str, **fields: object) -> Report:
    asked = candidates.request(tmp_path, WORLD, edits={"env.py": env}, **fields)
    return candidates.probed(asked, *checks)


def fault_told(report: Report) -> str:
    (fault,) = candidates.errors(report, "world_fault")
    return str(fault.value)


def test_a_passing_report_on_its_own_output_proves_nothing(tmp_path: Path, checkout: Path) -> None:
    forged = '{"findings": [], "measured": {}, "seconds": 0.1, "tasks": 4}'
    printing = (
        f"{IMPORT}\nimport os, sys\nprint({forged!r}, flush=True)\n"
        f"os.write(1, {forged.encode()!r})\nos.write(2, {forged.encode()!r})"
    )
    edits = {"env.py": {IMPORT: printing, HEAR: "        raise RuntimeError('no')\n" + HEAR}}
    body = candidates.body(tmp_path, WORLD, edits=edits)
    ran = candidates.command(tmp_path / "request.json", body, checkout)
    (line,) = ran.stdout.splitlines()
    assert "probe.world_fault" in {one["rule"] for one in json.loads(line)["findings"]}


@pytest.mark.parametrize(
    ("exit_", "place"),
    [("os._exit(0)", IMPORT), ("sys.exit(0)", MAKE), ("os.kill(os.getpid(), 9)", ACT)],
)
def test_whoever_exits_early_is_refused(tmp_path: Path, exit_: str, place: str) -> None:
    indent = place[: len(place) - len(place.lstrip())]
    lines = f"{indent}import os, sys; {exit_}"
    code = f"{place}\n{lines}" if place in (IMPORT, ACT) else f"{lines}\n{place}"
    assert fault_told(report_on(tmp_path, {place: code})) in ("world_died", "world_error")


def test_patching_what_a_world_can_reach_changes_no_score(tmp_path: Path) -> None:
    patched = (
        f"{IMPORT}\nimport trainer.rollout.reward as _r, trainer.worlds.answers as _a\n"
        "import trainer.probe.run as _run\n"
        "_r.pay_turn = _r.pay_end = lambda *a, **k: []\n"
        "_run.probe = lambda *a, **k: None\n_a.read_answer = None\n"
    )
    solved = (
        "        from trainer.worlds.seam import Verdict as V\n"
        "        return V(1.0, 1.0, dict(verifier.verdict(self._task, self._state).metrics))\n"
        "        return verifier.verdict(self._task, self._state)"
    )
    edits = {IMPORT: patched, "        return verifier.verdict(self._task, self._state)": solved}
    report = report_on(tmp_path, edits, "floor", "recomputed")
    assert {"floor", "recomputed"} <= candidates.refusing_rules(report)


def test_whoever_hangs_costs_its_deadline_and_no_more(tmp_path: Path) -> None:
    report = report_on(tmp_path, {ACT: f"{ACT}\n        import time; time.sleep(3600)"}, seconds=3)
    assert fault_told(report) == "world_hung"
    assert report.seconds < 5


def test_whoever_hangs_while_loading_is_refused(tmp_path: Path) -> None:
    report = report_on(tmp_path, {IMPORT: f"{IMPORT}\nimport time; time.sleep(3600)"}, seconds=3)
    assert fault_told(report) == "world_hung"


def test_whoever_is_slow_runs_out_of_time_and_is_refused(tmp_path: Path) -> None:
    report = report_on(tmp_path, {ACT: f"{ACT}\n        import time; time.sleep(0.2)"}, seconds=2)
    assert candidates.errors(report, "unreached")
    assert report.seconds < 5


@pytest.mark.parametrize("size", [2 << 20, 300_000])
def test_whoever_floods_is_refused(tmp_path: Path, size: int) -> None:
    flood = f"{ACT}\n        return StepResult('x' * {size})"
    assert fault_told(report_on(tmp_path, {ACT: flood})) == "world_flooded"


def test_whoever_calls_everything_solved_is_refused(tmp_path: Path) -> None:
    solved = f"{ACT}\n        return StepResult(reward=1.0, stop=StopReason.SOLVED)"
    judged = "        from trainer.worlds.seam import Verdict as V; return V(1.0, 0.0)"
    verdict = "        return verifier.verdict(self._task, self._state)"
    report = report_on(tmp_path, {ACT: solved, verdict: judged}, *PAID)
    assert {"solvable", "floor", "recomputed", "gains"} <= candidates.refusing_rules(report)


def test_whoever_serves_the_oracle_alone_is_refused(tmp_path: Path) -> None:
    favours = (
        f"{ACT}\n"
        "        known = [one['inquiry'] for one in self._task.payload['missing_details']]\n"
        "        if action.content not in known:\n"
        "            return StepResult('The user shrugs.', events=('off_topic',))"
    )
    report = report_on(tmp_path, {ACT: favours}, "even_handed")
    told = candidates.errors(report, "even_handed")
    assert {one.limit for one in told} >= {0}
    assert any("politely" in one.message for one in told)
    assert any("plain questions" in one.message.lower() for one in told)


def test_rules_that_answer_the_oracle_s_wording_alone_are_refused(tmp_path: Path) -> None:
    old = "when: {act: [ask, both], match: [open]}"
    own = 'when: {act: [ask, both], match: [open], says: ["what about this"]}'
    asked = candidates.request(tmp_path, "colbench", edits={"user.yaml": {old: own}})
    (told,) = candidates.errors(candidates.probed(asked, "even_handed"))
    assert told.value == 0
    assert isinstance(told.limit, int) and told.limit > 0


def test_a_world_that_asks_in_the_agent_s_place_is_refused(tmp_path: Path) -> None:
    asking = (
        f"{ACT}\n        hints = [fact.cues[0] for fact in self._task.facts]\n"
        "        return StepResult(say=f'What about {hints[0]}?')"
    )
    report = report_on(tmp_path, {ACT: asking}, "observations", "floor")
    assert candidates.refusing_rules(report) == {"observations", "floor"}


@pytest.mark.parametrize(
    "source",
    ["__import__('time').time_ns()", "__import__('os').getpid()", "__import__('random').random()"],
)
def test_whoever_looks_at_clock_process_or_chance_is_refused(tmp_path: Path, source: str) -> None:
    leaking = f"{ACT}\n        return StepResult('seen %s' % {source}, say=action.content)"
    report = report_on(tmp_path, {ACT: leaking}, "same_reply")
    assert "same_reply" in candidates.refusing_rules(report)


def test_state_that_outlives_an_episode_is_refused(tmp_path: Path) -> None:
    shared = (
        f"{ACT}\n        SEEN.append(self._task.id)\n"
        "        return StepResult(f'met {len(set(SEEN))}', say=action.content)"
    )
    planted = {IMPORT: f"SEEN = []\n{IMPORT}", ACT: shared}
    report = report_on(tmp_path, planted, "isolation", "same_reply")
    (told,) = candidates.errors(report, "isolation")
    assert told.value == 1.0
    assert "same_reply" not in candidates.refusing_rules(report)


def test_what_a_world_prints_of_its_facts_is_refused(tmp_path: Path) -> None:
    telling = f"{ACT}\n        return StepResult(self._task.facts[0].statement, say=action.content)"
    report = report_on(tmp_path, {ACT: telling}, "observations")
    assert "observations" in candidates.refusing_rules(report)


def test_whoever_rewrites_its_own_files_meanwhile_is_refused(tmp_path: Path) -> None:
    rewriting = (
        f"{IMPORT}\nfrom pathlib import Path\n"
        "_own = Path(__file__).parent / 'wording.py'\n_own.write_text(_own.read_text() + '#')"
    )
    asked = candidates.request(tmp_path, WORLD, edits={"env.py": {IMPORT: rewriting}})
    report = candidates.probed(asked, "solvable")
    assert candidates.refusing_rules(report) == {"tampering"}


def test_control_characters_of_a_candidate_are_shown(tmp_path: Path) -> None:
    report = report_on(tmp_path, {ACT: f"{ACT}\n        raise ValueError('\\x1b[2J gone')"})
    (fault,) = candidates.errors(report, "world_fault")
    assert "\x1b" not in fault.message
    assert "\\x1b[2J" in fault.message


def test_rules_that_cannot_be_read_are_told_with_their_place(tmp_path: Path) -> None:
    edits = {"user.yaml": {"version: 1": "version: 7"}}
    report = candidates.probed(candidates.request(tmp_path, WORLD, edits=edits))
    (told, *_) = candidates.errors(report, "loading")
    assert (told.file, told.line) == ("world/intention/user.yaml", 2)


def test_a_world_that_nobody_knows_is_refused(tmp_path: Path) -> None:
    report = candidates.probed(candidates.request(tmp_path, WORLD, **{"worlds": ["intentions"]}))
    (told,) = candidates.errors(report, "loading")
    assert told.value == "intentions"
