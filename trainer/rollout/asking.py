"""Asking: what a world must know of a judge is answered, and the world goes on with it.

A world that answers a call with `Questions` has not gone on: its questions are put to the sitting,
with those of other episodes where these wait too, and the answers are brought back until there is a
result. Without an answer there is none: the episode is quarantined, and is neither a failure of the
policy nor a pass. This module knows nothing about what is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from trainer.episode import StopReason
from trainer.judges.seam import JudgeFailure
from trainer.question import Answers, Questions
from trainer.rollout.dialogue import Dialogue
from trainer.rollout.sitting import Asked, Sitting
from trainer.worlds.calls import Answered, Call, Fault, Judge, Rejudge, Result, fault
from trainer.worlds.seam import StepResult, Verdict

MAX_ROUNDS = 4
"""How often a world may ask over one call."""


def settle(
    calls: Mapping[str, Call],
    dialogues: Mapping[str, Dialogue],
    ask: Callable[[Mapping[str, Call]], dict[str, Result]],
    sitting: Sitting,
    *,
    pinned: bool = False,
) -> dict[str, Result]:
    """Pass calls to worlds and return their results, none of which is `Questions`.

    Args:
        calls: At most one for each episode, by key.
        dialogues: The episodes, by key; what a judge says is noted on them.
        ask: Passes calls to the worlds.
        sitting: Who answers.
        pinned: Whether revision 0's verifier asks about what was played elsewhere.
    """
    results = ask(calls)
    for _ in range(MAX_ROUNDS):
        asked = {key: one for key, one in results.items() if isinstance(one, Questions)}
        if not asked:
            return results
        waiting = [(dialogues[key], questions) for key, questions in asked.items()]
        again: dict[str, Call] = {}
        for key, said in zip(asked, consult(waiting, sitting, pinned=pinned), strict=True):
            if isinstance(said, Fault):
                results[key] = said
            else:
                note(dialogues[key], asked[key], said, sitting, pinned=pinned)
                again[key] = with_answers(calls[key], dialogues[key], said)
        for key, result in (ask(again) if again else {}).items():
            results[key] = of_its_kind(calls[key], result)
    for key, one in results.items():
        if isinstance(one, Questions):
            results[key] = asks_on()
    return results


def consult(
    waiting: Sequence[tuple[Dialogue, Questions]], sitting: Sitting, *, pinned: bool = False
) -> list[Answers | Fault]:
    """Return the answers to what each dialogue's world asks, or why there are none.

    Nothing of a dialogue is changed, so this may be waited for in another thread.
    """
    answers = sitting.answer(
        [
            Asked(question, dialogue.on_file)
            for dialogue, questions in waiting
            for question in questions.asked
        ],
        pinned=pinned,
    )
    found: list[Answers | Fault] = []
    for _, questions in waiting:
        said = {one.digest: answers[one.digest] for one in questions.asked}
        failed = [one for one in said.values() if isinstance(one, JudgeFailure)]
        if failed:
            found.append(fault(StopReason.JUDGE_UNAVAILABLE, failed[0].reason))
        else:
            found.append({k: one for k, one in said.items() if not isinstance(one, JudgeFailure)})
    return found


def note(
    dialogue: Dialogue,
    questions: Questions,
    said: Answers,
    sitting: Sitting,
    *,
    pinned: bool = False,
) -> None:
    """Note on a dialogue what a judge said."""
    for question in questions.asked:
        dialogue.take_answer(question, said[question.digest], sitting.label, pinned=pinned)


def with_answers(call: Call, dialogue: Dialogue, said: Answers) -> Call:
    """Return the call that brings the answers: a verifier begins anew, an episode goes on."""
    if isinstance(call, Rejudge):
        return replace(call, answers=dict(dialogue.answers))
    return Answered(said)


def of_its_kind(call: Call, result: Result) -> Result:
    """Return what came back once a judge had spoken, if it is what the first call asked for."""
    wanted = Verdict if isinstance(call, Judge | Rejudge) else StepResult
    if isinstance(result, (Questions, Fault, wanted)):
        return result
    return fault(
        StopReason.WORLD_INVALID,
        f"a judge's word was answered with a {type(result).__name__}, not a {wanted.__name__}",
    )


def asks_on() -> Fault:
    """Return the fault of a world that does not stop asking."""
    return fault(
        StopReason.WORLD_INVALID, f"a judge was asked more than {MAX_ROUNDS} times over one call"
    )
