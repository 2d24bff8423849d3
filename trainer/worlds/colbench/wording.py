"""Every sentence the colbench world writes, in two styles.

`full` is for language models that read instructions; `compact` says the same in few words, for
small models. Nothing here decides anything.
"""

from __future__ import annotations

from trainer.worlds.prompt_style import COMPACT

from .reading import MARKER  # noqa: TID252 - the folder is loaded by path

_FULL_SYSTEM = """\
You help a colleague to write a Python function. They know exactly what it must do, but they have \
told you only a part of it. Ask for what you need, one thing at a time, and keep it short: they \
answer in a sentence or two and do not write code.

You have at most {max_steps} messages, the answer included. When you know enough, begin your \
message with "{marker}" and then give the code of the function and nothing else. It is run on \
hidden test calls. If you do not answer before, your last message is taken as the answer."""

_COMPACT_SYSTEM = "Ask what the function must do. Then write {marker} and the code."


def system(style: str, max_steps: int) -> str:
    """Return the rules of the world and of its actions."""
    template = _COMPACT_SYSTEM if style == COMPACT else _FULL_SYSTEM
    return template.format(max_steps=max_steps, marker=MARKER)


def malformed(style: str, reason: str) -> str:
    """Return what is wrong with an action and what to do."""
    if style == COMPACT:
        return f"Ask, or write {MARKER} and code."
    return (
        f"This action cannot be carried out: {reason}. Ask your colleague something, or write "
        f"{MARKER} and the code."
    )
