"""Generous time limits for searches, so that a busy machine doesn't miss them."""

import pytest

from assistant.memory import user_memory
from assistant.memory.retrieval import deadline

UNHURRIED_S = 1.5
"""Seconds: a deadline that reserves over half its time for a search that takes milliseconds."""


def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ensure that only what the test delays is late, and never the search."""
    monkeypatch.setattr(user_memory, "SEARCH_S", 0.1)
    monkeypatch.setattr(deadline, "MORE", 14.0)
