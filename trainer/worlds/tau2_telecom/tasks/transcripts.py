"""Dialogues of our own with the verdict that a person has put on them.

They are short: of a caller only what makes the phone move is written down. Which verdict is right
was decided by reading the policy, not by running a verifier.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from trainer.worlds.tau2.case import NamedCall, Side
from trainer.worlds.tau2.players import HAND_OVER, LEAVE, call_text
from trainer.worlds.tau2.verdicts import ENDED


class Transcript(NamedTuple):
    """One dialogue and its verdict."""

    name: str
    why: str
    task_id: str
    said: Sequence[str]
    """What the agent wrote, turn by turn; the caller answers each message with a word."""
    success: float
    metrics: Mapping[str, float]
    left: bool = True
    """True where the caller left in the end."""


def _call(name: str, **arguments: Any) -> str:
    return call_text(NamedCall(Side.AGENT, name, arguments))


def _own(code: int) -> dict[str, str]:
    return {"customer_id": f"C{code}", "line_id": f"L{code}"}


TRANSCRIPTS = (
    Transcript(
        "plain_words",
        "Plain words for the switch are as good as the tool's name.",
        "service-airplane",
        ["[action] Please turn airplane mode off, then check the status bar.", LEAVE],
        1.0,
        {"env_assertion": 1.0, "ended": 1.0, "db": 1.0},
    ),
    Transcript(
        "toggled_twice",
        "A switch that was asked for twice is where it began.",
        "service-airplane",
        [
            "[action] Please use toggle_airplane_mode.",
            "[action] And once more: toggle_airplane_mode.",
            LEAVE,
        ],
        0.0,
        {"env_assertion": 0.0, "ended": 1.0},
    ),
    Transcript(
        "not_the_agents_tool",
        "The manual names the user's tools; calling one is no way to have it used.",
        "service-airplane",
        [_call("toggle_airplane_mode"), LEAVE],
        0.0,
        {"env_assertion": 0.0, "tool_errors": 0.0},
    ),
    Transcript(
        "nobody_left",
        "A dialogue that the caller did not end earns nothing, whatever works by then.",
        "service-airplane",
        ["[action] Please turn airplane mode off."],
        0.0,
        {"env_assertion": 1.0, "ended": 0.0},
        left=False,
    ),
    Transcript(
        "unpaid",
        "A line resumed before its bill is paid has service, against the policy.",
        "service-bill",
        [_call("resume_line", **_own(204)), "[action] Please restart your phone.", LEAVE],
        0.0,
        {"env_assertion": 0.0, "ended": 1.0},
    ),
    Transcript(
        "paid",
        "Request, payment, resumed line and restart, with looks between them.",
        "service-bill",
        [
            _call("send_payment_request", customer_id="C204", bill_id="B2049"),
            "[action] Please check the payment request and make the payment.",
            _call("resume_line", **_own(204)),
            "[action] Please reboot the phone.",
            LEAVE,
        ],
        1.0,
        {"env_assertion": 1.0, "db": 1.0},
    ),
    Transcript(
        "handed_over",
        "A locked card is a person's business.",
        "service-pin",
        [
            "[action] Please check the SIM card status.",
            _call("transfer_to_human_agents", summary="The SIM card is locked by a PIN."),
            HAND_OVER,
        ],
        1.0,
        {"action": 1.0, "env_assertion": 1.0, "ended": 1.0},
    ),
    Transcript(
        "handed_over_for_nothing",
        "What the caller could have switched is no reason to hand over.",
        "service-airplane",
        [_call("transfer_to_human_agents", summary="No idea."), HAND_OVER],
        0.0,
        {"env_assertion": 0.0, "ended": 1.0},
    ),
    Transcript(
        "left_with_a_lock",
        "A locked card and a goodbye: nobody was handed over.",
        "service-pin",
        ["[action] There is nothing I can do.", LEAVE],
        0.0,
        {"action": 0.0, "env_assertion": 1.0},
    ),
    Transcript(
        "too_little_data",
        "Half of the data that the caller takes lets data flow, and is not what was agreed.",
        "data-used_up",
        [_call("refuel_data", **_own(207), gb_amount=1.0), LEAVE],
        0.0,
        {"env_assertion": 0.0},
    ),
    Transcript(
        "told_not_asked",
        "What an agent says it will do itself moves nothing on the phone.",
        "data-roaming_phone",
        ["[action] I will turn on data roaming for you.", LEAVE],
        0.0,
        {"env_assertion": 0.0},
    ),
    Transcript(
        "arguments_in_words",
        "Permissions may be asked for in one sentence.",
        "mms-storage-sms",
        ["[action] Please grant the messaging app the storage and sms permissions.", LEAVE],
        1.0,
        {"env_assertion": 1.0, "db": 1.0},
    ),
)


def gold(transcript: Transcript, task: Mapping[str, Any]) -> str:
    """Return a line of the file of gold verdicts.

    Args:
        transcript: The dialogue.
        task: The task that it names, as `Task.to_json` gives it.
    """
    turns = [{"speaker": "user", "text": task["opening"]}]
    for text in transcript.said:
        turns.append({"speaker": "agent", "text": text})
        if text.startswith("[action]") and text != HAND_OVER:
            turns.append({"speaker": "user", "text": "All right."})
    if transcript.left:
        turns.append({"speaker": "tool", "text": ENDED})
    entry = {
        "name": transcript.name,
        "why": transcript.why,
        "task": task,
        "turns": turns,
        "success": transcript.success,
        "metrics": dict(transcript.metrics),
    }
    return json.dumps(entry, ensure_ascii=False) + "\n"
