"""One SGLang server as its HTTP endpoints: what is asked, and what an answer may be.

Two faults are told apart, since what follows differs: a server that is gone (refused, reset,
silent past its deadline) and one that answers and refuses. SGLang itself is never imported.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import httpx

LONGEST_QUOTE = 400
"""Characters of a refusal that a message repeats."""


class ServerGone(ConnectionError):
    """Nothing answers there, or not in time: the server has to be started or found again."""


class ServerRefused(RuntimeError):
    """The server answered that it did not do what it was asked."""


class ServerClient:
    """The control side of one server; turns are written by `trainer.policy.sglang_turns`.

    Args:
        url: Such as `http://127.0.0.1:30000`.
        timeout_s: For one request, from connecting to the last byte.
    """

    def __init__(self, url: str, *, timeout_s: float) -> None:
        self.url = url.rstrip("/")
        self._timeout_s = timeout_s
        # A proxy that the environment names is not for addresses of the cluster.
        self._http = httpx.Client(base_url=self.url, timeout=timeout_s, trust_env=False)

    def close(self) -> None:
        """Let the connection go."""
        self._http.close()

    def is_healthy(self, *, timeout_s: float = 5.0) -> bool:
        """True when the server can write a token now."""
        try:
            return self._http.get("/health", timeout=timeout_s).status_code == httpx.codes.OK
        except httpx.HTTPError:
            return False

    def weight_version(self) -> str:
        """Return the stamp of the weights that it serves."""
        return str(self._ask("GET", "/model_info").get("weight_version"))

    def settings(self) -> Mapping[str, Any]:
        """Return the options that the server runs with, by their names in SGLang."""
        return self._ask("GET", "/server_info")

    def ranks(self) -> int:
        """Return over how many tensor-parallel ranks a model is spread."""
        return int(self.settings().get("tp_size") or 1)

    def behind(self) -> list[str]:
        """Return the servers behind this address, where a router answers there; else none."""
        for path, key in (("/workers", "workers"), ("/list_workers", "urls")):
            with suppress(ServerRefused):
                told = self._ask("GET", path).get(key)
                if isinstance(told, list):
                    return [str(one.get("url") if isinstance(one, dict) else one) for one in told]
        return []

    def pause(self) -> None:
        """Abort what is being written and write nothing until `resume`."""
        self._ask("POST", "/pause_generation", {"mode": "abort"})

    def resume(self) -> None:
        """Go on writing after `pause`."""
        self._ask("POST", "/continue_generation", {})

    def flush(self) -> None:
        """Forget every key and value that was computed under older weights.

        Raises:
            ServerRefused: if it did not: what follows would mix two policies.
        """
        self._ask("POST", "/flush_cache", {})

    def abort(self, rid: str) -> None:
        """Stop writing the turn of one request."""
        self._ask("POST", "/abort_request", {"rid": rid})

    def begin_update(self) -> None:
        """Open the exchange of weights; SGLang takes tensors inside of one alone."""
        self._ask("POST", "/begin_weight_update", {"selector": "all"})

    def end_update(self) -> None:
        """Close the exchange of weights."""
        self._ask("POST", "/end_weight_update", {})

    def update(self, way: str, body: Mapping[str, Any]) -> None:
        """Give new weights.

        Args:
            way: `disk`, `tensor` or `distributed`.
            body: As the endpoint of that way wants it.
        """
        self._ask("POST", f"/update_weights_from_{way}", body)

    def join_group(self, body: Mapping[str, Any]) -> None:
        """Let the server take its place in a process group for weights."""
        self._ask("POST", "/init_weights_update_group", body)

    def leave_group(self, name: str) -> None:
        """Let the server leave that group."""
        self._ask("POST", "/destroy_weights_update_group", {"group_name": name})

    def checksum(self) -> str | None:
        """Return a digest of all weights as they lie in its memory; None if it cannot say."""
        try:
            told = self._ask("POST", "/weights_checker", {"action": "checksum"})
        except ServerRefused:
            return None
        found = told.get("per_engine_checksum")
        return None if found is None else json.dumps(found, sort_keys=True)

    def _ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        try:
            response = self._http.request(method, path, json=body)
        except httpx.HTTPError as error:
            raise ServerGone(
                f"{self.url}{path}: {type(error).__name__}; see whether the server is up"
            ) from error
        try:
            told = response.json()
        except ValueError:
            told = {}
        told = told if isinstance(told, dict) else {"answer": told}
        if not response.is_success or told.get("success") is False:
            said = response.text[:LONGEST_QUOTE]
            raise ServerRefused(f"{self.url}{path}: status {response.status_code}, {said!r}")
        return told
