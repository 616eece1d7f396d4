"""A whole assistant with scripted models does idle work, which commands pause and resume."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from assistant import app
from assistant.app import open_assistant
from assistant.compose import SessionPlan, idle, memory
from assistant.encryption.home_lock import HomeLock
from assistant.encryption.vault import Vault
from assistant.event_bus import EventBus
from assistant.events import Event, IdleWork, TurnEnded
from assistant.ipc.client import send_request
from assistant.memory.retrieval.encoding import QueryEncoder
from assistant.paths import Home
from assistant.settings import Settings
from models.interfaces import ModelSet
from tests.support.encoders import HashingEncoder
from tests.support.fakes import LoudVoice, ScriptedEnd, ScriptedLlm, ScriptedStt, ToneTts
from tests.support.idling import FakeWork

SETTINGS = Settings.model_validate(
    {
        "general": {"sounds": False},
        "idle": {"every_s": 0.05, "max_load": 1, "on_battery": "all"},
    }
)


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> FakeWork:
    """The only idle job, in an assistant whose models are scripted."""

    async def load(*_: object, **__: object) -> ModelSet:
        return ModelSet(ScriptedStt(), ScriptedLlm("Good to know."), ToneTts())

    fake = FakeWork(subjects=["a", "b"], holds=True)
    monkeypatch.setattr(idle, "build_jobs", lambda _: [fake])
    monkeypatch.setattr(app, "load_models", load)
    monkeypatch.setattr(app, "open_benchmark", lambda *_: None)
    monkeypatch.setattr(app, "load_detectors", lambda: (LoudVoice(), ScriptedEnd()))
    monkeypatch.setattr(memory, "profile_encoder", lambda _: QueryEncoder(HashingEncoder()))
    return fake


async def asked(home: Home, do: str) -> dict[str, Any]:
    """The assistant's answer, once its socket is open."""
    request = {"act": "idle", "do": do, "user": "me"}
    while (answered := await asyncio.to_thread(lambda: send_request(home.door, request))) is None:
        await asyncio.sleep(0.01)
    rows: list[dict[str, Any]] = await asyncio.to_thread(list, answered)
    return rows[0]


async def test_the_assistant_does_idle_work_between_turns(
    home: Home, work: FakeWork, tmp_path: Path
) -> None:
    bus, events = EventBus(), list[Event]()
    bus.subscribe(events.append)
    plan = SessionPlan(typed=True, speak=False)
    vault = Vault(None, HomeLock(home, alone=False))
    async with open_assistant(home, SETTINGS, plan, bus, vault) as assistant:
        await work.busy.wait()
        assert (await asked(home, "status"))["running"] == "describe"
        work.busy.clear()
        await assistant.say("My dog is called Max.")
        await asyncio.sleep(0)
        assert (work.running, work.cancelled) == (0, 1)
        await assistant.answered()
        assert any(isinstance(event, TurnEnded) for event in events)
        await work.busy.wait()
        assert (await asked(home, "pause"))["paused"] is not None
        assert (work.running, work.cancelled) == (0, 2)
        work.holds = False
        assert (await asked(home, "resume"))["paused"] is None
        while work.made != ["a", "b"]:
            await asyncio.sleep(0.01)
    assert [event.kind for event in events if isinstance(event, IdleWork)][-1] is None
