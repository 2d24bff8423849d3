"""An OpenAI-compatible endpoint as a chat model.

Every request ends within its deadline, retries included, whatever the server does: refuse,
stall, drip, flood or talk garbage. The key comes from an environment variable at the moment of
use and is in no message, no failure and no text that comes back. Several threads may ask at once
and share the limits. What is asked is not known here.
"""

from __future__ import annotations

import asyncio
import json
import os
import ssl
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import httpx

from trainer.users.chat import Chat, ChatFailure
from trainer.users.spending import Meter, Spent

MAX_RESPONSE_BYTES = 1 << 20
RETRIED_STATUS = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
REDACTED = "[redacted]"
_PLACE_S = 0.005
"""How often a thread looks whether another one has left a place."""


class _Fault(NamedTuple):
    """One failed attempt."""

    sentence: str
    retry: bool
    wait_s: float = 0.0
    """What the server asks to wait before the next attempt."""
    may_cost: bool = False
    """Whether the server may have worked, and charged, for it."""


class _Answer(NamedTuple):
    """One attempt that brought words."""

    text: str
    usage: Spent | None
    """What the server counted; None where it did not say."""


@dataclass(frozen=True)
class EndpointModel:
    """A model behind `<base_url>/chat/completions`.

    Raises:
        ValueError: if the url is not http(s) or carries a user name, a password or a query, or if
            the key's variable is unset or holds what no header may carry.
    """

    base_url: str
    """Such as `http://127.0.0.1:8000/v1`."""
    model: str
    key_env: str = ""
    """Name of the environment variable that holds the key; empty for a server that needs none."""
    deadline_s: float = 60.0
    """For one conversation from first attempt to last byte, waiting in line excluded."""
    retries: int = 2
    """How often a failed attempt is repeated."""
    backoff_s: float = 0.5
    """Wait before the second attempt; it doubles with each further one."""
    concurrency: int = 16
    """Conversations in flight at once, whoever asks."""
    send_seed: bool = True
    """Off for servers that refuse the field `seed`."""
    trust_env: bool = True
    """Whether proxies named in the environment are used."""
    meter: Meter = field(default_factory=Meter, repr=False, compare=False)
    """Counts every attempt; once a limit of it is reached, nothing is sent."""
    _places: threading.BoundedSemaphore = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        try:
            parts = urlsplit(self.base_url)
            httpx.URL(self.base_url)
        except (ValueError, httpx.InvalidURL) as error:
            raise ValueError("endpoint url cannot be read; mend the recipe") from error
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("endpoint url must be http(s)://host[:port]/path; mend the recipe")
        if parts.username or parts.password or parts.query or parts.fragment:
            raise ValueError(
                "endpoint url must carry no user name, password, query or fragment; put the key "
                "into an environment variable and name it in key_env"
            )
        if self.deadline_s <= 0 or self.retries < 0 or self.concurrency < 1:
            raise ValueError(
                f"endpoint: deadline_s {self.deadline_s} and concurrency {self.concurrency} must "
                f"be positive, and retries {self.retries} not negative"
            )
        object.__setattr__(self, "_places", threading.BoundedSemaphore(self.concurrency))
        if self.key_env:
            key = self._key()
            if not key:
                raise ValueError(
                    f"environment variable {self.key_env} is not set; put the key there, or leave "
                    f"key_env empty for a server that needs none"
                )
            if not key.isascii() or not key.isprintable() or " " in key:
                raise ValueError(
                    f"environment variable {self.key_env} holds characters that no header may "
                    f"carry; set it to the bare key"
                )

    @property
    def where(self) -> str:
        """Host and port, for sentences."""
        return urlsplit(self.base_url).netloc

    def complete(
        self,
        chats: Sequence[Chat],
        *,
        temperature: float,
        max_tokens: int,
        seeds: Sequence[int],
    ) -> list[str | ChatFailure]:
        """Continue the conversations, at most `concurrency` at once; see `ChatModel.complete`."""
        bodies = [
            # Escaped to ASCII: a lone surrogate in the agent's words has no other encoding.
            json.dumps(self._body(chat, temperature, max_tokens, seed)).encode()
            for chat, seed in zip(chats, seeds, strict=True)
        ]
        return asyncio.run(self._complete_all(bodies, max_tokens))

    def _body(self, chat: Chat, temperature: float, max_tokens: int, seed: int) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self.model,
            "messages": [{"role": role, "content": content} for role, content in chat],
            "temperature": temperature,
            "max_tokens": max_tokens,
        }
        return {**body, "seed": seed} if self.send_seed else body

    async def _complete_all(self, bodies: list[bytes], max_tokens: int) -> list[str | ChatFailure]:
        line = asyncio.Semaphore(self.concurrency)
        limits = httpx.Limits(max_connections=self.concurrency)
        # A plain url never uses certificates: redirects are not followed.
        verify = _certificates() if urlsplit(self.base_url).scheme == "https" else False
        async with httpx.AsyncClient(
            timeout=self.deadline_s, limits=limits, trust_env=self.trust_env, verify=verify
        ) as client:

            async def in_line(body: bytes) -> str | ChatFailure:
                async with line:
                    while not self._places.acquire(blocking=False):
                        await asyncio.sleep(_PLACE_S)
                    try:
                        # A token is a byte at least, so no prompt has more tokens than bytes.
                        most = Spent(1, 1, 1, len(body), max_tokens)
                        return await self._within_deadline(client, body, most)
                    finally:
                        self._places.release()

            return list(await asyncio.gather(*(in_line(body) for body in bodies)))

    async def _within_deadline(
        self, client: httpx.AsyncClient, body: bytes, most: Spent
    ) -> str | ChatFailure:
        last = "no attempt was answered"
        attempt = 0
        try:
            async with asyncio.timeout(self.deadline_s):
                for attempt in range(1, self.retries + 2):
                    if (limit := self.meter.exhausted()) is not None:
                        return ChatFailure(f"endpoint {self.where} is asked no more: {limit}")
                    outcome = await self._counted(client, body, most)
                    if isinstance(outcome, _Answer):
                        return outcome.text
                    last = outcome.sentence
                    if not outcome.retry:
                        break
                    if attempt <= self.retries:
                        pause = self.backoff_s * 2 ** (attempt - 1)
                        await asyncio.sleep(max(pause, outcome.wait_s))
        except TimeoutError:
            return ChatFailure(
                f"endpoint {self.where} passed its deadline of {self.deadline_s:g} s in attempt "
                f"{attempt} ({last}); see whether it is up, or raise the deadline"
            )
        return ChatFailure(f"endpoint {self.where} failed after {attempt} attempts: {last}")

    async def _counted(
        self, client: httpx.AsyncClient, body: bytes, most: Spent
    ) -> _Answer | _Fault:
        """Attempt once and count it; an attempt that is cut off counts at its most."""
        spent = most
        try:
            outcome = await self._attempt(client, body)
            if isinstance(outcome, _Answer):
                spent = outcome.usage or Spent(1, 0, 1, most.prompt_tokens, most.completion_tokens)
            elif not outcome.may_cost:
                spent = Spent(requests=1, failures=1)
            return outcome
        finally:
            self.meter.add(spent)

    async def _attempt(self, client: httpx.AsyncClient, body: bytes) -> _Answer | _Fault:
        key = self._key()
        headers = {"content-type": "application/json", "accept-encoding": "identity"}
        if key:
            headers["authorization"] = f"Bearer {key}"
        address = f"{self.base_url.rstrip('/')}/chat/completions"
        try:
            async with client.stream("POST", address, content=body, headers=headers) as response:
                if response.status_code != httpx.codes.OK:
                    return self._refused(response)
                content = bytearray()
                async for chunk in response.aiter_bytes():
                    content += chunk
                    if len(content) > MAX_RESPONSE_BYTES:
                        limit = MAX_RESPONSE_BYTES
                        told = f"it sent more than {limit} bytes; see what it is"
                        return _Fault(told, True, may_cost=True)
        except httpx.HTTPError as error:
            # The error's text may quote headers; its name says enough.
            reached = not isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout))
            told = f"{type(error).__name__}; see whether it is up"
            return _Fault(told, True, may_cost=reached)
        text = read_completion(bytes(content))
        if text is None:
            told = "it answered without choices[0].message.content; see what it is"
            return _Fault(told, True, may_cost=True)
        return _Answer(text.replace(key, REDACTED) if key else text, read_usage(bytes(content)))

    def _refused(self, response: httpx.Response) -> _Fault:
        status = response.status_code
        if status in (401, 403):
            named = self.key_env or "key_env, which names no variable"
            return _Fault(f"status {status}; check the key in {named}", False)
        advice = "see its log" if status >= 500 else "check url, model and limits"
        asked = response.headers.get("retry-after", "")
        wait_s = min(float(asked), self.deadline_s) if asked.isdecimal() else 0.0
        return _Fault(f"status {status}; {advice}", status in RETRIED_STATUS, wait_s)

    def _key(self) -> str:
        return os.environ.get(self.key_env, "").strip() if self.key_env else ""


@cache
def _certificates() -> ssl.SSLContext:
    """Load them once: that takes tens of milliseconds, and a reply asked alone is one of many."""
    return httpx.create_ssl_context()


def read_completion(content: bytes) -> str | None:
    """Return the words of a completion, None if the bytes are not one.

    A model's separate reasoning is private and not read.
    """
    try:
        text = json.loads(content)["choices"][0]["message"]["content"]
    except (ValueError, KeyError, IndexError, TypeError, RecursionError):
        return None
    return text if isinstance(text, str) else None


def read_usage(content: bytes) -> Spent | None:
    """Return what the server counted for a completion, None if it did not say."""
    try:
        usage = json.loads(content)["usage"]
        counts = usage["prompt_tokens"], usage["completion_tokens"]
    except (ValueError, KeyError, IndexError, TypeError, RecursionError):
        return None
    if not all(type(count) is int and count >= 0 for count in counts):
        return None
    return Spent(requests=1, prompt_tokens=counts[0], completion_tokens=counts[1])
