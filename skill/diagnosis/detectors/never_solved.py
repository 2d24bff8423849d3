"""Never-solved tasks: some tasks fail however often they are played.

Whether such a task can be solved at all only an oracle can tell; this says where to ask.
"""

from __future__ import annotations

from collections import defaultdict

from skill import fence
from skill.diagnosis.dialogue import Dialogue
from skill.diagnosis.symptoms import Party, Symptom
from skill.diagnosis.windows import Window

FEWEST_PLAYS = 4
FEWEST_EPISODES = 100
EXPECTED_FACTOR = 3.0
"""Times what luck alone would leave unsolved before it is suspicious."""


def detect(window: Window) -> Symptom | None:
    """Look for more unsolved tasks than luck leaves, or for no success at all."""
    played = [one for one in window.dialogues if one.outcome == "finished" and one.task]
    if len(played) < FEWEST_EPISODES:
        return None
    tasks: dict[tuple[str, str], list[Dialogue]] = defaultdict(list)
    for episode in played:
        tasks[episode.world, episode.task].append(episode)
    often = {key: plays for key, plays in tasks.items() if len(plays) >= FEWEST_PLAYS}
    never = {key: plays for key, plays in often.items() if not any(p.solved for p in plays)}
    failing = sum(one.failed for one in played) / len(played)
    if failing == 1.0:
        return _symptom(f"None of the last {len(played)} episodes was a full success.", played)
    luck = sum(failing ** len(plays) for plays in often.values())
    if len(never) < 2 or len(never) <= EXPECTED_FACTOR * luck + 1.0:
        return None
    worst = sorted(never, key=lambda key: -len(never[key]))
    named = ", ".join(fence.name(task) for _, task in worst[:4])
    return _symptom(
        f"{len(never)} of {len(often)} tasks failed each of the {FEWEST_PLAYS} or more times they "
        f"were played; luck alone would leave about {luck:.1f} (such as {named}).",
        [plays[-1] for plays in (never[key] for key in worst)],
    )


def _symptom(sentence: str, episodes: list[Dialogue]) -> Symptom:
    return Symptom(
        "never_solved",
        Party.ENVIRONMENT,
        sentence,
        tuple(one.cite() for one in episodes[:6]),
        "Can they be solved at all? Compare what the task needs with environment.max_steps, with "
        "user.reveal_kinds and with the tools; the oracle must reach every goal.",
    )
