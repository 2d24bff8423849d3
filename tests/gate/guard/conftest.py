"""Somebody who edits the checkout while tests run changes nothing in them."""

from __future__ import annotations

import pytest

from gate.contract import protected


@pytest.fixture(autouse=True)
def frozen_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hold what the checkout's code is to what it was at the start of the test."""
    digests = protected.digests()
    monkeypatch.setattr(protected, "digests", lambda root=None: digests)
