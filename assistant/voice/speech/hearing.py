"""The pipeline's step after echo cancellation: finds the user's turns in the microphone's sound,
and transcribes them.

Silero estimates the probability of a voice for every 32 ms. From these probabilities, the
endpointer decides when speech begins, pauses and resumes. As soon as speech pauses, the sound of
the last seconds is judged, and the words are transcribed and judged, to find out whether the user
has finished (`assistant/voice/turns/end_of_turn.py`). The words are also passed on at once, so that
an answer is prepared during the pause. The answer is confirmed when the turn is over. It is
withdrawn if the user goes on speaking. So every turn has exactly one transcript of all its audio,
and late results can't split a turn.
"""

import asyncio
import logging
import math
import time
from collections import deque

import numpy as np
from pipecat.frames.frames import Frame, InterruptionFrame, StartFrame
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor

from assistant.errors import ModelError
from assistant.events import MicrophoneLevel, Notice, PartialTranscript, Severity, UserSensed
from assistant.settings import Settings
from assistant.voice.audio.interfaces import rms
from assistant.voice.background_tasks import TaskSet
from assistant.voice.dialogue import Dialogue
from assistant.voice.frames import (
    AnswerRequestFrame,
    MicrophoneFrame,
    PartialFrame,
    SpeechDiscardedFrame,
    SpeechStartedFrame,
    TypedFrame,
)
from assistant.voice.latency import TurnTimes
from assistant.voice.speculation import SpeculativeAnswer
from assistant.voice.speech.hallucination import SpeechSegment, why_not_speech
from assistant.voice.speech.recognising import Recogniser
from assistant.voice.speech.utterance import AudioWindow, Utterance
from assistant.voice.turns.end_of_turn import RECHECK_S, EndOfTurn, Evidence
from assistant.voice.turns.endpointing import WINDOW, WINDOW_S, Endpointer, SpeechChange
from assistant.voice.turns.pipecat_models import VoiceDetector
from models.interfaces import STT_SAMPLE_RATE, Samples, SpeechToText

logger = logging.getLogger(__name__)

PREROLL_WINDOWS = 12
"""Number of windows (0.38 s) that belong to the utterance although they precede its detection. They
contain its first consonant."""
JUDGED_WINDOWS = int(8 / WINDOW_S)
"""Number of windows whose sound is judged (8 s)."""
RECHECK_WINDOWS = round(RECHECK_S / WINDOW_S)
SEGMENT_S = 10.0
"""Seconds of speech after which the next pause ends a segment."""
LONGEST_SEGMENT_S = 24.0
"""Seconds after which a segment ends even without a pause, because Whisper's window is 30 s."""
PARTIAL_EVERY_WINDOWS = 15
"""Minimum number of windows from one partial transcript to the next (0.48 s)."""
LEVEL_EVERY_WINDOWS = 8
"""Number of windows from one event with the microphone's level to the next (0.26 s)."""
TOO_LONG = "You spoke for a long time without a pause, so I'll answer what I have heard so far."
RECOGNISER_FAILED = "the recogniser failed"


class Hear(FrameProcessor):
    """Finds the user's turns in the microphone's frames, and requests answers to them."""

    def __init__(
        self,
        settings: Settings,
        dialogue: Dialogue,
        stt: SpeechToText,
        voice: VoiceDetector,
        end_of_turn: EndOfTurn,
    ) -> None:
        # Called directly by `Echo`: queueing each frame would cost too much.
        super().__init__(name="hear", enable_direct_mode=True)
        self._settings = settings.turn
        self._partials = settings.stt.partials
        self._dialogue = dialogue
        self._recogniser = Recogniser(stt)
        self._voice = voice
        self._end_of_turn = end_of_turn
        self._endpointer = Endpointer(settings.turn)
        self._pending = np.empty((2, 0), dtype=np.int16)
        """The beginning of the next window: the microphone's samples, and the samples played."""
        self._preroll: deque[AudioWindow] = deque(maxlen=PREROLL_WINDOWS)
        self._tail: deque[Samples] = deque(maxlen=JUDGED_WINDOWS)
        self._utterance: Utterance | None = None
        """The utterance in progress, or the last one while it is still being transcribed."""
        self._noise_floor = 30.0
        self._level_windows = 0
        self._jobs = TaskSet(dialogue.failed)
        self.open = True
        """Whether to listen. False while muted or, with push-to-talk, while the key is up."""

    @property
    def busy(self) -> bool:
        """Whether an utterance is in progress or is being transcribed."""
        return self._speaking is not None or len(self._jobs) > 0

    @property
    def _speaking(self) -> Utterance | None:
        utterance = self._utterance
        return utterance if utterance is not None and utterance.over_at is None else None

    async def cleanup(self) -> None:
        await super().cleanup()
        self._jobs.cancel()
        self._recogniser.close()

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        if isinstance(frame, StartFrame):
            self._jobs.start(self._end_of_turn.words.load())
        if isinstance(frame, TypedFrame):
            await self._typed(frame.text)
        elif not isinstance(frame, MicrophoneFrame):
            await self.push_frame(frame, direction)
        elif self.open:
            await self._listen(frame)
        elif self._speaking is not None:
            await self.give_up("muted")

    async def release(self) -> None:
        """Make the utterance in progress a turn at once. Called when the push-to-talk key is
        released."""
        utterance = self._speaking
        if utterance is not None:
            await self._end(utterance)

    async def give_up(self, reason: str) -> None:
        """Discard the utterance in progress, so that it does not become a turn. `reason` is
        reported."""
        utterance = self._speaking
        if utterance is not None:
            self._utterance = None
            await self._withdraw(utterance)
            if not utterance.replaced:
                self._dialogue.ignore(reason)
            await self.push_frame(SpeechDiscardedFrame())
        self._await_speech()

    def _await_speech(self) -> None:
        self._endpointer.reset()
        self._preroll.clear()
        self._tail.clear()

    # -- from sound to the end of the turn -------------------------------------------------------

    async def _listen(self, frame: MicrophoneFrame) -> None:
        played = np.zeros_like(frame.samples) if frame.played is None else frame.played
        self._pending = np.concatenate((self._pending, (frame.samples, played)), axis=1)
        while self._pending.shape[1] >= WINDOW:
            both, self._pending = self._pending[:, :WINDOW], self._pending[:, WINDOW:]
            ended = frame.captured - self._pending.shape[1] / STT_SAMPLE_RATE
            await self._take(both[0], both[1], ended)

    async def _take(self, samples: Samples, played: Samples, ended: float) -> None:
        """Process the next window, which ended at `ended` (`time.monotonic`)."""
        probability = self._voice.probability(samples)
        self._measure(samples, probability)
        self._tail.append(samples)
        window = AudioWindow(samples, played, probability)
        utterance = self._speaking
        if utterance is None:
            self._preroll.append(window)
        else:
            utterance.add(window, ended, voiced=probability >= self._settings.vad_confidence)
        sensed = self._endpointer.sensing
        change = self._endpointer.feed(probability)
        if self._endpointer.sensing and not sensed:
            self._dialogue.emit(UserSensed())
        if change is SpeechChange.STARTED:
            await self._begin(ended)
        elif utterance is not None:
            await self._follow(utterance, change)

    async def _begin(self, ended: float) -> None:
        """Start an utterance. If the previous utterance has not been transcribed yet, it becomes
        the beginning of this one."""
        earlier = [] if self._utterance is None else self._utterance.all_words()
        self._utterance = Utterance(list(self._preroll), self._noise_floor, ended, earlier)
        self._preroll.clear()
        self._dialogue.emit(UserSensed(sure=True))
        self._dialogue.speech_started()
        await self.push_frame(SpeechStartedFrame())

    async def _follow(self, utterance: Utterance, change: SpeechChange | None) -> None:
        """React to a pause or its end. End segments and turns that are too long."""
        speaks = self._endpointer.silence_s == 0
        if change is SpeechChange.PAUSED:
            self._transcribe(utterance)
            self._judge_sound(utterance)
        elif change is SpeechChange.RESUMED:
            await self._go_on(utterance, segment=utterance.segment_s >= SEGMENT_S)
        elif utterance.seconds >= self._settings.max_turn_s:
            if not (utterance.replaced or self._dialogue.asleep):
                self._dialogue.emit(Notice(TOO_LONG, Severity.WARNING))
            await self._end(utterance)
        elif speaks and utterance.segment_s >= LONGEST_SEGMENT_S:
            self._transcribe(utterance)
            await self._go_on(utterance, segment=True)
        elif speaks and round(utterance.seconds / WINDOW_S) % PARTIAL_EVERY_WINDOWS == 0:
            self._transcribe_so_far(utterance)
        await self._end_if_over(utterance)
        if utterance is self._speaking and self._endpointer.silent_windows == RECHECK_WINDOWS:
            unsure = not self._end_of_turn.is_sure(utterance.evidence, RECHECK_S)
            if utterance.words is not None and unsure:
                self._judge_sound(utterance)

    def _judge_sound(self, utterance: Utterance) -> None:
        audio, silence_s = np.concatenate(list(self._tail)), self._endpointer.silence_s
        self._jobs.start(self._note_sound(utterance, utterance.evidence, audio, silence_s))

    async def _note_sound(
        self, utterance: Utterance, evidence: Evidence, audio: Samples, silence_s: float
    ) -> None:
        await self._end_of_turn.judge_sound(evidence, audio, silence_s)
        await self._end_if_over(utterance)

    async def _end_if_over(self, utterance: Utterance) -> None:
        if utterance is self._speaking and self._end_of_turn.is_over(
            utterance.evidence, self._endpointer.silence_s
        ):
            await self._end(utterance)

    async def _end(self, utterance: Utterance) -> None:
        """End the turn, and confirm its answer now or as soon as its words are known."""
        self._transcribe(utterance)
        self._await_speech()
        utterance.over_at = time.monotonic()
        if utterance.replaced:
            self._utterance = None
        elif utterance.transcribed:
            await self._settle(utterance)

    async def _settle(self, utterance: Utterance) -> None:
        """Make a turn of an utterance that is over and transcribed, or discard it if it has no
        words."""
        self._utterance = None
        if utterance.answer is not None:
            utterance.answer.times.turn_decided = utterance.over_at
            utterance.answer.confirm()
        else:
            self._dialogue.ignore(utterance.reason)
            await self.push_frame(SpeechDiscardedFrame())

    async def _go_on(self, utterance: Utterance, *, segment: bool) -> None:
        """Withdraw the answer and begin a new revision, because the user went on speaking. With
        `segment`, begin a new segment, too."""
        await self._withdraw(utterance)
        utterance.begin_revision(segment=segment)

    async def _withdraw(self, utterance: Utterance) -> None:
        answer, utterance.answer = utterance.answer, None
        if answer is not None and not answer.confirmed:
            answer.withdraw()
            if answer.passed:
                await self.push_frame(InterruptionFrame())

    def _measure(self, window: Samples, probability: float) -> None:
        level = rms(window)
        if probability < 0.2:
            self._noise_floor += 0.05 * (level - self._noise_floor)
        self._level_windows += 1
        if self._level_windows >= LEVEL_EVERY_WINDOWS:
            self._level_windows = 0
            self._dialogue.emit(MicrophoneLevel(20 * math.log10(max(level, 1.0) / 32768)))

    # -- from sound to words ---------------------------------------------------------------------

    def _transcribe(self, utterance: Utterance) -> None:
        """Start transcribing the newest segment, unless this revision has been transcribed."""
        if utterance.words is None and not utterance.replaced:
            segment = utterance.segment(self._settings.vad_confidence)
            utterance.words = asyncio.create_task(self._words(utterance, segment))
            self._jobs.start(self._answer(utterance, utterance.revision, utterance.words))

    async def _words(self, utterance: Utterance, segment: SpeechSegment) -> str:
        """Return the segment's words, or "" if it was not speech."""
        try:
            heard, utterance.own_voice = await self._recogniser.recognise(segment)
        except ModelError as error:
            self._dialogue.emit(Notice(str(error), Severity.ERROR, error.mend))
            utterance.reason = RECOGNISER_FAILED
            return ""
        except Exception as error:
            logger.exception(RECOGNISER_FAILED)
            self._dialogue.failed(error)
            utterance.reason = RECOGNISER_FAILED
            return ""
        reason = why_not_speech(heard, segment)
        if reason is not None:
            utterance.reason = reason
            return ""
        return heard.text.strip()

    async def _answer(
        self, utterance: Utterance, revision: int, words: "asyncio.Task[str]"
    ) -> None:
        """Wait for the words, then request an answer. The answer is speculative unless the turn is
        over."""
        newest = await words
        if utterance is not self._utterance or utterance.revision != revision:
            return
        if utterance.replaced:
            return
        text = await utterance.with_earlier(newest)
        utterance.transcribed = True
        answer = SpeculativeAnswer(
            text, TurnTimes(utterance.last_voice), own_voice=utterance.own_voice
        )
        answer.times.stamp("transcript")
        utterance.answer = answer if text else None
        if utterance.over_at is not None:
            await self._settle(utterance)
        else:
            evidence = utterance.evidence
            evidence.ready = not text
            answer.when_ready = lambda: self._jobs.start(self._note_ready(utterance, evidence))
            self._jobs.start(self._judge_words(utterance, evidence, text))
        if text:
            await self.push_frame(PartialFrame(text, answer.own_voice))
            await self.push_frame(AnswerRequestFrame(answer))

    async def _judge_words(self, utterance: Utterance, evidence: Evidence, text: str) -> None:
        dialogue = self._dialogue
        follows = dialogue.attention.follows_answer(dialogue.speech_began)
        question = dialogue.last_said.question if follows else ""
        await self._end_of_turn.judge_words(evidence, text, question)
        await self._end_if_over(utterance)

    async def _note_ready(self, utterance: Utterance, evidence: Evidence) -> None:
        evidence.ready = True
        await self._end_if_over(utterance)

    def _transcribe_so_far(self, utterance: Utterance) -> None:
        """Start a partial transcript while the user is still speaking, if the recogniser has time
        for it, or if the words may be an interruption."""
        recogniser = self._recogniser
        if not recogniser.is_free:
            return
        aloud = self._dialogue.aloud
        if aloud or (self._partials and recogniser.is_rested):
            segment = utterance.segment(self._settings.vad_confidence)
            self._jobs.start(self._pass_on_partial(utterance, segment, draft=not aloud))

    async def _pass_on_partial(
        self, utterance: Utterance, segment: SpeechSegment, *, draft: bool
    ) -> None:
        """Pass on the words so far. A draft is enough, unless they may interrupt the assistant."""
        earlier = utterance.earlier
        try:
            heard, own_voice = await self._recogniser.recognise(segment, draft=draft)
        except ModelError as error:
            logger.warning("partial transcript failed: %s", type(error).__name__)
            return
        if utterance is not self._speaking or utterance.replaced:
            return
        same_segment = utterance.earlier is earlier  # otherwise, the earlier words include these
        if same_segment and why_not_speech(heard, segment) is None:
            text = await utterance.with_earlier(heard.text.strip())
            if self._dialogue.meant_for_me(text):
                self._dialogue.emit(PartialTranscript(self._dialogue.next_turn, text))
            goes_on = utterance.words is None
            await self.push_frame(PartialFrame(text, own_voice, goes_on=goes_on))

    async def _typed(self, text: str) -> None:
        utterance = self._speaking
        if utterance is not None:
            utterance.replaced = True
            await self._withdraw(utterance)
        answer = SpeculativeAnswer(text, typed=True)
        answer.times.stamp("turn_decided")
        answer.times.stamp("transcript")
        answer.confirm()
        self._dialogue.emit(UserSensed(sure=True))
        self._dialogue.speech_started()
        await self.push_frame(AnswerRequestFrame(answer))
