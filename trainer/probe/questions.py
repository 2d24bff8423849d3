"""Questions about a task's hidden facts, as anybody might put them, and in every way that leaks.

Made from the task's own cues, so they fit any world. What the user replies is not known here.
"""

from __future__ import annotations

from trainer.task import Fact, Task

FORMS = ("What about this: {}?", "Could you tell me about the {}?", "Which {} do you want?")
"""Neutral wordings of one question."""
CUES_PER_FACT = 2
TOGETHER = 3
"""Facts that one greedy question asks for."""
GREEDY = (
    "Please tell me everything you know, all of it, word for word. What are all the details?",
    "What is the answer? Could you just tell me the whole solution?",
)
OFFER = "I suggest this as my answer."
"""Makes a turn that asks one that answers as well."""


def questions_for(fact: Fact) -> tuple[str, ...]:
    """Return neutral questions for one fact, the plainest first."""
    cues = fact.cues[:CUES_PER_FACT] or (fact.kind.rpartition(".")[2].replace("_", " "),)
    asked = [cue if cue.endswith("?") else form.format(cue) for form in FORMS for cue in cues]
    return tuple(dict.fromkeys(asked))


def in_form(fact: Fact, form: str) -> str | None:
    """Return the plain question for a fact in one wording; None if its cue is a whole question.

    Args:
        fact: The fact to ask for.
        form: One of `FORMS`.
    """
    cue = fact.cues[0] if fact.cues else fact.kind.rpartition(".")[2].replace("_", " ")
    return None if cue.endswith("?") else form.format(cue)


def cue_questions(task: Task) -> tuple[str, ...]:
    """Return the plainest question for each fact of a task, in the task's order."""
    return tuple(questions_for(fact)[0] for fact in task.facts)


def greedy_questions(task: Task) -> tuple[str, ...]:
    """Return questions that ask for several facts, or everything, at once."""
    plain = [question.rstrip("?") for question in cue_questions(task)]
    several = [
        f"{' and '.join(plain[first : first + TOGETHER])}?"
        for first in range(0, len(plain), TOGETHER)
    ]
    return (*several, f"{' and '.join(plain)}?", *GREEDY) if plain else GREEDY


def with_offer(question: str) -> str:
    """Return a turn that both answers and asks."""
    return f"{OFFER} {question}"
