"""kill -9 at every write of the store around ringing: nothing is lost, and what was recorded as
heard never rings again."""

import asyncio
import signal
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from assistant.memory.records.stored_values import microseconds
from assistant.memory.transcript.database import Transcript
from assistant.skills.due.due import DueWatch
from assistant.skills.due.due_entries import DueEntries
from assistant.state import EntryKind, StateStore
from tests.support.children import Say, child
from tests.support.due import START, HandSet
from tests.support.killed_writes import dying_transcript

WORDS = "call Anna"
ROUNDS = 70
"""Looks at the clock in one session, ten seconds apart: until what rang is cleared away."""


class Telling:
    """A ringer that tells the test what was heard."""

    def __init__(self, say: Say) -> None:
        self._say = say

    async def ring(self, words: Callable[[], str | None], *, insistent: bool) -> bool:
        del insistent
        text = words()
        if text is not None:
            self._say(("heard", text))
        return text is not None

    def silence(self) -> bool:
        return False


def set_up(path: Path) -> None:
    transcript = Transcript.open(path)
    store = StateStore(transcript, "ada", now=lambda: START)
    ends = microseconds(START + timedelta(seconds=30))
    store.add(EntryKind.TIMER, [{"name": "pasta", "length_s": 30, "ends_at": ends}])
    local = "2026-11-18T10:21"
    repeat = {"every": 1, "unit": "day"}
    content = {"name": "", "local": local, "repeat": repeat, "since": microseconds(START)}
    store.add(EntryKind.ALARM, [content])
    store.add(EntryKind.REMINDER, [{"words": WORDS, "local": local}])
    transcript.close()


def rings(path: Path, kill_at: int, after: bool, say: Say) -> None:
    """Ring what is due. Die before or `after` the write with this number is committed."""
    asyncio.run(_rings(path, kill_at, after, say))


async def _rings(path: Path, kill_at: int, after: bool, say: Say) -> None:
    transcript, writes = dying_transcript(path, kill_at, after=after)
    clock = HandSet()
    store = StateStore(transcript, "ada", now=lambda: clock.now)
    watch = DueWatch(DueEntries(store, clock.clocks()), Telling(say))
    store._emit = watch.watch
    for _ in range(ROUNDS):
        await watch.check()
        clock.pass_(10)
    say(("writes", writes()))
    transcript.close()


def heard(path: Path, kill_at: int = 0, *, after: bool = False) -> tuple[Counter[str], int]:
    """Return how often each sentence was heard in one session, and the number of writes; -1 if it
    was killed."""
    said, writes = Counter[str](), -1
    with child(rings, path, kill_at, after) as dying:
        for kind, value in dying.rest():
            if kind == "heard":
                said.update(part for part in value.replace("done.", "done.\n").split("\n"))
            else:
                writes = value
        assert dying.ended() == (-signal.SIGKILL if kill_at else 0)
    return said, writes


def recorded(path: Path) -> set[str]:
    """The kinds of entries that were recorded as heard."""
    transcript = Transcript.open(path)
    store = StateStore(transcript, "ada", now=lambda: START)
    kinds = (EntryKind.TIMER, EntryKind.ALARM, EntryKind.REMINDER)
    found = {kind: store.entries(kind) for kind in kinds}
    transcript.close()
    return {
        kind.value
        for kind in kinds
        if not found[kind] or any("rang_at" in each.content for each in found[kind])
    }


SAYS = {"timer": "pasta timer", "alarm": "It's", "reminder": WORDS}


def test_without_a_kill_everything_rings_once(tmp_path: Path) -> None:
    set_up(tmp_path / "t.db")
    said, writes = heard(tmp_path / "t.db")
    text = " ".join(said.elements())
    assert writes >= 3
    assert {kind: text.count(words) for kind, words in SAYS.items()} == dict.fromkeys(SAYS, 1)


@pytest.mark.parametrize("after", [False, True])
def test_a_kill_at_any_write_loses_nothing_and_rings_nothing_again(
    tmp_path: Path, after: bool
) -> None:
    set_up(tmp_path / "undisturbed.db")
    _, writes = heard(tmp_path / "undisturbed.db")
    for at in range(1, writes + 1):
        path = tmp_path / f"{at}.db"
        set_up(path)
        before = " ".join(heard(path, at, after=after)[0].elements())
        known = recorded(path)
        later = " ".join(heard(path)[0].elements())
        for kind, words in SAYS.items():
            assert words in before + later, "nothing is lost"
            if kind in known:
                assert words not in later, "what was recorded as heard doesn't ring again"
            else:
                assert later.count(words) == 1
