"""The assistant, as `assistant.app` composes it, with the benchmark's microphone and loudspeaker.

The models are loaded once; each conversation has a new loop, history and detectors. The measured
reading speed of the model is passed on from one conversation to the next, as between turns.
"""

import asyncio
import time
from collections.abc import Callable, Iterator
from typing import Any

from assistant.compose.engines import load_models
from assistant.context.conversation import Conversation
from assistant.context.short_term import ShortTermMemory
from assistant.event_bus import EventBus
from assistant.events import Event, Phase, PhaseChanged, TurnEnded, TurnHeard
from assistant.paths import Home
from assistant.settings import Settings
from assistant.voice.audio.echo import NoEcho
from assistant.voice.dialogue import Dialogue
from assistant.voice.latency import LatencyLog
from assistant.voice.pipeline import AudioIO, VoiceLoop
from assistant.voice.recalling import Recaller
from assistant.voice.turns.pipecat_models import GatedVoiceDetector, SileroVoice, SmartTurn
from models.interfaces import ModelSet
from models.selection import select_models
from scripts.bench.voice.labels import Clip
from scripts.bench.voice.listening import (
    Notes,
    Outcome,
    TimedLoudspeaker,
    Turn,
    answer_to,
    microphone,
    outcome,
)

SAME_S = 0.02
READS_KEPT = 10
LEDGER_STAGES = ("transcript", "turn_decided", "recall", "first_token")


class NoteTaker:
    """Turns the assistant's events into notes.

    Times in the events count from the end of speech that the assistant detects, which may differ
    from the label. The moment at which the voice began is known on both clocks, and links them.
    """

    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self._speaking: float | None = None

    def see(self, event: Event) -> None:
        now = time.monotonic()
        if isinstance(event, TurnHeard):
            self._notes.turns.append(Turn(now, event.text))
        elif isinstance(event, PhaseChanged) and event.phase is Phase.SPEAKING:
            self._speaking = now
        elif isinstance(event, TurnEnded):
            self._rebase(event)

    def _rebase(self, turn: TurnEnded) -> None:
        latency, speaking = turn.latency_ms, self._speaking
        if latency.first_audio is None or speaking is None:
            return
        ended = speaking - latency.first_audio / 1000
        self._notes.stages["voice_stopped"] = ended
        for stage in LEDGER_STAGES:
            value: float | None = getattr(latency, stage)
            if value is not None:
                self._notes.stages[stage] = ended + value / 1000


class Probe:
    """Times the calls of a session's models, as (begin, first result) on the clock of the notes."""

    def __init__(self, models: ModelSet) -> None:
        self.transcriptions: list[tuple[float, float]] = []
        self.clauses: list[tuple[float, float]] = []
        self._watch(models.stt, "transcribe", self.transcriptions)
        self._watch(models.tts, "synthesize", self.clauses)

    def clear(self) -> None:
        self.transcriptions.clear()
        self.clauses.clear()

    def note(self, notes: Notes) -> None:
        """Note when the answered words were transcribed and the answer's first clause was
        spoken."""
        transcript = notes.stages.get("transcript")
        if transcript is None:
            return
        # A stage is stamped on the event loop, a moment after the call has returned.
        heard = [call for call in self.transcriptions if call[1] <= transcript + SAME_S]
        if heard:
            notes.stages["transcription_began"] = heard[-1][0]
        spoken = [call for call in self.clauses if call[0] >= transcript]
        if spoken:
            notes.stages["clause_written"], notes.stages["clause_spoken"] = spoken[0]

    @staticmethod
    def _watch(model: object, name: str, calls: list[tuple[float, float]]) -> None:
        call: Callable[..., Any] = getattr(model, name)

        def watched(*arguments: Any) -> Any:
            began = time.monotonic()
            found = call(*arguments)
            if isinstance(found, Iterator):
                return _noting_the_first(found, began, calls)
            calls.append((began, time.monotonic()))
            return found

        setattr(model, name, watched)


def _noting_the_first(
    pieces: Iterator[Any], began: float, calls: list[tuple[float, float]]
) -> Iterator[Any]:
    for number, piece in enumerate(pieces):
        if number == 0:
            calls.append((began, time.monotonic()))
        yield piece


class Ours:
    """The assistant's own loop."""

    name = "ours"

    def __init__(self, home: Home, settings: Settings) -> None:
        self._home = home
        self._settings = settings
        self._models: ModelSet | None = None
        self._probe: Probe | None = None
        self._reads: list[tuple[int, float]] = []
        self.recaller: Callable[[ShortTermMemory], Recaller | None] = lambda _: None
        """Makes the recaller of the next conversation."""

    async def load(self) -> None:
        selection = await asyncio.to_thread(select_models, self._settings)
        self._models = await load_models(
            selection, self._home, self._settings, EventBus(), hears=True, speaks=True
        )
        self._probe = Probe(self._models)

    @property
    def context_tokens(self) -> int:
        """The window of the loaded language model."""
        assert self._models is not None
        return self._models.llm.context_tokens

    async def hear(self, clip: Clip) -> Outcome:
        assert self._models is not None
        assert self._probe is not None
        notes = Notes()
        self._probe.clear()
        bus = EventBus()
        bus.subscribe(NoteTaker(notes).see)
        llm = self._models.llm
        conversation = Conversation.begin(self._settings.general.user)
        memory = ShortTermMemory(conversation, llm, self._settings, None, bus.emit)
        dialogue = Dialogue(self._settings, bus, llm, memory, LatencyLog(self._home.ledger))
        self._hand_on_speed(dialogue)
        source, loudspeaker = microphone(clip), TimedLoudspeaker()
        detectors = await asyncio.to_thread(
            lambda: (GatedVoiceDetector(SileroVoice()), SmartTurn())
        )
        sound = AudioIO(source, loudspeaker, NoEcho())
        recaller = self.recaller(memory)
        loop = VoiceLoop(self._settings, dialogue, self._models, sound, detectors, recaller)
        dialogue.cache.warm(memory.read_ahead())
        await dialogue.cache.warmed()
        await loop.start()
        dialogue.listen()
        try:
            ended, onset = await answer_to(clip, source, loudspeaker)
        finally:
            await loop.close()
            await dialogue.close()
        self._probe.note(notes)
        return outcome(notes, ended, onset)

    def _hand_on_speed(self, dialogue: Dialogue) -> None:
        has_read = dialogue.has_read
        for tokens, seconds in self._reads[-READS_KEPT:]:
            has_read(tokens, seconds)

        def noted(tokens: int, seconds: float) -> None:
            self._reads.append((tokens, seconds))
            has_read(tokens, seconds)

        setattr(dialogue, has_read.__name__, noted)

    async def close(self) -> None:
        models, self._models = self._models, None
        if models is not None:
            await models.llm.close()


def settings_for(profile: str, temperature: float) -> Settings:
    """The default settings without the chime, which would be the first sound."""
    return Settings.model_validate(
        {
            "general": {"profile": profile, "sounds": False},
            "llm": {"temperature": temperature},
        }
    )
