"""The seam's bytes: frames of JSON between the trainer and a world's process.

A frame is a length of four bytes, big-endian, and that many bytes of JSON. Requests come from the
trainer and are trusted; answers come from a world and are read by `trainer.worlds.answers`.
Never pickle: bytes from a world can only become strings, numbers, lists and maps.
"""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from trainer.episode import Speaker, Turn, Voice
from trainer.message import Action, Choice, Reply
from trainer.question import Answer
from trainer.task import Task
from trainer.worlds.calls import METHODS, Act, Answered, Call, Hear, Rejudge

MAX_ANSWER_BYTES = 1 << 20
"""Longest frame that a world may send."""

_LENGTH = struct.Struct(">I")


class TooLongError(ValueError):
    """An answer with more bytes or characters than the seam carries."""


def frame(content: bytes) -> bytes:
    """Return the bytes that carry one frame."""
    return _LENGTH.pack(len(content)) + content


@dataclass
class FrameReader:
    """Cuts a stream of bytes into frames, whatever pieces it arrives in."""

    max_bytes: int
    _buffer: bytearray = field(default_factory=bytearray)

    @property
    def pending(self) -> bool:
        """True when bytes have arrived that no frame has used."""
        return bool(self._buffer)

    def feed(self, piece: bytes) -> bytes | None:
        """Take a piece; return the next frame once it is whole.

        Raises:
            TooLongError: as soon as a frame's length says that it will be too long.
        """
        self._buffer += piece
        if len(self._buffer) < _LENGTH.size:
            return None
        (length,) = _LENGTH.unpack_from(self._buffer)
        if length > self.max_bytes:
            raise TooLongError(f"{length} bytes in one answer; at most {self.max_bytes}")
        end = _LENGTH.size + length
        if len(self._buffer) < end:
            return None
        content = bytes(self._buffer[_LENGTH.size : end])
        del self._buffer[:end]
        return content


def read_frame(line: socket.socket) -> bytes | None:
    """Wait for one whole frame on a blocking socket; None once the other side has closed."""
    header = _read_exactly(line, _LENGTH.size)
    if header is None:
        return None
    return _read_exactly(line, _LENGTH.unpack(header)[0])


def begin_request(task: Task, settings: Mapping[str, Any], seed: int) -> bytes:
    """Return the first request of an episode, which has no answer.

    Raises:
        ValueError: if the task or the settings hold something that is not JSON.
    """
    content = {"do": "begin", "task": task.to_json(), "settings": dict(settings), "seed": seed}
    try:
        return json.dumps(content, allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"task {task.id!r}: the task or its settings are not JSON: {error}; "
            "use finite numbers, strings, lists and maps"
        ) from error


def call_request(call: Call) -> bytes:
    """Return the request that carries one call."""
    content: dict[str, Any] = {"do": METHODS[type(call)]}
    if isinstance(call, Act):
        action = call.action
        content["action"] = {
            "choice": action.choice,
            "content": action.content,
            "name": action.name,
            "arguments": dict(action.arguments),
        }
    elif isinstance(call, Hear):
        reply = call.reply
        content["reply"] = {
            "text": reply.text,
            "revealed": list(reply.revealed),
            "ends": reply.ends,
            "voice": reply.voice,
        }
    elif isinstance(call, Rejudge):
        content["turns"] = [
            {
                "speaker": turn.speaker,
                "text": turn.text,
                "agent_turn": turn.agent_turn,
                "voice": turn.voice,
                "revealed": list(turn.revealed),
                "events": list(turn.events),
            }
            for turn in call.turns
        ]
    if isinstance(call, Answered) or (isinstance(call, Rejudge) and call.answers):
        content["answers"] = {key: list(answer) for key, answer in call.answers.items()}
    return json.dumps(content, allow_nan=False).encode()


def action_from(record: Mapping[str, Any]) -> Action:
    """Build the action of an `act` request."""
    return Action(Choice(record["choice"]), record["content"], record["name"], record["arguments"])


def reply_from(record: Mapping[str, Any]) -> Reply:
    """Build the reply of a `hear` request."""
    return Reply(record["text"], tuple(record["revealed"]), record["ends"], Voice(record["voice"]))


def turns_from(records: Sequence[Mapping[str, Any]]) -> tuple[Turn, ...]:
    """Build the dialogue of a `rejudge` request."""
    return tuple(
        Turn(
            Speaker(record["speaker"]),
            record["text"],
            record["agent_turn"],
            voice=None if record["voice"] is None else Voice(record["voice"]),
            revealed=tuple(record["revealed"]),
            events=tuple(record["events"]),
        )
        for record in records
    )


def answers_from(record: Mapping[str, Sequence[float]]) -> dict[str, Answer]:
    """Build the answers of an `answered` or `rejudge` request."""
    return {key: tuple(answer) for key, answer in record.items()}


def _read_exactly(line: socket.socket, length: int) -> bytes | None:
    pieces = bytearray()
    while len(pieces) < length:
        piece = line.recv(min(length - len(pieces), 1 << 16))
        if not piece:
            return None
        pieces += piece
    return bytes(pieces)
