"""No id of a purged memory or exchange remains in the log of recalls, nor in its file."""

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from assistant.context.conversation import Conversation
from assistant.events import MemoryUsed
from assistant.memory.forgetting.purge import purge, purge_due_at_start
from assistant.memory.records.hidden import HiddenItems
from assistant.memory.records.memory import Memory, MemoryKind, new_id
from assistant.memory.store.table import MemoryTable
from assistant.memory.transcript import recall_log
from assistant.memory.transcript.database import Transcript
from tests.support.remains import pages

NOW = datetime(2026, 11, 21, 10, tzinfo=UTC)


@pytest.fixture
def transcript(tmp_path: Path) -> Iterator[Transcript]:
    (tmp_path / "home").mkdir()
    with closing(Transcript.open(tmp_path / "home" / "transcript.sqlite3")) as opened:
        yield opened


@pytest.fixture
def table(tmp_path: Path) -> Iterator[MemoryTable]:
    with closing(MemoryTable.open(str(tmp_path / "store"))) as opened:
        yield opened


def say(transcript: Transcript, *recalled: str) -> str:
    talk = Conversation.begin("ada")
    talk.append_user(1, "Hello?", NOW)
    exchange = talk.complete(1, "Hi.", ended=NOW)
    transcript.store(talk, exchange, None, [MemoryUsed(key, "", 0.9) for key in recalled])
    return exchange.id


def in_file(transcript: Transcript, word: str) -> bool:
    return any(word.encode() in data for _, data in pages(transcript.path.parent))


def test_a_purged_memory_without_exchanges_leaves_no_id_in_the_file(
    transcript: Transcript, table: MemoryTable
) -> None:
    fact = Memory(new_id(), "ada", MemoryKind.FACT, "Somebody owns a dog.", NOW)
    table.put([fact])
    say(transcript, fact.id)
    assert in_file(transcript, fact.id)
    purge(HiddenItems.of("ada", (), [fact.id], NOW), transcript, table)
    assert not in_file(transcript, fact.id)


@pytest.mark.parametrize("stored", [True, False])
def test_a_merged_telling_of_a_purged_exchange_leaves_the_logs(
    transcript: Transcript, table: MemoryTable, stored: bool
) -> None:
    gone = say(transcript)
    say(transcript, f"{gone}-user")
    items = HiddenItems.of("ada", [gone], (), NOW)
    purge(items, transcript, table if stored else None)
    assert not in_file(transcript, f"{gone}-user")


def test_an_exchange_forgotten_elsewhere_leaves_the_logs_where_the_table_is_refused(
    transcript: Transcript, table: MemoryTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = say(transcript)
    say(transcript, f"{gone}-user")
    table.forgotten.write([("ada", gone, True)])
    monkeypatch.setattr(MemoryTable, "refused", "Another process writes to it.")
    purge_due_at_start(transcript, table)
    assert not in_file(transcript, f"{gone}-user")


@pytest.mark.parametrize(
    ("when", "refused"),
    [("start", None), ("start", "Another process writes to it."), ("purge", None)],
)
def test_what_was_forgotten_alone_on_another_machine_leaves_the_logs(
    transcript: Transcript,
    table: MemoryTable,
    monkeypatch: pytest.MonkeyPatch,
    when: str,
    refused: str | None,
) -> None:
    alone, fact, elsewhere, kept = (new_id() for _ in range(4))
    facts = [f"{fact}-fact0", f"{kept}-fact0"]
    say(transcript, alone, f"{elsewhere}-user", *facts)
    with table.forgotten.during("ada", [elsewhere], [memory(alone), memory(facts[0])]):
        pass
    if when == "start":
        monkeypatch.setattr(MemoryTable, "refused", refused)
        purge_due_at_start(transcript, table)
    else:
        purge(HiddenItems.of("ada", (), [new_id()], NOW), transcript, table)
    assert [in_file(transcript, key) for key in (alone, elsewhere, facts[0])] == [False] * 3
    assert in_file(transcript, facts[1])


def memory(key: str) -> Memory:
    return Memory(key, "ada", MemoryKind.FACT, "Somebody owns a dog.", NOW)


def test_memories_derived_from_a_purged_exchange_leave_the_logs(
    transcript: Transcript, table: MemoryTable
) -> None:
    """They may no longer exist, e.g. because they were merged into others."""
    gone, kept = say(transcript), say(transcript)
    parts = ("user", "fact0", "1-wish")
    log = say(transcript, *(f"{one}-{part}" for one in (gone, kept) for part in parts))
    purge(HiddenItems.of("ada", [gone], (), NOW), transcript, table)
    left = [each.id for each in recall_log.read(transcript, "ada", [log])[log]]
    assert left == [f"{kept}-{part}" for part in parts]
