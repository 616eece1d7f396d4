"""`assistant memory forget` reaches notes, lists and reminders as forgetting by voice does."""

from collections.abc import Iterator
from contextlib import closing
from functools import partial

import pytest

from assistant.ipc.server import RequestServer
from assistant.memory import Transcript, open_memory
from assistant.memory.retrieval.encoding import QueryEncoder
from assistant.paths import Home
from assistant.settings import Settings
from assistant.state import EntryKind, StateRequests, StateStore, StoredWords
from tests.support.command_line import Run, objects
from tests.support.desks import in_session
from tests.support.encoders import HashingEncoder
from tests.support.remains import found

RASH = "The rash on my arm itches."
JELLY = "quince jelly"


@pytest.fixture
def filled(home: Home, run: Run) -> Run:
    assert run("notes", "add", RASH)[0] == 0
    assert run("lists", "add", "shopping", JELLY)[0] == 0
    return run


@pytest.fixture
def session(home: Home) -> Iterator[StateStore]:
    """The state of a running assistant, which answers requests about memories."""
    encoder = partial(QueryEncoder, HashingEncoder())
    with open_memory(home.create(), Settings(), None, encoder, print) as memory:
        store = StateStore(memory.transcript, "me")
        memory.transcript.locations.append(StoredWords(memory.transcript))
        memory.state_outlines = StateRequests(memory.transcript, store, "me").outlines
        in_session(memory)
        with closing(RequestServer(home.door, memory.answer)):
            yield store


def texts(home: Home, user: str = "me") -> list[str]:
    with closing(Transcript.open(home.transcript)) as transcript:
        requests = StateRequests(transcript)
        rows = list(requests.answer({"act": "state.export", "user": user}))
    return [text for row in rows for text in row["content"].values() if isinstance(text, str)]


def test_a_preview_shows_the_entries_and_changes_nothing(filled: Run, home: Home) -> None:
    rows = objects(filled("memory", "forget", "--about", "the rash", "--preview", "--json")[1])
    assert [(row["event"], row.get("text")) for row in rows] == [("going", RASH), ("preview", None)]
    _, out, _ = filled("memory", "forget", "--everything", "--preview")
    assert any(RASH in line for line in out)
    assert any("My shopping list" in line for line in out)
    assert RASH in texts(home)


def test_an_entry_is_forgotten_and_can_be_brought_back(filled: Run, home: Home) -> None:
    code, out, err = filled("memory", "forget", "--about", "the rash")
    assert (code, err) == (0, [])
    assert out[0].startswith("Forgotten: 1 memory.")
    assert filled("notes")[1] == ["There are no notes yet. To write one: assistant notes add TEXT"]
    assert filled("memory", "undo")[1] == ["Brought back: 1 memory."]
    assert RASH in texts(home)


@pytest.mark.parametrize(
    ("words", "gone", "left"),
    [(["--about", "rash"], {RASH}, [JELLY]), (["--everything", "--yes"], {RASH, JELLY}, [])],
    ids=["a note", "everything"],
)
def test_what_is_forgotten_leaves_no_byte(
    filled: Run, home: Home, words: list[str], gone: set[str], left: list[str]
) -> None:
    code, out, err = filled("memory", "forget", *words, "--now")
    memories = "3 memories" if JELLY in gone else "1 memory"  # the list counts, too
    assert out[0] == f"Forgotten: {memories}."
    assert (code, err) == (0, [])
    assert found(home.root, gone, []) == []
    assert [each for each in texts(home) if each in (RASH, JELLY)] == left


def test_the_next_command_purges_the_entries_of_any_user(filled: Run, home: Home) -> None:
    assert filled("--user", "bob", "notes", "add", "His knee hurts.")[0] == 0
    filled("--user", "bob", "--set", "forget.grace_s=0.01", "memory", "forget", "--about", "knee")
    filled("memory", "pending")
    assert found(home.root, {"His knee hurts."}, []) == []
    assert RASH in texts(home)


def test_a_running_session_forgets_entries_on_request(
    session: StateStore, run: Run, home: Home
) -> None:
    [shopping] = session.add(EntryKind.LIST, [{"name": "shopping"}])
    session.add(EntryKind.ITEM, [{"text": JELLY, "done": False}], shopping.id)
    rows = objects(run("memory", "forget", "--about", "shopping", "--preview", "--json")[1])
    assert [row.get("text") for row in rows] == ["My shopping list", None]
    assert run("memory", "forget", "--about", "shopping", "--now")[0] == 0
    assert session.entries(EntryKind.ITEM) == []
    assert found(home.root, {JELLY}, []) == []
