"""The OpenAI Responses protocol, as far as Codex speaks it to its model.

A request body becomes a `Conversation`; moves become the server-sent events of a streamed
answer. Knows nothing of sockets. Codex offers its tools in two ways, by the name of the model: as
functions, or as one tool `exec` that takes a program ("code mode"); both are spelt here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.agents import conversation as talk
from tests.agents.messages_api import strings

PATH = "/v1/responses"
_FOLDER = re.compile(r"<cwd>(/[^<]+)</cwd>")
_SHELL = "exec_command"
_PATCH = "apply_patch"
_PROGRAM = "exec"
_CUSTOM = (_PATCH, _PROGRAM)
"""Tools that take text where others take a JSON object."""
_RESULTS = ("function_call_output", "custom_tool_call_output")
_USAGE = {
    "input_tokens": 100,
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens": 20,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 120,
}


def read(body: Mapping[str, Any]) -> talk.Conversation:
    """Return what a request says."""
    text = "\n".join(strings(body))
    found = _FOLDER.search(text)
    items = [item for item in body.get("input", []) if item.get("type") == "additional_tools"]
    tools = frozenset(_tools([body, *items]))
    programs = _PROGRAM in tools
    return talk.Conversation(
        text=text,
        exchanges=tuple(_exchanges(body)),
        tools=tools,
        folder=found.group(1) if found else "",
        spell=lambda move: spell(move, programs=programs),
    )


def spell(move: talk.Move, *, programs: bool) -> tuple[str, Any]:
    """Return the tool and the argument that make a move.

    Args:
        move: What to do.
        programs: Whether the client takes one program in place of functions.
    """
    match move:
        case talk.Say(text):
            return "", text
        case talk.Write() | talk.Edit():
            tool, argument = _PATCH, _patch(move)
        case talk.Shell(command):
            tool, argument = _SHELL, {"cmd": command}
        case talk.Read(path):
            tool, argument = _SHELL, {"cmd": f"cat {path}"}
        case talk.UseSkill(name):
            tool, argument = _SHELL, {"cmd": f"cat .agents/skills/{name}/SKILL.md"}
        case talk.Delegate():
            raise ValueError("Codex is offered no tool that waits for a subagent: script its calls")
    if programs:
        told = f"const r = await tools.{tool}({json.dumps(argument)})"
        return _PROGRAM, f"{told}; text(r.output ?? r)"
    return tool, argument


def events(
    moves: Sequence[talk.Move], body: Mapping[str, Any], *, number: int
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the events of an answer, each with its name.

    Args:
        moves: What the model does.
        body: The request that is answered.
        number: A number that no other answer of the session has.
    """
    spelling = read(body).spell
    items = [_item(*spelling(move), name=f"{number:06d}_{i}") for i, move in enumerate(moves)]
    answer = {
        "id": f"resp_{number:06d}",
        "object": "response",
        "created_at": 0,
        "status": "in_progress",
        "model": body.get("model", "scripted"),
        "output": [],
    }
    yield _event("response.created", response=answer)
    for index, item in enumerate(items):
        begun = item | {"status": "in_progress"}
        yield _event("response.output_item.added", output_index=index, item=begun)
        yield _event("response.output_item.done", output_index=index, item=item)
    done = answer | {"status": "completed", "output": items, "usage": _USAGE}
    yield _event("response.completed", response=done)


def _event(name: str, **fields: Any) -> tuple[str, dict[str, Any]]:
    return name, {"type": name, **fields}


def _patch(move: talk.Write | talk.Edit) -> str:
    if isinstance(move, talk.Write):
        lines = [f"*** Add File: {move.path}", *_marked("+", move.content)]
    else:
        changed = [*_marked("-", move.old), *_marked("+", move.new)]
        lines = [f"*** Update File: {move.path}", "@@", *changed]
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch", ""])


def _marked(mark: str, text: str) -> list[str]:
    return [mark + line for line in text.splitlines()]


def _item(tool: str, argument: Any, *, name: str) -> dict[str, Any]:
    if not tool:
        content = [{"type": "output_text", "text": argument, "annotations": []}]
        said = {"role": "assistant", "status": "completed", "content": content}
        return {"type": "message", "id": f"msg_{name}", **said}
    called = {"call_id": f"call_{name}", "name": tool, "status": "completed"}
    if tool in _CUSTOM:
        return {"type": "custom_tool_call", "id": f"ctc_{name}", "input": argument, **called}
    arguments = json.dumps(argument)
    return {"type": "function_call", "id": f"fc_{name}", "arguments": arguments, **called}


def _tools(groups: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Names of the tools in some groups, in their groups' groups too."""
    for group in groups:
        for tool in group.get("tools") or []:
            if "tools" in tool:
                yield from _tools([tool])
            elif "name" in tool:
                yield tool["name"]


def _exchanges(body: Mapping[str, Any]) -> Iterator[talk.Exchange]:
    calls: dict[str, tuple[str, Any]] = {}
    for item in body.get("input", []):
        kind = item.get("type")
        if kind == "function_call":
            calls[item["call_id"]] = (item["name"], json.loads(item["arguments"]))
        elif kind == "custom_tool_call":
            calls[item["call_id"]] = (item["name"], item["input"])
        elif kind in _RESULTS and item["call_id"] in calls:
            yield talk.Exchange(*calls[item["call_id"]], "\n".join(strings(item["output"])))
