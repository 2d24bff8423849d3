"""Judge unavailable: episodes end, and no verdict comes.

A verdict that is late and a verdict that is refused look the same here.
"""

from __future__ import annotations

from skill.diagnosis.symptoms import Party, Symptom
from skill.diagnosis.windows import Window

FEWEST = 3
LARGEST_SHARE = 0.05
EVENTS = frozenset({"judge_failed"})
RECENT_STEPS = 10


def detect(window: Window) -> Symptom | None:
    """Look for finished episodes without a verdict, and for events that say so."""
    finished = [one for one in window.recent if one.outcome == "finished"]
    unjudged = [one for one in finished if one.success is None]
    newest = max((one.step for one in window.recent), default=0)
    told = [
        event
        for event in window.events
        if event.get("kind") in EVENTS and _step(event.get("step")) > newest - RECENT_STEPS
    ]
    silent = len(unjudged) >= FEWEST and len(unjudged) > LARGEST_SHARE * len(finished)
    if not silent and len(told) < FEWEST:
        return None
    evidence = [one.cite() for one in unjudged[-4:]]
    evidence += [f"events.jsonl#{_step(event.get('step'))}" for event in told[-2:]]
    return Symptom(
        "judge_unavailable",
        Party.VERIFIER,
        f"{len(unjudged)} of {len(finished)} recent finished episodes have no verdict, and "
        f"{len(told)} events say that the judge failed.",
        tuple(evidence),
        "Is the judge a model behind an endpoint? Its address, key and limits first; what it was "
        "not asked about is no failure of the policy.",
    )


def _step(value: object) -> int:
    return value if isinstance(value, int) else 0
