"""The assistant's own process, as the screen sees it: its events, its commands and its end."""

import asyncio
import json
import os
import sys
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path

import psutil
import pytest

from assistant.compose import SessionPlan
from assistant.encryption.home_lock import HomeLock
from assistant.encryption.keys import MasterKey
from assistant.encryption.vault import Vault
from assistant.errors import AssistantError
from assistant.events import (
    Event,
    MicrophoneLevel,
    Notice,
    Phase,
    PhaseChanged,
    RecordChanged,
    SessionEnded,
    TurnEnded,
    UserSensed,
)
from assistant.paths import Home
from assistant.settings import Settings
from tests.support.patience import PATIENCE_S
from ui.session import assistant_process
from ui.session.assistant_process import AssistantProcess
from ui.session.assistant_worker import EventWriter

MANY = 2000
TYPED = SessionPlan(typed=True, speak=False)
LIGHT = Settings.model_validate(
    {
        "general": {"profile": "tiny"},
        "memory": {"enabled": False},
        "llm": {"max_answer_tokens": 4, "temperature": 0},
    }
)


class Screen:
    """Stands in for a screen: collects the events and errors that one would get."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.errors: list[AssistantError] = []
        self._changed = asyncio.Event()

    def hear(self, event: Event, at: datetime) -> None:
        assert at.tzinfo is not None
        self.events.append(event)
        self._changed.set()

    def ended(self, error: AssistantError | None) -> None:
        assert error is not None
        self.errors.append(error)
        self._changed.set()

    def of(self, kind: type[Event]) -> list[Event]:
        return [event for event in self.events if isinstance(event, kind)]

    async def until(self, there: Callable[[], object]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not there():
                self._changed.clear()
                await self._changed.wait()

    def listens(self) -> bool:
        return PhaseChanged(Phase.LISTENING) in self.events


@asynccontextmanager
async def hosted(
    home: Home, key: MasterKey | None = None, *, alone: bool = False
) -> AsyncIterator[tuple[AssistantProcess, Screen]]:
    screen = Screen()
    vault = Vault(key, HomeLock(home, alone=alone))

    async def unlock() -> Vault:
        return vault

    assistant = AssistantProcess(home, LIGHT, unlock, TYPED)
    await assistant.start(screen.hear, screen.ended)
    try:
        yield assistant, screen
    finally:
        await assistant.close()
        vault.close()


def below() -> list[psutil.Process]:
    """The assistant's processes that this process has started."""
    return [
        process
        for process in psutil.Process().children(recursive=True)
        if any(
            name in " ".join(process.cmdline())
            for name in ("ui.session.assistant_worker", "llama_worker")
        )
    ]


async def begun() -> psutil.Process:
    """Wait for the assistant's process to start; returns it."""
    async with asyncio.timeout(PATIENCE_S):
        while not (found := below()):
            await asyncio.sleep(0.01)
    return found[0]


def end(processes: list[psutil.Process]) -> list[psutil.Process]:
    """Wait for these to end by themselves; returns those that don't."""
    return psutil.wait_procs(processes, timeout=PATIENCE_S)[1]


@pytest.mark.real
async def test_the_process_reports_events_obeys_and_leaves_nothing_running(home: Home) -> None:
    key = MasterKey.new()
    async with hosted(home, key=key) as (assistant, screen):
        await screen.until(screen.listens)
        for command in ("off-record", "on-record", "mute"):
            assistant.do(command)
        await screen.until(lambda: PhaseChanged(Phase.MUTED) in screen.events)
        assert screen.of(RecordChanged) == [RecordChanged(True), RecordChanged(False)]
        assistant.do("unmute")
        assistant.say("What is the capital of France?")
        await screen.until(lambda: screen.of(TurnEnded))
        [turn] = screen.of(TurnEnded)
        assert isinstance(turn, TurnEnded)
        assert turn.user == "What is the capital of France?"

        running = below()
        assert len(running) == 2
        for process in running:
            shown = [*process.cmdline(), *process.environ().values()]
            assert not any(key.secret.hex() in text for text in shown)

        await assistant.close()
        assert screen.of(SessionEnded) == [SessionEnded(1)]
        assert end(running) == []
        await assistant.close()
        assistant.do("mute")
    assert screen.errors == []


async def stay(root: str, listening: bool) -> None:
    """A screen that prints when to kill it. With `listening`, it waits until the assistant listens,
    then sends many commands and reads no more."""
    async with hosted(Home(Path(root))) as (assistant, screen):
        if listening:
            await screen.until(screen.listens)
            for _ in range(MANY // 2):  # these fit into the pipe, but not the events in reply
                assistant.do("off-record")
                assistant.do("on-record")
            assistant.say("Hello.")
        os.write(1, b"now\n")
        threading.Event().wait()


@asynccontextmanager
async def a_screen_to_kill(home: Home, *, listening: bool) -> AsyncIterator[list[psutil.Process]]:
    """Yields the assistant's processes; the screen is killed at the end of the block."""
    code = f"import asyncio, {__name__} as t; asyncio.run(t.stay({str(home.root)!r}, {listening}))"
    screen = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, stdout=asyncio.subprocess.PIPE
    )
    assert screen.stdout is not None
    try:
        assert await screen.stdout.readline() == b"now\n"
        yield psutil.Process(screen.pid).children(recursive=True)
    finally:
        screen.kill()
        await screen.wait()


async def test_the_process_ends_if_the_screen_is_killed_before_opening(home: Home) -> None:
    async with a_screen_to_kill(home, listening=False) as started:
        assert len(started) == 1
    assert end(started) == []


@pytest.mark.real
async def test_a_screen_that_stops_reading_delays_nothing_and_once_killed_leaves_nothing_running(
    home: Home,
) -> None:
    async with a_screen_to_kill(home, listening=True) as started:
        async with asyncio.timeout(PATIENCE_S):
            while not home.ledger.exists():  # written at the end of the turn
                await asyncio.sleep(0.05)
        assert len(started) == 2
    assert end(started) == []


async def failure(
    home: Home, breaks: Callable[[psutil.Process], object] = lambda _: None, *, alone: bool = False
) -> AssistantError:
    """The error with which the process ended by itself."""
    async with hosted(home, alone=alone) as (assistant, screen):
        breaks(await begun())
        await screen.until(lambda: screen.errors)
        assert not assistant.runs
        assistant.do("mute")
    [error] = screen.errors
    return error


async def test_the_kill_of_the_process_is_reported_in_one_sentence(home: Home) -> None:
    error = await failure(home, psutil.Process.kill)
    assert str(error) == "The assistant's process ended unexpectedly (code -9)."
    assert (error.exit_code, str(home.log) in (error.mend or "")) == (70, True)


async def test_a_home_in_use_is_reported_with_its_exit_code(home: Home) -> None:
    error = await failure(home, alone=True)
    assert (error.mend, error.exit_code) == ("Try again when that is done.", 5)


async def test_a_missing_model_is_reported_with_advice(
    home: Home, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ASSISTANT_MODELS_CACHE", str(tmp_path / "empty"))
    error = await failure(home)
    assert (error.exit_code, "models pull" in (error.mend or "")) == (3, True)


async def test_the_process_can_be_closed_at_once_and_started_again(home: Home) -> None:
    async with hosted(home) as (assistant, screen):
        first = await begun()
        await assistant.close()
        assert end([first]) == []
        await assistant.restart(LIGHT)
        assert await begun() != first
    assert screen.errors == []


async def test_a_process_that_does_not_end_is_killed(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(assistant_process, "CLOSING_S", 0.2)
    async with hosted(home) as (assistant, screen):
        process = await begun()
        process.suspend()
        await assistant.close()
        assert end([process]) == []
    assert screen.errors == []


async def test_unreadable_output_ends_the_process_with_an_error_of_one_sentence(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The alternative would be a screen that no longer changes."""
    code = "print('Segmentation', flush=True); input(); input()"
    monkeypatch.setattr(assistant_process, "COMMAND", (sys.executable, "-c", code))
    others = psutil.Process().children()
    async with hosted(home) as (assistant, screen):
        running = [each for each in psutil.Process().children() if each not in others]
        await screen.until(lambda: screen.errors)
        assert not assistant.runs
        assert end(running) == []
    [error] = screen.errors
    assert str(home.log) in str(error)
    assert error.exit_code == 70


def test_a_writer_keeps_the_order_and_drops_levels_while_nobody_reads() -> None:
    read, write = os.pipe()
    with os.fdopen(write, "w") as stuck, os.fdopen(read) as pipe:
        writer = EventWriter(stuck)
        for number in range(MANY):  # more than fits into a pipe
            writer.tell(Notice(f"{number} " + "Nobody reads this. " * 10))
        for _ in range(5):
            writer.tell(MicrophoneLevel(-20.0))
        rows = [json.loads(pipe.readline())["event"] for _ in range(MANY)]
        assert [row.get("text", "").partition(" ")[0] for row in rows] == [*map(str, range(MANY))]
        writer.tell(UserSensed())  # never leaves the assistant's process
        writer.tell(MicrophoneLevel(-30.0))
        writer.close()
        assert json.loads(pipe.readline())["event"] == {"type": "MicrophoneLevel", "dbfs": -30.0}


def test_a_writer_closes_when_the_screen_is_gone() -> None:
    read, write = os.pipe()
    os.close(read)
    gone = os.fdopen(write, "w")
    writer = EventWriter(gone)
    writer.tell(Notice("Hello?"))
    writer.close()
    writer.tell(Notice("Hello?"))
    with pytest.raises(BrokenPipeError):
        gone.close()
