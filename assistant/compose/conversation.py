"""A session's conversation, and what the language model sees of it."""

import asyncio
from datetime import timedelta

from assistant.context import Conversation, ShortTermMemory
from assistant.errors import StoreError
from assistant.events import EventBus, Notice, Severity
from assistant.memory import MemoryService
from assistant.settings import Settings
from models.interfaces import LanguageModel


async def open_conversation(
    memory: MemoryService | None, settings: Settings, bus: EventBus
) -> Conversation:
    """Continue the last session's conversation, if it is recent; otherwise start one."""
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
    """The session's short-term memory. Without `memory`, what is said is stored nowhere else."""
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
