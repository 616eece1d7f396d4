"""The transcript's file: stored exchanges are read back, deleted ones leave no trace, and every
failure is reported in one sentence."""

import random
import signal
import sqlite3
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

from assistant.context.conversation import Conversation, Summary
from assistant.encryption.keys import MasterKey
from assistant.errors import StoreError
from assistant.events import Latency
from assistant.memory.transcript import database as module
from assistant.memory.transcript.database import FreePages, Transcript
from assistant.memory.transcript.migrations import MIGRATIONS
from tests.support.children import Say, child

NOW = datetime(2026, 11, 21, 10, 0, 0, 123456, tzinfo=UTC)
HOURS = timedelta(hours=4)
KEY = MasterKey(bytes(range(32)))


def file_in(folder: Path) -> Path:
    return folder / "transcript.sqlite3"


@pytest.fixture
def transcript(tmp_path: Path) -> Iterator[Transcript]:
    with closing(Transcript.open(file_in(tmp_path))) as opened:
        yield opened


def say(
    transcript: Transcript,
    conversation: Conversation,
    question: str = "Hello?",
    answer: str = "Hi.",
    *,
    at: datetime = NOW,
    interrupted: bool = False,
) -> str:
    turn = conversation.last_turn + 1
    conversation.append_user(turn, question, at)
    exchange = conversation.complete(turn, answer, interrupted, ended=at)
    transcript.store(conversation, exchange, Latency(first_token=120.5))
    return exchange.id


def resumed(transcript: Transcript, user: str = "ada", at: datetime = NOW) -> Conversation:
    found = transcript.resume(user, HOURS, at)
    assert found is not None
    return found


def questions(conversation: Conversation) -> list[str]:
    return [each.user_text for each in conversation.exchanges]


# -- storing and reading back ---------------------------------------------------------------------


def test_a_conversation_continues_after_a_restart(tmp_path: Path) -> None:
    conversation = Conversation.begin("ada")
    with closing(Transcript.open(file_in(tmp_path))) as transcript:
        say(transcript, conversation, "I am Ada. ∂ 漢字 🙂 שלום\0!", "Hello Ada.")
        say(transcript, conversation, "Tell me a story.", "", interrupted=True)
        summary = Summary("s", "Ada said hello.", (conversation.exchanges[0].id,), NOW)
        conversation.apply(summary)
        transcript.store_summary(conversation, summary)

    with closing(Transcript.open(file_in(tmp_path))) as transcript:
        found = resumed(transcript, at=NOW + timedelta(hours=3))
        assert (found.id, found.user, found.last_turn) == (conversation.id, "ada", 2)
        assert found.exchanges == conversation.exchanges
        assert found.summary == summary
        say(transcript, found, "And now?", "Now this.")
        assert questions(resumed(transcript))[1:] == ["Tell me a story.", "And now?"]


def test_the_most_recent_conversation_is_resumed(transcript: Transcript) -> None:
    first, second = (Conversation.begin("ada") for _ in range(2))
    say(transcript, second, at=NOW)
    say(transcript, first, at=NOW + timedelta(minutes=1))
    assert resumed(transcript, at=NOW + timedelta(minutes=2)).id == first.id


@pytest.mark.parametrize(
    ("within", "passed", "resumes"),
    [
        (HOURS, timedelta(hours=3, minutes=59), True),
        (HOURS, timedelta(hours=4, minutes=1), False),
        (HOURS, -timedelta(minutes=30), True),
        (HOURS, -timedelta(days=400), False),
        (timedelta(0), timedelta(seconds=1), False),
    ],
)
def test_only_a_recent_conversation_is_resumed(
    transcript: Transcript, within: timedelta, passed: timedelta, resumes: bool
) -> None:
    say(transcript, Conversation.begin("ada"))
    assert (transcript.resume("ada", within, NOW + passed) is not None) is resumes


def test_users_never_see_each_other_even_with_the_same_conversation_id(
    transcript: Transcript,
) -> None:
    for user in ("ada", "bob"):
        conversation = Conversation("same", user)
        key = say(transcript, conversation, f"I am {user}.")
        transcript.store_summary(conversation, Summary(f"of {user}", user, (key,), NOW))
    for user in ("ada", "bob"):
        found = resumed(transcript, user)
        assert questions(found) == [f"I am {user}."]
        assert found.summary is not None
        assert found.summary.text == user
    assert transcript.resume("eve", HOURS, NOW) is None


def test_an_exchange_is_stored_only_once_and_an_open_one_is_refused(transcript: Transcript) -> None:
    conversation = Conversation.begin("ada")
    say(transcript, conversation)
    transcript.store(conversation, conversation.exchanges[0])
    opened = conversation.append_user(2, "And", NOW)
    with pytest.raises(ValueError, match="open"):
        transcript.store(conversation, opened)
    assert len(transcript.exchange_ids("ada")) == 1


def test_lone_surrogates_are_stored_as_question_marks(transcript: Transcript) -> None:
    say(transcript, Conversation.begin("ada"), "broken \ud83d end")
    assert questions(resumed(transcript)) == ["broken ? end"]


def test_only_the_owner_may_read_the_files(tmp_path: Path) -> None:
    file_in(tmp_path).touch(mode=0o644)
    with closing(Transcript.open(file_in(tmp_path))) as transcript:
        say(transcript, Conversation.begin("ada"))
        files = list(tmp_path.iterdir())
        assert len(files) == 3, "the database, its log and the log's index"
        assert {stat.S_IMODE(each.stat().st_mode) for each in files} == {0o600}
    assert list(tmp_path.iterdir()) == [file_in(tmp_path)]


def test_several_threads_may_store_at_once(transcript: Transcript) -> None:
    def write(user: str) -> None:
        conversation = Conversation.begin(user)
        for _ in range(25):
            say(transcript, conversation)

    users = [f"user {number}" for number in range(4)]
    threads = [threading.Thread(target=write, args=(user,)) for user in users]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [len(transcript.exchange_ids(user)) for user in users] == [25] * 4


def write_on(path: Path, key: MasterKey | None, tell: Say) -> None:
    transcript = Transcript.open(path, key)
    conversation = Conversation.begin("ada")
    while True:
        tell(say(transcript, conversation, "question " + "word " * 50, "answer " + "word " * 50))


@pytest.mark.parametrize(("key", "kills"), [(None, 20), (KEY, 3)], ids=["plain", "encrypted"])
def test_no_acknowledged_exchange_is_lost_when_the_writer_is_killed(
    tmp_path: Path, key: MasterKey | None, kills: int
) -> None:
    chance, path = random.Random(7), file_in(tmp_path)
    acknowledged: set[str] = set()
    for _ in range(kills):
        with child(write_on, path, key) as dying:
            acknowledged.add(dying.hear())
            dying.kill_in(chance.uniform(0, 0.06))
            acknowledged.update(dying.rest())
            assert dying.ended() == -signal.SIGKILL
        with closing(Transcript.open(path, key)) as transcript:
            assert acknowledged <= transcript.exchange_ids("ada")
    assert len(acknowledged) >= kills


# -- what may be wrong with the file --------------------------------------------------------------


def test_a_newer_schema_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = file_in(tmp_path)
    Transcript.open(path).close()
    with sqlite3.connect(path) as db:
        db.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    db.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match="newer version") as error:
        Transcript.open(path)
    assert error.value.mend is not None
    assert path.read_bytes() == before


def test_a_damaged_file_is_refused_with_advice_and_left_alone(tmp_path: Path) -> None:
    path = file_in(tmp_path)
    path.write_bytes(b"this is no database, whatever its name says" * 100)
    before = path.read_bytes()
    with pytest.raises(StoreError, match="damaged") as error:
        Transcript.open(path)
    assert str(error.value.mend).startswith("Move it away: mv ")
    assert path.read_bytes() == before


def test_a_damaged_page_is_found_when_it_is_read(tmp_path: Path) -> None:
    path, conversation = file_in(tmp_path), Conversation.begin("ada")
    with closing(Transcript.open(path)) as transcript:
        for _ in range(200):
            say(transcript, conversation, "word " * 100)
    content = bytearray(path.read_bytes())
    half = len(content) // 2  # the tables' names come first
    content[half:] = b"\xff" * (len(content) - half)
    path.write_bytes(content)

    with (
        closing(Transcript.open(path)) as transcript,
        pytest.raises(StoreError, match="damaged"),
    ):
        transcript.resume("ada", HOURS, NOW)


def test_a_missing_folder_is_reported(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="can't be opened: No such file") as error:
        Transcript.open(tmp_path / "absent" / "transcript.sqlite3")
    assert error.value.mend is not None


def test_a_full_disk_is_reported_and_nothing_is_half_written(transcript: Transcript) -> None:
    conversation = Conversation.begin("ada")
    say(transcript, conversation)
    transcript._db.execute("PRAGMA max_page_count = 1")
    with pytest.raises(StoreError, match="disk is full"):
        say(transcript, conversation, "word " * 20_000)
    transcript._db.execute("PRAGMA max_page_count = 1000000")
    assert len(transcript.exchange_ids("ada")) == 1
    transcript.store(conversation, conversation.exchanges[1])
    assert len(transcript.exchange_ids("ada")) == 2


def close_twice(transcript: Transcript) -> None:
    transcript.close()
    transcript.close()


@pytest.mark.parametrize(
    ("trouble", "sentence"),
    [
        (lambda transcript: transcript._db.execute("PRAGMA query_only = ON"), "can't be written"),
        (close_twice, "closed database"),
    ],
    ids=["read-only", "closed"],
)
def test_a_failure_to_store_is_reported(
    transcript: Transcript, trouble: Callable[[Transcript], object], sentence: str
) -> None:
    trouble(transcript)
    with pytest.raises(StoreError, match=sentence):
        say(transcript, Conversation.begin("ada"))


def test_another_writer_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BUSY_S", 0.01)
    connect = partial(sqlite3.connect, file_in(tmp_path), isolation_level=None)
    with closing(Transcript.open(file_in(tmp_path))) as transcript, closing(connect()) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="in use"):
            say(transcript, Conversation.begin("ada"))


# -- deleting -------------------------------------------------------------------------------------


def test_a_new_summary_replaces_the_old_one_and_its_words(tmp_path: Path) -> None:
    path, conversation = file_in(tmp_path), Conversation.begin("ada")
    with closing(Transcript.open(path)) as transcript:
        key = say(transcript, conversation)
        transcript.store_summary(conversation, Summary("s1", "zebra " * 300, (key,), NOW))
    assert b"zebra" in path.read_bytes()

    with closing(Transcript.open(path)) as transcript:
        transcript.store_summary(conversation, Summary("s2", "Short.", (key,), NOW))
        summary = resumed(transcript).summary
        assert summary is not None
        assert summary.id == "s2"
        with transcript.reading() as db:
            assert db.execute("SELECT count(*) FROM summary").fetchone() == (1,)
    assert b"Short." in path.read_bytes()
    assert b"zebra" not in path.read_bytes()


def test_summaries_are_deleted_with_any_exchange_they_cover(
    transcript: Transcript, tmp_path: Path
) -> None:
    conversation = Conversation.begin("ada")
    ids = [say(transcript, conversation) for _ in range(3)]
    summary = Summary("s", "A dog called Maximilian.", tuple(ids[:2]), NOW)
    transcript.store_summary(conversation, summary)

    assert transcript.delete_exchanges("kim", ids) == 0
    assert transcript.exchange_ids("ada") == set(ids)
    assert transcript.delete_exchanges("ada", [ids[1], "unknown"]) == 1
    assert transcript.exchange_ids("ada") == {ids[0], ids[2]}
    assert resumed(transcript).summary is None
    assert all(b"Maximilian" not in path.read_bytes() for path in tmp_path.iterdir())
    assert transcript.delete_exchanges("ada", ids) == 2
    assert transcript.resume("ada", HOURS, NOW) is None


def test_deleting_leaves_no_trace_in_pages_gaps_or_the_log(
    transcript: Transcript, tmp_path: Path
) -> None:
    """Some rows moved between pages before they were deleted, and some pages became free."""
    ids = []
    for number in range(300):
        words = f"secret-{number:03} " + "word " * (number % 7 * 60)
        at = NOW - number % 5 * HOURS
        ids.append(say(transcript, Conversation.begin("ada"), words, "I see.", at=at))
    before = file_in(tmp_path).stat().st_size
    for start in (0, 1, 2):
        transcript.delete_exchanges("ada", ids[start::4])
        assert transcript.pages() == FreePages(0, 0)
    content = file_in(tmp_path).read_bytes()
    found = {number for number in range(300) if f"secret-{number:03}".encode() in content}
    assert found == set(range(3, 300, 4))
    assert len(content) < before / 2


def test_expiry_leaves_no_free_page_once_it_has_finished(transcript: Transcript) -> None:
    for _ in range(60):
        say(transcript, Conversation.begin("ada"), "word " * 400)
    assert [transcript.expire("ada", NOW + HOURS, 30) for _ in range(3)] == [30, 30, 0]
    assert transcript.pages() == FreePages(0, 0)
