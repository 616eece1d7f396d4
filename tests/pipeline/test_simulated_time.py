"""The simulated clock of the other tests in this folder."""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from tests.support import simulated_time

HOUR_S = 3600.0


async def test_the_clock_jumps_to_the_next_event() -> None:
    began, woken = time.monotonic(), list[tuple[str, float]]()

    async def waits(name: str, seconds: float) -> None:
        await asyncio.sleep(seconds)
        woken.append((name, time.monotonic() - began))

    def sleeps(name: str, seconds: float) -> None:
        time.sleep(seconds)
        woken.append((name, time.monotonic() - began))

    await asyncio.gather(
        waits("d", 2 * HOUR_S),
        asyncio.to_thread(sleeps, "c", 1.5 * HOUR_S),
        waits("b", HOUR_S),
        asyncio.to_thread(sleeps, "a", HOUR_S / 2),
    )
    assert [(name, round(at / HOUR_S, 6)) for name, at in woken] == [
        ("a", 0.5),
        ("b", 1),
        ("c", 1.5),
        ("d", 2),
    ]


async def test_the_clock_stands_still_while_a_thread_works() -> None:
    began, may_go_on = time.monotonic(), Event()

    def work() -> float:
        assert not may_go_on.wait(0.05), "waiting for an event is not simulated"
        return time.monotonic()

    timer = asyncio.create_task(asyncio.sleep(0.001))
    assert await asyncio.to_thread(work) == began
    await timer
    assert time.monotonic() == pytest.approx(began + 0.001)


async def test_the_clock_does_not_wait_for_work_behind_a_sleeping_thread() -> None:
    began, loop = time.monotonic(), asyncio.get_running_loop()
    with ThreadPoolExecutor(1) as pool:
        first = loop.run_in_executor(pool, time.sleep, HOUR_S)
        second = loop.run_in_executor(pool, time.monotonic)
        await first
        assert await second == began + HOUR_S


async def test_sleeping_in_the_event_loop_advances_the_clock() -> None:
    began = time.monotonic()
    time.sleep(HOUR_S)
    assert time.monotonic() == began + HOUR_S


async def test_the_clock_does_not_wait_for_cancelled_work() -> None:
    may_go_on = Event()
    with ThreadPoolExecutor(1) as pool:
        pool.submit(may_go_on.wait)
        waiting = pool.submit(time.sleep, HOUR_S)
        pool.shutdown(wait=False, cancel_futures=True)
        may_go_on.set()
    assert waiting.cancelled()
    await asyncio.sleep(HOUR_S)


def test_a_thread_that_waits_forever_raises_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(simulated_time, "STUCK_S", 0.05)
    may_go_on = Event()
    loop = simulated_time.SimulatedLoop()
    with ThreadPoolExecutor(1) as pool:
        pool.submit(may_go_on.wait)
        try:
            with pytest.raises(RuntimeError, match="neither ends nor sleeps"):
                loop.run_until_complete(asyncio.sleep(1))
        finally:
            may_go_on.set()
            loop.close()
