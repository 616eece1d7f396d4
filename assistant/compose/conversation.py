"""Builds a session's conversation, its short-term memory and its spoken commands."""

import asyncio
from datetime import timedelta

from assistant.context import Conversation, ShortTermMemory
from assistant.errors import StoreError
from assistant.events import EventBus, Notice, Severity
from assistant.language.stemming import TextAnalyzer
from assistant.memory import ForgettingExecutor, MemoryService
from assistant.settings import Settings
from assistant.skills import MemoryCommands
from assistant.voice import Dialogue
from models.interfaces import LanguageModel


async def open_conversation(
    memory: MemoryService | None, settings: Settings, bus: EventBus
) -> Conversation:
    """Continue the last session's conversation, if it is recent; otherwise start a new one."""
    user, resumed = settings.general.user, None
    if memory is None:
        return Conversation.begin(user)
    within = timedelta(hours=settings.context.resume_within_h)
    try:
        resumed = await asyncio.to_thread(memory.transcript.resume, user, within)
    except StoreError as error:
        bus.emit(Notice(str(error), Severity.WARNING, error.mend))
    return resumed or Conversation.begin(user)


def short_term_memory(
    conversation: Conversation,
    llm: LanguageModel,
    settings: Settings,
    memory: MemoryService | None,
    bus: EventBus,
) -> ShortTermMemory:
    """The session's short-term memory. Without `memory`, the conversation is not stored."""
    if memory is None:
        return ShortTermMemory(conversation, llm, settings, None, bus.emit)
    return ShortTermMemory(
        conversation,
        llm,
        settings,
        memory.exchange_store,
        bus.emit,
        memory.profile,
        memory.exchange_importance,
    )


async def build_memory_commands(
    memory: MemoryService,
    settings: Settings,
    bus: EventBus,
    dialogue: Dialogue,
    window: ShortTermMemory,
) -> MemoryCommands:
    """The spoken memory commands of a running assistant. Everything that an earlier session began
    to forget is hidden from now on."""
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
    """Resume forgetting what an earlier session began to forget."""
    try:
        await forgetting.load()
    except StoreError as error:
        bus.emit(Notice(str(error), Severity.WARNING, error.mend))
