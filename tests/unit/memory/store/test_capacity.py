"""Each limit that a store comes near is reported once."""

import shutil
from collections import namedtuple
from pathlib import Path

import pytest

from assistant.events import Event, Latency, MemoriesRead, Notice, TurnEnded
from assistant.memory.store.capacity import LEAST_FREE, MOST_MEMORIES, NEAR, CapacityWarnings

Usage = namedtuple("Usage", "free")
TURN = TurnEnded(1, "Hi.", "Hi.", interrupted=False, latency_ms=Latency())


def reported(monkeypatch: pytest.MonkeyPatch, folder: Path, free: int, count: int) -> list[str]:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(free))
    events: list[Event] = []
    watching = CapacityWarnings(folder, lambda: count, events.append)
    for event in (TURN, MemoriesRead(count), TURN, Notice("x")):
        watching.watch(event)
    return [event.text for event in events if isinstance(event, Notice)]


def test_nothing_is_reported_far_from_the_limits(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert reported(monkeypatch, tmp_path, LEAST_FREE, int(NEAR * MOST_MEMORIES) - 1) == []


def test_each_limit_is_reported_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    first, second = reported(monkeypatch, tmp_path, LEAST_FREE - 1, MOST_MEMORIES)
    assert first.startswith("The disk is nearly full (499 MB free)")
    assert second.startswith("There are 100,000 memories;")


def test_a_missing_folder_is_ignored(tmp_path: Path) -> None:
    events: list[Event] = []
    CapacityWarnings(tmp_path / "gone", lambda: 0, events.append).watch(TURN)
    assert events == []
