"""When memories expire, and which memories expire with them."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from assistant.language.speakers import ASSISTANT, USER
from assistant.memory.curation.curator import MemoryLinks, expiring_with
from assistant.memory.records.ids import ADDED_BY_USER
from assistant.memory.records.lifetimes import Lifetimes
from assistant.memory.records.memory import Memory, MemoryKind
from assistant.settings import Settings

START = datetime(2026, 3, 1, tzinfo=UTC)
DEFAULT = Lifetimes.of(Settings().memory)


def memory(importance: float = 0.2, speaker: str = ASSISTANT) -> Memory:
    return Memory(
        "m",
        "ada",
        MemoryKind.EXCHANGE,
        "I see.",
        START,
        speaker,
        importance=importance,
        sources=("e",),
    )


def test_by_default_only_answers_expire_after_a_year_without_use() -> None:
    year = START + timedelta(days=365)
    assert DEFAULT.end(memory()) == year
    assert DEFAULT.end(memory(0.5, USER)) is None
    assert DEFAULT.end(replace(memory(), kind=MemoryKind.FACT)) is None
    used = START + timedelta(days=100)
    assert DEFAULT.end(replace(memory(), last_used=used)) == used + timedelta(days=365)
    assert DEFAULT.end(replace(memory(), refreshed=used)) == used + timedelta(days=365)
    assert not DEFAULT.over(memory(), year - timedelta(seconds=1))
    assert DEFAULT.over(memory(), year)
    assert not DEFAULT.over(memory(), START - timedelta(days=9999)), "the clock was set back"


def test_pinned_rated_and_hand_written_memories_do_not_expire() -> None:
    assert DEFAULT.end(replace(memory(), pinned=True, expires=START)) is None
    assert DEFAULT.end(replace(memory(), feedback=1)) is None
    assert DEFAULT.end(replace(memory(), sources=(ADDED_BY_USER,))) is None


def test_a_memorys_own_expiry_date_takes_precedence() -> None:
    at = START + timedelta(days=1)
    assert DEFAULT.end(replace(memory(1.0), expires=at)) == at
    assert Lifetimes().end(memory()) is None


def test_an_expiry_date_beyond_the_calendar_means_never() -> None:
    assert DEFAULT.end(replace(memory(), last_used=datetime(9999, 12, 1, tzinfo=UTC))) is None


def outline(key: str) -> MemoryLinks:
    return MemoryLinks(
        key, MemoryKind.EXCHANGE, USER, (key.partition("-")[0],), (), None, pinned=False
    )


def fact(key: str, *sources: str, pinned: bool = False) -> MemoryLinks:
    return replace(outline(key), kind=MemoryKind.FACT, sources=sources, pinned=pinned)


def test_only_memories_based_on_an_expired_memory_expire_with_it() -> None:
    rows = [
        outline("a-user"),
        outline("b-user"),
        replace(outline("a-assistant"), speaker=ASSISTANT),
        fact("of-a", "a"),
        fact("of-both", "a", "b"),
        fact("by-hand", ADDED_BY_USER),
        fact("held", "a", pinned=True),
        replace(outline("before"), superseded_by="a-user"),
        fact("of-before", "before"),
    ]
    assert expiring_with({"a-user"}, rows) == {"a-user", "of-a", "before", "of-before"}
    assert expiring_with({"a-assistant"}, rows) == {"a-assistant"}, "no fact is based on an answer"
    assert expiring_with(set(), rows) == set()
