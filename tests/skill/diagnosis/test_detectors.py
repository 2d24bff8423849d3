"""Every detector fires on a recorded run that is ill, and on none that is well."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pytest

from gate.contract import knobs
from skill.diagnosis import detectors
from skill.diagnosis.symptoms import Party, Symptom
from skill.diagnosis.windows import Window
from tests.skill import recorded
from tests.skill.recorded import agent, episode, failure, mixed, ramp, steps, tool, user, window

DEFAULTS = knobs.defaults()


def _stalled(index: int) -> dict:
    """A user whose counter never sees the questions that also answer."""
    turns: list[dict] = []
    for at in range(4):
        turns.append(agent(f"[action] is it kind {at} of {index}? I would take X{at}.", at))
        turns.append(
            user("Please ask me more first.", at, act="both", strategy="challenge_solution")
        )
    return failure(index, turns, stop="out_of_steps")


def _dawdling(index: int) -> dict:
    """An agent that repeats itself until the limit."""
    turns = [t for at in range(6) for t in (agent("[ aisle", at), user("Please ask.", at))]
    return failure(index, turns, stop="out_of_steps")


def _busy(index: int) -> dict:
    """A dialogue that gains something by every turn until the limit."""
    turns = [t for at in range(6) for t in (agent(f"wish {at}?", at), user("Yes.", at, f"P{at}"))]
    return failure(index, turns, stop="out_of_steps")


def _silent(index: int) -> dict:
    return failure(index, [agent("[search] hotel park", 0), tool("", 0), agent("[answer] H1", 1)])


def _leaky(index: int) -> dict:
    return episode(index, [agent("All?", 0), user("A. B. C.", 0, "P1", "P2", "P3")])


def _recited(index: int) -> dict:
    answer = f"take the slow train number {index} at noon"
    return episode(
        index, [agent("What?", 0), user(f"Just {answer}.", 0, "P1"), agent(f"[answer] {answer}", 1)]
    )


def _left(index: int) -> dict:
    turns = [agent("Shall I book it?", 0), user("Bye.", 0, strategy="close")]
    return failure(index, turns, stop="user_ended")


def _template(index: int) -> dict:
    turns = [agent(f"I am glad to help you with that today dear friend filler{index}", 0)]
    opening = {"speaker": "user", "text": f"about topic{index}", "agent_turn": 0}
    return failure(index) | {"turns": [opening, *turns]}


def _banging(index: int) -> dict:
    return failure(index, [agent("!" * 40, 0), user("Pardon?", 0)])


def _longer_and_paid(index: int) -> dict:
    payment = {"rule": "per_turn", "value": 0.01 * index, "turn": 0}
    return failure(index, rewards=[payment], num_action_tokens=10 * index)


def _hard(index: int) -> dict:
    """Five tasks of twelve fail in each of twelve rounds."""
    task = index % 12
    return (failure if task < 5 else episode)(index, task_id=f"task-{task}", id=f"000001-{index}")


LAST_THREE = [0.5] * 37
ILL: Mapping[str, tuple[Window, str, Party]] = {
    "deadlock (K-DEADLOCK)": (
        window(episodes=(*mixed(20), *map(_stalled, range(14)))),
        "deadlock",
        Party.USER,
    ),
    "step cap, a policy that dawdles": (
        window(episodes=(*mixed(40), *map(_dawdling, range(20)))),
        "step_cap",
        Party.POLICY,
    ),
    "step cap, a limit that is tight": (
        window(episodes=(*mixed(40), *map(_busy, range(20)))),
        "step_cap",
        Party.CONFIGURATION,
    ),
    "a fall with a revision": (
        window(
            steps=steps(
                40,
                revision=[0] * 36 + [1] * 4,
                success=[*ramp(0.6, 0.7, 36, noise=0.05), 0.3, 0.2, 0.25, 0.3],
                anchor_success=[0.7] * 40,
            )
        ),
        "fell_with_revision",
        Party.CONFIGURATION,
    ),
    "silent tool (E-SILENT)": (
        window(episodes=(*mixed(40), *map(_silent, range(6)))),
        "silent_tool",
        Party.ENVIRONMENT,
    ),
    "false negative, two verdicts (E-VERFN)": (
        window(
            episodes=(
                *mixed(40),
                *(episode(i, id=f"000001-{i}b", success=0.0) for i in (1, 3, 5)),
            )
        ),
        "verifier_false_negative",
        Party.VERIFIER,
    ),
    "false negative, confirmed": (
        window(
            episodes=tuple(
                failure(i, [agent("Like so?", 0), user(f"Yes {i}.", 0, strategy="confirm")])
                for i in range(8)
            )
        ),
        "verifier_false_negative",
        Party.VERIFIER,
    ),
    "vacuous pass, no token (J-EMPTY)": (
        window(episodes=(*mixed(40), *(episode(i, [], num_action_tokens=0) for i in range(5)))),
        "vacuous_pass",
        Party.VERIFIER,
    ),
    "vacuous pass, one answer": (
        window(episodes=(*mixed(40), *(episode(i, [agent("[answer] 42")]) for i in range(5)))),
        "vacuous_pass",
        Party.VERIFIER,
    ),
    "user leak, facts": (
        window(episodes=(*mixed(40), *map(_leaky, range(4))), knobs=DEFAULTS),
        "user_leak",
        Party.USER,
    ),
    "user leak, recited answer (K-LEAK)": (
        window(episodes=(*mixed(40), *map(_recited, range(4)))),
        "user_leak",
        Party.USER,
    ),
    "user leak, 837 characters": (
        window(steps=steps(40, max_reply_chars=[60] * 35 + [837] * 5)),
        "user_leak",
        Party.USER,
    ),
    "early stop (E-EARLYSTOP)": (
        window(episodes=(*mixed(40), *map(_left, range(10)))),
        "user_drift",
        Party.USER,
    ),
    "drift": (
        window(
            episodes=tuple(
                failure(i, [agent("Which?", 0), user("Nice weather.", 0, strategy="invalid")])
                for i in range(30)
            )
        ),
        "user_drift",
        Party.USER,
    ),
    "reward hacking (J-HACK1)": (
        window(
            steps=steps(
                40,
                reward=ramp(0.2, 0.9, 40, noise=0.02),
                success=ramp(0.4, 0.2, 40, noise=0.03),
            )
        ),
        "reward_hacking",
        Party.CONFIGURATION,
    ),
    "reward hacking by shaping (J-HACK2)": (
        window(steps=steps(40, shaping_reward=ramp(0.0, 0.3, 40, noise=0.01))),
        "reward_hacking",
        Party.CONFIGURATION,
    ),
    "template (J-TEMPLATE)": (
        window(episodes=tuple(map(_template, range(20)))),
        "template_collapse",
        Party.POLICY,
    ),
    "repetition (J-BANG)": (
        window(episodes=(*mixed(40), *map(_banging, range(10)))),
        "repetition",
        Party.POLICY,
    ),
    "entropy collapse (J-ENTCOLLAPSE)": (
        window(steps=steps(40, entropy=[*LAST_THREE, 0.2, 0.15, 0.1])),
        "entropy_collapse",
        Party.POLICY,
    ),
    "slow entropy collapse": (
        window(steps=steps(60, entropy=ramp(1.0, 0.01, 60))),
        "entropy_collapse",
        Party.POLICY,
    ),
    "entropy eruption (J-ENTRISE)": (
        window(steps=steps(40, entropy=[*LAST_THREE, 1.2, 1.5, 1.9])),
        "entropy_eruption",
        Party.POLICY,
    ),
    "KL blow-up (J-KLBLOW)": (
        window(steps=steps(40, kl=[*ramp(0.01, 0.3, 37), 4.0, 9.0, 20.0])),
        "kl_blow_up",
        Party.CONFIGURATION,
    ),
    "KL of single updates": (
        window(steps=steps(40, policy_kl=[0.001] * 37 + [0.2, 0.3, 0.4])),
        "kl_blow_up",
        Party.CONFIGURATION,
    ),
    "dead critic": (
        window(steps=steps(40, explained_variance=[-4867.0] + [-0.69] * 39)),
        "dead_critic",
        Party.CONFIGURATION,
    ),
    "reactions without a usable label": (
        window(steps=steps(40, credit_reactions_invalid=[0.0] * 30 + [0.04, 0.08] * 5)),
        "invalid_reactions",
        Party.USER,
    ),
    "saturated tasks": (
        window(steps=steps(40, success=[0.9] * 30 + [0.97] * 10)),
        "saturated_tasks",
        Party.ENVIRONMENT,
    ),
    "never-solved tasks (E-UNREACH)": (
        window(episodes=tuple(map(_hard, range(144)))),
        "never_solved",
        Party.ENVIRONMENT,
    ),
    "nothing is ever solved": (
        window(episodes=tuple(map(failure, range(120)))),
        "never_solved",
        Party.ENVIRONMENT,
    ),
    "stale sampler (J-STALE)": (
        window(steps=steps(40, sampler_logprob_gap_mean=[1e-3] * 37 + [0.03] * 3)),
        "stale_sampler",
        Party.INFRASTRUCTURE,
    ),
    "judge unavailable (E-VER429)": (
        window(episodes=(*mixed(40), *(failure(i, success=None) for i in range(6)))),
        "judge_unavailable",
        Party.VERIFIER,
    ),
    "length hacking (J-HACKLEN)": (
        window(
            steps=steps(
                40,
                action_tokens=ramp(1600, 4800, 40),
                reward=ramp(0.5, 0.54, 40),
                success=[0.5] * 40,
            )
        ),
        "length_hacking",
        Party.CONFIGURATION,
    ),
    "length hacking in episodes": (
        window(episodes=tuple(map(_longer_and_paid, range(1, 41)))),
        "length_hacking",
        Party.CONFIGURATION,
    ),
    "stand-still (E-HANG)": (
        window(status={"phase": "training", "stage": "rollout", "heartbeat": recorded.NOW - 900}),
        "stand_still",
        Party.INFRASTRUCTURE,
    ),
    "not finite (J-NANGROUP)": (
        window(steps=steps(40, actor_grad_norm=[0.2] * 39 + [math.nan])),
        "broken_update",
        Party.CONFIGURATION,
    ),
}

WELL: Mapping[str, Window] = {
    "an ordinary run": window(),
    "the beginning of a run": Window("new", recorded.NOW),
    "entropy in cycles (J-ENTCYCLE)": window(
        steps=steps(40, entropy=[0.5 + 0.4 * math.sin(i / 2.0) for i in range(40)])
    ),
    "a task that is being learnt": window(
        steps=steps(
            40,
            success=ramp(0.3, 0.8, 40, noise=0.05),
            reward=ramp(0.4, 0.9, 40, noise=0.05),
            shaping_reward=ramp(0.0, 0.1, 40),
            action_tokens=ramp(1600, 2400, 40),
            entropy=ramp(0.5, 0.4, 40, noise=0.02),
            kl=ramp(0.0, 0.3, 40),
        )
    ),
    "two equal halves (J-NOISE)": window(
        steps=steps(
            40, success=ramp(0.5, 0.5, 40, noise=0.228), reward=ramp(0.5, 0.5, 40, noise=0.228)
        )
    ),
    "a critic that starts cold": window(
        steps=steps(40, explained_variance=[-0.1] * 15 + [0.3] * 25)
    ),
    "a few episodes at the limit": window(episodes=(*mixed(60), *map(_dawdling, range(10)))),
    "a few labels missing": window(steps=steps(40, credit_reactions_invalid=[0.0, 0.04] * 20)),
    "a few dialogues stalled": window(episodes=(*mixed(60), *map(_stalled, range(8)))),
    "one empty tool answer": window(episodes=(*mixed(60), _silent(1))),
    "one false verdict": window(episodes=(*mixed(60), episode(1, id="000001-1b", success=0.0))),
    "one user that leaves": window(episodes=(*mixed(60), _left(1))),
    "one unjudged episode": window(episodes=(*mixed(60), failure(1, success=None))),
    "one empty success": window(episodes=(*mixed(60), episode(1, []))),
    "a long step": window(
        status={"phase": "training", "heartbeat": recorded.NOW - 900},
        steps=steps(40, step_s=[300.0] * 40),
    ),
    "a finished run, long ago": window(status={"phase": "finished", "heartbeat": 0.0}),
    "a small steady gap of bfloat16": window(
        steps=steps(40, sampler_logprob_gap_mean=[0.012] * 40)
    ),
    "hard tasks, each solved at times": window(
        episodes=tuple(
            (episode if (i // 12) % 4 == 3 else failure)(i, task_id=f"task-{i % 12}")
            for i in range(144)
        )
    ),
}


@pytest.mark.parametrize("name", ILL)
def test_a_detector_fires_on_a_run_that_is_ill(name: str) -> None:
    look, expected, party = ILL[name]

    found = {symptom.name: symptom for symptom in detectors.examine(look)}

    assert expected in found, sorted(found)
    assert found[expected].party is party
    assert found[expected].evidence


@pytest.mark.parametrize("name", WELL)
def test_no_detector_fires_on_a_run_that_is_well(name: str) -> None:
    assert [symptom.sentence for symptom in detectors.examine(WELL[name])] == []


def test_every_detector_has_a_run_where_it_fires() -> None:
    fired = {
        key
        for key, detect in detectors.DETECTORS.items()
        if any(detect(look) is not None for look, _, _ in ILL.values())
    }
    assert fired == set(detectors.DETECTORS)


SPOILT: tuple[dict[str, Any], ...] = (
    {},
    {"step": None, "learner": "none", "success": "high", "finished": True, "stop_reasons": []},
    {"step": 3, "learner": {"entropy": None, "kl": "NaN"}, "action_tokens": {}},
    {"id": 4, "turns": "none", "rewards": 3, "success": True, "stop": None, "outcome": 0},
    {"turns": [None, 3, {}, {"speaker": "agent"}, {"speaker": "user", "voice": 1, "private": 2}]},
    {"turns": [{"speaker": "tool", "text": None, "events": 7}], "rewards": [None, {"value": "x"}]},
)


def test_no_record_however_spoilt_stops_a_detector() -> None:
    """J-EMPTY, J-NOTERM and worse: whatever a record lacks is no evidence."""
    look = Window(
        "spoilt", recorded.NOW, status={"heartbeat": "now"}, steps=SPOILT * 8, events=SPOILT,
        episodes=SPOILT * 30,
    )  # fmt: skip
    found = detectors.examine(look)
    assert all(isinstance(symptom, Symptom) and symptom.to_json() for symptom in found)
