"""The self-test: every rule refuses what it must, and lets pass what nobody changed.

A gate whose rule was switched off looks like one that passes everything. One literal table holds
a known-bad input for every rule; `gate check --self-test` tries them all, in CI and at a launch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gate import rules, sample_world
from gate.contract import knobs
from gate.contract.candidate_world import WorldChange
from gate.contract.findings import Finding, Severity
from gate.contract.knobs import ABSENT, KnobChange, Knobs
from gate.contract.ledger import Author
from gate.contract.proposals import Direction, Expected, FalseVerdict, Proposal
from gate.contract.windows import Window
from gate.rules.change_set import ChangeSet, Known, Recorded

GOOD = Proposal(
    number=7,
    why="users repeat themselves",
    author="operator",
    expected=Expected("success", Direction.UP, 0.05),
    window=20,
    steps=(12,),
    text="why: users repeat themselves",
)
"""A proposal that nothing stands against, on its own."""

SEEN = Known(last_step=40)

EASIER: Mapping[str, Any] = {"user.max_reveals": 3}


@dataclass(frozen=True)
class KnownBad:
    """An input that one rule must refuse."""

    rule: str
    what: str
    """What is bad about it, so that `rule refuses what` reads as a sentence."""
    new: Mapping[str, Any] = field(default_factory=lambda: EASIER)
    """New values by knob path, over the defaults."""
    old: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Values by knob path that are in force before."""
    evidence: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Further fields of the `ChangeSet`."""

    def change_set(self) -> ChangeSet:
        """Return it as the rules see it."""
        before = _over(knobs.defaults(), self.old)
        changes = tuple(KnobChange(path, ABSENT, value) for path, value in self.new.items())
        # What no knob declares, or no range allows, cannot become knobs: the rules see it bare.
        after = _over(before, self.new) if self.rule not in _BARE else before
        if self.rule not in _BARE:
            changes = knobs.diff(before, after)
        given: dict[str, Any] = {
            "author": Author.META_AGENT,
            "step": 41,
            "known": SEEN,
            **self.evidence,
        }
        return ChangeSet(new=after, old=before, changes=changes, **given)


_BARE = frozenset({"declared", "in_range"})


def _over(values: Knobs, new: Mapping[str, Any]) -> Knobs:
    return knobs.apply(values, [KnobChange(path, ABSENT, value) for path, value in new.items()])


def _shaping(*rules_: Mapping[str, Any]) -> dict[str, Any]:
    return {"reward.shaping": list(rules_)}


def _proposal(**fields: Any) -> dict[str, Any]:
    return {"proposal": Proposal(**{**GOOD.__dict__, **fields})}


def _worlds(change: WorldChange, **fields: Any) -> dict[str, Any]:
    return {"worlds": (change,), **_proposal(**fields)}


_FIRST_HIT = {"id": "first_hit", "event": "search_ok", "value": 0.1}
_OPEN = Window(6, 3, first_step=30, steps=20, knobs=frozenset({"agent.entropy_coeff"}))

_CANARY = sample_world.edited("wording.py", "# EAU-EVALUATION-TRAVEL-1")

KNOWN_BAD: tuple[KnownBad, ...] = (
    KnownBad("declared", "a knob that does not exist", new={"user.max_reveal": 3}),
    KnownBad(
        "declared",
        "a world for a knob that all worlds share",
        new={"agent.worlds.travel.actor_lr": 2e-6},
    ),
    KnownBad("in_range", "61 steps", new={"environment.max_steps": 61}),
    KnownBad("in_range", "2 steps", new={"environment.max_steps": 2}),
    KnownBad("in_range", "a probability of 1.1", new={"user.user_strategy_mix": 1.1}),
    KnownBad("in_range", "a value that is no number", new={"agent.actor_lr": float("nan")}),
    KnownBad(
        "acts",
        "a critic's learning rate in a run without a critic",
        new={"agent.critic_lr": 2e-5},
        evidence={"credit": "grpo"},
    ),
    KnownBad("step_size", "a learning rate a hundred times as high", new={"agent.actor_lr": 1e-4}),
    KnownBad(
        "difficulty",
        "harder tasks at a success of 0.79",
        new={"environment.max_steps": 17},
        evidence={"success_history": (0.79,) * 20},
    ),
    KnownBad(
        "difficulty",
        "harder tasks after 19 steps",
        new={"environment.max_steps": 17},
        evidence={"success_history": (0.8,) * 19},
    ),
    KnownBad(
        "difficulty",
        "harder tasks when a step has no success",
        new={"environment.max_steps": 17},
        evidence={"success_history": (*(0.9,) * 19, float("nan"))},
    ),
    KnownBad(
        "coupled",
        "a pull and a learning rate that both grow tenfold",
        old={"agent.kl_coeff": 0.001},
        new={"agent.kl_coeff": 0.01, "agent.actor_lr": 1e-5},
    ),
    KnownBad(
        "reward_weights",
        "rewards that are all 0",
        new={"reward.task_weight": 0, "reward.conversation_weight": 0},
    ),
    KnownBad(
        "reward_weights",
        "shaping that pays as much as the task",
        new=_shaping({**_FIRST_HIT, "value": 1.0}),
    ),
    KnownBad(
        "reward_weights",
        "shaping that outweighs the task over all steps",
        new=_shaping({**_FIRST_HIT, "value": 0.0625, "once": False}),
    ),
    KnownBad(
        "reward_bounds",
        "pay for a search that failed",
        new=_shaping({**_FIRST_HIT, "event": "search_failed"}),
    ),
    KnownBad(
        "reward_bounds",
        "pay for a wrong choice",
        new=_shaping({**_FIRST_HIT, "event": "choice_wrong"}),
    ),
    KnownBad(
        "reward_bounds",
        "pay for an unreadable action in one world",
        new={"reward.worlds.travel.shaping": [{**_FIRST_HIT, "event": "malformed"}]},
    ),
    KnownBad(
        "reward_bounds",
        "pay for one event again and again",
        new=_shaping({**_FIRST_HIT, "value": 0.01, "once": False}),
    ),
    KnownBad(
        "reward_bounds",
        "two rules that pay for one event",
        new=_shaping(_FIRST_HIT, {**_FIRST_HIT, "id": "again"}),
    ),
    KnownBad("pace", "a second change in an open window", evidence={"windows": (_OPEN,)}),
    KnownBad(
        "pace",
        "a concurrent change of the very knob under test",
        old={"agent.entropy_coeff": 0.002},
        new={"agent.entropy_coeff": 0.004},
        evidence={"windows": (_OPEN,), **_proposal(concurrent=True)},
    ),
    KnownBad(
        "pace",
        "a knob written again before its effect can show",
        new={"agent.entropy_coeff": 0.002},
        evidence={"last_written": {"agent.entropy_coeff": 22}},
    ),
    KnownBad("evidence", "a proposal without evidence", evidence=_proposal(steps=())),
    KnownBad("evidence", "a step that never was", evidence=_proposal(steps=(41,))),
    KnownBad("evidence", "an episode that never was", evidence=_proposal(episodes=("000012-99",))),
    KnownBad(
        "holdout",
        "a canary of the evaluation",
        evidence=_proposal(text="# EAU-EVALUATION-TRAVEL-1"),
    ),
    KnownBad(
        "holdout",
        "an id of an evaluation task",
        evidence={
            **_proposal(text="see small-22-78be266e"),
            "known": Known(last_step=40, evaluation_words=frozenset({"small-22-78be266e"})),
        },
    ),
    KnownBad(
        "holdout",
        "a path to the evaluation",
        evidence=_proposal(text="see trainer/worlds/travel/evaluation/tasks.jsonl"),
    ),
    KnownBad(
        "holdout",
        "a score of the evaluation",
        evidence=_proposal(text="held-out success fell to 0.4"),
    ),
    KnownBad("reversible", "a way back without the knob", evidence=_proposal(way_back={})),
    KnownBad(
        "reversible",
        "a way back to the new value",
        evidence=_proposal(way_back={"user.max_reveals": 3}),
    ),
    KnownBad(
        "reversible",
        "a way back for a knob that does not change",
        evidence=_proposal(way_back={"user.max_reveals": 2, "user.persona": "plain"}),
    ),
    KnownBad(
        "protected",
        "a change after the gate's own code was edited",
        evidence={
            **_proposal(),
            "known": Known(last_step=40, protected_differences=("gate/rules",)),
        },
    ),
    KnownBad(
        "restart_budget",
        "a sixth launch",
        evidence={**_proposal(), "known": Known(last_step=40, attempt=6)},
    ),
    KnownBad("holdout", "a canary in a file of a world", evidence=_worlds(_CANARY)),
    KnownBad(
        "world_files",
        "an edit of the oracle",
        evidence=_worlds(sample_world.edited("oracle.py", "")),
    ),
    KnownBad(
        "world_files",
        "an edit of what makes the tasks",
        evidence=_worlds(sample_world.edited("loader.py", "")),
    ),
    KnownBad(
        "world_files",
        "a file that is no text",
        evidence=_worlds(sample_world.edited("wording.py", b"\xff")),
    ),
    KnownBad(
        "world_imports",
        "code that reaches the operating system",
        evidence=_worlds(sample_world.edited("env.py", "import os\n")),
    ),
    KnownBad(
        "world_imports",
        "code that reads the tasks",
        evidence=_worlds(sample_world.edited("env.py", "from . import loader\n")),
    ),
    KnownBad(
        "world_code",
        "code that runs a text",
        evidence=_worlds(sample_world.edited("wording.py", "exec('x = 1')\n")),
    ),
    KnownBad(
        "world_code",
        "code that reaches inner names",
        evidence=_worlds(sample_world.edited("wording.py", "x = ().__class__\n")),
    ),
    KnownBad(
        "world_knobs",
        "a world that opens more files to edits",
        evidence=_worlds(sample_world.declared("wording.py,", "wording.py, grading.py,")),
    ),
    KnownBad(
        "world_knobs",
        "a range that grows with its value",
        evidence=_worlds(sample_world.declared("maximum: 8", "maximum: 80")),
    ),
    KnownBad(
        "user_rules",
        "a rule that does what no rule can",
        evidence=_worlds(
            sample_world.edited("user.yaml", sample_world.RULES.replace("do: reveal", "do: win"))
        ),
    ),
    KnownBad(
        "personas",
        "an empty persona",
        evidence=_worlds(sample_world.edited("personas/mute.md", " \n")),
    ),
    KnownBad(
        "false_verdicts",
        "an edit of the verifier without a reason",
        evidence=_worlds(sample_world.edited("verifier.py", "import math\n")),
    ),
    KnownBad(
        "false_verdicts",
        "an edit of what the verifier uses, for a verdict that was right",
        evidence={
            **_worlds(
                sample_world.edited("grading.py", "grade = None\n"),
                false_verdicts=(FalseVerdict("000012-05", 1.0),),
            ),
            "known": Known(last_step=40, verdicts={"000012-05": Recorded("travel", 1.0)}),
        },
    ),
)
"""What every rule must refuse, at least one input for each."""


@dataclass(frozen=True)
class Result:
    """What became of one known-bad input."""

    rule: str
    what: str
    findings: tuple[Finding, ...]

    @property
    def refused(self) -> bool:
        """Whether the rule refused it, as it must."""
        return any(finding.severity is Severity.ERROR for finding in self.findings)

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON."""
        found = [finding.to_json() for finding in self.findings]
        return {"rule": self.rule, "what": self.what, "refused": self.refused, "findings": found}


def run(table: Iterable[KnownBad] = KNOWN_BAD) -> tuple[Result, ...]:
    """Show every known-bad input to its rule; a rule without an input counts as one that passes."""
    table = tuple(table)
    results = [
        Result(bad.rule, bad.what, tuple(rules.RULES[bad.rule](bad.change_set()))) for bad in table
    ]
    untried = [name for name in rules.RULES if name not in {bad.rule for bad in table}]
    return (*results, *(Result(name, "anything at all: nothing tries it", ()) for name in untried))


def findings(results: Iterable[Result]) -> tuple[Finding, ...]:
    """Return a finding for every rule that lets pass what it must refuse."""
    return tuple(
        Finding(
            "gate.self-test",
            Severity.ERROR,
            f"The rule {result.rule} lets pass {result.what}.",
            f"Restore gate/rules/{result.rule}.py; until then nothing that passes means anything.",
            path=result.rule,
        )
        for result in results
        if not result.refused
    )
