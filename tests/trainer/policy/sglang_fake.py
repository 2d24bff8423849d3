"""A small server that speaks SGLang's protocol: real HTTP, a real if tiny model, faults on demand.

The model is a table of logits by the token before, so its log-probabilities are exact and its
weights can be given, read and mistaken like those of a large one. It is a real implementation of
what the sampler needs of SGLang 0.5.23, seen on the wire there: ids, log-probabilities, weight
versions by span, prefix cache, pause, abort, the three ways of giving weights but the broadcast.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import pickle
import threading
import time
from collections.abc import Sequence
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file


class Fault(StrEnum):
    """What a server can be told to do wrong."""

    DROPS_WEIGHTS = "drops_weights"
    """It says that it took the weights, and its version stays too."""
    DROPS_TENSORS = "drops_tensors"
    """The same, for weights inside requests alone."""
    STAMPS_ONLY = "stamps_only"
    """It takes the new version, and the old weights stay."""
    KEEPS_CACHE = "keeps_cache"
    """It says that it flushed its cache, and did not."""
    REFUSES_FLUSH = "refuses_flush"
    BENDS_LOGPROBS = "bends_logprobs"
    HANGS = "hangs"
    """It begins a turn and never ends it."""
    GARBAGE = "garbage"
    BREAKS_OFF = "breaks_off"
    """It closes the connection in the middle of a turn, each time."""


class Engine:
    """The model, its version, and what it has read."""

    def __init__(self, table: NDArray[np.float32], stamp: str, *, token_s: float = 0.0) -> None:
        self.table = table
        self.stamp = stamp
        self.token_s = token_s
        self.faults: set[Fault] = set()
        self.behind: list[str] = []
        """Servers that it names as a router would; a server has none."""
        self.calls: list[str] = []
        self.bodies: list[dict[str, Any]] = []
        self._read: list[tuple[int, ...]] = []
        self._aborted: set[str] = set()
        self._paused = False
        self._updating = False

    def answer(self, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Return the status and the body of an answer."""
        self.calls.append(path)
        if path == "/generate":
            self.bodies.append(body)
            return 200, self.generate(body)
        if path == "/model_info":
            return 200, {"weight_version": self.stamp}
        if path == "/workers":
            workers = [{"id": str(place), "url": url} for place, url in enumerate(self.behind)]
            return (200, {"workers": workers}) if workers else (404, {"detail": "Not Found"})
        if path == "/server_info":
            return 200, {"tp_size": 1, "dtype": "float32"}
        if path == "/weights_checker":
            digest = hashlib.sha256(self.table.tobytes()).hexdigest()
            return 200, {"success": True, "per_engine_checksum": digest}
        if path == "/flush_cache":
            return self._flush()
        if path == "/abort_request":
            self._aborted.add(body["rid"])
        elif path in ("/pause_generation", "/continue_generation"):
            self._paused = path == "/pause_generation"
        elif path in ("/begin_weight_update", "/end_weight_update"):
            self._updating = path == "/begin_weight_update"
        elif path.startswith("/update_weights_from_"):
            return self._update(path, body)
        return 200, {"success": True}

    def _flush(self) -> tuple[int, dict[str, Any]]:
        if Fault.REFUSES_FLUSH in self.faults:
            return 400, {"success": False, "message": "requests are running"}
        if Fault.KEEPS_CACHE not in self.faults:
            self._read.clear()
        return 200, {}

    def _update(self, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        by_tensor = path.endswith("tensor")
        if by_tensor and not self._updating:
            return 400, {"success": False, "message": "begin_weight_update comes first"}
        if Fault.DROPS_WEIGHTS in self.faults or (by_tensor and Fault.DROPS_TENSORS in self.faults):
            return 200, {"success": True}
        self.stamp = body["weight_version"]
        if Fault.STAMPS_ONLY not in self.faults:
            if by_tensor:
                packed = base64.b64decode(body["serialized_named_tensors"][0])
                # It comes from the sampler under test, in the one form that SGLang takes.
                named = dict(pickle.loads(packed))  # noqa: S301
                self.table = named["table"].numpy().copy()
            else:
                self.table = load_file(Path(body["model_path"]) / "model.safetensors")["table"]
        return 200, {"success": True}

    def generate(self, body: dict[str, Any]) -> dict[str, Any]:
        """Write a turn, token by token, until it ends, is aborted or the server is paused."""
        prompt, sampling = tuple(body["input_ids"]), body["sampling_params"]
        cached = max((_shared(prompt, read) for read in self._read), default=0)
        ids, entries, finish = list(prompt), [], {"type": "length"}
        while len(entries) < sampling["max_new_tokens"]:
            if Fault.HANGS in self.faults and body["rid"] not in self._aborted:
                time.sleep(0.01)
                continue
            time.sleep(self.token_s)
            if self._paused or body["rid"] in self._aborted:
                finish = {"type": "abort", "message": "Aborted"}
                break
            token, logprob = self._draw(ids, sampling)
            ids.append(token)
            entries.append([logprob, token, None])
            if token in sampling["stop_token_ids"]:
                finish = {"type": "stop", "matched": token}
                break
        self._read.append(tuple(ids))
        return {
            "output_ids": ids[len(prompt) :],
            "meta_info": {
                "finish_reason": finish,
                "output_token_logprobs": entries,
                "cached_tokens": cached,
                "weight_version": self.stamp,
                "weight_versions": [{"version": self.stamp, "start": 0, "end": len(entries)}],
            },
        }

    def _draw(self, ids: Sequence[int], sampling: dict[str, Any]) -> tuple[int, float]:
        logits = self.table[ids[-1]] / np.float32(sampling["temperature"])
        logprobs = logits - logits.max()
        logprobs -= np.log(np.exp(logprobs).sum())
        if sampling["top_k"] == 1:
            token = int(logprobs.argmax())
        else:
            uniform = np.random.default_rng([sampling["sampling_seed"], len(ids)]).random()
            token = int(
                np.searchsorted(np.exp(logprobs).cumsum(), uniform).clip(0, len(logits) - 1)
            )
        bent = 0.3 if Fault.BENDS_LOGPROBS in self.faults else 0.0
        return token, float(logprobs[token]) - bent


def _shared(prompt: Sequence[int], read: Sequence[int]) -> int:
    """Tokens at the beginning of a prompt that were read before; the last is always read anew."""
    same = 0
    for ours, theirs in zip(prompt[:-1], read, strict=False):
        if ours != theirs:
            break
        same += 1
    return same


class FakeServer:
    """An engine behind HTTP on this machine.

    Args:
        engine: What answers.
        port: Where it listens; 0 for a free port.
    """

    def __init__(self, engine: Engine, *, port: int = 0) -> None:
        self.engine = engine
        self._http = ThreadingHTTPServer(("127.0.0.1", port), _handler(engine))
        self._http.daemon_threads = True
        self.port = int(self._http.server_address[1])
        self.url = f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.die()

    def serve(self) -> None:
        """Answer until the end."""
        self._http.serve_forever(poll_interval=0.01)

    def die(self) -> None:
        """Answer nothing any more, those who wait included."""
        self.engine.faults.add(Fault.BREAKS_OFF)
        self._http.shutdown()
        self._http.server_close()


def _handler(engine: Engine) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        """One request."""

        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._answer(*engine.answer(self.path, {}))

        def do_POST(self) -> None:
            length = int(self.headers.get("content-length", 0))
            body = json.loads(self.rfile.read(length) or b"{}")
            self._answer(*engine.answer(self.path, body))

        def _answer(self, status: int, told: dict[str, Any]) -> None:
            content = json.dumps(told).encode()
            if Fault.GARBAGE in engine.faults and self.path == "/generate":
                content = b"{}"
            if Fault.BREAKS_OFF in engine.faults:
                self.close_connection = True
                return
            self.send_response(status)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    return Handler


def main(arguments: Sequence[str]) -> None:
    """Serve a model directory on a port, as `sglang.launch_server` is asked to."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--model-path", type=Path, required=True)
    parser.add_argument("--host", required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--weight-version", required=True)
    parser.add_argument("--skip-tokenizer-init", action="store_true", required=True)
    parser.add_argument("--token-s", type=float, default=0.0)
    asked = parser.parse_args(arguments)
    print(f"serving {asked.model_path} on {asked.host}:{asked.port}", flush=True)
    table = load_file(asked.model_path / "model.safetensors")["table"]
    FakeServer(Engine(table, asked.weight_version, token_s=asked.token_s), port=asked.port).serve()
