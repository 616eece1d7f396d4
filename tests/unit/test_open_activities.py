"""Forms and tasks as the assistant's composition root creates them."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

from assistant.compose.activities import open_activities
from assistant.compose.state import open_state
from assistant.context import Conversation, ShortTermMemory
from assistant.event_bus import EventBus
from assistant.events import Latency, SpeechIgnored, TurnEnded, UserSensed
from assistant.intents import Command, CommandKind
from assistant.paths import Home
from assistant.settings import Settings
from assistant.state import EntryKind
from assistant.voice import Dialogue, Ringing
from assistant.voice.latency import LatencyLog
from tests.support.fakes import ScriptedLlm
from tests.support.patience import PATIENCE_S


async def test_nothing_is_heard_while_there_may_be_a_voice(tmp_path: Path) -> None:
    settings, bus, llm, home = Settings(), EventBus(), ScriptedLlm(), Home(tmp_path).create()
    async with AsyncExitStack() as stack:
        window = ShortTermMemory(Conversation.begin("me"), llm, settings, None, bus.emit)
        dialogue = Dialogue(settings, bus, llm, window, LatencyLog(home.ledger))
        ringer = Ringing(dialogue, speaks=False)
        state = open_state(None, settings, bus, ringer, lambda: False, stack)
        common = home, settings, bus, dialogue, window, state, None, None
        activities = await open_activities(*common, lambda _: None, stack)
        await activities.carry_out(Command(CommandKind.TASK_OPEN, name="plan the party"))
        said, answer = "Let's invite Tom and Eva.", "Good idea."
        exchange = window.conversation.append_user(1, said).id
        window.conversation.complete(1, answer)
        bus.emit(UserSensed(sure=True))
        assert dialogue.quiet.is_set()
        bus.emit(TurnEnded(1, said, answer, False, Latency(), exchange=exchange))
        for _ in range(20):
            await asyncio.sleep(0.001)
        assert state.store.entries(EntryKind.LINE) == []
        bus.emit(SpeechIgnored("noise"))
        async with asyncio.timeout(PATIENCE_S):
            while not state.store.entries(EntryKind.LINE):
                await asyncio.sleep(0.001)
