"""Creates the skills of a session as the assistant's composition root does."""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack

from assistant.compose.activities import open_activities
from assistant.compose.conversation import build_skills, skills_about_itself
from assistant.compose.state import open_state
from assistant.context import ShortTermMemory
from assistant.event_bus import EventBus
from assistant.memory import MemoryService
from assistant.paths import Home
from assistant.settings import Settings
from assistant.skills import ModelInUse, Remark, Skill
from assistant.state import StateStore
from assistant.voice import Dialogue, Ringing, VoiceControl
from models.interfaces import LanguageModel, SlotReader


async def session_skills(
    home: Home,
    settings: Settings,
    bus: EventBus,
    dialogue: Dialogue,
    window: ShortTermMemory,
    llm: LanguageModel,
    control: VoiceControl,
    ringer: Ringing,
    reader: SlotReader | None,
    stack: AsyncExitStack,
    left_open: Callable[[StateStore], object] = lambda _: None,
    memory: MemoryService | None = None,
) -> list[Skill]:
    """Create the skills. Without a memory, their state is kept in RAM until `stack` closes.

    Args:
        reader: finds the answers to a form's questions in what the user says.
        left_open: adds to the state what an earlier session left open. May block.
        memory: the home's memory, whose user's long-term memory has been loaded.
    """
    state = open_state(memory, settings, bus, ringer, lambda: False, stack)
    await asyncio.to_thread(left_open, state.store)
    common = settings, bus, dialogue, window
    skills, _, statements = await build_skills(memory, *common, llm, _say_nothing, state)
    listening = *common, state, reader, statements, _say_nothing, stack
    skills.append(await open_activities(home, *listening))
    named = ModelInUse(llm.name)
    return skills + await skills_about_itself(skills, state, control, named, settings, bus)


def _say_nothing(remark: Remark) -> None:
    """Drop a remark: only the turn before it is measured."""
    del remark
