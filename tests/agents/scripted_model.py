"""A model server for tests: it answers two protocols by a script, on 127.0.0.1 alone.

It keeps every request, ends by itself after a number of requests, and stands in as the proxy of
everything else, which it refuses and remembers: a client that wants another host is found out.
It tests what is around a model. It cannot show that a real model would choose these moves.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.agents import messages_api, responses_api
from tests.agents.conversation import Conversation, Policy, Say

_APIS = {messages_api.PATH: messages_api, responses_api.PATH: responses_api}
MAX_REQUESTS = 60
"""Requests after which every further one is an error: no client may go round for ever."""
LARGEST_BODY = 32 * 1024 * 1024


@dataclass
class ScriptedModel:
    """One server: its script, and what was asked of it."""

    policy: Policy
    max_requests: int = MAX_REQUESTS
    address: str = ""
    """Its base URL, once it listens."""
    bodies: list[dict[str, Any]] = field(default_factory=list)
    """Every request body that asked for an answer, oldest first."""
    counted: list[dict[str, Any]] = field(default_factory=list)
    """Every request body whose length was asked for."""
    conversations: list[Conversation] = field(default_factory=list)
    """The same requests as the policy saw them."""
    wanted: list[str] = field(default_factory=list)
    """What was asked of other hosts, or of this one beside answers."""
    faults: list[str] = field(default_factory=list)
    """Faults of the script; a test that has any has failed."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def everything_sent(self) -> str:
        """Return all that left the client, as one text."""
        return "\n".join(
            json.dumps(body, ensure_ascii=False) for body in (*self.bodies, *self.counted)
        )


@contextmanager
def serving(policy: Policy, *, max_requests: int = MAX_REQUESTS) -> Iterator[ScriptedModel]:
    """Serve a policy until the block is left; its faults are raised there."""
    model = ScriptedModel(policy, max_requests)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Answering, model))
    server.daemon_threads = True
    model.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield model
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert model.faults == [], "\n".join(model.faults)


class _Answering(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    timeout = 60

    def __init__(self, model: ScriptedModel, *socket: Any) -> None:
        self.model = model
        super().__init__(*socket)

    def log_message(self, format: str, *args: Any) -> None:  # its name is the library's
        """Print nothing: what was asked is kept."""

    def do_POST(self) -> None:
        """Answer a request by the script."""
        path = self.path.split("?")[0]
        length = int(self.headers.get("content-length") or 0)
        if path not in (*_APIS, messages_api.COUNTING) or not 0 < length <= LARGEST_BODY:
            return self._refuse(f"{path} with {length} bytes")
        body = json.loads(self.rfile.read(length))
        if path == messages_api.COUNTING:
            self.model.counted.append(body)
            return self._answer(200, {"input_tokens": length // 4})
        asked = _APIS[path].read(body)
        with self.model.lock:
            self.model.bodies.append(body)
            self.model.conversations.append(asked)
            number = len(self.model.bodies)
        if number > self.model.max_requests:
            return self._refuse(f"request {number} of at most {self.model.max_requests}", keep=True)
        self._stream(_APIS[path].events(self._decide(asked), body, number=number))

    def _decide(self, asked: Conversation) -> Any:
        try:
            return self.model.policy(asked)
        # The client must not wait for an answer that never comes; `serving` raises what is kept.
        except Exception as error:
            self.model.faults.append(f"the script failed: {error!r}")
            return [Say("the script failed")]

    def _stream(self, events: Iterator[tuple[str, dict[str, Any]]]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        for name, event in events:
            self.wfile.write(f"event: {name}\ndata: {json.dumps(event)}\n\n".encode())

    def _other(self) -> None:
        """Refuse what is no request for an answer, and remember it."""
        self._refuse(self.path)

    def _refuse(self, what: str, *, keep: bool = False) -> None:
        kept = self.model.faults if keep else self.model.wanted
        kept.append(f"{self.command} {what}")
        told = {"type": "error", "error": {"type": "invalid_request_error", "message": what}}
        self._answer(400, told)

    def _answer(self, status: int, told: dict[str, Any]) -> None:
        content = json.dumps(told).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        if self.command != "HEAD":
            self.wfile.write(content)

    do_GET = do_HEAD = do_PUT = do_CONNECT = do_DELETE = _other
