"""Every sentence the travel world writes, in two styles.

`full` is for language models that read instructions; `compact` says the same in few and ever
the same words, for small models that are trained from nothing. Nothing here decides anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trainer.task import Task
from trainer.worlds.prompt_style import COMPACT, FULL

from .verifier import Grade  # noqa: TID252 - the folder is loaded by path

SMALL = "small"
"""The tier of tasks in which every aspect has its two usual topics, so nothing need be counted."""

_FULL_SYSTEM = """\
You are a travel agent. Help the user to book {aspects}: for each of them choose the cheapest \
option that meets all of the user's wishes. The wishes are not written down anywhere; you learn \
them by asking, one topic at a time.

Begin every message with one of these actions:
[search] <{names}> lists the options of one aspect. Words of wishes after it, such as \
[search] {narrow}, narrow the list, cheapest first; each search adds its wishes to the earlier \
ones. The search sometimes fails; then try again.
[action] <words> says something to the user, such as a question about one topic.
[answer] <option id> chooses an option, such as [answer] {example}. You may choose once for each \
aspect, and a choice is final.

You have at most {max_steps} messages. The dialogue ends when every aspect has been chosen."""

_COMPACT_SYSTEM = "[action] asks, [search] lists, [answer] books."

_FEEDBACK = {
    (FULL, Grade.BEST): "{id} is the best choice for the {aspect}.",
    (FULL, Grade.CORRECT): "{id} meets the wishes for the {aspect}, but is not the cheapest.",
    (FULL, Grade.WRONG): "{id} does not meet the wishes for the {aspect}.",
    (COMPACT, Grade.BEST): "best",
    (COMPACT, Grade.CORRECT): "fits",
    (COMPACT, Grade.WRONG): "wrong",
}


def spoken(aspect: str) -> str:
    """Return an aspect as people write it."""
    return aspect.replace("_", " ")


def system(style: str, payload: Mapping[str, Any], max_steps: int) -> str:
    """Return the rules of the world and of its actions."""
    if style == COMPACT:
        return _COMPACT_SYSTEM
    aspects = [spoken(aspect) for aspect in payload["dimensions"]]
    letter = str(payload[payload["dimensions"][0]]["best_id"])[:1]
    return _FULL_SYSTEM.format(
        aspects=", ".join(aspects),
        names=" | ".join(aspects),
        example=f"{letter}3",
        narrow=f"{aspects[0]} {_some_value(payload)}",
        max_steps=max_steps,
    )


def opening(style: str, task: Task) -> str:
    """Return the user's first message."""
    if style == FULL:
        return task.opening
    needs = " and ".join(spoken(aspect) for aspect in task.payload["dimensions"])
    counts = [len(task.payload[aspect]["preferences"]) for aspect in task.payload["dimensions"]]
    if task.payload.get("tier") == SMALL:
        return f"Please book {needs}."
    return f"Please book {needs}. Wishes: {', '.join(map(str, counts))}."


def listing(style: str, aspect: str, options: Sequence[Mapping[str, Any]]) -> str:
    """Return the options of an aspect; `type` and `reason` are the verifier's and stay hidden.

    In the compact style the id comes last, after the words it has to be chosen by, so that a
    small causal model can gather an option's properties at its id.
    """
    if style == COMPACT:
        rows = [
            " ".join([*_properties(option), str(option.get("cost", "-")), option["id"]])
            for option in options
        ]
        return f"{spoken(aspect)}: " + ", ".join(rows)
    lines = [f"Options for the {spoken(aspect)}:"]
    for option in options:
        shown = [f"{key}: {value}" for key, value in option.items() if key not in _HIDDEN]
        lines.append(f"{option['id']} | " + " | ".join(shown))
    return "\n".join(lines)


def narrowed(style: str, aspect: str, options: Sequence[Mapping[str, Any]]) -> str:
    """Return the options that fit the wishes searched for, cheapest first.

    The compact style names at most three by their ids alone: what they have in common was asked
    for, and the first is the cheapest.
    """
    if not options:
        return "none fits" if style == COMPACT else f"No {spoken(aspect)} fits these wishes."
    if style == COMPACT:
        return f"{spoken(aspect)}: " + ", ".join(option["id"] for option in options[:_SHORTLIST])
    return listing(style, aspect, options)


def feedback(style: str, option_id: str, aspect: str, given: Grade) -> str:
    """Return what the world says about a choice."""
    return _FEEDBACK[style, given].format(id=option_id, aspect=spoken(aspect))


def search_failed(style: str) -> str:
    """Return the text of the deliberate failure."""
    return "try later" if style == COMPACT else "The search backend did not respond. Try later."


def search_repeated(style: str, aspect: str) -> str:
    """Return the pointer to an earlier listing."""
    if style == COMPACT:
        return "see above"
    return f"The options for the {spoken(aspect)} are listed above."


def search_unclear(style: str, payload: Mapping[str, Any]) -> str:
    """Return the hint for a search that did not name exactly one aspect."""
    names = ", ".join(spoken(aspect) for aspect in payload["dimensions"])
    return f"Search for one of: {names}" + ("" if style == COMPACT else " (one at a time).")


def choice_repeated(style: str, aspect: str) -> str:
    """Return the refusal of a second choice."""
    if style == COMPACT:
        return "already booked"
    return f"You have chosen the {spoken(aspect)} already, and a choice is final."


def malformed(style: str, reason: str) -> str:
    """Return what is wrong with an action and what to do."""
    if style == COMPACT:
        return "use [search], [action] or [answer]"
    return f"This action cannot be carried out: {reason}"


_SHORTLIST = 3
_HIDDEN = ("id", "type", "reason")


def _properties(option: Mapping[str, Any]) -> list[str]:
    return [str(value) for key, value in option.items() if key not in (*_HIDDEN, "cost")]


def _some_value(payload: Mapping[str, Any]) -> str:
    """Return a property of a wrong option, which tells nothing about the wishes."""
    groups = payload[payload["dimensions"][0]]["options"]
    option = (groups["wrong"] or groups["correct"])[0]
    return _properties(option)[0]
