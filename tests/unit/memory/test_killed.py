"""kill -9 under write load: every acknowledged exchange is stored, remembered and recalled."""

import asyncio
import random
import signal
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from assistant.context.conversation import Conversation
from assistant.events import Event
from assistant.memory.store.location import store_location
from assistant.memory.store.maintenance import in_order
from assistant.memory.store.repair import open_store
from assistant.memory.transcript.database import Transcript
from assistant.memory.turn_recall import Archive
from assistant.memory.user_memory import UserMemory
from assistant.paths import Home
from assistant.settings import Settings
from tests.support.children import Say, child
from tests.support.patience import LEISURE_S
from tests.support.user_memory import user_memory


def remembering(home: Home, emit: Callable[[Event], None]) -> UserMemory:
    place = store_location(home, Settings())
    return user_memory(lambda: open_store(place, emit), emit=emit)


async def talk_on(home: Home, say: Say) -> None:
    transcript = Transcript.open(home.transcript)
    memory = remembering(home, lambda _: None)
    say("loading")
    await memory.load(transcript)
    say("loaded")
    archive = Archive(transcript, memory)
    talk = Conversation.begin("ada")
    for turn in range(1, 100_000):
        talk.append_user(turn, f"My parrot number {turn}{talk.id} says hello.", datetime.now(UTC))
        exchange = talk.complete(turn, f"Answer {turn}.")
        await asyncio.to_thread(archive.store, talk, exchange)
        say(exchange.id)
        if turn % 9 == 0:
            await memory.settled()


def talks_on(home: Home, say: Say) -> None:
    asyncio.run(talk_on(home, say))


async def check(home: Home, acknowledged: set[str], last: str | None) -> None:
    """Asserts that everything acknowledged is stored once and can be recalled."""
    events: list[Event] = []
    transcript = Transcript.open(home.transcript)
    memory = remembering(home, events.append)
    await memory.load(transcript)
    ids = [each.id for each in in_order(memory.table, "ada")]
    assert len(ids) == len(set(ids)), "nothing is stored twice"
    assert {f"{key}-user" for key in acknowledged} <= set(ids)
    assert len(memory.index) == len(ids)
    if last is not None:
        [(_, exchange)] = transcript.exchanges("ada", {last})
        found = await memory.recall(exchange.user_text.split()[3] + " parrot", LEISURE_S)
        assert last in {source for each in found.memories for source in each.sources}
    await memory.close()
    transcript.close()
    assert [event for event in events if "damaged" in str(event)] == []


def campaign(home: Home, kills: int) -> None:
    chance = random.Random(11)
    acknowledged: set[str] = set()
    last: str | None = None
    for number in range(kills):
        with child(talks_on, home) as dying:
            assert dying.hear() == "loading"
            if number % 4:  # the others are mostly killed while loading
                assert dying.hear() == "loaded"
            dying.kill_in(chance.uniform(0, 1))
            for said in dying.rest():
                if said != "loaded":
                    last = said
                    acknowledged.add(said)
            assert dying.ended() == -signal.SIGKILL
        asyncio.run(check(home, acknowledged, last))
    assert len(acknowledged) > kills


def test_every_acknowledged_exchange_is_recalled_after_a_kill(home: Home) -> None:
    campaign(home, 2)


@pytest.mark.long
def test_every_acknowledged_exchange_is_recalled_after_two_hundred_kills(home: Home) -> None:
    campaign(home, 200)
