"""Verifier false negative: what solved a task once is judged wrong another time.

The verifier's own reasons are not recorded, so this sees contradictions alone: a verifier that is
always wrong about a task shows as a task that is never solved.
"""

from __future__ import annotations

from collections import defaultdict

from skill.diagnosis.dialogue import LIMITS, Dialogue
from skill.diagnosis.symptoms import Party, Symptom
from skill.diagnosis.windows import Window

FEWEST = 2
FEWEST_CONFIRMED = 5
LARGEST_CONFIRMED_SHARE = 0.3
"""Share of dialogues that the user confirmed at the end and the verifier may judge failed."""


def detect(window: Window) -> Symptom | None:
    """Look for two verdicts on the same answers, and for failures that the user confirmed."""
    verdicts: dict[tuple[object, ...], list[Dialogue]] = defaultdict(list)
    for episode in window.dialogues:
        judged = episode.outcome == "finished" and episode.success is not None
        if judged and episode.answers and episode.stop not in LIMITS:
            revision = episode.record.get("revision")
            verdicts[episode.world, episode.task, str(revision), episode.answers].append(episode)
    mixed = [group for group in verdicts.values() if len({one.solved for one in group}) == 2]
    wrong = [one for group in mixed for one in group if not one.solved]
    if len(wrong) >= FEWEST:
        return _symptom(
            f"{len(wrong)} episodes were judged failed although the same answers to the same task "
            f"were judged a full success in others ({len(mixed)} such answers).",
            wrong,
        )
    confirmed = [one for one in window.recent if one.outcome == "finished" and _confirmed(one)]
    refused = [one for one in confirmed if one.failed]
    if len(confirmed) >= FEWEST_CONFIRMED and len(refused) > LARGEST_CONFIRMED_SHARE * len(
        confirmed
    ):
        return _symptom(
            f"{len(refused)} of {len(confirmed)} recent episodes that the user confirmed at the "
            "end were judged failed.",
            refused,
        )
    return None


def _symptom(sentence: str, episodes: list[Dialogue]) -> Symptom:
    return Symptom(
        "verifier_false_negative",
        Party.VERIFIER,
        sentence,
        tuple(one.cite() for one in episodes[-6:]),
        "Read one pair of these dialogues side by side, then the world's verifier.py: what does "
        "it compare that the two differ in? Cite the false verdict with any edit.",
    )


def _confirmed(episode: Dialogue) -> bool:
    replies = episode.spoken_by("user")
    return bool(replies) and episode.private(replies[-1]).get("strategy") == "confirm"
