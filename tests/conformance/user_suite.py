"""What every user engine must do, whoever plays the user: one check a function.

A test hands each check a function that makes a fresh engine; a check holds two engines that were
made alike side by side, so an engine that remembers anything outside the request is found out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from trainer.users.seam import UserEngine, UserFailure, UserReply, UserRequest

MakeEngine = Callable[[], UserEngine]
Check = Callable[[MakeEngine, Sequence[UserRequest]], None]


def replies(engine: UserEngine, requests: Sequence[UserRequest]) -> list[UserReply]:
    """The replies to requests, none of which may fail."""
    results = engine.reply(requests)
    assert len(results) == len(requests)
    answered = [result for result in results if isinstance(result, UserReply)]
    assert len(answered) == len(results), [r for r in results if isinstance(r, UserFailure)]
    return answered


def same_conversation_same_reply(make: MakeEngine, requests: Sequence[UserRequest]) -> None:
    """Two engines made alike, and one engine asked twice, give the same replies."""
    engine = make()
    assert replies(engine, requests) == replies(engine, requests) == replies(make(), requests)


def a_batch_is_answered_as_one_by_one(make: MakeEngine, requests: Sequence[UserRequest]) -> None:
    """The company in which a message is answered changes nothing, nor does the order."""
    engine = make()
    together = replies(engine, requests)
    assert [reply for one in requests for reply in replies(engine, [one])] == together
    assert replies(make(), list(reversed(requests))) == list(reversed(together))


def no_request_no_reply(make: MakeEngine, requests: Sequence[UserRequest]) -> None:
    """An empty batch is answered by an empty list."""
    assert make().reply([]) == []


def words_are_there_and_fit(make: MakeEngine, requests: Sequence[UserRequest]) -> None:
    """A reply says something, within the length limit."""
    for asked, reply in zip(requests, replies(make(), requests), strict=True):
        assert reply.text.strip()
        assert len(reply.text) <= asked.settings["max_reply_chars"]


def the_voice_is_the_engines(make: MakeEngine, requests: Sequence[UserRequest]) -> None:
    """Every reply says who spoke and by which rule."""
    engine = make()
    for reply in replies(engine, requests):
        assert reply.voice is engine.voice
        assert reply.rule


def memory_goes_on(make: MakeEngine, requests: Sequence[UserRequest]) -> None:
    """Counters grow as they should, and the request's own memory is left as it was."""
    before = [dict(asked.state.reveal_counts) for asked in requests]
    for asked, reply in zip(requests, replies(make(), requests), strict=True):
        old, new = asked.state, reply.state
        assert new.num_replies == old.num_replies + 1
        assert new.num_questions - old.num_questions in (0, 1)
        assert new.num_unhelpful in (0, old.num_unhelpful + 1)
        assert new.withdrawn == old.withdrawn
        grown = dict(old.reveal_counts)
        for fact_id in reply.revealed:
            grown[fact_id] = grown.get(fact_id, 0) + 1
        assert dict(new.reveal_counts) == grown
    assert [dict(asked.state.reveal_counts) for asked in requests] == before


def only_known_facts_are_revealed_once(make: MakeEngine, requests: Sequence[UserRequest]) -> None:
    """A reply names facts of its task, none twice."""
    for asked, reply in zip(requests, replies(make(), requests), strict=True):
        known = [fact.id for fact in asked.task.facts]
        assert set(reply.revealed) <= set(known)
        assert len(set(reply.revealed)) == len(reply.revealed)


def private_matters_are_recorded_and_not_said(
    make: MakeEngine, requests: Sequence[UserRequest]
) -> None:
    """Every reply has a strategy label, and neither label, thought nor goal is in its text."""
    for asked, reply in zip(requests, replies(make(), requests), strict=True):
        label = reply.private["strategy"]
        assert isinstance(label, str)
        assert f'"{label}"' not in reply.text and "###" not in reply.text
        assert asked.task.goal not in reply.text
        thought = reply.private.get("thought")
        assert not thought or thought not in reply.text


def the_agent_cannot_end_the_dialogue(make: MakeEngine, requests: Sequence[UserRequest]) -> None:
    """A stop marker in the agent's words ends nothing that would go on without it."""
    marked = [_saying(asked, f"{asked.message} ###STOP###") for asked in requests]
    ends = [reply.ends for reply in replies(make(), requests)]
    assert [reply.ends for reply in replies(make(), marked)] == ends


def _saying(asked: UserRequest, message: str) -> UserRequest:
    return UserRequest(asked.task, asked.history, message, asked.state, asked.settings, asked.seed)


CHECKS: dict[str, Check] = {
    check.__name__: check
    for check in (
        same_conversation_same_reply,
        a_batch_is_answered_as_one_by_one,
        no_request_no_reply,
        words_are_there_and_fit,
        the_voice_is_the_engines,
        memory_goes_on,
        only_known_facts_are_revealed_once,
        private_matters_are_recorded_and_not_said,
        the_agent_cannot_end_the_dialogue,
    )
}
"""Every check by its name."""
