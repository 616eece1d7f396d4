"""A voice loop on scripted models that hears a test's synthetic sound at the pace of speech."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

from assistant.context.conversation import Conversation
from assistant.context.short_term import ShortTermMemory
from assistant.event_bus import EventBus
from assistant.events import Event, TurnEnded
from assistant.intents.command import Intent
from assistant.language.stemming import TextAnalyzer
from assistant.memory.forgetting.answered_turns import AnsweredTurns
from assistant.memory.forgetting.executor import ForgettingExecutor
from assistant.memory.forgetting.memory_access import MemoryAccess
from assistant.memory.forgetting.resolver import Resolver
from assistant.memory.transcript.database import Transcript
from assistant.settings import Settings
from assistant.skills.memory.explaining import Explaining
from assistant.skills.memory.forgetting import Forgetting
from assistant.skills.memory.nothing_kept import NothingKept
from assistant.skills.skill import Skill
from assistant.voice.audio.echo import EchoCanceller, NoEcho
from assistant.voice.audio.files import FileMicrophone, NullLoudspeaker
from assistant.voice.audio.interfaces import Loudspeaker
from assistant.voice.dialogue import Dialogue
from assistant.voice.latency import LatencyLog
from assistant.voice.pipeline import AudioIO, Speech, VoiceLoop
from assistant.voice.recalling import Recaller
from assistant.voice.turns.end_of_turn import EndOfTurn, Weights
from assistant.voice.voice_control import VoiceControl
from models.interfaces import (
    IntentClassifier,
    LanguageModel,
    ModelSet,
    Samples,
    SpeechToText,
    TextToSpeech,
    TurnJudge,
)
from tests.support.fakes import LoudVoice, ScriptedEnd, ToneTts, UnfinishedWords

WEIGHTS = Weights(
    words=1, least_words=-3, most_words=6, sound=0.5, pause_s=0.5, spread=0.8, enough=5
)

AnEvent = TypeVar("AnEvent", bound=Event)


@dataclass
class Session:
    loop: VoiceLoop
    dialogue: Dialogue
    memory: ShortTermMemory
    microphone: FileMicrophone
    loudspeaker: Loudspeaker
    events: list[Event] = field(default_factory=list)
    bus: EventBus = field(default_factory=EventBus)

    def of(self, kind: type[AnEvent]) -> list[AnEvent]:
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def turns(self) -> list[TurnEnded]:
        return self.of(TurnEnded)

    async def to_the_end(self) -> None:
        """Wait until all of the sound has been played and answered."""
        await self.microphone.exhausted.wait()
        await self.loop.settled()

    def history(self) -> list[tuple[str, str]]:
        """The conversation as the model would see it now, without the system prompt."""
        messages = self.memory.prompt("<new>", ()).messages[1:]
        return [(message.role, message.content) for message in messages]


@asynccontextmanager
async def session(
    stt: SpeechToText,
    llm: LanguageModel,
    sound: Samples,
    folder: Path,
    *,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    end: ScriptedEnd | None = None,
    judge: TurnJudge | None = None,
    tts: TextToSpeech | None = None,
    recaller: Recaller | None = None,
    obeys: bool = False,
    classifier: IntentClassifier | None = None,
    skills: Sequence[Skill] = (),
    speaks: bool = True,
    control: VoiceControl | None = None,
    echo: EchoCanceller | None = None,
    find_tool: Callable[[str], Awaitable[Intent | None]] | None = None,
) -> AsyncIterator[Session]:
    """A running session.

    Args:
        settings: sections that differ from the defaults; sounds are off.
        end, judge: judge the sound and the words of a turn. By default, all words are complete.
        obeys: whether spoken memory commands are carried out, on the transcript only.
        classifier: judges what the grammar doesn't know, and what answers claim.
        skills: those of another memory, in place of the session's own.
        speaks: whether answers are spoken.
        control: the volume and the speed of the voice.
        echo: judges how much of the sound comes from the loudspeaker.
        find_tool: finds tools of other programs.
    """
    read = Settings.model_validate({"general": {"sounds": False}, **(settings or {})})
    events, bus = list[Event](), EventBus()
    bus.subscribe(events.append)
    transcript = Transcript.open(folder / "transcript.sqlite3")
    within = timedelta(hours=read.context.resume_within_h)
    conversation = transcript.resume("me", within) or Conversation.begin("me")
    memory = ShortTermMemory(conversation, llm, read, transcript, bus.emit)
    dialogue = Dialogue(read, bus, llm, memory, LatencyLog(folder / "ledger.jsonl"))
    microphone, loudspeaker = FileMicrophone([sound]), NullLoudspeaker()
    judges = end or ScriptedEnd(), judge or UnfinishedWords()
    loop = VoiceLoop(
        read,
        dialogue,
        ModelSet(stt, llm, tts or ToneTts()),
        AudioIO(microphone, loudspeaker, echo or NoEcho(), speaks),
        (LoudVoice(), EndOfTurn(*judges, WEIGHTS, read.turn.patience)),
        recaller,
        skills or (_skills(transcript, memory, dialogue, bus) if obeys else [NothingKept()]),
        Speech(classifier, control, find_tool=find_tool),
    )
    await loop.start()
    dialogue.listen()
    try:
        yield Session(loop, dialogue, memory, microphone, loudspeaker, events, bus)
    finally:
        await loop.close()
        await dialogue.close()
        transcript.close()


def _skills(
    transcript: Transcript, window: ShortTermMemory, dialogue: Dialogue, bus: EventBus
) -> list[Skill]:
    memories = MemoryAccess("me")
    forgetting = ForgettingExecutor(
        transcript,
        memories,
        [dialogue],
        grace_s=60,
        quiet=dialogue.quiet.wait,
        emit=bus.emit,
    )
    resolver = Resolver(transcript, memories, TextAnalyzer("en"))
    turns = AnsweredTurns(lambda: window.conversation)
    bus.subscribe(turns.watch)
    explaining = Explaining(resolver, turns)
    bus.subscribe(explaining.watch)
    forgets = Forgetting(forgetting, resolver, turns)
    bus.subscribe(forgets.watch)
    return [forgets, explaining]
