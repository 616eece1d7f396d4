"""How long the transcript is kept, and what becomes of the memories."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from assistant.context.conversation import Conversation, Summary
from assistant.memory.forgetting import retention as module
from assistant.memory.forgetting.retention import Retention
from assistant.memory.transcript.database import Transcript
from assistant.settings import Settings
from assistant.settings import Transcript as Keeping
from tests.support.long_term import Home

NOW = datetime(2026, 11, 21, 10, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "AT_ONCE", 2)
    monkeypatch.setattr(module, "BREATH_S", 0.0)


def talked(transcript: Transcript, words: str, *ages: float, user: str = "me") -> Conversation:
    """A conversation with an exchange so many days ago, each."""
    talk = Conversation.begin(user)
    for turn, age in enumerate(ages, start=1):
        at = NOW - age * DAY
        talk.append_user(turn, f"{words} {turn}", at)
        transcript.store(talk, talk.complete(turn, "I see.", ended=at))
    return talk


def keeping(transcript: Transcript, days: float | None, running: str = "") -> Retention:
    settings = Settings(transcript=Keeping(keep_days=days))
    return Retention(transcript, settings, running, lambda: True)


def left(transcript: Transcript, user: str = "me") -> list[str]:
    found = transcript.exchanges(user, transcript.exchange_ids(user))
    return [exchange.user_text for _, exchange in found]


async def test_old_conversations_leave_the_file_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "transcript.sqlite3"
    transcript = Transcript.open(path)
    old = talked(transcript, "zebra", *(40 + day for day in range(5)))
    covered = tuple(exchange.id for exchange in old.exchanges[:2])
    transcript.store_summary(old, Summary("s1", "It was about a zebra.", covered, NOW))
    talked(transcript, "began long ago", 40, 1)
    talked(transcript, "set forward", -400)
    talked(transcript, "another's", 99, user="bob")
    running = talked(transcript, "running", 99)

    assert await keeping(transcript, None).expire(NOW) == 0
    assert await keeping(transcript, 30, running.id).expire(NOW) == 5

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
    transcript.close()


async def test_memories_stay_and_a_rebuild_keeps_them(tmp_path: Path) -> None:
    home = Home(tmp_path)
    transcript = Transcript.open(tmp_path / "transcript.sqlite3")
    talked(transcript, "My parrot is called Pip.", 40, user="ada")
    async with home.memory(transcript=transcript) as memory:
        assert memory.table.count("ada") == 2
        settings = Settings.model_validate(
            {"general": {"user": "ada"}, "transcript": {"keep_days": 30}}
        )
        stored = Retention(transcript, settings, "", lambda: memory.store.settled)
        assert await stored.expire(NOW) == 1
        assert memory.rebuild(transcript) == 2
        found = await memory.recall("the parrot", 30.0)
        assert found.memories[0].text == "My parrot is called Pip. 1"
    async with home.memory(transcript=transcript) as memory:
        assert memory.table.count("ada") == 2
    transcript.close()


async def test_nothing_goes_while_a_memory_may_still_be_made_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    transcript = Transcript.open(tmp_path / "transcript.sqlite3")
    talked(transcript, "zebra", 40)
    asked: list[float] = []

    class EnoughError(Exception):
        """Ends what runs for ever."""

    async def sleep(seconds: float) -> None:
        asked.append(seconds)
        if len(asked) == 4:
            raise EnoughError

    monkeypatch.setattr(asyncio, "sleep", sleep)
    stored = iter((False, True, True))
    settings = Settings(transcript=Keeping(keep_days=30))
    with pytest.raises(EnoughError):
        await Retention(transcript, settings, "", lambda: next(stored)).run()
    assert asked == [module.FIRST_S, module.NOT_YET_S, module.BREATH_S, module.AGAIN_S]
    assert left(transcript) == []
    transcript.close()
