"""The Anthropic Messages protocol, as far as Claude Code speaks it to its model.

A request body becomes a `Conversation`; moves become the server-sent events of a streamed
answer. Knows nothing of sockets. The event names and their order are those of the public
protocol: message_start, one block after the other, message_delta, message_stop.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.agents import conversation as talk

PATH = "/v1/messages"
COUNTING = "/v1/messages/count_tokens"
"""Where the client asks how long a request would be, before it sends a long result."""
_FOLDER = re.compile(r"working directory: (/[^\n]+)")
_USAGE = {
    "input_tokens": 100,
    "output_tokens": 20,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
}


def read(body: Mapping[str, Any]) -> talk.Conversation:
    """Return what a request says."""
    text = "\n".join(strings(body))
    found = _FOLDER.search(text)
    folder = found.group(1).strip() if found else ""
    return talk.Conversation(
        text=text,
        exchanges=tuple(_exchanges(body)),
        tools=frozenset(tool["name"] for tool in body.get("tools", []) if "name" in tool),
        folder=folder,
        spell=lambda move: spell(move, folder),
    )


def spell(move: talk.Move, folder: str) -> tuple[str, Any]:
    """Return the tool and the argument that make a move."""
    match move:
        case talk.Shell(command):
            return "Bash", {"command": command}
        case talk.Read(path):
            return "Read", {"file_path": f"{folder}/{path}"}
        case talk.Write(path, content):
            return "Write", {"file_path": f"{folder}/{path}", "content": content}
        case talk.Edit(path, old, new):
            change = {"old_string": old, "new_string": new}
            return "Edit", {"file_path": f"{folder}/{path}", **change}
        case talk.UseSkill(name):
            return "Skill", {"skill": name}
        case talk.Delegate(prompt):
            return "Agent", {"description": "look", "prompt": prompt, "run_in_background": False}
        case talk.Say(text):
            return "", text


def events(
    moves: Sequence[talk.Move], body: Mapping[str, Any], *, number: int
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the events of an answer, each with its name.

    Args:
        moves: What the model does.
        body: The request that is answered.
        number: A number that no other answer of the session has.
    """
    folder = read(body).folder
    acts = any(not isinstance(move, talk.Say) for move in moves)
    message = {
        "id": f"msg_{number:06d}",
        "type": "message",
        "role": "assistant",
        "model": body.get("model", "scripted"),
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": _USAGE,
    }
    yield _event("message_start", message=message)
    for index, move in enumerate(moves):
        tool, argument = spell(move, folder)
        if tool:
            name = f"toolu_{number:06d}_{index}"
            block = {"type": "tool_use", "id": name, "name": tool, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(argument)}
        else:
            block = {"type": "text", "text": ""}
            delta = {"type": "text_delta", "text": argument}
        yield _event("content_block_start", index=index, content_block=block)
        yield _event("content_block_delta", index=index, delta=delta)
        yield _event("content_block_stop", index=index)
    ending = {"stop_reason": "tool_use" if acts else "end_turn", "stop_sequence": None}
    yield _event("message_delta", delta=ending, usage={"output_tokens": 20})
    yield _event("message_stop")


def strings(value: Any) -> Iterator[str]:
    """Yield every string in a JSON value, in order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for child in value.values():
            yield from strings(child)
    elif isinstance(value, Sequence):
        for child in value:
            yield from strings(child)


def _event(name: str, **fields: Any) -> tuple[str, dict[str, Any]]:
    return name, {"type": name, **fields}


def _exchanges(body: Mapping[str, Any]) -> Iterator[talk.Exchange]:
    calls: dict[str, Mapping[str, Any]] = {}
    for message in body.get("messages", []):
        if not isinstance(message.get("content"), list):
            continue
        for block in message["content"]:
            if block.get("type") == "tool_use":
                calls[block["id"]] = block
            elif block.get("type") == "tool_result" and block["tool_use_id"] in calls:
                call = calls[block["tool_use_id"]]
                result = "\n".join(_texts(block.get("content", "")))
                failed = bool(block.get("is_error"))
                yield talk.Exchange(call["name"], call["input"], result, failed)


def _texts(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    return [part["text"] for part in content if isinstance(part, Mapping) and "text" in part]
