"""An assistant without a long-term memory answers requests about timers, lists and notes."""

import asyncio
from contextlib import AsyncExitStack
from typing import Any

import pytest

from assistant import app
from assistant.app import open_assistant
from assistant.compose import SessionPlan, idle, session_memory
from assistant.compose.requests import serve_requests
from assistant.encryption.home_lock import HomeLock
from assistant.encryption.vault import Vault
from assistant.errors import StoreError
from assistant.event_bus import EventBus
from assistant.events import Event, StateChanged
from assistant.ipc import NOT_SERVED, Row, send_request
from assistant.memory import MemoryService
from assistant.paths import Home
from assistant.settings import Settings
from models.interfaces import ModelSet
from tests.support.fakes import LoudVoice, ScriptedEnd, ScriptedLlm, ScriptedStt, ToneTts
from ui.commands.requests import ask

SETTINGS = Settings.model_validate({"general": {"sounds": False}, "memory": {"enabled": False}})
NOTE: Row = {"act": "state.add", "kind": "note", "text": "The boiler is old.", "user": "me"}


@pytest.fixture(autouse=True)
def scripted(monkeypatch: pytest.MonkeyPatch) -> None:
    async def load(*_: object, **__: object) -> ModelSet:
        return ModelSet(ScriptedStt(), ScriptedLlm("Good to know."), ToneTts())

    monkeypatch.setattr(idle, "build_jobs", lambda _: [])
    monkeypatch.setattr(app, "load_models", load)
    monkeypatch.setattr(app, "open_benchmark", lambda *_: None)
    monkeypatch.setattr(app, "load_detectors", lambda: (LoudVoice(), ScriptedEnd()))


async def asked(home: Home, request: Row) -> list[Row]:
    """The answer to a request, once the assistant accepts requests."""
    while (answered := await asyncio.to_thread(send_request, home.door, request)) is None:
        await asyncio.sleep(0.01)
    return await asyncio.to_thread(list, answered)


async def added(home: Home) -> list[Event]:
    """The events of a session in which a command adds a note."""
    bus, events = EventBus(), list[Event]()
    bus.subscribe(events.append)
    plan, vault = SessionPlan(typed=True, speak=False), Vault(None, HomeLock(home, alone=False))
    async with open_assistant(home, SETTINGS, plan, bus, vault):
        [row] = await asked(home, NOTE)
        assert row["content"] == {"text": "The boiler is old."}
        assert await asked(home, {"act": "list", "user": "me"}) == [NOT_SERVED]
    return events


async def test_with_the_memory_switched_off_commands_reach_the_session(home: Home) -> None:
    assert any(isinstance(each, StateChanged) and each.entries for each in await added(home))
    assert home.transcript.exists()


async def test_commands_reach_a_session_whose_transcript_cannot_be_opened(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> MemoryService:
        raise StoreError("The file is damaged.")

    monkeypatch.setattr(session_memory, "open_home_memory", fails)
    assert any(isinstance(each, StateChanged) and each.entries for each in await added(home))
    assert not home.transcript.exists()


async def test_a_command_answers_what_the_session_leaves_to_it(home: Home) -> None:
    async with AsyncExitStack() as stack:
        await serve_requests(home.create(), None, {"count": _counted}, stack)

        def answers(act: str) -> list[Row]:
            return list(ask(home, {"act": act}, lambda: iter([{"by": "the command"}])))

        assert await asyncio.to_thread(answers, "count") == [{"by": "1"}, {"by": "2"}]
        assert await asyncio.to_thread(answers, "list") == [{"by": "the command"}]


async def test_a_second_session_leaves_the_requests_to_the_first(home: Home) -> None:
    async with AsyncExitStack() as stack:
        await serve_requests(home.create(), None, {"count": _counted}, stack)
        await serve_requests(home, None, {}, stack)
        assert await asked(home, {"act": "count"}) == [{"by": "1"}, {"by": "2"}]


def _counted(_: Any) -> Any:
    return iter([{"by": "1"}, {"by": "2"}])
