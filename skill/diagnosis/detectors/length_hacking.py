"""Length hacking: longer episodes are paid more, and solve no more.

Longer dialogues that solve more are learning, whatever they cost.
"""

from __future__ import annotations

from skill.diagnosis import signals
from skill.diagnosis.symptoms import Party, Symptom
from skill.diagnosis.windows import Window

LEAST_GROWTH = 1.25
"""Times the length before."""
LEAST_RISE = 0.02
FLAT = 0.02
FEWEST_EPISODES = 30
CORRELATED = 0.6


def detect(window: Window) -> Symptom | None:
    """Look at length, reward and success over steps, then at shaping by length in episodes."""
    return _over_steps(window) or _over_episodes(window)


def _over_steps(window: Window) -> Symptom | None:
    lengths = [
        tokens / finished
        for record in window.history
        if (tokens := signals.number(record, "action_tokens")) is not None
        and (finished := signals.number(record, "finished"))
    ]
    length = signals.shift(lengths)
    reward = signals.shift(signals.values(window.history, "reward"))
    success = signals.shift(signals.values(window.history, "success"))
    if length is None or reward is None or success is None:
        return None
    longer = length.before > 0 and length.after >= LEAST_GROWTH * length.before
    if not (longer and reward.rises(LEAST_RISE) and success.change <= FLAT):
        return None
    points = signals.series(window.history, "action_tokens")
    return _symptom(
        f"Episodes grew from {length.before:.0f} to {length.after:.0f} tokens of the policy and "
        f"reward from {reward.before:.3f} to {reward.after:.3f}, while success went from "
        f"{success.before:.3f} to {success.after:.3f}.",
        tuple(f"steps.jsonl#{point.step}" for point in (points[0], *points[-3:])),
    )


def _over_episodes(window: Window) -> Symptom | None:
    failed = [
        (one, one.action_tokens, one.paid("task", "floor", other=True))
        for one in window.recent
        if one.failed and one.action_tokens is not None
    ]
    if len(failed) < FEWEST_EPISODES:
        return None
    correlation = signals.rank_correlation([f[1] for f in failed], [f[2] for f in failed])
    if correlation is None or correlation < CORRELATED:
        return None
    longest = sorted(failed, key=lambda entry: entry[1])[-6:]
    return _symptom(
        f"Among {len(failed)} recent failures, shaping rewards grow with the length of what the "
        f"policy writes (rank correlation {correlation:.2f}).",
        tuple(one.cite() for one, _, _ in longest),
    )


def _symptom(sentence: str, evidence: tuple[str, ...]) -> Symptom:
    return Symptom(
        "length_hacking",
        Party.CONFIGURATION,
        sentence,
        evidence,
        "reward_by_rule in steps.jsonl: which rule pays per turn or per word? Make it pay once, "
        "or remove it; then watch length and success together.",
    )
