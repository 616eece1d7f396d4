"""Interrupts a real model's idle work at random moments, and measures when the work really
stops."""

import asyncio
import os
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any

from assistant.compose.engines import build_background_model
from assistant.compose.idle import JobResources, build_jobs
from assistant.compose.memory import profile_encoder
from assistant.events import Event, Phase, SpeechIgnored, UserSensed
from assistant.idle.activity import ActivityMonitor
from assistant.idle.load_policy import LoadPolicy
from assistant.idle.scheduler import Scheduler
from assistant.memory import open_memory
from assistant.memory.transcript.database import Transcript
from assistant.memory.transcript.job_queue import JobQueue
from assistant.memory.user_memory import UserMemory
from assistant.paths import Home
from models.llm.llama import LlamaCpp
from scripts.bench.idle_pending import settings_of
from scripts.common.statistics import summary

LOOK_S = 0.002
RISES = 0.2
"""Share of a core that must be used between two checks to count as work; timers use less."""
CALM_S = 0.15
"""Once the processor time has not risen for this long, the work has stopped."""
LONGEST_WORK_S = 1.5
"""Maximum time from the start of a batch until the simulated user begins to speak."""
PATIENCE_S = 120.0
ALLOWED_MS = 50.0


@dataclass(frozen=True, slots=True)
class Yield:
    """One interruption. `stopped_s` is the scheduler's own figure. `silent_s` is the time until no
    thread of the worker or of the assistant used the processor any more. `worker_s` is the
    processor time that the worker used after the interruption."""

    kind: str
    after_s: float
    stopped_s: float
    silent_s: float
    worker_s: float

    def told(self) -> dict[str, Any]:
        """The interruption as a row for a file."""
        return {
            "kind": self.kind,
            "after_s": round(self.after_s, 3),
            "stopped_ms": round(1000 * self.stopped_s, 1),
            "silent_ms": round(1000 * self.silent_s, 1),
            "worker_ms": round(1000 * self.worker_s, 1),
        }


class Watch(threading.Thread):
    """Checks the processor time of the worker and of this process until it stops rising. The checks
    themselves use hardly any. Linux only."""

    def __init__(self, worker: int) -> None:
        super().__init__(daemon=True)
        self._worker = worker
        self._began = time.monotonic()
        self.last_rise = 0.0
        """When the processor time last rose, in seconds after the beginning."""
        self.used = 0.0
        """Processor time, in seconds, that the worker has used since the beginning."""

    def run(self) -> None:
        first = cpu_seconds(self._worker)
        before, looked = first + others_cpu_seconds(), time.monotonic()
        while time.monotonic() - self._began < self.last_rise + CALM_S:
            time.sleep(LOOK_S)
            worker, now = cpu_seconds(self._worker), time.monotonic()
            total = worker + others_cpu_seconds()
            if total - before > RISES * (now - looked):
                self.last_rise = now - self._began
            before, looked = total, now
            self.used = worker - first


def cpu_seconds(process: int) -> float:
    """Processor time of all the process's threads, to the nanosecond: each process has its own
    clock, whose number Linux derives from the process id."""
    return time.clock_gettime(~process << 3 | 2)


def others_cpu_seconds() -> float:
    """Processor time of all threads of this process except the caller's."""
    return time.process_time() - time.thread_time()


@dataclass
class Working:
    """Idle work that always has something to do."""

    scheduler: Scheduler
    quiet: ActivityMonitor
    llm: LlamaCpp
    transcript: Transcript
    memory: UserMemory

    async def begun(self) -> str:
        """Wait until idle work has begun a batch, and return its kind."""
        await self._until(lambda: self.scheduler.running is not None)
        return self.scheduler.running or ""

    async def interrupted(self, chance: Random) -> Yield:
        """Simulate a user who begins to speak at a random moment of a batch, and falls silent when
        idle work has stopped."""
        while True:
            kind, began = await self.begun(), time.monotonic()
            await asyncio.sleep(chance.uniform(0, LONGEST_WORK_S))
            if self.scheduler.running is not None:
                break
        count, after = len(self.scheduler.yields), time.monotonic() - began
        watch = Watch(self.llm.worker_pid or os.getpid())
        watch.start()
        self.quiet.watch(UserSensed())
        await self._until(lambda: self.scheduler.running is None)
        await asyncio.to_thread(watch.join)
        stopped = self.scheduler.yields[-1] if len(self.scheduler.yields) > count else 0.0
        self.quiet.watch(SpeechIgnored("noise"))
        return Yield(kind, after, stopped, watch.last_rise, watch.used)

    async def _until(self, true: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not true():
            if time.monotonic() > deadline:
                raise TimeoutError("idle work neither begins nor stops")
            await asyncio.sleep(LOOK_S)


@asynccontextmanager
async def working(
    home: Home, profile: str, emit: Callable[[Event], None]
) -> AsyncIterator[Working]:
    """Do idle work in a home during the block: the profile's language model judges facts.

    Raises:
        AssistantError: something is missing or broken.
    """
    settings = settings_of(profile, pending=True)
    async with AsyncExitStack() as stack:
        encoder = partial(profile_encoder, settings)
        opened = open_memory(home, settings, None, encoder, print)
        stack.push_async_callback(asyncio.to_thread, opened.close)
        transcript, user = opened.transcript, settings.general.user
        memory = await asyncio.to_thread(opened.user, user)
        llm = build_background_model(home, settings, lambda _: None)
        assert isinstance(llm, LlamaCpp)
        stack.push_async_callback(llm.close)
        await llm.load()
        quiet = ActivityMonitor(Phase.LISTENING)
        memory.give_way(lambda: not quiet.now)
        scheduler = Scheduler(
            build_jobs(JobResources(settings, transcript, memory, llm)),
            JobQueue(transcript, user),
            quiet,
            LoadPolicy(settings.idle),
            settings.idle,
            emit,
        )
        stack.push_async_callback(scheduler.close)
        running = asyncio.create_task(scheduler.run())
        stack.callback(running.cancel)
        yield Working(scheduler, quiet, llm, transcript, memory)


async def measured(
    home: Home, profile: str, times: int, seed: int, keep: Callable[[dict[str, Any]], None]
) -> list[Yield]:
    """Interrupt idle work `times` times, after a first interruption that is not counted because the
    model's cache is still empty then."""
    chance, found = Random(seed), list[Yield]()
    async with working(home, profile, lambda _: None) as idle:
        await idle.interrupted(chance)
        for number in range(1, times + 1):
            found.append(await idle.interrupted(chance))
            row = found[-1].told()
            print(f"{number:4}/{times}  {row}", file=sys.stderr, flush=True)
            keep(row)
    return found


def figures(found: Sequence[Yield]) -> dict[str, Any]:
    def of(seconds: Sequence[float]) -> dict[str, float]:
        return summary([1000 * each for each in seconds], (50, 90, 99), 1)

    return {
        "stopped_ms": of([each.stopped_s for each in found]),
        "silent_ms": of([each.silent_s for each in found]),
        "worker_cpu_ms": of([each.worker_s for each in found]),
        "times": len(found),
        "later_than_allowed": sum(1000 * each.silent_s > ALLOWED_MS for each in found),
        "allowed_ms": ALLOWED_MS,
    }
