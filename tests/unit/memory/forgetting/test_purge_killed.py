"""If a purge is killed at any moment, the next session finishes it before it reads anything."""

import asyncio
import random
import shutil
import signal
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import pytest

from assistant.context.conversation import Summary
from assistant.language.speakers import USER
from assistant.memory.admin import MemoryAdmin
from assistant.memory.forgetting import receipts
from assistant.memory.forgetting.audit import audit
from assistant.memory.records.memory import Memory, MemoryKind, new_id
from tests.support.children import Say, child
from tests.support.desks import forget_now
from tests.support.forgetting import START, Bench, bench, kept
from tests.support.patience import LEISURE_S
from tests.support.remains import found, marked, vectors_of

GRACE_S = 61
LATER = START + timedelta(hours=1)
GOING = (
    "My dog is called Max and barks at every postman.",
    "I was born under a leaking roof in Trondheim.",
    "The spare key lies beneath the blue flower pot.",
)
STAYING = (
    "My cat is called Kim and sleeps in the sink.",
    "On Fridays I play the cello with three dentists.",
    "Grandmother swam across the lake at eighty.",
)
DERIVED = "Somebody of Norwegian descent owns a noisy animal."
SUMMARY = "They spoke of a dog, of a roof and of dentists."
Session = Callable[[Path, Say], Coroutine[None, None, None]]
Look = Callable[[Path, dict[str, str], list[bytes]], Coroutine[None, None, None]]


# -- killed sessions ----------------------------------------------------------------------------


async def tell(here: Bench) -> dict[str, str]:
    """Tell all texts, and store a fact derived from two of them, a summary, and a neighbour that
    quotes. Returns the exchanges' ids by text."""
    told = {}
    for going, staying in zip(GOING, STAYING, strict=True):
        told[going], told[staying] = here.tell(going).id, here.tell(staying).id
    await here.memory.settled()
    sources = (told[GOING[0]], told[GOING[1]])
    fact = Memory(new_id(), "ada", MemoryKind.FACT, DERIVED, START, sources=sources)
    await asyncio.to_thread(here.memory.put, [fact])
    neighbour = f"{told[STAYING[2]]}-{USER}"
    await asyncio.to_thread(
        here.memory.change, [neighbour], lambda old: replace(old, context=f"After: {GOING[2]}")
    )
    summary = Summary(new_id(), SUMMARY, tuple(told.values()), START)
    here.transcript.store_summary(here.window.talk, summary)
    return told


async def forget(here: Bench, told: dict[str, str]) -> None:
    """Forget in two requests, each of which is purged separately."""
    await here.forgetting.hide([told[GOING[0]], told[GOING[1]]], ())
    await here.forgetting.hide([told[GOING[2]]], ())
    here.pass_time(GRACE_S)


async def purge(folder: Path, say: Say) -> None:
    """A session that tells, forgets and purges."""
    async with bench(folder) as here:
        told = await tell(here)
        await forget(here, told)
        say(told)
        await here.forgetting.purge_due()
        say({})
        await asyncio.Event().wait()


async def remove(folder: Path, say: Say) -> None:
    """A session that tells, and deletes without grace time, as the command line does."""
    async with bench(folder) as here:
        told = await tell(here)
        memory, transcript = here.memory, here.transcript
        desk = MemoryAdmin("ada", memory.table, lambda: transcript, lambda: memory, memory=memory)
        say(told)
        await asyncio.to_thread(forget_now, desk, [f"{told[text]}-{USER}" for text in GOING])
        say({})
        await asyncio.Event().wait()


async def start(folder: Path, say: Say) -> None:
    """The next session, which first of all purges due requests."""
    say({})
    async with bench(folder, at=LATER):
        say({})
        await asyncio.Event().wait()


def live(session: Session, folder: Path, say: Say) -> None:
    asyncio.run(session(folder, say))


# -- killing ------------------------------------------------------------------------------------


def killed(session: Session, folder: Path, after_s: float) -> tuple[dict[str, str], float | None]:
    """Kill the session after `after_s`. Returns the exchanges' ids, and the seconds that its work
    took if it was done before."""
    with child(live, session, folder) as dying:
        told, began = dying.hear(), time.monotonic()
        lasted = time.monotonic() - began if dying.hears(after_s) else None
        dying.kill_in(0)
        assert dying.ended() == -signal.SIGKILL
    return told, lasted


@dataclass
class Lasting:
    """Measures how long the work takes if it is not interrupted, as a running average."""

    seconds: float | None = None

    def kill(self, session: Session, folder: Path, part: float) -> tuple[dict[str, str], bool]:
        """Kill the session at this part of the work. Returns the exchanges' ids, and whether the
        work was interrupted."""
        after_s = LEISURE_S if self.seconds is None else part * self.seconds
        told, lasted = killed(session, folder, after_s)
        if lasted is not None:
            self.seconds = lasted if self.seconds is None else (self.seconds + lasted) / 2
        return told, lasted is None


async def vectors_told(folder: Path) -> list[bytes]:
    """The vectors of the texts that are to be forgotten."""
    async with bench(folder) as here:
        await tell(here)
    vectors = vectors_of(folder, {*GOING, DERIVED})
    assert len(vectors) == len(GOING) + 1
    return vectors


async def check(folder: Path, told: dict[str, str], vectors: list[bytes]) -> None:
    """Assert that all forgotten texts are deleted and that everything else is complete."""
    async with bench(folder, at=LATER) as here:
        assert here.forgetting.hidden == ()
        assert here.transcript.hidden("ada") == []
        assert marked(folder) == {told[text] for text in GOING}
        for text in (*GOING, DERIVED, *STAYING):
            assert await here.recalled(text) <= set(STAYING)
        for text in STAYING:
            assert text in await here.recalled(text)
        verified = await asyncio.to_thread(audit, here.memory.table, here.transcript)
        assert verified.layout.clean
        assert verified.found == ()
        assert not here.memory.table.forgotten.unfinished
        assert (verified.pages.free, verified.unknown) == (0, ())
        # Each remaining text has its answer, and each memory its vector.
        assert len(here.memory.index) == 2 * len(STAYING)
        assert here.memory.index.without_vectors(1) == ([], [])
    assert kept(folder) == (set(STAYING), set(STAYING))
    assert all(each["clean"] for each in receipts.read(folder))
    assert found(folder, {*GOING, DERIVED, SUMMARY}, vectors) == []


async def check_removed(folder: Path, told: dict[str, str], vectors: list[bytes]) -> None:
    """Assert that either nothing or everything was deleted."""
    async with bench(folder, at=LATER):
        """This start finishes a deletion that was begun."""
    said, remembered = kept(folder)
    if said == {*GOING, *STAYING}:
        assert {*GOING, DERIVED, *STAYING} >= remembered >= said
    else:
        await check(folder, told, vectors)


def campaign(folder: Path, kills: int, session: Session, look: Look) -> None:
    """Kill one session per home, at moments spread over the whole purge; every fourth time, the
    next start is killed too. The first of each is killed when it is done, to measure its length."""
    chance = random.Random(5)
    purging, starting, in_time = Lasting(), Lasting(), 0
    (folder / "told").mkdir(parents=True)
    vectors = asyncio.run(vectors_told(folder / "told"))
    for number in range(1 + kills):
        home = folder / f"home-{number}"
        home.mkdir()
        told, early = purging.kill(session, home, (number - chance.random()) / kills)
        in_time += early
        if number % 4 == 1:
            starting.kill(start, home, chance.random())
        asyncio.run(look(home, told, vectors))
        shutil.rmtree(home)
    assert in_time >= kills // 2, "most sessions must be killed while they purge"


@pytest.mark.parametrize(
    ("kills", "session", "look"),
    [
        (2, purge, check),
        (2, remove, check_removed),
        pytest.param(100, purge, check, marks=pytest.mark.long),
        pytest.param(50, remove, check_removed, marks=pytest.mark.long),
    ],
    ids=["purge", "removal", "purge-long", "removal-long"],
)
def test_the_next_start_finishes_a_killed_deletion_if_it_was_begun(
    tmp_path: Path, kills: int, session: Session, look: Look
) -> None:
    campaign(tmp_path / "homes", kills, session, look)
