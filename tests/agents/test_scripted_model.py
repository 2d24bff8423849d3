"""The scripted model speaks both protocols, keeps what it was asked and fails for all to see."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import httpx
import pytest

from tests.agents import messages_api, responses_api
from tests.agents.conversation import Conversation, Edit, Move, Say, Shell, Write, in_turn
from tests.agents.scripted_model import serving

LIST = Shell("ls")
ASKED = {
    messages_api.PATH: {
        "model": "m",
        "stream": True,
        "tools": [{"name": "Bash"}],
        "messages": [{"role": "user", "content": "Primary working directory: /shop\ngo"}],
    },
    responses_api.PATH: {
        "model": "m",
        "stream": True,
        "tools": [{"name": "exec_command"}],
        "input": [{"type": "message", "content": [{"text": "<cwd>/shop</cwd> go"}]}],
    },
}


def post(address: str, path: str, body: Any) -> list[dict[str, Any]]:
    """Ask for an answer and return its events."""
    answer = httpx.post(address + path, json=body, trust_env=False)
    assert answer.status_code == 200, answer.text
    blocks = [block.split("\n") for block in answer.text.strip().split("\n\n")]
    events = [json.loads(data.removeprefix("data: ")) for _, data in blocks]
    assert [name for name, _ in blocks] == [f"event: {event['type']}" for event in events]
    return events


def answered(path: str, events: Sequence[dict[str, Any]], result: str) -> dict[str, Any]:
    """Return the request that a client makes once it has carried out the call of an answer."""
    body = json.loads(json.dumps(ASKED[path]))
    if path == messages_api.PATH:
        (block,) = [e["content_block"] for e in events if e["type"] == "content_block_start"]
        (delta,) = [e["delta"] for e in events if e["type"] == "content_block_delta"]
        call = block | {"input": json.loads(delta["partial_json"])}
        told = {"type": "tool_result", "tool_use_id": block["id"], "content": [{"text": result}]}
        body["messages"] += [{"content": [call]}, {"content": [told]}]
    else:
        (call,) = events[-1]["response"]["output"]
        told = {"type": "function_call_output", "call_id": call["call_id"], "output": result}
        body["input"] += [call, told]
    return body


@pytest.mark.parametrize("path", ASKED)
def test_a_call_is_made_once_and_its_result_is_read(path: str) -> None:
    with serving(in_turn(LIST, end="I saw it")) as model:
        events = post(model.address, path, ASKED[path])
        last = post(model.address, path, answered(path, events, "README.md"))
    first, second = model.conversations
    assert first.folder == "/shop" and first.answer(LIST) is None
    assert second.answer(LIST) == "README.md"
    assert "I saw it" in json.dumps(last)
    assert model.wanted == []
    assert "README.md" in model.everything_sent()


def test_files_are_changed_by_each_clients_own_tool() -> None:
    new, change = Write("a/b.md", "one\ntwo\n"), Edit("a/b.md", "one", "three")
    assert messages_api.spell(new, "/shop") == (
        "Write",
        {"file_path": "/shop/a/b.md", "content": "one\ntwo\n"},
    )
    assert messages_api.spell(change, "/shop")[1]["new_string"] == "three"
    added = "*** Begin Patch\n*** Add File: a/b.md\n+one\n+two\n*** End Patch\n"
    assert responses_api.spell(new, programs=False) == ("apply_patch", added)
    updated = "*** Begin Patch\n*** Update File: a/b.md\n@@\n-one\n+three\n*** End Patch\n"
    assert responses_api.spell(change, programs=False) == ("apply_patch", updated)


def test_a_client_that_takes_programs_is_given_one() -> None:
    offered = {"type": "namespace", "name": "functions", "tools": [{"name": "exec"}]}
    more = {"type": "additional_tools", "tools": [offered]}
    asked = ASKED[responses_api.PATH]
    body = {"model": "m", "input": [more, *asked["input"]]}
    with serving(in_turn(LIST)) as model:
        events = post(model.address, responses_api.PATH, body)
    (call,) = events[-1]["response"]["output"]
    assert (call["type"], call["name"]) == ("custom_tool_call", "exec")
    assert 'await tools.exec_command({"cmd": "ls"})' in call["input"]


def test_another_host_and_another_path_are_refused_and_remembered() -> None:
    with serving(in_turn()) as model:
        assert httpx.get(f"{model.address}/v1/models", trust_env=False).status_code == 400
        with pytest.raises(httpx.ProxyError):
            httpx.get("https://example.invalid/x", proxy=model.address, trust_env=False)
    assert model.wanted == ["GET /v1/models", "CONNECT example.invalid:443"]
    assert model.bodies == []


def test_a_fault_of_the_script_ends_the_turn_and_fails_the_test() -> None:
    def broken(_: Conversation) -> Sequence[Move]:
        raise KeyError("no such knob")

    path = messages_api.PATH
    failing = pytest.raises(AssertionError, match="the script failed: KeyError")
    with failing, serving(broken) as model:
        events = post(model.address, path, ASKED[path])
    assert events[-2]["delta"]["stop_reason"] == "end_turn"


def test_a_client_that_asks_for_ever_is_refused_and_fails_the_test() -> None:
    path = messages_api.PATH
    failing = pytest.raises(AssertionError, match="request 3 of at most 2")
    with failing, serving(lambda _: [Say("again")], max_requests=2) as model:
        for _ in range(2):
            post(model.address, path, ASKED[path])
        refused = httpx.post(model.address + path, json=ASKED[path], trust_env=False)
        assert refused.status_code == 400
