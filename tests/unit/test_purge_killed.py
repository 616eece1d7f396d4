"""kill -9 at any moment of a purge: the next session finishes it before it reads anything."""

import asyncio
import json
import random
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import lancedb  # noqa: F401  a purge is not to begin with a second of importing it
import pytest

from assistant.context.conversation import Conversation, Summary
from assistant.memory import receipts
from assistant.memory.record import USER, Kind, Memory, new_id
from assistant.memory.verifying import verify
from tests.support.forgetting import START, Bench, bench, kept
from tests.support.remains import found, vectors_of

ROOT = Path(__file__).resolve().parents[2]
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
CHILD = (
    "import asyncio, sys; from pathlib import Path; from tests.unit import test_purge_killed as here;"
    "asyncio.run(getattr(here, sys.argv[1])(Path(sys.argv[2])))"
)


# -- what is killed -----------------------------------------------------------------------------


async def tell(here: Bench) -> dict[str, str]:
    """By text the exchanges; a fact derived of two, a summary, and a neighbour that quotes."""
    told = {}
    for going, staying in zip(GOING, STAYING, strict=True):
        told[going], told[staying] = here.tell(going).id, here.tell(staying).id
    await here.memory.settled()
    sources = (told[GOING[0]], told[GOING[1]])
    fact = Memory(new_id(), "ada", Kind.FACT, DERIVED, START, sources=sources)
    await asyncio.to_thread(here.memory.put, [fact])
    neighbour = f"{told[STAYING[2]]}-{USER}"
    await asyncio.to_thread(
        here.memory.change, [neighbour], lambda old: replace(old, context=f"After: {GOING[2]}")
    )
    summary = Summary(new_id(), SUMMARY, tuple(told.values()), START)
    here.transcript.store_summary(here.window.talk, summary)
    return told


async def forget(here: Bench, told: dict[str, str]) -> None:
    """In two steps, each of which is purged by itself."""
    await here.forgetting.forget([told[GOING[0]], told[GOING[1]]], ())
    await here.forgetting.forget([told[GOING[2]]], ())
    here.pass_time(GRACE_S)


async def purge(folder: Path) -> None:
    """A session that tells, forgets and purges."""
    async with bench(folder, Conversation.begin("ada")) as here:
        told = await tell(here)
        await forget(here, told)
        print(json.dumps(told), flush=True)
        await here.forgetting.purge_due()
        print("purged", flush=True)
        await asyncio.Event().wait()


async def start(folder: Path) -> None:
    """The next session, which purges what is due first of all."""
    print("{}", flush=True)
    async with bench(folder, Conversation.begin("ada"), LATER):
        print("purged", flush=True)
        await asyncio.Event().wait()


# -- killing it ---------------------------------------------------------------------------------


def killed(what: Callable[..., object], folder: Path, after_s: float) -> tuple[dict[str, str], bool]:
    """What was told, and whether it was killed before it was done."""
    with subprocess.Popen(
        [sys.executable, "-c", CHILD, what.__name__, str(folder)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout is not None
        told = json.loads(child.stdout.readline())
        timer = threading.Timer(after_s, child.kill)
        timer.start()
        rest = child.stdout.read()
    assert child.returncode == -9
    return told, "purged" not in rest


@dataclass
class Lasting:
    """Seconds of a purge and of a start with one, and what is to be gone in bytes."""

    purge_s: float
    start_s: float
    vectors: list[bytes]


async def measured(folder: Path) -> Lasting:
    """Of what is never interrupted."""
    async with bench(folder, Conversation.begin("ada")) as here:
        told = await tell(here)
    vectors = vectors_of(folder, {*GOING, DERIVED})
    assert len(vectors) == len(GOING) + 1
    async with bench(folder, Conversation.begin("ada")) as here:
        await forget(here, told)
        shutil.copytree(folder, folder.with_name("copy"))
        began = time.monotonic()
        await here.forgetting.purge_due()
        purge_s = time.monotonic() - began
    began = time.monotonic()
    async with bench(folder.with_name("copy"), Conversation.begin("ada"), LATER):
        return Lasting(purge_s, time.monotonic() - began, vectors)


async def check(folder: Path, told: dict[str, str], vectors: list[bytes]) -> None:
    """All that was to go is gone, all else is whole."""
    async with bench(folder, Conversation.begin("ada"), LATER) as here:
        assert here.forgetting.hidden == ()
        assert here.transcript.hidden("ada") == []
        assert here.transcript.forgotten("ada") == {told[text] for text in GOING}
        for text in (*GOING, DERIVED, *STAYING):
            assert await here.recalled(text) <= set(STAYING)
        for text in STAYING:
            assert text in await here.recalled(text)
        verified = await asyncio.to_thread(verify, here.memory.table, here.transcript)
        assert verified.layout.clean
        assert verified.found == ()
        assert (verified.pages.free, verified.unknown) == (0, ())
        # Each with its answer, and each with its vector.
        assert len(here.memory.index) == 2 * len(STAYING)
        assert here.memory.index.without_vectors(1) == ([], [])
    assert kept(folder) == (set(STAYING), set(STAYING))
    assert all(each["clean"] for each in receipts.read(folder))
    assert found(folder, {*GOING, DERIVED, SUMMARY}, vectors) == []


def campaign(folder: Path, kills: int) -> None:
    """One home each: the moments are spread over the whole purge, and a little beyond. Every fourth
    time the next start is killed too."""
    chance = random.Random(5)
    (folder / "first").mkdir(parents=True)
    lasting = asyncio.run(measured(folder / "first"))
    in_time = 0
    for number in range(kills):
        home = folder / f"home-{number}"
        home.mkdir()
        part = 1.05 * (number + chance.random()) / kills
        told, early = killed(purge, home, part * lasting.purge_s)
        in_time += early
        if number % 4 == 1:
            killed(start, home, chance.random() * lasting.start_s)
        asyncio.run(check(home, told, lasting.vectors))
        shutil.rmtree(home)
    assert in_time > kills // 2, "most are killed while they purge"


def test_a_purge_that_is_killed_is_finished_by_the_next_start(tmp_path: Path) -> None:
    campaign(tmp_path / "homes", 5)


@pytest.mark.long
def test_a_purge_that_is_killed_a_hundred_times_is_finished_each_time(tmp_path: Path) -> None:
    campaign(tmp_path / "homes", 100)
