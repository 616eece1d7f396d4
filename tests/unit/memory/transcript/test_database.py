import random
import signal
import sqlite3
import stat
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from assistant.context.conversation import Conversation, Summary
from assistant.errors import StoreError
from assistant.events import Latency
from assistant.memory.transcript import database as module
from assistant.memory.transcript.database import Transcript
from assistant.memory.transcript.migrations import MIGRATIONS
from tests.support.children import Say, child

NOW = datetime(2026, 11, 21, 10, 0, 0, 123456, tzinfo=UTC)
HOURS = timedelta(hours=4)
KILLS = 20


def file_in(folder: Path) -> Path:
    return folder / "transcript.sqlite3"


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


def stored(path: Path) -> set[str]:
    with sqlite3.connect(path) as db:
        rows = {row[0] for row in db.execute("SELECT id FROM exchange")}
    db.close()
    return rows


def test_a_thread_goes_on_after_a_restart(tmp_path: Path) -> None:
    transcript = Transcript.open(file_in(tmp_path))
    conversation = transcript.begin_conversation("ada")
    say(transcript, conversation, "I am Ada. ∂ 漢字 🙂 שלום\0!", "Hello Ada.")
    say(transcript, conversation, "Tell me a story.", "", interrupted=True)
    summary = Summary("s", "Ada said hello.", (conversation.exchanges[0].id,), NOW)
    conversation.apply(summary)
    transcript.store_summary(conversation, summary)
    transcript.close()

    again = Transcript.open(file_in(tmp_path))
    resumed = again.resume("ada", HOURS, NOW + timedelta(hours=3))
    again.close()
    assert resumed is not None
    assert (resumed.id, resumed.user) == (conversation.id, "ada")
    assert resumed.exchanges == conversation.exchanges
    assert resumed.summary == summary
    assert resumed.last_turn == 2


def test_a_resumed_thread_is_stored_on(tmp_path: Path) -> None:
    transcript = Transcript.open(file_in(tmp_path))
    say(transcript, transcript.begin_conversation("ada"))
    resumed = transcript.resume("ada", HOURS, NOW)
    assert resumed is not None
    say(transcript, resumed, "And now?", "Now this.")
    later = transcript.resume("ada", HOURS, NOW)
    transcript.close()
    assert later is not None
    assert [each.user_text for each in later.exchanges] == ["Hello?", "And now?"]
    assert later.last_turn == 2


def test_the_last_thread_is_the_one_that_goes_on(tmp_path: Path) -> None:
    transcript = Transcript.open(file_in(tmp_path))
    first, second = (transcript.begin_conversation("ada") for _ in range(2))
    say(transcript, second, at=NOW)
    say(transcript, first, at=NOW + timedelta(minutes=1))
    resumed = transcript.resume("ada", HOURS, NOW + timedelta(minutes=2))
    transcript.close()
    assert resumed is not None
    assert resumed.id == first.id


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
def test_when_a_thread_goes_on(
    tmp_path: Path, within: timedelta, passed: timedelta, resumes: bool
) -> None:
    transcript = Transcript.open(file_in(tmp_path))
    say(transcript, transcript.begin_conversation("ada"))
    resumed = transcript.resume("ada", within, NOW + passed)
    transcript.close()
    assert (resumed is not None) is resumes


def test_users_never_see_each_other(tmp_path: Path) -> None:
    transcript = Transcript.open(file_in(tmp_path))
    ada, bob = transcript.begin_conversation("ada"), transcript.begin_conversation("bob")
    say(transcript, ada, "I am Ada.")
    say(transcript, bob, "I am Bob.")
    assert transcript.resume("eve", HOURS, NOW) is None
    for user, words in (("ada", "I am Ada."), ("bob", "I am Bob.")):
        resumed = transcript.resume(user, HOURS, NOW)
        assert resumed is not None
        assert [each.user_text for each in resumed.exchanges] == [words]
    transcript.close()


def test_users_are_apart_even_under_one_thread_id(tmp_path: Path) -> None:
    transcript = Transcript.open(file_in(tmp_path))
    for user in ("ada", "bob"):
        conversation = Conversation("same", user)
        key = say(transcript, conversation, f"I am {user}.")
        transcript.store_summary(conversation, Summary(f"of {user}", user, (key,), NOW))
    for user in ("ada", "bob"):
        resumed = transcript.resume(user, HOURS, NOW)
        assert resumed is not None
        assert [each.user_text for each in resumed.exchanges] == [f"I am {user}."]
        assert resumed.summary is not None
        assert resumed.summary.text == user
    transcript.close()


def test_what_was_replaced_is_not_in_the_file_any_more(tmp_path: Path) -> None:
    path = file_in(tmp_path)
    transcript = Transcript.open(path)
    conversation = transcript.begin_conversation("ada")
    key = say(transcript, conversation)
    transcript.store_summary(conversation, Summary("s1", "zebra " * 300, (key,), NOW))
    transcript.close()
    assert b"zebra" in path.read_bytes()

    transcript = Transcript.open(path)
    transcript.store_summary(conversation, Summary("s2", "Short.", (key,), NOW))
    transcript.close()
    assert b"Short." in path.read_bytes()
    assert b"zebra" not in path.read_bytes()


def test_a_thread_without_words_leaves_no_row(tmp_path: Path) -> None:
    transcript = Transcript.open(file_in(tmp_path))
    transcript.begin_conversation("ada")
    assert transcript.resume("ada", HOURS, NOW) is None
    transcript.close()
    with sqlite3.connect(file_in(tmp_path)) as db:
        assert db.execute("SELECT count(*) FROM conversation").fetchone() == (0,)
    db.close()


def test_storing_twice_keeps_one_and_open_ones_are_refused(tmp_path: Path) -> None:
    transcript = Transcript.open(file_in(tmp_path))
    conversation = transcript.begin_conversation("ada")
    say(transcript, conversation)
    transcript.store(conversation, conversation.exchanges[0])
    opened = conversation.append_user(2, "And", NOW)
    with pytest.raises(ValueError, match="open"):
        transcript.store(conversation, opened)
    transcript.close()
    assert len(stored(file_in(tmp_path))) == 1


def test_a_new_summary_takes_the_place_of_the_old(tmp_path: Path) -> None:
    transcript = Transcript.open(file_in(tmp_path))
    conversation = transcript.begin_conversation("ada")
    key = say(transcript, conversation)
    for number in range(3):
        transcript.store_summary(conversation, Summary(f"s{number}", "secret", (key,), NOW))
    resumed = transcript.resume("ada", HOURS, NOW)
    transcript.close()
    assert resumed is not None
    assert resumed.summary is not None
    assert resumed.summary.id == "s2"
    with sqlite3.connect(file_in(tmp_path)) as db:
        assert db.execute("SELECT count(*) FROM summary").fetchone() == (1,)
    db.close()


def test_half_characters_are_stored_as_question_marks(tmp_path: Path) -> None:
    transcript = Transcript.open(file_in(tmp_path))
    say(transcript, transcript.begin_conversation("ada"), "broken \ud83d end")
    resumed = transcript.resume("ada", HOURS, NOW)
    transcript.close()
    assert resumed is not None
    assert resumed.exchanges[0].user_text == "broken ? end"


def test_only_the_owner_may_read_it(tmp_path: Path) -> None:
    file_in(tmp_path).touch(mode=0o644)
    transcript = Transcript.open(file_in(tmp_path))
    say(transcript, transcript.begin_conversation("ada"))
    files = list(tmp_path.iterdir())
    assert len(files) == 3, "the database, its log and the log's index"
    assert {stat.S_IMODE(each.stat().st_mode) for each in files} == {0o600}
    transcript.close()
    assert list(tmp_path.iterdir()) == [file_in(tmp_path)]


def test_threads_may_store_at_once(tmp_path: Path) -> None:
    transcript = Transcript.open(file_in(tmp_path))

    def write(user: str) -> None:
        conversation = transcript.begin_conversation(user)
        for _ in range(25):
            say(transcript, conversation)

    threads = [threading.Thread(target=write, args=(f"user {number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    transcript.close()
    assert len(stored(file_in(tmp_path))) == 100


def write_on(path: Path, tell: Say) -> None:
    transcript = Transcript.open(path)
    conversation = transcript.begin_conversation("ada")
    while True:
        tell(say(transcript, conversation, "question " + "word " * 50, "answer " + "word " * 50))


def test_nothing_acknowledged_is_lost_when_it_is_killed(tmp_path: Path) -> None:
    chance = random.Random(7)
    path = file_in(tmp_path)
    acknowledged: set[str] = set()
    for _ in range(KILLS):
        with child(write_on, path) as dying:
            acknowledged.add(dying.hear())
            dying.kill_in(chance.uniform(0, 0.06))
            acknowledged.update(dying.rest())
            assert dying.ended() == -signal.SIGKILL
        Transcript.open(path).close()
    assert len(acknowledged) >= KILLS
    assert acknowledged <= stored(path)


# -- what may be wrong with the file ------------------------------------------------------------


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


def test_a_damaged_file_is_refused_with_a_mend_and_left_alone(tmp_path: Path) -> None:
    path = file_in(tmp_path)
    path.write_bytes(b"this is no database, whatever its name says" * 100)
    before = path.read_bytes()
    with pytest.raises(StoreError, match="damaged") as error:
        Transcript.open(path)
    assert str(error.value.mend).startswith("Move it away: mv ")
    assert path.read_bytes() == before


def test_a_damaged_page_is_found_when_it_is_read(tmp_path: Path) -> None:
    path = file_in(tmp_path)
    transcript = Transcript.open(path)
    conversation = transcript.begin_conversation("ada")
    for _ in range(200):
        say(transcript, conversation, "word " * 100)
    transcript.close()
    content = bytearray(path.read_bytes())
    half = len(content) // 2  # the tables' names come first
    content[half:] = b"\xff" * (len(content) - half)
    path.write_bytes(content)

    transcript = Transcript.open(path)
    with pytest.raises(StoreError, match="damaged"):
        transcript.resume("ada", HOURS, NOW)
    transcript.close()


def test_a_folder_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="can't be opened: No such file") as error:
        Transcript.open(tmp_path / "absent" / "transcript.sqlite3")
    assert error.value.mend is not None


def test_a_full_disk_is_one_sentence_and_nothing_is_half_written(tmp_path: Path) -> None:
    transcript = Transcript.open(file_in(tmp_path))
    conversation = transcript.begin_conversation("ada")
    say(transcript, conversation)
    transcript._db.execute("PRAGMA max_page_count = 1")
    with pytest.raises(StoreError, match="disk is full"):
        say(transcript, conversation, "word " * 20_000)
    transcript._db.execute("PRAGMA max_page_count = 1000000")
    assert len(stored(file_in(tmp_path))) == 1
    transcript.store(conversation, conversation.exchanges[1])
    transcript.close()
    assert len(stored(file_in(tmp_path))) == 2


def test_a_store_that_became_read_only_is_one_sentence(tmp_path: Path) -> None:
    transcript = Transcript.open(file_in(tmp_path))
    transcript._db.execute("PRAGMA query_only = ON")
    with pytest.raises(StoreError, match="can't be written"):
        say(transcript, transcript.begin_conversation("ada"))
    transcript.close()


def test_a_writer_in_the_way_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BUSY_S", 0.01)
    transcript = Transcript.open(file_in(tmp_path))
    other = sqlite3.connect(file_in(tmp_path), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match="in use"):
        say(transcript, transcript.begin_conversation("ada"))
    other.close()
    transcript.close()


def test_storing_after_closing_is_one_sentence(tmp_path: Path) -> None:
    transcript = Transcript.open(file_in(tmp_path))
    conversation = transcript.begin_conversation("ada")
    transcript.close()
    transcript.close()
    with pytest.raises(StoreError):
        say(transcript, conversation)


def test_what_is_forgotten_leaves_no_page_gap_or_log(tmp_path: Path) -> None:
    """Rows that moved from page to page before they went, and pages that became free."""
    transcript = Transcript.open(file_in(tmp_path))
    ids = []
    for number in range(300):
        conversation = transcript.begin_conversation("ada")
        words = f"secret-{number:03} " + "word " * (number % 7 * 60)
        ids.append(say(transcript, conversation, words, "I see.", at=NOW - number % 5 * HOURS))
    before = file_in(tmp_path).stat().st_size
    for start in (0, 1, 2):
        transcript.delete_exchanges("ada", ids[start::4])
        assert (transcript.pages().free, transcript.pages().log) == (0, 0)
    content = file_in(tmp_path).read_bytes()
    found = {number for number in range(300) if f"secret-{number:03}".encode() in content}
    transcript.close()
    assert found == set(range(3, 300, 4))
    assert len(content) < before / 2


def test_expiry_leaves_no_free_page_when_it_has_come_to_its_end(tmp_path: Path) -> None:
    transcript = Transcript.open(file_in(tmp_path))
    for _ in range(60):
        say(transcript, transcript.begin_conversation("ada"), "word " * 400)
    after = NOW + HOURS
    assert transcript.expire("ada", after, 30) == 30
    assert transcript.expire("ada", after, 30) == 30
    assert transcript.expire("ada", after, 30) == 0
    assert (transcript.pages().free, transcript.pages().log) == (0, 0)
    transcript.close()
