"""Builds the skills of a running assistant."""

from assistant.context import ShortTermMemory
from assistant.errors import StoreError
from assistant.events import EventBus, Notice, Severity
from assistant.language.stemming import TextAnalyzer
from assistant.memory import ForgettingExecutor, MemoryService
from assistant.settings import Settings
from assistant.skills import MemoryCommands
from assistant.voice import Dialogue


async def build_memory_commands(
    memory: MemoryService,
    settings: Settings,
    bus: EventBus,
    dialogue: Dialogue,
    window: ShortTermMemory,
) -> MemoryCommands:
    """Of a running assistant. What an earlier session began to forget is hidden from now on."""
    forgetting = memory.attend(dialogue, dialogue.quiet)
    await load_forgetting(forgetting, bus)
    commands = MemoryCommands(
        forgetting,
        memory.session_resolver(),
        lambda: window.conversation,
        memory.forget_questions,
        english=TextAnalyzer(settings.persona.language).language == "en",
    )
    bus.subscribe(commands.watch)
    return commands


async def load_forgetting(forgetting: ForgettingExecutor, bus: EventBus) -> None:
    """Go on with what was begun in an earlier session."""
    try:
        await forgetting.load()
    except StoreError as error:
        bus.emit(Notice(str(error), Severity.WARNING, error.mend))
