"""Dialogues in a page: who said what, and beside it what the records say of it.

All of it is the text of models and users: it is shown word for word, cut where it is very long,
and nothing in it can act on whoever reads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trainer.looking.reading import number
from trainer.looking.report.charts import text
from trainer.looking.report.dialogues import Chosen
from trainer.show import maps, names

MOST_TURNS = 60
"""Turns of a dialogue that are shown."""
LONGEST_TURN = 3000
"""Characters of a turn that are shown."""
_SPEAKERS = ("system", "user", "agent", "tool")


def dialogues(found: Sequence[Chosen]) -> list[str]:
    """Return dialogues to fold in and out, the first one open."""
    return [_dialogue(one, opened=index == 0) for index, one in enumerate(found)]


def _dialogue(one: Chosen, *, opened: bool) -> str:
    episode = one.episode
    success, reward = number(episode.get("success")), number(episode.get("reward"))
    head = f"{one.why}: {episode.get('id')}"
    told = [
        f"task {episode.get('task_id')} of {episode.get('world')}",
        f"ended {episode.get('stop')}",
        "no verdict" if success is None else f"success {success:.2f}",
        "" if reward is None else f"reward {reward:.2f}",
        f"user {episode.get('arm')}",
        f"revision {episode.get('revision')}",
    ]
    found = maps(episode.get("turns"))
    more = f'<p class="soft">and {len(found) - MOST_TURNS} turns more</p>'
    return "\n".join(
        [
            f"<details{' open' if opened else ''}><summary>{text(head)}</summary>",
            f'<p class="soft">{text(", ".join(part for part in told if part))}</p>',
            *map(_turn, found[:MOST_TURNS]),
            *([more] if len(found) > MOST_TURNS else []),
            "</details>",
        ]
    )


def _turn(turn: Mapping[str, Any]) -> str:
    speaker, said = str(turn.get("speaker", "?")), str(turn.get("text", ""))
    css = speaker if speaker in _SPEAKERS else "other"
    voice = f"/{turn['voice']}" if turn.get("voice") else ""
    if len(said) > LONGEST_TURN:
        said = f"{said[:LONGEST_TURN]}… ({len(said) - LONGEST_TURN} characters more)"
    notes = [*names(turn.get("events")), *(f"reveals {one}" for one in names(turn.get("revealed")))]
    small = f"<small>{text(', '.join(notes))}</small>" if notes else ""
    return (
        f'<div class="turn {css}"><b>{text(speaker + voice)}</b>'
        f"<div><p>{text(said)}</p>{small}</div></div>"
    )
