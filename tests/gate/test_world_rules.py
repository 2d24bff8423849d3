"""A candidate world is refused for what it edits, imports, reaches or promises, with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from gate import rules, sample_world, selftest
from gate.contract import world_declaration
from gate.contract.candidate_world import WorldChange
from gate.contract.findings import Severity
from gate.contract.proposals import FalseVerdict
from gate.contract.windows import Window
from gate.rules import user_rules, world_imports, world_knobs
from gate.rules.change_set import Known, Recorded
from tests.gate import worlds

WORLDS = sorted(
    path.parent.name for path in (Path(__file__).parents[2] / "trainer/worlds").glob("*/world.yaml")
)


def world(checkout: Path, name: str) -> dict[str, bytes]:
    """Return the files of a built-in world as a launch copies them."""
    folder = checkout / "trainer" / "worlds" / name
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
        and "__pycache__" not in path.parts
        and path.relative_to(folder).parts[0] not in world_declaration.NEVER_EDITABLE
    }


@pytest.mark.parametrize("name", WORLDS)
def test_every_editable_file_of_every_world_would_pass_as_a_candidate(
    name: str, checkout: Path
) -> None:
    files = world(checkout, name)
    declared = world_declaration.read(name, files["world.yaml"], file="world.yaml")
    edits = {path: data + b"\n" for path, data in files.items() if declared.may_edit(path)}
    found = rules.check(
        worlds.change_set(WorldChange(name, files, edits)), exempt=("false_verdicts",)
    )
    assert found == ()
    assert set(declared.values["editable"]) - edits.keys() <= {"personas/"}


@pytest.mark.parametrize(
    "code",
    [
        "import math, collections.abc\nfrom datetime import datetime, time\n",
        "from trainer.task import Task\nfrom trainer import seeds\n",
        "from . import wording\nfrom .verifier import make\nfrom .grading import grade\n",
        "from trainer.worlds import refusals\nfrom trainer.worlds.single_use import single_use\n",
        "import json as j\nx = j.loads('1')\n",
        "x = getattr(object(), 'name', None)\n",
        "import datetime\nx = datetime.time(1)\n",
        "import collections\nimport random as r\nx = collections.abc.Mapping, r.random()\n",
        "class A:\n    def __init__(self):\n        super().__init__()\n        self._x = 1\n",
    ],
)
def test_ordinary_code_passes(code: str) -> None:
    change = sample_world.edited("env.py", code)
    assert worlds.findings("world_imports", change) == []
    assert worlds.findings("world_code", change) == []


@pytest.mark.parametrize(
    "code",
    [
        "import os",
        "import json, socket",
        "import trainer.worlds.catalog",
        "from trainer.worlds import catalog",
        "from trainer.worlds.single_use import functools",
        "from trainer.worlds.travel import loader",
        "from dataclasses import sys",
        "from math import *",
        "from . import loader",
        "from . import *",
        "from .oracle import PLAYERS",
        "from .. import travel",
        "from . import verifier, gold",
    ],
)
def test_imports_that_lead_out_of_the_world_are_refused(code: str) -> None:
    (found,) = worlds.of("world_imports", "env.py", f"x = 1\n{code}\n")
    assert (found.rule, found.file, found.line) == (
        "rules.world-imports",
        "candidate/world/travel/env.py",
        2,
    )


def test_what_worlds_share_computes_and_uses_nouns_alone(checkout: Path) -> None:
    known = world_imports.COMPUTING | world_imports.NOUNS
    for module in world_imports.SHARED:
        code = checkout.joinpath(*module.split(".")).with_suffix(".py").read_bytes()
        assert {one.module for one in world_imports.imports(code)} <= known


def test_what_a_file_imports_in_force_it_may_go_on_importing() -> None:
    assert worlds.of("world_imports", "grading.py", "import csv\n") == []
    assert len(worlds.of("world_imports", "verifier.py", "import csv\n")) == 1


def test_a_world_that_declares_nothing_has_no_modules_of_its_own() -> None:
    change = WorldChange("travel", {}, {"env.py": b"from . import wording\n"})
    assert len(worlds.findings("world_imports", change)) == 1
    assert worlds.findings("world_files", change)[0].rule == "world.syntax"


@pytest.mark.parametrize(
    ("code", "what"),
    [
        ("x = eval('1')", "uses eval"),
        ("f = open", "uses open"),
        ("x = __builtins__", "uses __builtins__"),
        ("x = (1).__class__", "uses .__class__"),
        ("x = (i for i in ()).gi_frame", "uses .gi_frame"),
        ("x = getattr(1, 'a' + 'b')", "uses getattr with a name"),
        ("x = getattr(1, '__class__')", "uses getattr with a name"),
        ("x = getattr(1, 'f_back')", "uses getattr with a name"),
        ("f = getattr", "uses getattr with a name"),
        ("import random\nx = random._os", "reaches random._os"),
        ("import dataclasses as d\nx = d.sys", "reaches dataclasses.sys"),
        ("import operator\nx = operator.attrgetter('a')", "uses .attrgetter"),
        ("x = '{0.__class__}'.format(1)", "holds __class__ in a text"),
        ("def f(:", "is no Python: invalid syntax"),
        ("x = '\0'", "is no Python"),
    ],
)
def test_tricks_in_code_are_refused_with_their_line(code: str, what: str) -> None:
    found = worlds.of("world_code", "env.py", f"{code}\n")
    assert what in found[0].message
    assert (found[0].rule, found[0].severity) == ("rules.world-code", Severity.ERROR)
    assert found[0].line == code.count("\n") + 1


def test_files_that_are_no_code_are_not_read_as_code() -> None:
    for rule in ("world_imports", "world_code"):
        assert worlds.of(rule, "user.yaml", "import os: eval(") == []


def test_a_nul_is_no_text() -> None:
    assert "it holds a NUL" in worlds.of("world_files", "wording.py", b"\0")[0].message


def test_a_world_whose_declaration_is_damaged_is_refused_by_it_alone() -> None:
    change = WorldChange("travel", {"world.yaml": b"- a\n"}, {"env.py": b"", "world.yaml": b""})
    assert [one.rule for one in worlds.findings("world_files", change)] == ["world.syntax"]
    assert world_knobs.moves(change) == ()


def knob(text: str) -> str:
    return f"knobs:\n  haste:\n    description: How hurried.\n{text}  patience:"


WHOLE = (
    "    type: number\n    minimum: 0\n    maximum: 1\n    default: 0.5\n    x-scope: world\n"
    "    x-harder: up\n    x-max-step: {kind: linear, size: 0.2}\n    x-lag-steps: 0\n"
    "    x-proximal: agent_turns\n    x-distal: success\n"
)


def test_a_new_knob_declared_with_range_and_direction_passes() -> None:
    change = sample_world.declared("knobs:\n  patience:", knob(WHOLE))
    assert rules.check(worlds.change_set(change)) == ()
    assert world_knobs.moves(change) == ()


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("    x-harder: up\n", "", "lacks x-harder"),
        ("    maximum: 1\n", "", "has no range"),
        ("default: 0.5", "default: 2", "outside its range"),
        ("default: 0.5", "default: true", "has a default that is no number"),
        ("type: number", "type: integer", "has a default that is no integer"),
        ("type: number", "type: boolean", "has a default that is no boolean"),
        (", size: 0.2", "", "has an x-max-step without a size"),
        ("x-harder: up", "x-harder: sideways", "none of up, down, none"),
        ("x-scope: world", "x-scope: rollout", "none of world"),
    ],
)
def test_a_new_knob_without_a_whole_promise_is_refused(old: str, new: str, what: str) -> None:
    assert old in WHOLE
    change = sample_world.declared("knobs:\n  patience:", knob(WHOLE.replace(old, new)))
    assert what in worlds.findings("world_knobs", change)[0].message


@pytest.mark.parametrize("name", ["max_steps", "user_strategy_mix", "Haste", "seed"])
def test_a_new_knob_has_a_name_of_its_own(name: str) -> None:
    text = knob(WHOLE).replace("haste", name)
    found = worlds.findings("world_knobs", sample_world.declared("knobs:\n  patience:", text))
    assert "has a name that is taken" in found[0].message


def test_a_knob_is_not_removed_and_its_promise_not_edited() -> None:
    gone = sample_world.edited("world.yaml", sample_world.DECLARATION.partition("knobs:")[0])
    assert "patience of travel is gone" in worlds.findings("world_knobs", gone)[0].message
    other = sample_world.declared("x-harder: down", "x-harder: none")
    assert "differs" in worlds.findings("world_knobs", other)[0].message


@pytest.mark.parametrize(
    ("value", "success", "expected"),
    [(5, 0.5, set[str]()), (3, 0.9, set[str]()), (3, 0.5, {"difficulty"}), (8, 0.5, {"step-size"})],
)
def test_the_value_of_a_worlds_knob_moves_by_the_rules_of_all_knobs(
    value: int, success: float, expected: set[str]
) -> None:
    change = sample_world.declared("default: 4", f"default: {value}")
    moves = world_knobs.moves(change)
    assert [(move.path, move.old, move.new) for move in moves] == [
        ("world.travel.patience", 4, value)
    ]
    found = rules.check(
        worlds.change_set(change, world_moves=moves, success_history=[success] * 20)
    )
    assert {finding.rule.removeprefix("rules.") for finding in found} == expected


@pytest.mark.parametrize(
    ("rule_file", "what"),
    [
        ("version: 2\n", "user.version is 2"),
        ("version: 1\nrules: [{id: a}]\n", "user.rules.0 lacks do"),
        ("version: 1\nrule: []\n", "rule"),
        ("version: 1\n\tx: 1\n", ""),
        ("- a\n", "holds no map"),
        ("version: 1\nversion: 1\n", "again at line 2"),
        (
            "version: 1\nrules:\n- {id: a, do: nudge, say: [x], when: {score: {}}}\n",
            "user.rules.0.when.score is empty",
        ),
        (
            "version: 1\nrules:\n- {id: a, do: nudge, say: [x]}\n- {id: a, do: nudge, say: [y]}\n",
            "are both called a",
        ),
    ],
)
def test_a_rule_file_of_another_form_is_refused(rule_file: str, what: str) -> None:
    found = worlds.of("user_rules", "user.yaml", rule_file)
    assert found and all(one.rule == "rules.user-rules" for one in found)
    assert what in found[0].message


def test_every_rule_file_of_the_repository_has_the_form(checkout: Path) -> None:
    paths = sorted((checkout / "trainer/worlds").glob("*/user.yaml"))
    assert len(paths) >= 8
    for path in paths:
        assert list(user_rules.faults(path.read_bytes(), file=str(path))) == []


@pytest.mark.parametrize(
    ("path", "text", "what"),
    [
        ("personas/new.md", "Hurried and curt.", ""),
        ("personas/new.md", "x" * 8001, "has 8001 characters"),
        ("personas/new.py", "x", "not where a persona belongs"),
        ("personas/deep/new.md", "x", "not where a persona belongs"),
    ],
)
def test_a_persona_is_a_short_text_in_its_place(path: str, text: str, what: str) -> None:
    found = worlds.of("personas", path, text)
    assert [what in one.message for one in found] == ([True] if what else [])


def cited(episode: str, should_be: float, change: WorldChange) -> list[str]:
    proposal = selftest.GOOD.__class__(
        **{**selftest.GOOD.__dict__, "false_verdicts": (FalseVerdict(episode, should_be),)}
    )
    recorded = {
        "000012-05": Recorded("travel", 0.0),
        "000012-06": Recorded("intention", 0.0),
        "000012-07": Recorded("travel", None),
    }
    known = Known(last_step=40, verdicts=recorded)
    found = worlds.findings("false_verdicts", change, proposal=proposal, known=known)
    return [finding.message for finding in found]


def test_an_edit_of_the_verifier_cites_a_verdict_that_was_false() -> None:
    change = sample_world.edited("grading.py", "grade = None\n")
    assert cited("000012-05", 1, change) == []
    assert cited("000012-07", 1, change) == []
    assert "was given 0 already" in cited("000012-05", 0, change)[0]
    assert "no false verdict of it" in cited("000012-06", 1, change)[0]
    assert "whose verifier stays" in cited("000012-06", 1, change)[1]
    assert "not on record" in cited("000099-00", 1, change)[1]


def test_an_edit_that_no_verifier_uses_needs_none() -> None:
    change = sample_world.edited("wording.py", 'OPENING = "Hi."\n')
    assert worlds.findings("false_verdicts", change) == []
    assert worlds.findings("false_verdicts", change, proposal=None) == []


def test_what_a_verifier_newly_uses_counts_as_the_verifier() -> None:
    change = sample_world.edited("verifier.py", "from . import wording\n")
    assert world_imports.reached("verifier.py", change.after) == {"verifier.py", "wording.py"}


def test_only_lines_that_are_new_are_held_against_a_file() -> None:
    before = {**sample_world.FILES, "wording.py": b"# the evaluation score\n"}
    kept = WorldChange("travel", before, {"wording.py": b"# the evaluation score\nx = 1\n"})
    assert worlds.findings("holdout", kept) == []
    assert len(worlds.of("holdout", "wording.py", "# the evaluation score\n")) == 1


def test_one_world_is_one_window() -> None:
    window = Window(6, 3, first_step=30, steps=20, knobs=frozenset({"world.travel"}))
    concurrent = selftest.GOOD.__class__(**{**selftest.GOOD.__dict__, "concurrent": True})
    change = sample_world.edited("wording.py", "x = 1\n")
    fields = {"step": 41, "windows": (window,)}
    (found,) = worlds.findings("pace", change, proposal=concurrent, **fields)
    assert (found.path, "world.travel would blur" in found.message) == ("world.travel", True)
    other = WorldChange("intention", change.before, change.edits)
    assert worlds.findings("pace", other, proposal=concurrent, **fields) == []
    (found,) = worlds.findings("pace", other, **fields)
    assert (found.path, "another change" in found.message) == ("world.intention", True)


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ("name: travel", "name: voyage", "world.name"),
        ("success_metric: solved", "success_metric: won", "world.metric"),
        ("name: travel", "name: &a travel", "world.syntax"),
        ("name: travel", "name: \x07", "world.character"),
    ],
)
def test_a_declaration_that_is_wrong_is_refused_with_its_place(
    old: str, new: str, rule: str
) -> None:
    (found, *_) = worlds.findings("world_knobs", sample_world.declared(old, new))
    assert (found.rule, found.file) == (rule, "candidate/world/travel/world.yaml")
    assert found.line
