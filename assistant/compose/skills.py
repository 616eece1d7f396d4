"""Builds the skills of a running assistant."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from assistant.compose.memory import SessionMemory
from assistant.context.short_term import ShortTermMemory
from assistant.errors import StoreError
from assistant.events import EventBus, Notice, Severity
from assistant.language.stemming import TextAnalyzer
from assistant.memory.forgetting.executor import ForgettingExecutor
from assistant.memory.forgetting.memory_reader import EmptyMemories, LoadedMemories
from assistant.memory.forgetting.purge import make_purge
from assistant.memory.forgetting.resolver import Resolver
from assistant.memory.store.location import StoreLocation
from assistant.memory.store.repair import open_store
from assistant.memory.store.table import MemoryTable
from assistant.memory.transcript.database import Transcript
from assistant.settings import Settings
from assistant.skills.memory_by_voice import MemoryCommands
from assistant.voice.dialogue import Dialogue

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ConversationStores:
    """Where a person's words are kept; `remembering` is None where the long-term memory is off."""

    transcript: Transcript
    remembering: SessionMemory | None
    place: StoreLocation


async def build_memory_commands(
    settings: Settings,
    bus: EventBus,
    dialogue: Dialogue,
    window: ShortTermMemory,
    kept: ConversationStores,
) -> MemoryCommands:
    """Of a running assistant. What an earlier session began to forget is hidden from now on."""
    user, transcript = settings.general.user, kept.transcript
    memory = kept.remembering.memory if kept.remembering is not None else None
    reader = LoadedMemories(memory) if memory is not None else EmptyMemories()
    forgetting = ForgettingExecutor(
        user,
        lambda: transcript,
        make_purge(transcript, memory, _earlier_memories(kept.place)),
        reader.some,
        [memory, dialogue] if memory is not None else [dialogue],
        grace_s=settings.forget.grace_s,
        quiet=dialogue.quiet,
        emit=bus.emit,
    )
    try:
        await forgetting.load()
    except StoreError as error:
        bus.emit(Notice(str(error), Severity.WARNING, error.mend))
    lexicon = TextAnalyzer(settings.persona.language)
    commands = MemoryCommands(
        forgetting,
        Resolver(user, lambda: transcript, reader, lexicon),
        lambda: window.conversation,
        memory.forget_questions if memory is not None else lambda: None,
        english=lexicon.language == "en",
    )
    bus.subscribe(commands.watch)
    return commands


def _earlier_memories(place: StoreLocation) -> Callable[[], MemoryTable] | None:
    """Opens what sessions with a long-term memory left; None where there was none."""
    if place.folder is not None and not place.folder.exists():
        return None
    return partial(open_store, place, lambda notice: logger.warning("%s", notice.text))
