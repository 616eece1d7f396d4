"""Creates a session's conversation, its short-term memory and its skills."""

import asyncio
from datetime import timedelta

from assistant.context import Conversation, ShortTermMemory
from assistant.errors import StoreError
from assistant.events import EventBus, Notice, Severity
from assistant.language.stemming import TextAnalyzer
from assistant.memory import ForgettingExecutor, MemoryService
from assistant.settings import Settings
from assistant.skills import AnsweredTurns, Explaining, Forgetting, NothingKept, Skill
from assistant.voice import Dialogue
from models.interfaces import LanguageModel


async def open_conversation(
    memory: MemoryService | None, settings: Settings, bus: EventBus
) -> Conversation:
    """Return the user's last conversation if it is recent, otherwise a new conversation."""
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
    """Create the session's short-term memory. If `memory` is None, the conversation is not
    stored."""
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


async def build_skills(
    memory: MemoryService | None,
    settings: Settings,
    bus: EventBus,
    dialogue: Dialogue,
    window: ShortTermMemory,
) -> tuple[list[Skill], ForgettingExecutor | None]:
    """Create the skills of a running assistant, and what forgets for them. Also resume the
    deletions that an earlier session began, so that the affected data is hidden again.

    Skills that control the dialogue itself belong to the voice loop.
    """
    if memory is None:
        return [NothingKept()], None
    forgetting = memory.attend(dialogue, dialogue.quiet)
    await load_forgetting(forgetting, bus)
    resolver = memory.session_resolver()
    turns = AnsweredTurns(lambda: window.conversation, memory.forget_questions)
    bus.subscribe(turns.watch)
    english = TextAnalyzer(settings.persona.language).language == "en"
    skills: list[Skill] = [  # a new skill is added here; no two may have the same kind of command
        Forgetting(forgetting, resolver, turns, english=english),
        Explaining(resolver, english=english),
    ]
    return skills, forgetting


async def load_forgetting(forgetting: ForgettingExecutor, bus: EventBus) -> None:
    """Resume the deletions that an earlier session began but did not complete."""
    try:
        await forgetting.load()
    except StoreError as error:
        bus.emit(Notice(str(error), Severity.WARNING, error.mend))
