"""Creates the skills of a session without a long-term memory, as the assistant's composition root
does."""

from contextlib import AsyncExitStack

from assistant.compose.conversation import build_skills, skills_about_itself
from assistant.compose.state import open_state
from assistant.context import ShortTermMemory
from assistant.event_bus import EventBus
from assistant.settings import Settings
from assistant.skills import ModelInUse, Skill
from assistant.voice import Dialogue, Ringing, VoiceControl
from models.interfaces import LanguageModel


async def session_skills(
    settings: Settings,
    bus: EventBus,
    dialogue: Dialogue,
    window: ShortTermMemory,
    llm: LanguageModel,
    control: VoiceControl,
    ringer: Ringing,
    stack: AsyncExitStack,
) -> list[Skill]:
    """Create the skills. Their state is in RAM, and ends with `stack`."""
    state = open_state(None, settings, bus, ringer, stack)
    skills, _ = await build_skills(
        None, settings, bus, dialogue, window, llm, lambda _: None, state
    )
    named = ModelInUse(llm.name)
    return skills + await skills_about_itself(skills, state, control, named, settings, bus)
