"""Creates a session's conversation, its short-term memory and its skills."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial

from assistant.compose.state import UserState
from assistant.compose.tools import SessionTools
from assistant.context import Conversation, ShortTermMemory
from assistant.errors import StoreError
from assistant.event_bus import EventBus
from assistant.events import Event, Notice, Severity, WishTaken
from assistant.language.stemming import TextAnalyzer
from assistant.memory import AnsweredTurns, ForgettingExecutor, MemoryService, UserStatements
from assistant.settings import Settings
from assistant.skills import (
    Abilities,
    Alarms,
    Correcting,
    ExactAnswers,
    Explaining,
    Forgetting,
    Lifting,
    Lists,
    ModelInUse,
    Notes,
    NothingKept,
    OnlyNow,
    Remark,
    Remembering,
    Reminders,
    Skill,
    Snoozing,
    Timers,
)
from assistant.voice import Dialogue, VoiceControl, VoiceSkill
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


async def open_short_term_memory(
    memory: MemoryService | None, llm: LanguageModel, settings: Settings, bus: EventBus
) -> ShortTermMemory:
    """Open the session's short-term memory with the user's last conversation if that is recent. If
    `memory` is None, the conversation is not stored."""
    conversation = await open_conversation(memory, settings, bus)
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
    llm: LanguageModel,
    remark: Callable[[Remark], object],
    state: UserState,
) -> tuple[list[Skill], ForgettingExecutor | None, UserStatements | None]:
    """Create the skills of a running assistant. Also resume the deletions that an earlier session
    began, so that the affected data is hidden again.

    The voice loop itself creates the skill that controls the dialogue.

    Args:
        remark: makes a remark once the current turn has been answered.

    Returns:
        The skills, the executor of their deletions (None if `memory` is), and the user's statements
        (None without a long-term memory).
    """

    def off_record() -> bool:
        return dialogue.off_record

    lexicon = TextAnalyzer(settings.persona.language)
    english = lexicon.language == "en"
    first = [*state_skills(state, off_record, lexicon, bus), ExactAnswers(english=english)]
    if memory is None:
        return [OnlyNow(first), NothingKept()], None, None
    forgetting = memory.attend(dialogue, dialogue.quiet.wait, state.store)
    await load_forgetting(forgetting, bus)
    resolver = memory.session_resolver()
    turns = AnsweredTurns(lambda: window.conversation, memory.forget_questions)
    bus.subscribe(turns.watch)
    explaining = Explaining(resolver, turns, english=english)
    bus.subscribe(explaining.watch)
    forgets = Forgetting(forgetting, resolver, turns, english=english)
    bus.subscribe(forgets.watch)
    skills: list[Skill] = [*first, explaining]
    if memory.session_user is None:
        return [*skills, forgets, NothingKept(transcript=True)], forgetting, None
    statements = UserStatements(memory.session_user, forgetting, resolver, lexicon, turns)
    lifting = Lifting(statements, forgetting, lexicon, turns)

    def follow(event: Event) -> None:
        if isinstance(event, WishTaken):
            remark(partial(lifting.noted, event))

    bus.subscribe(follow)
    skills += [  # add new skills here; no two may handle the same kind of command
        forgets,
        Remembering(statements, turns, off_record, english=english),
        Correcting(statements, turns, llm, off_record, english=english),
        lifting,
    ]
    return skills, forgetting, statements


def state_skills(
    state: UserState, off_record: Callable[[], bool], lexicon: TextAnalyzer, bus: EventBus
) -> list[Skill]:
    """Create the skills whose data is in the user's state, such as timers and lists."""
    entries = state.due.entries
    lists, notes = (kind(state.store, lexicon, off_record) for kind in (Lists, Notes))
    bus.subscribe(lists.watch)
    bus.subscribe(notes.watch)
    return [
        Timers(entries, off_record),
        Alarms(entries, off_record),
        Reminders(entries, off_record),
        Snoozing(state.due),
        lists,
        notes,
    ]


async def skills_about_itself(
    skills: Sequence[Skill],
    state: UserState,
    control: VoiceControl,
    model: ModelInUse,
    settings: Settings,
    bus: EventBus,
    tools: SessionTools | None = None,
) -> list[Skill]:
    """Create the skills that are about the assistant itself: its voice, and what it can do.

    Args:
        skills: all other skills.
        tools: other programs' tools, for requests that no skill can handle.
    """
    voice = VoiceSkill(control, state.store, settings.tts.speed)
    try:
        await asyncio.to_thread(voice.load)
    except StoreError as error:
        bus.emit(Notice(str(error), Severity.WARNING, error.mend))
    kinds = frozenset(kind for skill in skills for kind in skill.kinds)
    using = tools.skill if tools is not None else None
    return [voice, Abilities(lambda: kinds, lambda: model, using)]


async def load_forgetting(forgetting: ForgettingExecutor, bus: EventBus) -> None:
    """Resume the deletions that an earlier session began but did not complete."""
    try:
        await forgetting.load()
    except StoreError as error:
        bus.emit(Notice(str(error), Severity.WARNING, error.mend))
