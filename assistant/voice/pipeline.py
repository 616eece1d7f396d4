"""Builds and runs the pipeline of processors from the microphone to the loudspeaker."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from pipecat.frames.frames import ErrorFrame
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineParams, PipelineWorker
from pipecat.workers.runner import WorkerRunner

from assistant.events import Event
from assistant.intents import Intent, IntentRecogniser
from assistant.settings import Settings
from assistant.skills import Remark, Skill
from assistant.voice.audio.echo import EchoCanceller
from assistant.voice.audio.interfaces import MIC_RATE, Loudspeaker, Microphone
from assistant.voice.claims import ClaimDetector
from assistant.voice.dialogue import Dialogue
from assistant.voice.frames import StopSpeakingFrame, TypedFrame
from assistant.voice.intent_routing import RouteIntents
from assistant.voice.recalling import Recall, Recaller
from assistant.voice.ringing import Ringing
from assistant.voice.speech.hearing import Hear
from assistant.voice.speech.speaking import Speak
from assistant.voice.thinking import Think
from assistant.voice.transport import Echo, LoudspeakerOutput, MicrophoneInput
from assistant.voice.turns.barge_in import BargeIn
from assistant.voice.turns.end_of_turn import EndOfTurn
from assistant.voice.turns.pipecat_models import VoiceDetector
from assistant.voice.voice_control import VoiceControl
from models.interfaces import IntentClassifier, ModelSet

SILENT_RATE = 22_050
"""Sample rate of the loudspeaker in Hz if answers are not spoken and it only plays the chime."""
SETTLE_S = 0.5
"""Seconds without activity after which everything said so far counts as answered."""


@dataclass(frozen=True, slots=True)
class AudioIO:
    """A session's audio devices. Without a microphone, turns are typed."""

    microphone: Microphone | None
    loudspeaker: Loudspeaker
    echo: EchoCanceller
    speaks: bool = True
    """Whether answers are spoken. If False, they are only written."""


@dataclass(frozen=True, slots=True)
class Speech:
    """What a session shares with its voice loop. By default, the grammar alone recognises commands,
    the voice stays as the settings say, and nothing rings.

    Attributes:
        classifier: recognises requests to the assistant, and claims in its answers.
        control: the volume and the speed of the voice, which a skill changes.
        ringer: rings for what is due.
        find_tool: as in `RouteIntents`.
    """

    classifier: IntentClassifier | None = None
    control: VoiceControl | None = None
    ringer: Ringing | None = None
    find_tool: Callable[[str], Awaitable[Intent | None]] | None = None


class VoiceLoop:
    """The pipeline and the worker that runs it."""

    def __init__(
        self,
        settings: Settings,
        dialogue: Dialogue,
        models: ModelSet,
        sound: AudioIO,
        detectors: tuple[VoiceDetector, EndOfTurn],
        recaller: Recaller | None = None,
        skills: Sequence[Skill] = (),
        speech: Speech | None = None,
    ) -> None:
        self._dialogue = dialogue
        speech = speech or Speech()
        classifier = speech.classifier
        control = speech.control or VoiceControl(speed=settings.tts.speed)
        voice, end_of_turn = detectors
        self.hear = Hear(settings, dialogue, models.stt, voice, end_of_turn)
        echoes = settings.audio.echo == "cancel"
        detector = ClaimDetector(classifier) if classifier is not None else None
        self._think = Think(models.llm, dialogue, settings.llm, detector, settings.persona.language)
        self.ringer = speech.ringer or Ringing(dialogue, speaks=sound.speaks)
        recogniser = IntentRecogniser(classifier)
        self._route = RouteIntents(dialogue, recogniser, skills, self.ringer, speech.find_tool)
        self._microphone = MicrophoneInput(sound.microphone)
        tts = models.tts if sound.speaks else None
        rate = tts.sample_rate if tts is not None else SILENT_RATE
        self._loudspeaker = LoudspeakerOutput(sound.loudspeaker, dialogue, rate, control)
        pipeline = Pipeline(
            [
                self._microphone,
                Echo(sound.echo),
                self.hear,
                BargeIn(dialogue, end_of_turn.words, duck=settings.turn.duck, echoes=echoes),
                self._route,
                self.ringer,
                Recall(recaller, dialogue, settings.memory),
                self._think,
                Speak(tts, models.llm, dialogue, control),
                self._loudspeaker,
            ]
        )
        self._worker = PipelineWorker(
            pipeline,
            params=PipelineParams(audio_in_sample_rate=MIC_RATE),
            enable_rtvi=False,
            enable_turn_tracking=False,
            idle_timeout_secs=None,
        )
        self._runner = WorkerRunner(handle_sigint=False, handle_sigterm=False)
        self._running: asyncio.Task[None] | None = None
        self._losing: asyncio.Task[None] | None = None
        self.hears = sound.microphone is not None

    def watch(self, event: Event) -> None:
        """Receive an event from the event bus."""
        self._route.watch(event)

    async def start(self) -> None:
        """Start the pipeline and open the devices.

        Raises:
            AudioError: a device is missing or in use.
        """
        started = asyncio.Event()

        async def note(*_: object) -> None:
            started.set()

        async def failed(_: object, frame: ErrorFrame) -> None:
            self._dialogue.failed(frame.exception or RuntimeError(frame.error))

        self._worker.add_event_handler("on_pipeline_started", note)
        self._worker.add_event_handler("on_pipeline_error", failed)
        await self._loudspeaker.open()
        await self._runner.add_workers(self._worker)
        self._running = asyncio.create_task(self._runner.run())
        waiting = asyncio.create_task(started.wait())
        await asyncio.wait({waiting, self._running}, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        await self._microphone.open()

    def sound(self, *, works: bool) -> None:
        """React to the loss or the return of the audio devices. If they are lost, speech in
        progress is discarded."""
        self._dialogue.sound(works=works)
        self.ringer.sound(works=works)
        if not works:
            self._losing = asyncio.create_task(self.hear.give_up("sound was lost"))

    async def say(self, text: str) -> None:
        """Begin a turn with `text`, which the user typed."""
        await self._worker.queue_frame(TypedFrame(text))

    def remark(self, remark: Remark) -> None:
        """Make a remark about an effect of the last turn, as soon as the turn is answered."""
        self._route.remark(remark)

    async def stop_speaking(self) -> None:
        """Stop the voice and whatever rings."""
        self.ringer.silence()
        await self._worker.queue_frame(StopSpeakingFrame())

    async def settled(self) -> None:
        """Wait until everything said so far has been answered. Used with recordings and in
        tests."""
        calm_since = time.monotonic()
        while time.monotonic() - calm_since < SETTLE_S:
            await asyncio.sleep(0.02)
            if self.hear.busy or self._think.busy or self._dialogue.answering:
                calm_since = time.monotonic()

    async def close(self) -> None:
        """Stop the pipeline at once. A turn in progress is abandoned."""
        running, self._running = self._running, None
        if running is not None:
            await self._runner.cancel("closed")
            await asyncio.wait({running}, timeout=1.0)
