"""Time for a search on a machine that has none."""

import pytest

from assistant.memory import user_memory
from assistant.memory.retrieval import deadline

UNHURRIED_S = 1.5
"""A deadline of which more than half is kept for a search that is over in milliseconds."""


def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is late in a test is what the test makes late, and never the search."""
    monkeypatch.setattr(user_memory, "SEARCH_S", 0.1)
    monkeypatch.setattr(deadline, "MORE", 14.0)
