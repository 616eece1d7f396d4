"""A whole assistant with scripted models tells what is due."""

import asyncio
from typing import Any

import pytest

from assistant import app
from assistant.app import open_assistant
from assistant.compose import SessionPlan, idle, memory
from assistant.encryption.home_lock import HomeLock
from assistant.encryption.vault import Vault
from assistant.event_bus import EventBus
from assistant.events import Event, Remarked
from assistant.memory.retrieval.encoding import QueryEncoder
from assistant.memory.transcript.database import Transcript
from assistant.paths import Home
from assistant.settings import Settings
from assistant.state import EntryKind, StateStore
from models.interfaces import ModelSet
from tests.support.encoders import HashingEncoder
from tests.support.fakes import LoudVoice, ScriptedEnd, ScriptedLlm, ScriptedStt, ToneTts

TOLD = "While I was off, a reminder to call Anna was due."


@pytest.fixture(autouse=True)
def scripted(monkeypatch: pytest.MonkeyPatch) -> None:
    async def load(*_: object, **__: object) -> ModelSet:
        return ModelSet(ScriptedStt(), ScriptedLlm("Good to know."), ToneTts())

    monkeypatch.setattr(idle, "build_jobs", lambda _: [])
    monkeypatch.setattr(app, "load_models", load)
    monkeypatch.setattr(app, "open_benchmark", lambda *_: None)
    monkeypatch.setattr(app, "load_detectors", lambda: (LoudVoice(), ScriptedEnd()))
    monkeypatch.setattr(memory, "profile_encoder", lambda _: QueryEncoder(HashingEncoder()))


def set_reminder(home: Home) -> None:
    home.create()
    transcript = Transcript.open(home.transcript)
    content: dict[str, Any] = {"words": "call Anna", "local": "2020-11-18T10:30"}
    StateStore(transcript, "me").add(EntryKind.REMINDER, [content])
    transcript.close()


async def remarks(home: Home, until: str) -> list[str]:
    """Open the assistant, and return all remarks up to this one."""
    bus, said, told = EventBus(), list[str](), asyncio.Event()

    def listen(event: Event) -> None:
        if isinstance(event, Remarked):
            said.append(event.text)
            if event.text == until:
                told.set()

    bus.subscribe(listen)
    settings = Settings.model_validate({"general": {"sounds": False}})
    plan = SessionPlan(typed=True, speak=False)
    vault = Vault(None, HomeLock(home, alone=False))
    async with open_assistant(home, settings, plan, bus, vault) as assistant:
        if until != TOLD:
            await assistant.say(until)
            await assistant.answered()
        else:
            await told.wait()
            while any("rang_at" not in each for each in contents(home)):
                await asyncio.sleep(0.01)
    return said


def contents(home: Home) -> list[dict[str, Any]]:
    transcript = Transcript.open(home.transcript)
    found = [
        dict(each.content) for each in StateStore(transcript, "me").entries(EntryKind.REMINDER)
    ]
    transcript.close()
    return found


async def test_what_was_due_while_it_was_off_is_told_once_at_the_next_start(
    home: Home,
) -> None:
    set_reminder(home)
    assert await remarks(home, TOLD) == [TOLD]
    assert await remarks(home, "Hello.") == []
