"""A crash in every kind of idle work at every write: nothing is lost, nothing is duplicated.

All kinds that `build_jobs` builds are tested. A new kind needs no change here as long as
`tests/support/idle_home.py` gives it something to do, i.e. an utterance in `TOLD` that it derives
something from (`test_every_kind_of_work_writes_something` fails if there is none). Its model is
`FittingModel`, which answers any schema; if the kind needs answers with particular content, give
that model a case for its schema. Writes outside the transcript's file and the table have to be
counted in `watched` and compared in `IdleHome.state`.
"""

import asyncio
import shutil
import signal
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from assistant.compose.idle import JobResources, build_jobs
from assistant.errors import StoreError
from assistant.idle.jobs.compaction import CompactionJob
from assistant.idle.jobs.embedding import EmbeddingJob
from assistant.idle.jobs.fact_extraction import FactExtractionJob
from tests.support.children import child
from tests.support.fitting_model import FittingModel
from tests.support.idle_home import (
    IdleHome,
    Writes,
    all_on,
    finished,
    idle_home,
    in_child,
    watched,
)


def kinds() -> list[str]:
    """The names of all kinds of idle work."""

    class Anything:
        def __getattr__(self, name: str) -> Any:
            return self

    inside: Any = Anything()
    return [
        work.kind for work in build_jobs(JobResources(all_on(), inside, inside, FittingModel()))
    ]


@dataclass
class Undisturbed:
    """The writes of each kind of work in a run without crashes, and the final state if this kind is
    done before the others."""

    homes: Path
    known: dict[str, dict[str, Any]] = field(default_factory=dict)
    written: dict[str, Writes] = field(default_factory=dict)

    async def writes_of(self, kind: str) -> Writes:
        if kind not in self.written:
            async with idle_home(fresh(self.homes, f"counted-{kind}")) as home:
                writes = self.written[kind] = Writes(0, lambda: None)
                with watched(home, writes):
                    await home.scheduler.run_until_empty(kind)
                    await home.memory.settled()
        return self.written[kind]

    async def by(self, kind: str) -> dict[str, Any]:
        if kind not in self.known:
            async with idle_home(fresh(self.homes, f"done-{kind}")) as home:
                await attempted(home, kind)
                await home.until_empty()
                self.known[kind] = await home.state()
        return self.known[kind]


@pytest.fixture(scope="module")
def undisturbed(homes: Path) -> Undisturbed:
    return Undisturbed(homes)


def fresh(homes: Path, name: str) -> Path:
    return Path(shutil.copytree(homes / "fresh", homes / name))


@pytest.mark.parametrize("kind", kinds())
async def test_every_kind_of_work_writes_something(undisturbed: Undisturbed, kind: str) -> None:
    writes = await undisturbed.writes_of(kind)
    assert {"COMMIT", "INSERT"} <= set(writes.kinds)
    if kind == EmbeddingJob.kind:
        assert "table written" in writes.kinds
    elif kind != CompactionJob.kind:  # compaction only reorders the index in RAM
        assert writes.kinds.count("INSERT") > 1


async def crashed(homes: Path, kind: str, moments: list[int], state: dict[str, Any]) -> None:
    """Let the work fail at these writes by an exception, after which the process continues, and
    compare the final state."""
    for moment in moments:
        folder = fresh(homes, f"{kind}-{moment}")

        def fail() -> None:
            raise StoreError("There is no more room on the disk.")

        async with idle_home(folder) as home:
            with watched(home, Writes(moment, fail)):
                await attempted(home, kind)
            await home.until_empty()
            assert await home.state() == state, f"{kind}, failed at write {moment}"
        shutil.rmtree(folder)


async def attempted(home: IdleHome, kind: str) -> None:
    try:
        await home.scheduler.run_until_empty(kind)
    except StoreError:
        await asyncio.sleep(0)
    await home.memory.settled()


def killed(homes: Path, kind: str, moments: list[int], state: dict[str, Any]) -> None:
    for moment in moments:
        folder = fresh(homes, f"{kind}-killed-{moment}")
        with child(in_child, folder, moment, kind) as dying:
            assert dying.ended() == -signal.SIGKILL, f"{kind}, write {moment}"
        assert asyncio.run(finished(folder)) == state, f"{kind}, killed at write {moment}"
        shutil.rmtree(folder)


@pytest.mark.parametrize("kind", kinds())
async def test_work_that_fails_at_a_write_is_repeated(
    homes: Path, undisturbed: Undisturbed, kind: str
) -> None:
    """At the middle one of its writes; the long test takes them all."""
    count = (await undisturbed.writes_of(kind)).count
    await crashed(homes, kind, [max(1, count // 2)], await undisturbed.by(kind))


@pytest.mark.parametrize("kind", kinds())
def test_work_killed_at_a_write_is_repeated(
    homes: Path, undisturbed: Undisturbed, kind: str
) -> None:
    """At the last of its writes."""
    count = asyncio.run(undisturbed.writes_of(kind)).count
    killed(homes, kind, [count], asyncio.run(undisturbed.by(kind)))


@pytest.mark.long
@pytest.mark.parametrize("kind", kinds())
def test_work_that_fails_or_is_killed_at_any_write_is_repeated(
    homes: Path, undisturbed: Undisturbed, kind: str
) -> None:
    count = asyncio.run(undisturbed.writes_of(kind)).count
    every, state = list(range(1, count + 1)), asyncio.run(undisturbed.by(kind))
    asyncio.run(crashed(homes, kind, every, state))
    killed(homes, kind, every, state)


async def test_the_test_home_gives_idle_work_something_to_do(undisturbed: Undisturbed) -> None:
    state = await undisturbed.by(FactExtractionJob.kind)
    assert state["waiting"] == []
    texts = [text for kind, _, text, _ in state["memories"] if kind != "exchange"]
    assert texts.count("The user's dog is called Maximilian.") == 1
    assert len(texts) >= 4
    assert {kind for kind, *_ in state["derived"]} >= {FactExtractionJob.kind}
