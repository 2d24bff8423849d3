"""Scripted stand-ins for a model's judgement: each move follows from what the scripts said.

They show that the pieces fit together. Whether a real model would decide so is not known here.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from tests.agents.conversation import Conversation, Move, Say, Shell, UseSkill, json_in

SCRIPTS = ".venv/bin/python skill/eau-meta-agent/scripts"
SKILL = UseSkill("eau-meta-agent")


_JUDGED = ("judged", "taken_back")
"""States of a proposal that a verdict ends."""


def script(name: str, *words: str) -> Shell:
    """Return the move that runs one of the skill's scripts and asks for JSON."""
    return Shell(f"{SCRIPTS}/{name}.py {shlex.join(words)} --json")


class Loop:
    """Observe, diagnose, read, remember, propose one thing; once it is judged, write it down.

    What it proposes answers the symptom it found, by a fixed table of one row.
    """

    def __init__(self, run: str, author: str, *, knob: str, value: Any, symptom: str) -> None:
        """Fix what it will do about which symptom.

        Args:
            run: The run's name.
            author: Whose proposals these are.
            knob: The knob that it proposes to change.
            value: To what.
            symptom: The symptom that it answers.
        """
        self.status = script("status", run)
        self.diagnosis = script("diagnose", run, "--limit", "12")
        self.effect = script("effect", run)
        self.search = script("lesson", "search", symptom, "--world", "travel", "--knob", knob)
        self.proposal = script(
            *("propose", run, "--symptom", symptom, "--set", f"{knob}={value}"),
            *("--author", author, "--window", "12", "--wait", "20"),
        )
        self._run, self._knob, self._symptom = run, knob, symptom

    def __call__(self, talk: Conversation) -> Sequence[Move]:
        """Return the next move."""
        for move in (SKILL, self.status, self.effect, self.diagnosis):
            if talk.exchange(move) is None:
                return [move]
        proposals = json_in(talk.answer(self.effect) or "")["proposals"]
        if proposals and proposals[-1]["state"] in _JUDGED:
            return self._write_down(talk, proposals[-1])
        if proposals:
            return [Say(proposals[-1]["next_step"])]
        found = json_in(talk.answer(self.diagnosis) or "")["symptoms"]
        cited = [one for one in found if one["name"] == self._symptom]
        if not cited:
            return [Say(f"Nothing to do: no {self._symptom}.")]
        episode = script("episodes", self._run, "--episode", cited[0]["evidence"][0])
        for move in (episode, self.search, self.proposal):
            if talk.exchange(move) is None:
                return [move]
        return [Say(f"Proposed: {self._knob}.")]

    def _write_down(self, talk: Conversation, proposal: Mapping[str, Any]) -> Sequence[Move]:
        verdict = proposal["verdict"]
        text = (
            f"We saw {self._symptom} and set {self._knob}. The gate's verdict was "
            f"{verdict['verdict']}. Next time: look first at the number that the knob moves first."
        )
        move = script(
            *("lesson", "new", "--title", f"What {self._knob} does where no task is solved yet"),
            *("--world", "travel", "--policy", "small", "--knob", self._knob),
            *("--evidence", f"runs/{self._run}/ledger#{verdict['ledger_seq']}"),
            *("--text", text),
        )
        return [move] if talk.exchange(move) is None else [Say("Written down.")]
