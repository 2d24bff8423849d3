"""A real endpoint on this machine that answers as told, for tests of what a client survives."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Answer:
    """What the server does with one request."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    stall: bool = False
    """Hold the connection open and say nothing until the server closes."""
    drip: bool = False
    """Send the body byte by byte, for as long as the server lives."""


def completion(text: object, usage: object = None) -> Answer:
    """A well-formed completion, with what the server counted if it does."""
    told: dict[str, object] = {"choices": [{"message": {"content": text}}]}
    return Answer(body=json.dumps(told if usage is None else {**told, "usage": usage}).encode())


@dataclass
class Served:
    """What a test sees of a running server."""

    url: str
    requests: list[dict] = field(default_factory=list)
    """Bodies of the requests, in order of arrival; of one without a body, its path."""
    keys: list[str | None] = field(default_factory=list)
    most_at_once: int = 0


@contextmanager
def serve(answer: Callable[[int], Answer]) -> Iterator[Served]:
    """Run a server whose n-th request, counted from 0, gets `answer(n)`."""
    closing, lock, open_requests = threading.Event(), threading.Lock(), [0]

    class Endpoint(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._take({"path": self.path})

        def do_POST(self) -> None:
            self._take(json.loads(self.rfile.read(int(self.headers["content-length"]))))

        def _take(self, body: dict) -> None:
            with lock:
                number = len(served.requests)
                served.requests.append(body)
                served.keys.append(self.headers.get("authorization"))
                open_requests[0] += 1
                served.most_at_once = max(served.most_at_once, open_requests[0])
            try:
                self._send(answer(number))
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True
            finally:
                with lock:
                    open_requests[0] -= 1

        def _send(self, told: Answer) -> None:
            if told.stall:
                closing.wait(10)
                self.close_connection = True
                return
            self.send_response(told.status)
            for name, value in told.headers.items():
                self.send_header(name, value)
            length = 10_000 if told.drip else len(told.body)
            self.send_header("content-length", str(length))
            self.end_headers()
            while told.drip and not closing.wait(0.01):
                self.wfile.write(b" ")
            self.wfile.write(told.body)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    server.daemon_threads = True
    served = Served(f"http://127.0.0.1:{server.server_port}/v1")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield served
    finally:
        closing.set()
        server.shutdown()
        server.server_close()
        thread.join()
