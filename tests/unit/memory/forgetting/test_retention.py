"""How long exchanges stay in the transcript, and that their memories are kept."""

import asyncio
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from assistant.context.conversation import Conversation, Summary
from assistant.memory.forgetting import retention
from assistant.memory.forgetting.retention import expire, expire_daily
from assistant.memory.transcript.database import Transcript
from tests.support.user_memory import opened_memory

NOW = datetime(2026, 11, 21, 10, tzinfo=UTC)
DAY = timedelta(days=1)
MONTH_AGO = NOW - 30 * DAY


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "AT_ONCE", 2)
    monkeypatch.setattr(retention, "BREATH_S", 0.0)


@pytest.fixture
def transcript(tmp_path: Path) -> Iterator[Transcript]:
    with closing(Transcript.open(tmp_path / "transcript.sqlite3")) as opened:
        yield opened


def talked(transcript: Transcript, words: str, *ages: float, user: str = "me") -> Conversation:
    """A conversation with one exchange for each age, in days."""
    talk = Conversation.begin(user)
    for turn, age in enumerate(ages, start=1):
        at = NOW - age * DAY
        talk.append_user(turn, f"{words} {turn}", at)
        transcript.store(talk, talk.complete(turn, "I see.", ended=at))
    return talk


def left(transcript: Transcript, user: str = "me") -> list[str]:
    found = transcript.exchanges(user, transcript.exchange_ids(user))
    return [exchange.user_text for _, exchange in found]


async def test_old_conversations_are_deleted_only_as_a_whole(
    tmp_path: Path, transcript: Transcript
) -> None:
    old = talked(transcript, "zebra", *(40 + day for day in range(5)))
    covered = tuple(exchange.id for exchange in old.exchanges[:2])
    transcript.store_summary(old, Summary("s1", "It was about a zebra.", covered, NOW))
    talked(transcript, "began long ago", 40, 1)
    talked(transcript, "set forward", -400)
    talked(transcript, "another's", 99, user="bob")
    running = talked(transcript, "running", 99)

    assert await expire(transcript, "me", MONTH_AGO, running.id) == 5

    assert sorted(left(transcript)) == [
        "began long ago 1",
        "began long ago 2",
        "running 1",
        "set forward 1",
    ]
    assert left(transcript, "bob") == ["another's 1"]
    assert transcript.resume("me", timedelta(days=9999)) is not None
    for file in tmp_path.iterdir():
        assert b"zebra" not in file.read_bytes()


async def test_memories_of_deleted_conversations_stay_even_after_a_rebuild(
    tmp_path: Path, transcript: Transcript
) -> None:
    talked(transcript, "My parrot is called Pip.", 40, user="ada")
    async with opened_memory(tmp_path / "memories", None, transcript) as memory:
        await memory.settled()
        assert memory.table.count("ada") == 2
        assert await expire(transcript, "ada", MONTH_AGO, "") == 1
        assert memory.rebuild(transcript) == 2
        found = await memory.recall("the parrot", 30.0)
        assert found.memories[0].text == "My parrot is called Pip. 1"
    async with opened_memory(tmp_path / "memories", None, transcript) as memory:
        assert memory.table.count("ada") == 2


async def test_no_exchange_is_deleted_while_memories_may_still_be_created_from_it(
    transcript: Transcript, monkeypatch: pytest.MonkeyPatch
) -> None:
    talked(transcript, "zebra", 40)
    asked: list[float] = []

    class EnoughError(Exception):
        """Ends the endless loop."""

    async def sleep(seconds: float) -> None:
        asked.append(seconds)
        if len(asked) == 4:
            raise EnoughError

    monkeypatch.setattr(asyncio, "sleep", sleep)
    stored = iter((False, True, True))
    with pytest.raises(EnoughError):
        await expire_daily(transcript, "me", 30 * DAY, "", lambda: next(stored))
    assert asked == [
        retention.FIRST_S,
        retention.NOT_YET_S,
        retention.BREATH_S,
        retention.AGAIN_S,
    ]
    assert left(transcript) == []
