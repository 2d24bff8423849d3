"""Real clients for the tests that are marked `agents`, each of which runs with every client."""

from __future__ import annotations

import pytest

from tests.agents import clients
from tests.agents.clients import Client


@pytest.fixture(scope="module", params=list(clients.CLIENTS))
def client(request: pytest.FixtureRequest) -> Client:
    """One installed client; skips, with the reason, where it is not."""
    return installed(request.param)


def installed(name: str) -> Client:
    """Return a client by its name; skips, with the reason, where it is not installed."""
    found = clients.CLIENTS[name]
    if found.program is None:
        why = clients.WHY_NOT.read_text("utf-8").strip() if clients.WHY_NOT.is_file() else ""
        told = why or "`make test-agents` installs it"
        pytest.skip(f"{name} {found.version} is not installed: {told}")
    return found
