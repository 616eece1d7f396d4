"""kill -9 under write load: what was acknowledged is kept, remembered and recalled."""

import asyncio
import random
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from assistant.events import Event
from assistant.language.stemming import TextAnalyzer
from assistant.memory.retrieval.encoding import QueryEncoder
from assistant.memory.retrieval.ranking import Ranking
from assistant.memory.store.location import store_location
from assistant.memory.store.maintenance import in_order
from assistant.memory.store.repair import open_store
from assistant.memory.transcript.database import Transcript
from assistant.memory.user_memory import UserMemory
from assistant.paths import Home
from assistant.settings import Settings
from tests.support.encoders import HashingEncoder

ROOT = Path(__file__).resolve().parents[2]
LEISURE_S = 60.0

WRITER = """
import asyncio
import sys
from datetime import UTC, datetime
from pathlib import Path
from assistant.context.conversation import Conversation
from assistant.memory.turn_recall import Archive
from assistant.memory.transcript.database import Transcript
from assistant.paths import Home
from tests.unit.test_memory_killed import remembering

async def talk(home):
    transcript = Transcript.open(home.transcript)
    memory = remembering(home, lambda event: None)
    print("loading", flush=True)
    await memory.load(transcript)
    print("loaded", flush=True)
    archive = Archive(transcript, memory)
    talk = Conversation.begin("ada")
    for turn in range(1, 100_000):
        talk.append_user(turn, f"My parrot number {turn}{talk.id} says hello.", datetime.now(UTC))
        exchange = talk.complete(turn, f"Answer {turn}.")
        await asyncio.to_thread(archive.store, talk, exchange)
        print(exchange.id, flush=True)
        if turn % 9 == 0:
            await memory.settled()

asyncio.run(talk(Home(Path(sys.argv[1]))))
"""


def remembering(home: Home, emit: Callable[[Event], None]) -> UserMemory:
    place = store_location(home, Settings())
    return UserMemory(
        "ada",
        lambda: open_store(place, emit),
        QueryEncoder(HashingEncoder()),
        TextAnalyzer("en"),
        Ranking(),
        emit,
    )


async def check(home: Home, acknowledged: set[str], last: str | None) -> None:
    """All is there, once, with recall over it."""
    told: list[Event] = []
    transcript = Transcript.open(home.transcript)
    memory = remembering(home, told.append)
    await memory.load(transcript)
    kept = [each.id for each in in_order(memory.table, "ada")]
    assert len(kept) == len(set(kept)), "nothing is there twice"
    assert {f"{key}-user" for key in acknowledged} <= set(kept)
    assert len(memory.index) == len(kept)
    if last is not None:
        [(_, exchange)] = transcript.exchanges("ada", {last})
        found = await memory.recall(exchange.user_text.split()[3] + " parrot", LEISURE_S)
        assert last in {source for each in found.memories for source in each.sources}
    await memory.close()
    transcript.close()
    assert [event for event in told if "damaged" in str(event)] == []


def campaign(home: Home, kills: int) -> None:
    chance = random.Random(11)
    acknowledged: set[str] = set()
    last: str | None = None
    for number in range(kills):
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, str(home.root)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        ) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == "loading\n"
            if number % 4:  # the others are killed while they load, mostly
                assert child.stdout.readline() == "loaded\n"
            timer = threading.Timer(chance.uniform(0, 1), child.kill)
            timer.start()
            for line in child.stdout:
                if line.endswith("\n") and line != "loaded\n":
                    last = line.strip()
                    acknowledged.add(last)
        assert child.returncode == -9
        asyncio.run(check(home, acknowledged, last))
    assert len(acknowledged) > kills


def test_what_was_acknowledged_is_recalled_after_a_kill(home: Home) -> None:
    campaign(home, 2)


@pytest.mark.long
def test_what_was_acknowledged_is_recalled_after_two_hundred_kills(home: Home) -> None:
    campaign(home, 200)
