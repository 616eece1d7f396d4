"""Forms and tasks as the assistant's composition root creates them."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from assistant.compose.activities import open_activities
from assistant.compose.state import open_state
from assistant.context import Conversation, ShortTermMemory
from assistant.event_bus import EventBus
from assistant.events import Event, Latency, Notice, SpeechIgnored, TurnEnded, UserSensed
from assistant.intents import Command, CommandKind
from assistant.paths import Home
from assistant.settings import Persona, Settings
from assistant.skills import Activities
from assistant.skills.activities.form_activity import BY_HAND
from assistant.state import EntryKind, StateStore
from assistant.voice import Dialogue, Ringing
from assistant.voice.latency import LatencyLog
from models.interfaces import SlotReader
from tests.support.fakes import ScriptedLlm
from tests.support.patience import PATIENCE_S
from tests.support.slot_reader import MarkedReader


@dataclass
class Opened:
    """Activities of a session without a long-term memory."""

    activities: Activities
    bus: EventBus
    window: ShortTermMemory
    dialogue: Dialogue
    store: StateStore

    def exchange(self, said: str, answer: str) -> str:
        """Say something that the language model answers. Return the id of the exchange."""
        exchange = self.window.conversation.append_user(1, said).id
        self.window.conversation.complete(1, answer)
        return exchange


@asynccontextmanager
async def opened(
    folder: Path, settings: Settings, reader: SlotReader | None = None
) -> AsyncIterator[Opened]:
    bus, llm, home = EventBus(), ScriptedLlm(), Home(folder).create()
    async with AsyncExitStack() as stack:
        window = ShortTermMemory(Conversation.begin("me"), llm, settings, None, bus.emit)
        dialogue = Dialogue(settings, bus, llm, window, LatencyLog(home.ledger))
        ringer = Ringing(dialogue, speaks=False)
        state = open_state(None, settings, bus, ringer, lambda: False, stack)
        common = home, settings, bus, dialogue, window, state, reader, None
        activities = await open_activities(*common, lambda _: None, stack)
        yield Opened(activities, bus, window, dialogue, state.store)


async def until(holds: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not holds():
            await asyncio.sleep(0.001)


async def test_nothing_is_heard_while_there_may_be_a_voice(tmp_path: Path) -> None:
    async with opened(tmp_path, Settings()) as here:
        await here.activities.carry_out(Command(CommandKind.TASK_OPEN, name="plan the party"))
        said, answer = "Let's invite Tom and Eva.", "Good idea."
        exchange = here.exchange(said, answer)
        here.bus.emit(UserSensed(sure=True))
        assert here.dialogue.quiet.is_set()
        here.bus.emit(TurnEnded(1, said, answer, False, Latency(), exchange=exchange))
        for _ in range(20):
            await asyncio.sleep(0.001)
        assert here.store.entries(EntryKind.LINE) == []
        here.bus.emit(SpeechIgnored("noise"))
        await until(lambda: here.store.entries(EntryKind.LINE))


FORM = Command(CommandKind.FORM_OPEN, name="appointment")


async def test_a_form_is_filled_in_by_the_reader_that_the_session_has(tmp_path: Path) -> None:
    reader = MarkedReader()
    said, answer = reader.mark("Well, with {with: Bob}. Is it far?", talk=1.0), "I can't know."
    async with opened(tmp_path, Settings(), reader) as here:
        await here.activities.carry_out(FORM)
        assert await here.activities.takes(said) is None
        exchange = here.exchange(said, answer)
        here.bus.emit(TurnEnded(1, said, answer, False, Latency(), exchange=exchange))
        await until(lambda: "with: Bob;" in here.activities.block())
        assert reader.loads


@pytest.mark.parametrize("language", ["en", "de"])
async def test_without_a_reader_a_form_is_opened_and_shown_and_nothing_fails(
    tmp_path: Path, language: str
) -> None:
    async with opened(tmp_path, Settings(persona=Persona(language=language))) as here:
        events: list[Event] = []
        here.bus.subscribe(events.append)
        reply = await here.activities.carry_out(FORM)
        assert reply is not None
        assert reply.text == f"All right, the appointment form. {BY_HAND}"
        said, answer = "With Doctor Smith.", "I see."
        assert await here.activities.takes(said) is None
        exchange = here.exchange(said, answer)
        here.bus.emit(TurnEnded(1, said, answer, False, Latency(), exchange=exchange))
        [form] = here.store.entries(EntryKind.FORM)
        await until(lambda: here.store.entries(EntryKind.FORM)[0].content["read"] == exchange)
        assert here.store.entries(EntryKind.SLOT) == []
        slot = {"slot": "with", "label": "with", "value": "Bob", "said": "Bob", "exchange": ""}
        here.store.add(EntryKind.SLOT, [slot], form.id)
        assert here.activities.block() == "", "the model would ask for what is missing"
        assert not [each for each in events if isinstance(each, Notice)]
