"""Recall by two encoders of which the stronger one is known to be too slow."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from assistant.memory.retrieval.encoding import QueryEncoder
from assistant.memory.user_memory import UserMemory
from tests.support.encoders import WAIT_S
from tests.unit.test_long_term import LEISURE_S
from tests.unit.test_two_encoders import ANIMAL, Home, strengthened, tell


class Gate:
    """Passed before each encoding."""

    def __init__(self) -> None:
        self.entered, self.may_go_on = threading.Event(), threading.Event()

    def __call__(self) -> None:
        self.entered.set()
        assert self.may_go_on.wait(2 * LEISURE_S)


@asynccontextmanager
async def slow(home: Home) -> AsyncIterator[tuple[UserMemory, QueryEncoder]]:
    """The stronger encoder is known to take a thousand seconds for a question."""
    moments = iter(range(0, 10**9, 1_000))
    stronger = QueryEncoder(home.strong, clock=lambda: next(moments))
    async with home.memory(QueryEncoder(home.quick, stronger=stronger)) as memory:
        await tell(memory, ANIMAL)
        await strengthened(memory)
        first = await memory.recall("Max", LEISURE_S)
        assert not first.stand_in, "nothing is known of its speed"
        yield memory, stronger


async def test_nobody_waits_for_one_that_is_known_to_be_too_slow(tmp_path: Path) -> None:
    home, gate = Home(tmp_path), Gate()
    async with slow(home) as (memory, stronger):
        home.strong.gate = gate
        async with asyncio.timeout(LEISURE_S / 2):
            assert (await memory.recall("Max the dog", LEISURE_S)).stand_in
        assert not gate.entered.is_set(), "it takes nothing of the processor meanwhile"
        gate.may_go_on.set()
        async with asyncio.timeout(WAIT_S):
            while "Max the dog" not in stronger.texts():
                await asyncio.sleep(0.001)
        assert not (await memory.recall("Max the dog", LEISURE_S)).stand_in, "it is known by now"


async def test_what_is_too_slow_is_not_begun_for_words_that_were_given_up(tmp_path: Path) -> None:
    home = Home(tmp_path)
    async with slow(home) as (memory, stronger):
        ways: tuple[Callable[[], None], ...] = (
            lambda: memory.asking.over(None),
            lambda: memory.asking.over("Max the cat"),
            memory.forget_questions,
        )
        for give_up in ways:
            assert (await memory.recall("Max the dog", LEISURE_S)).stand_in
            give_up()
            await asyncio.sleep(0)
        assert (await memory.recall("Max the dog", LEISURE_S)).stand_in
        memory.asking.over("Max the dog")
        await asyncio.sleep(0)
        async with asyncio.timeout(WAIT_S):
            while "Max the dog" not in stronger.texts():
                await asyncio.sleep(0.001)
    assert home.strong.encoded.count("Max the dog") == 1


async def test_what_is_under_way_is_taken_if_it_is_there_by_then(tmp_path: Path) -> None:
    home, gate = Home(tmp_path), Gate()
    async with slow(home) as (_, stronger):
        home.strong.gate = gate
        stronger.ahead("Max the dog")
        assert await asyncio.to_thread(gate.entered.wait, WAIT_S)
        stronger.ahead("Max the cat")
        under_way = stronger.under_way("Max the cat")
        assert under_way is None, "it waits for its turn, and is begun no more"
        stronger.ahead("Max the dog")
        gate.may_go_on.set()
        async with asyncio.timeout(WAIT_S):
            while "Max the dog" not in stronger.texts():
                await asyncio.sleep(0.001)
        found = stronger.under_way("Max the dog")
        assert found is not None
        assert found.result().shape == (home.strong.dimensions,)
    assert "Max the cat" not in home.strong.encoded
