"""microphone → *turn*: detects when someone speaks, and when a turn is over.

Silero gives a voice probability for every 32 ms, which the endpointer turns into signals. At each
pause there are two judges of whether the user is done: Smart Turn listens to the last seconds, and
the transcribed words are checked for completeness. (Silero and Smart Turn come with pipecat.) Both
are asked at the first hint of silence, side by side, so that the answer is being prepared while the
silence is still short. If both say that the turn is over, it ends soon; if only one does, after a
while; if neither does, after a long silence.
"""

import asyncio
import math
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from pipecat.frames.frames import Frame
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor

from assistant.settings import Turn
from assistant.voice.frames import (
    CompletenessFrame,
    MicrophoneFrame,
    SpeechContinuesFrame,
    SpeechDiscardedFrame,
    SpeechPausedFrame,
    SpeechResumedFrame,
    SpeechSegment,
    SpeechStartedFrame,
    TurnOverFrame,
)
from assistant.voice.turns.detectors import EndOfTurn, VoiceDetector
from assistant.voice.turns.endpointing import WINDOW, WINDOW_S, Endpointer, Signal
from assistant.voice.turns.semantic_endpointing import Completeness
from models.interfaces import STT_SAMPLE_RATE, Samples

PREROLL_WINDOWS = 12
"""Windows kept from before the voice was certain (0.38 s); they contain the first consonant."""
SMART_TURN_WINDOWS = int(8 / WINDOW_S)
SEGMENT_S = 10.0
"""Seconds of speech after which a pause commits the words before it."""
LONGEST_SEGMENT_S = 24.0
"""Seconds of speech after which it is cut even without a pause: Whisper's window is 30 s."""
PARTIAL_EVERY_S = 0.48


@dataclass(frozen=True, slots=True)
class AudioWindow:
    """32 ms from the microphone, what was played meanwhile, and the probability of a voice."""

    samples: Samples
    played: Samples
    voice: float


class UtteranceAudio:
    """The current utterance's audio, cut into segments, with the voice detector's measurements."""

    def __init__(self, number: int, preroll: list[AudioWindow], noise_floor: float) -> None:
        self.number = number
        self.revision = 0
        self.seconds = 0.0
        self.last_voice = 0.0
        self.sound_done: bool | None = None
        """Smart Turn's verdict on the current revision; None until it is there."""
        self.phrase: Completeness | None = None
        """How complete the current revision's words are; None until they are known."""
        self.noise_floor = noise_floor
        self._windows = preroll

    def add(self, window: AudioWindow, ended: float, *, voiced: bool) -> None:
        self._windows.append(window)
        self.seconds += WINDOW_S
        if voiced:
            self.last_voice = ended

    @property
    def segment_s(self) -> float:
        return len(self._windows) * WINDOW_S

    def stretch(self, confidence: float) -> SpeechSegment:
        voices = np.array([window.voice for window in self._windows])
        voiced = voices[voices >= confidence]
        return SpeechSegment(
            utterance=self.number,
            revision=self.revision,
            samples=np.concatenate([window.samples for window in self._windows]),
            played=np.concatenate([window.played for window in self._windows]),
            ended=self.last_voice,
            voiced_s=len(voiced) * WINDOW_S,
            mean_voice=float(voiced.mean()) if len(voiced) else 0.0,
            max_voice=float(voices.max()) if len(voices) else 0.0,
            noise_floor=self.noise_floor,
        )

    def next_revision(self) -> None:
        """The user went on speaking: verdicts so far are void."""
        self.revision += 1
        self.sound_done = self.phrase = None

    def commit(self) -> None:
        """Start the next segment, keeping a little of the pause."""
        self._windows = self._windows[-3:]


class TurnDetector(FrameProcessor):
    """Listens to the microphone's frames and reports where speech and turns begin and end."""

    def __init__(
        self,
        settings: Turn,
        *,
        voice: VoiceDetector,
        end_of_turn: EndOfTurn,
        on_level: Callable[[float], None],
        on_voice: Callable[[], None],
    ) -> None:
        """
        Args:
            on_voice: called at the first window that may be a voice, before anything else.
        """
        super().__init__(name="turn", enable_direct_mode=True)
        self._settings = settings
        self._voice = voice
        self._end_of_turn = end_of_turn
        self._on_level = on_level
        self._on_voice = on_voice
        self._endpointer = Endpointer(
            confidence=settings.vad_confidence,
            start_s=settings.start_s,
            hint_s=settings.hint_s,
            stop_s=settings.stop_s,
            doubtful_wait_s=settings.doubtful_wait_s,
            incomplete_wait_s=settings.incomplete_wait_s,
        )
        self._pending = np.empty((2, 0), dtype=np.int16)
        """Less than one window: the microphone's samples, and what was played."""
        self._preroll: deque[AudioWindow] = deque(maxlen=PREROLL_WINDOWS)
        self._tail: deque[Samples] = deque(maxlen=SMART_TURN_WINDOWS)
        self._utterance: UtteranceAudio | None = None
        self._count = 0
        self._noise_floor = 30.0
        self._level_windows = 0
        self._asking: asyncio.Task[None] | None = None
        self.open = True
        """False while muted or, with push-to-talk, while the key is up."""

    async def cleanup(self) -> None:
        await super().cleanup()
        await self._stop_asking()

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        if isinstance(frame, CompletenessFrame):
            utterance = self._utterance
            if utterance is not None and (utterance.number, utterance.revision) == (
                frame.utterance,
                frame.revision,
            ):
                utterance.phrase = frame.phrase
                await self._decide(utterance)
        elif not isinstance(frame, MicrophoneFrame):
            await self.push_frame(frame, direction)
        elif self.open:
            await self._listen(frame)
        elif self._utterance is not None:
            await self.give_up("muted")

    @property
    def hearing(self) -> bool:
        """Whether someone is speaking, or may not have finished."""
        return self._utterance is not None

    async def release(self) -> None:
        """Push-to-talk: the key was released, so what was said becomes a turn at once."""
        if self._utterance is not None:
            await self.push_frame(self._paused())
            await self._over(self._utterance)

    async def _listen(self, frame: MicrophoneFrame) -> None:
        played = np.zeros_like(frame.samples) if frame.played is None else frame.played
        self._pending = np.concatenate((self._pending, (frame.samples, played)), axis=1)
        while self._pending.shape[1] >= WINDOW:
            both, self._pending = self._pending[:, :WINDOW], self._pending[:, WINDOW:]
            ended = frame.captured - self._pending.shape[1] / STT_SAMPLE_RATE
            await self._window(both[0], both[1], ended)

    async def _window(self, samples: Samples, played: Samples, ended: float) -> None:
        probability = self._voice.probability(samples)
        self._measure(samples, probability)
        self._tail.append(samples)
        window = AudioWindow(samples, played, probability)
        if self._utterance is not None:
            voiced = probability >= self._settings.vad_confidence
            self._utterance.add(window, ended, voiced=voiced)
        else:
            self._preroll.append(window)
        sensed = self._endpointer.sensing
        signals = self._endpointer.feed(probability)
        if self._endpointer.sensing and not sensed:
            self._on_voice()
        for signal in signals:
            await self._act(signal, ended)
        if self._utterance is not None:
            await self._mind_length(self._utterance)

    async def _act(self, signal: Signal, ended: float) -> None:
        if signal is Signal.STARTED:
            self._count += 1
            self._utterance = UtteranceAudio(self._count, list(self._preroll), self._noise_floor)
            self._utterance.last_voice = ended
            self._preroll.clear()
            await self.push_frame(SpeechStartedFrame(self._count))
            return
        utterance = self._utterance
        if utterance is None:
            return
        if signal is Signal.HINT:
            await self.push_frame(self._paused())
            audio = np.concatenate(list(self._tail))
            self._asking = asyncio.create_task(self._ask(utterance, utterance.revision, audio))
        elif signal is Signal.RESUMED:
            await self._stop_asking()
            await self._resume(utterance, commit=utterance.segment_s >= SEGMENT_S)
        elif signal is Signal.STOPPED:
            await self._decide(utterance)
        elif signal is Signal.DOUBTFUL_SILENCE:
            if utterance.sound_done or utterance.phrase is Completeness.FINISHED:
                await self._over(utterance)
        elif signal is Signal.LONG_SILENCE:
            await self._over(utterance)

    async def _resume(self, utterance: UtteranceAudio, *, commit: bool) -> None:
        await self.push_frame(
            SpeechResumedFrame(utterance.number, utterance.revision, commit=commit)
        )
        utterance.next_revision()
        if commit:
            utterance.commit()

    async def _mind_length(self, utterance: UtteranceAudio) -> None:
        """Emit partial transcripts during speech, and cut segments and turns that get too long."""
        settings = self._settings
        if utterance.seconds >= settings.max_turn_s:
            await self.push_frame(self._paused())
            await self._over(utterance, forced=True)
        elif utterance.segment_s >= LONGEST_SEGMENT_S and self._endpointer.silence_s == 0:
            await self.push_frame(self._paused())
            await self._resume(utterance, commit=True)
        elif self._endpointer.silence_s == 0:
            steps = round(utterance.seconds / WINDOW_S)
            if steps and steps % round(PARTIAL_EVERY_S / WINDOW_S) == 0:
                await self.push_frame(
                    SpeechContinuesFrame(utterance.stretch(settings.vad_confidence))
                )

    def _paused(self) -> SpeechPausedFrame:
        assert self._utterance is not None
        return SpeechPausedFrame(self._utterance.stretch(self._settings.vad_confidence))

    async def _ask(self, utterance: UtteranceAudio, revision: int, audio: Samples) -> None:
        probability = await asyncio.to_thread(self._end_of_turn.probability, audio)
        if utterance is self._utterance and utterance.revision == revision:
            self._asking = None
            utterance.sound_done = probability > 0.5
            await self._decide(utterance)

    async def _decide(self, utterance: UtteranceAudio) -> None:
        """End the turn if it sounds finished, the words don't object, and silence lasted."""
        if self._endpointer.silence_s + 1e-9 < self._settings.stop_s:
            return
        if utterance.sound_done and utterance.phrase not in (None, Completeness.DANGLING):
            await self._over(utterance)

    async def _over(self, utterance: UtteranceAudio, *, forced: bool = False) -> None:
        await self.push_frame(
            TurnOverFrame(
                utterance.number, utterance.revision, decided=time.monotonic(), forced=forced
            )
        )
        await self._reset()

    async def give_up(self, reason: str) -> None:
        """Discard whatever is being said, so that it does not become a turn."""
        if self._utterance is not None:
            await self.push_frame(SpeechDiscardedFrame(self._utterance.number, reason))
        await self._reset()

    async def _reset(self) -> None:
        await self._stop_asking()
        self._utterance = None
        self._endpointer.reset()
        self._preroll.clear()
        self._tail.clear()

    async def _stop_asking(self) -> None:
        task, self._asking = self._asking, None
        if task is not None and task is not asyncio.current_task():
            task.cancel()

    def _measure(self, window: Samples, probability: float) -> None:
        wide = window.astype(np.float32)
        level = math.sqrt(float(np.dot(wide, wide)) / len(wide))
        if probability < 0.2:
            self._noise_floor += 0.05 * (level - self._noise_floor)
        self._level_windows += 1
        if self._level_windows >= 8:
            self._level_windows = 0
            self._on_level(20 * math.log10(max(level, 1.0) / 32768))
