"""The assistant, as `assistant.app` composes it, with the benchmark's microphone and loudspeaker.

The models are loaded once; each conversation has a new loop, history, state and detectors. The
measured reading speed of the model is passed on from one conversation to the next, as between
turns.
"""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from typing import Any

from pipecat.frames.frames import Frame
from pipecat.processors.frame_processor import FrameDirection

from assistant.compose.adapted_models import build_intent_classifier, build_turn_judge
from assistant.compose.engines import load_models
from assistant.context.conversation import Conversation
from assistant.context.short_term import ShortTermMemory
from assistant.event_bus import EventBus
from assistant.events import Event, Phase, PhaseChanged, Remarked, TurnEnded, TurnHeard
from assistant.paths import Home
from assistant.settings import Settings
from assistant.state import StateStore
from assistant.voice.audio.echo import NoEcho
from assistant.voice.audio.files import FileMicrophone
from assistant.voice.dialogue import Dialogue
from assistant.voice.frames import AnswerRequestFrame
from assistant.voice.latency import LatencyLog
from assistant.voice.pipeline import AudioIO, Speech, VoiceLoop
from assistant.voice.recalling import Recaller
from assistant.voice.ringing import Ringing
from assistant.voice.speculation import SpeculativeAnswer
from assistant.voice.speech.hearing import Hear
from assistant.voice.turns.end_of_turn import EndOfTurn, read_weights
from assistant.voice.turns.pipecat_models import (
    GatedVoiceDetector,
    SileroVoice,
    SmartTurn,
    VoiceDetector,
)
from assistant.voice.voice_control import VoiceControl
from models.interfaces import IntentClassifier, ModelSet, SlotReader, TextToSpeech, TurnJudge
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
from scripts.common.session_skills import session_skills

SAME_S = 0.02
READS_KEPT = 10
LEDGER_STAGES = ("transcript", "turn_decided", "recall", "first_token")


class NoteTaker:
    """Turns the assistant's events into notes.

    Times in the events count from the end of speech that the assistant detects, which may differ
    from the label. The start of the assistant's voice is known on both clocks, and links them.
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
        elif isinstance(event, Remarked):
            self._notes.reply = event.text
        elif isinstance(event, TurnEnded):
            if not event.context_tokens:
                self._notes.reply = event.assistant
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
    """Records when each call to a session's models began and when it gave its first result, on the
    clock of the notes."""

    def __init__(self, models: ModelSet) -> None:
        self.transcriptions: list[tuple[float, float]] = []
        self.clauses: list[tuple[float, float]] = []
        self._watch(models.stt, "transcribe", self.transcriptions)
        self._watch(models.tts, "synthesize", self.clauses)

    def clear(self) -> None:
        self.transcriptions.clear()
        self.clauses.clear()

    def note(self, notes: Notes) -> None:
        """Note when transcribing the answered words began, and when the answer's first clause was
        written and synthesized."""
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

        def watched(*arguments: Any, **named: Any) -> Any:
            began = time.monotonic()
            found = call(*arguments, **named)
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


class Requests:
    """The answers that a session's `Hear` has asked for. They contain the times of a turn that a
    skill answers; the ledger lacks those times."""

    def __init__(self, hear: Hear) -> None:
        self._asked: list[SpeculativeAnswer] = []
        push_frame = hear.push_frame

        async def watched(
            frame: Frame, direction: FrameDirection = FrameDirection.DOWNSTREAM
        ) -> None:
            if isinstance(frame, AnswerRequestFrame):
                self._asked.append(frame.answer)
            await push_frame(frame, direction)

        setattr(hear, push_frame.__name__, watched)

    def note(self, notes: Notes) -> None:
        """Note the times of the turn that a skill took."""
        times = [each.times for each in self._asked if each.confirmed]
        if notes.reply and times and times[-1].turn_decided is not None:
            notes.stages["turn_decided"] = times[-1].turn_decided
            if times[-1].transcript is not None:
                notes.stages["transcript"] = times[-1].transcript


@dataclass(frozen=True, slots=True)
class Parts:
    """The optional parts of a conversation.

    Attributes:
        recaller: makes the conversation's recaller.
        classifier: judges requests and claims. Without one, the grammar alone recognises requests,
            and answers are not checked.
        reader: finds the values of a form's slots in what is said.
        left_open: fills the state with whatever an earlier session left open, e.g. a form.
        partials: whether speech is transcribed while it goes on.
    """

    recaller: Callable[[ShortTermMemory], Recaller | None] = lambda _: None
    classifier: IntentClassifier | None = None
    reader: SlotReader | None = None
    left_open: Callable[[StateStore], object] = lambda _: None
    partials: bool = True


class Ours:
    """The assistant's own loop."""

    name = "ours"

    def __init__(self, home: Home, settings: Settings) -> None:
        self._home = home
        self._settings = settings
        self._models: ModelSet | None = None
        self._words: TurnJudge | None = None
        self._probe: Probe | None = None
        self._reads: list[tuple[int, float]] = []
        self.parts = Parts()
        """The parts of the next conversation."""

    async def load(self) -> None:
        """Load the models. Raises ModelError: one is missing or damaged."""
        selection = await asyncio.to_thread(select_models, self._settings)
        classifier = build_intent_classifier(selection, self._settings)
        if classifier is not None:
            await asyncio.to_thread(classifier.load)
        self._words = build_turn_judge(selection, self._settings)
        self.parts = replace(self.parts, classifier=classifier)
        self._models = await load_models(
            selection, self._home, self._settings, EventBus(), hears=True, speaks=True
        )
        self._probe = Probe(self._models)

    @property
    def context_tokens(self) -> int:
        """The window of the loaded language model."""
        assert self._models is not None
        return self._models.llm.context_tokens

    @property
    def voice(self) -> TextToSpeech:
        """The loaded voice."""
        assert self._models is not None
        return self._models.tts

    async def hear(self, clip: Clip) -> Outcome:
        assert self._probe is not None
        notes = Notes()
        self._probe.clear()
        source, loudspeaker = microphone(clip), TimedLoudspeaker()
        async with AsyncExitStack() as stack:
            dialogue, loop = await self._session(notes, source, loudspeaker, stack)
            requests = Requests(loop.hear)
            await dialogue.cache.warmed()
            await loop.start()
            dialogue.listen()
            try:
                ended, onset = await answer_to(clip, source, loudspeaker)
            finally:
                await loop.close()
                await dialogue.close()
        self._probe.note(notes)
        requests.note(notes)
        return outcome(notes, ended, onset)

    async def _session(
        self,
        notes: Notes,
        source: FileMicrophone,
        loudspeaker: TimedLoudspeaker,
        stack: AsyncExitStack,
    ) -> tuple[Dialogue, VoiceLoop]:
        """Make a new conversation, and let the model begin to read its prompt."""
        assert self._models is not None
        stt = self._settings.stt.model_copy(update={"partials": self.parts.partials})
        settings = self._settings.model_copy(update={"stt": stt})
        llm, bus = self._models.llm, EventBus()
        bus.subscribe(NoteTaker(notes).see)
        window = ShortTermMemory(
            Conversation.begin(settings.general.user), llm, settings, None, bus.emit
        )
        dialogue = Dialogue(settings, bus, llm, window, LatencyLog(self._home.ledger))
        self._hand_on_speed(dialogue)
        control, ringer = VoiceControl(speed=settings.tts.speed), Ringing(dialogue, speaks=True)
        skills = await session_skills(
            *(self._home, settings, bus, dialogue, window, llm, control, ringer),
            *(self.parts.reader, stack),
            self.parts.left_open,
        )
        detectors = await asyncio.to_thread(self._detectors)
        loop = VoiceLoop(
            *(settings, dialogue, self._models, AudioIO(source, loudspeaker, NoEcho())),
            *(detectors, self.parts.recaller(window), skills),
            Speech(self.parts.classifier, control, ringer),
        )
        bus.subscribe(loop.watch)
        dialogue.cache.warm(window.read_ahead())
        return dialogue, loop

    def _detectors(self) -> tuple[VoiceDetector, EndOfTurn]:
        patience = self._settings.turn.patience
        ends = EndOfTurn(SmartTurn(), self._words, read_weights(), patience)
        return GatedVoiceDetector(SileroVoice()), ends

    def _hand_on_speed(self, dialogue: Dialogue) -> None:
        note = dialogue.reading.note
        for tokens, seconds in self._reads[-READS_KEPT:]:
            note(tokens, seconds)

        def noted(tokens: int, seconds: float) -> None:
            self._reads.append((tokens, seconds))
            note(tokens, seconds)

        setattr(dialogue.reading, note.__name__, noted)

    async def close(self) -> None:
        models, self._models = self._models, None
        if models is not None:
            await models.llm.close()


def settings_for(profile: str, temperature: float) -> Settings:
    """The default settings with this profile and temperature, and without the chime, which would be
    the first sound."""
    return Settings.model_validate(
        {
            "general": {"profile": profile, "sounds": False},
            "llm": {"temperature": temperature},
        }
    )
