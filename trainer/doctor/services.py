"""Services that the recipe names: keys, and one bounded question to each address.

The question is for the list of models. No text is sent and nothing is generated, so it costs
nothing; whether a model answers well, or at all, is known only when it is asked in earnest.
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Iterator

import httpx

from trainer import preflight
from trainer.doctor.finding import Finding, Level, Patient
from trainer.recipe import ServiceConfig

DEADLINE_S = 5.0
MAX_BYTES = 1 << 20
RENDEZVOUS_PORT = "29500"
"""Where `torchrun` lets ranks meet unless MASTER_PORT says otherwise."""


def keys(patient: Patient) -> Iterator[Finding]:
    """Check that the variables which hold keys are set, without telling what they hold."""
    for place, endpoint, needed in _named(patient):
        if not endpoint.key_env:
            yield Finding("keys", Level.OK, f"{place}: no key is named")
        elif patient.environment.get(endpoint.key_env, "").strip():
            yield Finding("keys", Level.OK, f"{place}: {endpoint.key_env} is set")
        else:
            told = f"{place}: environment variable {endpoint.key_env} is not set; put the key there"
            yield Finding("keys", Level.FAULT if needed else Level.DOUBT, told)


def endpoints(patient: Patient) -> Iterator[Finding]:
    """Ask each service for its models, within a few seconds."""
    for place, endpoint, needed in _named(patient):
        bad = Level.FAULT if needed else Level.DOUBT
        key = patient.environment.get(endpoint.key_env, "").strip() if endpoint.key_env else ""
        if endpoint.key_env and not key:
            told = f"{place}: not asked, since {endpoint.key_env} is not set"
            yield Finding("endpoints", Level.UNKNOWN, told)
            continue
        fault = next(iter(preflight.endpoint_faults(endpoint, place)), None)
        if fault is not None:
            yield Finding("endpoints", bad, fault)
            continue
        level, told = ask(endpoint, key)
        yield Finding("endpoints", bad if level is Level.FAULT else level, f"{place}: {told}")


def samplers(patient: Patient) -> Iterator[Finding]:
    """Ask each serving engine that the recipe joins whether it is well."""
    if patient.config is None:
        return
    for url in patient.config.sampler.urls:
        status, _ = asyncio.run(_get(f"{url.rstrip('/')}/health", ""))
        if status == httpx.codes.OK:
            yield Finding("samplers", Level.OK, f"{url} is well")
        else:
            told = f"sampler.urls: {url} does not say that it is well ({status}); start it first"
            yield Finding("samplers", Level.FAULT, told)


def ports(patient: Patient) -> Iterator[Finding]:
    """Check that the port is free over which the ranks of a job find each other."""
    if patient.config is None or patient.config.hardware.ranks == 1:
        return
    named = patient.environment.get("MASTER_PORT", RENDEZVOUS_PORT)
    try:
        with socket.socket() as tried:
            tried.bind(("127.0.0.1", int(named)))
    except (OSError, OverflowError, ValueError):
        told = f"port {named} of this machine is taken; set MASTER_PORT to a free one"
        yield Finding("ports", Level.FAULT, told)
        return
    yield Finding("ports", Level.OK, f"port {named} is free for the ranks to meet")


def ask(endpoint: ServiceConfig, key: str) -> tuple[Level, str]:
    """Return what a service says about its models.

    Args:
        endpoint: Where it is, and the model that is wanted.
        key: The key; it is in no sentence.
    """
    address = f"{endpoint.base_url.rstrip('/')}/models"
    status, content = asyncio.run(_get(address, key))
    if isinstance(status, str):
        return Level.FAULT, f"no answer within {DEADLINE_S:g} s ({status}); see whether it is up"
    if status in (401, 403):
        named = endpoint.key_env or "key_env, which names no variable"
        return Level.FAULT, f"status {status}; check the key in {named}"
    if status == httpx.codes.NOT_FOUND:
        return Level.UNKNOWN, "it is up and lists no models, so the model's name is not checked"
    if status != httpx.codes.OK:
        return Level.FAULT, f"status {status}; see its log"
    served = _models(content)
    if served is None:
        return Level.UNKNOWN, "it is up and its list of models cannot be read"
    if endpoint.model not in served:
        some = ", ".join(sorted(served)[:5]) or "none"
        return Level.FAULT, f"it does not serve {endpoint.model!r}; it names {some}"
    return Level.OK, f"it serves {endpoint.model}; nothing was generated"


def _named(patient: Patient) -> Iterator[tuple[str, ServiceConfig, bool]]:
    """Yield the services of a recipe: place, settings, and whether training needs them."""
    if patient.config is None:
        return
    users = patient.config.users
    if users.other == "llm":
        yield "users.endpoint", users.endpoint, True
    if users.evaluation.base_url:
        yield "users.evaluation", users.evaluation, False
    judge = patient.config.judge
    if judge.kind == "endpoint":
        yield "judge.endpoint", judge.endpoint, True
    if judge.evaluation.base_url:
        yield "judge.evaluation", judge.evaluation, False


async def _get(address: str, key: str) -> tuple[int | str, bytes]:
    """Return status and content of an address, or the name of what went wrong and nothing."""
    headers = {"accept-encoding": "identity"}
    if key:
        headers["authorization"] = f"Bearer {key}"
    content = bytearray()
    try:
        async with (
            asyncio.timeout(DEADLINE_S),
            httpx.AsyncClient(timeout=DEADLINE_S) as client,
            client.stream("GET", address, headers=headers) as response,
        ):
            async for chunk in response.aiter_bytes():
                content += chunk
                if len(content) > MAX_BYTES:
                    break
            return response.status_code, bytes(content)
    except (httpx.HTTPError, TimeoutError, ValueError) as error:
        # Its text may quote headers; its name says enough.
        return type(error).__name__, b""


def _models(content: bytes) -> set[str] | None:
    try:
        return {str(entry["id"]) for entry in json.loads(content)["data"]}
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
