"""A model learns what it may tell at this moment, and sees the dialogue from the user's side."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.trainer.users.dialogue import TASK, request
from trainer.episode import Speaker, Turn
from trainer.users.personas import PLAIN_TEXT, PersonaError, persona_text, read_personas
from trainer.users.prompt import BEGIN, SILENCE, OutputStyle, build_chat
from trainer.users.seam import UserState

TOLD = UserState(reveal_counts={"P1": 2}, withdrawn=frozenset({"P2"}))


def test_facts_that_may_not_be_told_are_not_in_the_prompt() -> None:
    asked = request("Which room?", state=TOLD, reveal_kinds=["hotel.*", "flight.time"])
    prompt = "\n".join(message.content for message in build_chat(asked, persona="p"))
    shown = [fact.id for fact in TASK.facts if fact.statement in prompt]
    assert shown == ["P3"]


def test_no_facts_plain_text_is_in_the_prompt() -> None:
    prompt = "\n".join(m.content for m in build_chat(request("x"), persona="p"))
    assert not any(fact.text in prompt for fact in TASK.facts)


def test_the_dialogue_alternates_and_ends_with_the_agents_message() -> None:
    history = (
        Turn(Speaker.SYSTEM, "rules", 0),
        Turn(Speaker.USER, "I need a hotel.", 0),
        Turn(Speaker.AGENT, "[search] hotel", 0),
        Turn(Speaker.AGENT, "<think>hm</think>[action] Which area?", 1),
        Turn(Speaker.USER, "I swim.", 2, private={"thought": "SECRET"}),
        Turn(Speaker.AGENT, "[action] Which room? ###STOP###", 2),
    )
    chat = build_chat(request("Which room? ###STOP###", history=history), persona="p")
    assert [(message.role, message.content) for message in chat[1:]] == [
        ("user", BEGIN),
        ("assistant", "I need a hotel."),
        ("user", "Which area?"),
        ("assistant", "I swim."),
        ("user", "Which room?"),
    ]


def test_what_the_users_own_acts_showed_stands_before_the_agents_next_words() -> None:
    history = (
        Turn(Speaker.USER, "My phone is dead.", 0),
        Turn(Speaker.AGENT, "[action] Please restart it.", 0),
        Turn(Speaker.USER, "Done.", 0),
        Turn(Speaker.TOOL, "No service.", 0),
        Turn(Speaker.AGENT, "[action] And now?", 1),
    )
    chat = build_chat(request("And now?", history=history), persona="p")
    assert [(message.role, message.content) for message in chat[-2:]] == [
        ("assistant", "Done."),
        ("user", "(You see: No service.)\nAnd now?"),
    ]


def test_an_empty_message_of_the_agent_is_shown_as_silence() -> None:
    assert build_chat(request(""), persona="p")[-1].content == SILENCE


def test_the_knobs_are_told_as_rules() -> None:
    system = build_chat(
        request("x", facts_per_reply=2, max_reply_chars=123, min_questions=1, volunteer_after=1),
        persona="Grumpy.",
    )[0].content
    for words in ("at most 2 things", "123 characters", "accept no answer", "anyway", "Grumpy."):
        assert words in system


@pytest.mark.parametrize("style", list(OutputStyle))
def test_every_style_says_how_to_write(style: OutputStyle) -> None:
    system = build_chat(request("x"), persona="p", style=style)[0].content
    assert ("reveal_piece" in system) == (style is not OutputStyle.PLAIN)


def test_personas_are_read_by_name_and_plain_is_always_there(tmp_path: Path) -> None:
    folder = tmp_path / "personas"
    folder.mkdir()
    (folder / "curt.md").write_text("Says little.\n")
    (folder / "notes.json").write_text("{}")
    personas = {"toy": read_personas(folder)}
    assert personas["toy"] == {"plain": PLAIN_TEXT, "curt": "Says little."}
    assert persona_text(personas, "toy", "curt") == "Says little."
    assert persona_text({}, "elsewhere", "plain") == PLAIN_TEXT
    assert read_personas(tmp_path / "missing") == {"plain": PLAIN_TEXT}
    with pytest.raises(PersonaError, match="no persona 'sly'"):
        persona_text(personas, "toy", "sly")


def test_a_persona_that_is_no_text_of_its_own_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "personas"
    folder.mkdir()
    secret = tmp_path / "secret.md"
    secret.write_text("key")
    (folder / "a.md").symlink_to(secret)
    with pytest.raises(PersonaError, match="link out of the folder"):
        read_personas(folder)
    (folder / "a.md").unlink()
    (folder / "b.md").write_text("  ")
    with pytest.raises(PersonaError, match="0 characters"):
        read_personas(folder)
    (folder / "b.md").write_bytes(b"\xff")
    with pytest.raises(PersonaError, match="not UTF-8"):
        read_personas(folder)
