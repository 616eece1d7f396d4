"""Entries that an older version or the user's own hand has written wrongly do no harm."""

import json
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from assistant.events import Event, StateChanged
from assistant.intents import CommandKind
from assistant.memory.transcript.database import Transcript
from assistant.skills import Lists, Notes
from assistant.state import Entry, EntryKind, StateRequests, StateStore
from tests.support.state_skills import skill_bench

NOW = datetime(2026, 11, 18, tzinfo=UTC)
GOOD: Mapping[EntryKind, dict[str, Any]] = {
    EntryKind.NOTE: {"text": "The boiler is old."},
    EntryKind.LIST: {"name": "shopping"},
    EntryKind.ITEM: {"text": "milk", "done": False},
    EntryKind.ALARM: {"name": "", "local": "2026-11-19T07:00"},
    EntryKind.VOICE: {"volume_db": 0.0, "speed": 1.0},
}
BAD: list[tuple[EntryKind, Any]] = [
    (EntryKind.NOTE, {"words": "The rash itches."}),
    (EntryKind.NOTE, {"text": 7}),
    (EntryKind.NOTE, ["The rash itches."]),
    (EntryKind.LIST, {}),
    (EntryKind.ITEM, {"text": "eggs"}),
    (EntryKind.ALARM, {"name": "", "local": "9999-12-31T23:59"}),
    (EntryKind.VOICE, {"volume_db": "loud", "speed": 1.0}),
]


@pytest.fixture
def transcript(tmp_path: Path) -> Iterator[Transcript]:
    with closing(Transcript.open(tmp_path / "transcript.sqlite3")) as opened:
        yield opened


def write(transcript: Transcript, key: str, kind: EntryKind, content: str) -> None:
    """Write an entry as another program might."""
    with transcript.writing() as db:
        db.execute(
            "INSERT INTO state (user, id, kind, parent, created, changed, content)"
            " VALUES ('me', ?, ?, '', 0, 0, ?)",
            (key, kind.value, content),
        )


@pytest.mark.parametrize(("kind", "content"), BAD)
def test_an_unreadable_entry_is_left_out_and_logged_once(
    transcript: Transcript, kind: EntryKind, content: object, caplog: pytest.LogCaptureFixture
) -> None:
    events: list[Event] = []
    store = StateStore(transcript, "me", events.append)
    write(transcript, "bad", kind, json.dumps(content))
    [good] = store.add(kind, [GOOD[kind]])
    assert store.entries(kind) == [good]
    assert store.get("bad") is None
    assert [each.levelname for each in caplog.records] == ["WARNING"]
    assert "itches" not in caplog.text
    [changed] = events
    assert isinstance(changed, StateChanged)
    assert [each.id for each in changed.entries] == [good.id]


def test_what_is_no_json_is_left_out_and_can_be_cleared(transcript: Transcript) -> None:
    store = StateStore(transcript, "me")
    write(transcript, "bad", EntryKind.NOTE, "{")
    store.tell()
    assert store.entries(EntryKind.NOTE) == []
    request = {"act": "state.clear", "kind": "note", "user": "me"}
    [row] = StateRequests(transcript, store, "me").answer(request)
    assert row["id"] == "bad"
    assert store.entries(EntryKind.NOTE, unreadable=True) == []


def test_an_unknown_kind_keeps_no_screen_from_showing_the_others(transcript: Transcript) -> None:
    events: list[Event] = []
    store = StateStore(transcript, "me", events.append)
    store.restore([Entry("a", EntryKind.NOTE, GOOD[EntryKind.NOTE], "", NOW, NOW)])
    with transcript.writing() as db:
        db.execute("INSERT INTO state SELECT 9, 'b', user, 'poem', '', 0, 0, '{}' FROM state")
    events.clear()
    store.tell()
    assert [each.kind for each in events if isinstance(each, StateChanged)] == ["note"]


def test_an_unreadable_entry_is_found_when_it_is_to_be_forgotten(transcript: Transcript) -> None:
    store = StateStore(transcript, "me")
    write(transcript, "bad", EntryKind.NOTE, json.dumps({"words": "The rash itches."}))
    write(transcript, "worse", EntryKind.NOTE, "the rash")
    found = StateRequests(transcript, store, "me").outlines("me")
    assert [each.text for each in found.values()] == [
        "The rash itches.",
        "the rash",
    ]


@pytest.mark.parametrize(
    ("make", "kind", "said"),
    [
        (Notes, CommandKind.NOTE_READ, "You noted: The boiler is old."),
        (Lists, CommandKind.LIST_READ, "Your shopping list has milk."),
    ],
)
async def test_the_readable_ones_are_read_out(
    tmp_path: Path, make: Any, kind: CommandKind, said: str
) -> None:
    with skill_bench(tmp_path, make) as here:
        here.store.add(EntryKind.NOTE, [{"words": "lost"}, GOOD[EntryKind.NOTE]])
        [_, shopping] = here.store.add(EntryKind.LIST, [{}, GOOD[EntryKind.LIST]])
        here.store.add(EntryKind.ITEM, [{"text": "eggs"}, GOOD[EntryKind.ITEM]], shopping.id)
        assert await here.obey(kind) == said
