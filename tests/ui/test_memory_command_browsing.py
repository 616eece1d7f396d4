"""Browsing memories: by commands as a user types them, and by requests as the screen sends them."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from assistant.errors import SettingsError
from assistant.memory.admin import MemoryAdmin
from assistant.memory.records.hidden import HiddenItems
from assistant.memory.records.memory import Memory, MemoryKind
from assistant.memory.store.table import MemoryTable
from assistant.memory.transcript.database import Transcript
from assistant.paths import Home
from tests.support.command_line import Run, objects
from tests.support.desks import ask
from tests.support.memories import NOW, memory
from ui.screen.memory.filters import OLDER, Filters

Row = dict[str, Any]


@pytest.fixture
def run(run: Run) -> Run:
    return partial(run, "memory")


@pytest.fixture
def memories(home: Home) -> list[Memory]:
    """One memory a day; the newest is the last."""
    texts = ("Tea, never coffee.", "Max is a dog.", "MAX barks\nat night.", "Rain.", "Old news.")
    made = [
        replace(memory(text, "me"), created=NOW + timedelta(days=day))
        for day, text in enumerate(texts)
    ]
    made[0] = replace(made[0], kind=MemoryKind.PREFERENCE, pinned=True, sources=("you",))
    made[3] = replace(made[3], never_recall=True)
    made[4] = replace(made[4], superseded_by=made[3].id)
    with closing(MemoryTable.open(str(home.memories))) as table:
        table.add(made)
        table.add([memory("Not yours.", "bob")])
    return made


@pytest.fixture
def desk(home: Home, memories: list[Memory]) -> Iterator[MemoryAdmin]:
    def none() -> Any:
        raise AssertionError("no test here needs this")

    with (
        closing(MemoryTable.open(str(home.memories))) as table,
        closing(Transcript.open(home.transcript)) as transcript,
    ):
        yield MemoryAdmin("me", table, lambda: transcript, none)


def texts(rows: list[Row]) -> list[str]:
    return [row["text"] for row in rows if row["event"] == "memory"]


@pytest.mark.usefixtures("memories")
def test_the_commands_can_filter_paginate_and_search_for_plain_text(run: Run) -> None:
    def listed(*words: str) -> list[str]:
        return [line.split("  ")[-1] for line in run("list", *words)[1]]

    assert listed("--kind", "preference") == ["[pinned] Tea, never coffee."]
    assert listed("--state", "never-recalled") == ["[never recalled] Rain."]
    assert len(run("list", "--since", "2026-11-23", "--before", "2026-11-25")[1]) == 2
    assert "Max is a dog." in run("list", "--offset", "3", "--limit", "1")[1][0]
    assert run("list", "--offset", "3", "--limit", "1")[1][1].startswith("Memories 4 to 4 of 5")
    assert run("list", "--state", "being-forgotten")[1] == ["No memory matches."]
    found = run("search", "--plain", "max")[1]
    assert [line.split("  ")[-1] for line in found] == ["MAX barks at night.", "Max is a dog."]
    code, _, err = run("list", "--since", "yesterday")
    assert (code != 0, err[0]) == (True, "'yesterday' is neither a date nor a time.")
    assert run("users")[1] == [f"{'bob':<24}  1 memory", f"{'me':<24}  5 memories"]


@pytest.mark.usefixtures("memories")
def test_receipts_are_listed_newest_first(run: Run, memories: list[Memory]) -> None:
    assert run("receipts")[1] == ["Nothing has been forgotten for good yet."]
    for each in memories[:2]:
        assert run("forget", each.id, "--now")[0] == 0
    lines = run("receipts")[1]
    assert len(lines) == 2
    assert all(line.endswith("nothing found") for line in lines)
    rows = objects(run("--json", "receipts")[1])
    assert [row["number"] for row in rows[:-1]] == [2, 1]


def test_light_pages_are_short_and_the_page_around_a_memory_can_be_requested(
    desk: MemoryAdmin, memories: list[Memory]
) -> None:
    rows = ask(desk, "list", light=True, limit=2, around=memories[1].id)
    assert texts(rows) == ["MAX barks\nat night.", "Max is a dog."]
    last = rows[-1]
    assert (last["offset"], last["place"], last["total"]) == (2, 3, 5)
    assert "context" not in rows[0]
    assert ask(desk, "list", light=True, around="unknown")[-1]["place"] is None
    assert ask(desk, "list", ids=True)[0]["ids"] == [each.id for each in reversed(memories)]
    long = replace(memories[0], text="word " * 500)
    desk._table.update([long])
    assert len(texts(ask(desk, "list", light=True, kind="preference"))[0]) == 200


def test_changes_are_visible_at_once(desk: MemoryAdmin, memories: list[Memory]) -> None:
    before = ask(desk, "version")
    assert texts(ask(desk, "grep", text="max", light=True)) == [
        "MAX barks\nat night.",
        "Max is a dog.",
    ]
    assert ask(desk, "version") == before
    desk.mark(memories[1].id, pinned=True)
    assert ask(desk, "version") != before
    assert texts(ask(desk, "list", state="pinned", light=True))[0] == "Max is a dog."
    desk._table.delete("me", [memories[2].id])
    assert texts(ask(desk, "grep", text="max", light=True)) == ["Max is a dog."]


def test_memories_being_forgotten_are_listed_only_on_request(
    desk: MemoryAdmin, memories: list[Memory]
) -> None:
    assert ask(desk, "list")[-1]["total"] == 5
    hidden = HiddenItems.of("me", (), [memories[1].id], datetime.now(UTC), timedelta(minutes=1))
    desk._open_transcript().hide(hidden)
    assert ask(desk, "list")[-1]["total"] == 4
    assert texts(ask(desk, "grep", text="dog", light=True)) == []
    assert texts(ask(desk, "list", state="being-forgotten", light=True)) == ["Max is a dog."]
    desk._open_transcript().unhide("me", hidden.id)
    assert ask(desk, "list")[-1]["total"] == 5


@pytest.mark.parametrize(
    "wrong", [{"offset": -1}, {"kind": "smell"}, {"state": "odd"}, {"before": 3}, {"limit": 0.5}]
)
def test_invalid_arguments_are_errors(desk: MemoryAdmin, wrong: Row) -> None:
    with pytest.raises(SettingsError):
        ask(desk, "list", **wrong)


def test_filters_by_age_become_dates() -> None:
    now = datetime(2026, 11, 21, 15, 30, tzinfo=UTC)
    assert Filters().request(now) == {}
    assert Filters(kind="fact", age="today").request(now) == {
        "kind": "fact",
        "since": "2026-11-21T00:00:00+00:00",
    }
    assert Filters(age=OLDER, user="bob").request(now) == {
        "before": "2025-11-21T00:00:00+00:00",
        "user": "bob",
    }
    assert Filters("fact", "last 7 days", "never-recalled", "bob").words() == (
        "of bob, fact, last 7 days, never recalled"
    )
