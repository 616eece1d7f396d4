"""turn → *hear*: turns speech into words, ahead of the turn detector's decision.

Each hint of silence starts a transcription. Once its words are known, an attempt goes downstream,
provisional until the turn is over. If the user goes on speaking, the attempt is withdrawn and all
work on it is interrupted. So every turn has exactly one transcript, of all its audio, and nothing
that arrives late can split it.
"""

import asyncio
import logging
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from loguru import logger
from pipecat.frames.frames import Frame, InterruptionFrame
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor

from assistant.errors import ModelError
from assistant.events import Notice, PartialTranscript, Severity, UserSensed
from assistant.voice.attempt import Attempt, TurnTimes
from assistant.voice.audio.echo import echo_similarity
from assistant.voice.background_tasks import TaskSet
from assistant.voice.dialogue import Dialogue
from assistant.voice.frames import (
    AttemptFrame,
    CompletenessFrame,
    PartialFrame,
    SpeechContinuesFrame,
    SpeechDiscardedFrame,
    SpeechPausedFrame,
    SpeechResumedFrame,
    SpeechSegment,
    SpeechStartedFrame,
    TurnOverFrame,
    TypedFrame,
)
from assistant.voice.speech.hallucination import SpeechEvidence, judge
from assistant.voice.turns.semantic_endpointing import completeness_of
from models.interfaces import SpeechToText, Transcription

TOO_LONG = "You spoke for very long without a pause, so I'll answer what I have heard so far."


@dataclass
class UtteranceTranscription:
    """The state of the utterance now being heard."""

    utterance: int
    words: dict[int, "asyncio.Task[str]"] = field(default_factory=dict)
    """The words of each revision; empty if it was not speech."""
    beginning: list["asyncio.Task[str]"] = field(default_factory=list)
    """The words before the newest segment."""
    void: set[int] = field(default_factory=set)
    over: float | None = None
    """When the turn was decided; None before that."""
    attempt: Attempt | None = None
    wordless: bool = False
    """The newest segment has been transcribed, and the turn still has no words."""
    reason: str = "nothing was said"
    own_voice: float = 0.0
    """How much of the newest segment is the assistant's own voice."""


class Hear(FrameProcessor):
    """Runs the recogniser beside the pipeline, one segment at a time."""

    def __init__(
        self, stt: SpeechToText, dialogue: Dialogue, *, language: str, partials: bool
    ) -> None:
        super().__init__(name="hear")
        self._stt = stt
        self._language = language
        self._partials = partials
        self._dialogue = dialogue
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="hear")
        self._hearing: UtteranceTranscription | None = None
        self._jobs = TaskSet(dialogue.failed)
        self._recognising = 0

    @property
    def busy(self) -> bool:
        """Whether anything is being transcribed."""
        return len(self._jobs) > 0

    async def cleanup(self) -> None:
        await super().cleanup()
        self._jobs.cancel()
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        if isinstance(frame, SpeechStartedFrame):
            self._hearing = self._begin(frame.utterance)
            await self.push_frame(frame, direction)
        elif isinstance(frame, SpeechPausedFrame):
            self._paused(frame.stretch)
        elif isinstance(frame, SpeechContinuesFrame):
            if not self._recognising and (self._partials or self._dialogue.aloud):
                self._jobs.start(self._peek(frame.stretch))
        elif isinstance(frame, SpeechResumedFrame):
            await self._resumed(frame)
        elif isinstance(frame, TurnOverFrame):
            await self._over(frame)
        elif isinstance(frame, SpeechDiscardedFrame):
            await self._discard(frame)
        elif isinstance(frame, TypedFrame):
            await self._typed(frame.text)
        else:
            await self.push_frame(frame, direction)

    def _begin(self, utterance: int) -> UtteranceTranscription:
        """Start an utterance. One decided but not yet transcribed becomes its beginning."""
        hearing, previous = UtteranceTranscription(utterance), self._hearing
        if previous is not None and previous.over is not None:
            hearing.beginning = [*previous.beginning, *list(previous.words.values())[-1:]]
        self._dialogue.emit(UserSensed(sure=True))
        self._dialogue.hearing()
        return hearing

    async def _recognise(self, stretch: SpeechSegment) -> tuple[Transcription, float]:
        """The transcription, and how much of the sound is the assistant's own voice."""
        self._recognising += 1
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._pool, self._listen_to, stretch)
        finally:
            self._recognising -= 1

    def _listen_to(self, stretch: SpeechSegment) -> tuple[Transcription, float]:
        own_voice = echo_similarity(stretch.samples, stretch.played)
        return self._stt.transcribe(stretch.samples), own_voice

    async def _words(self, hearing: UtteranceTranscription, stretch: SpeechSegment) -> str:
        try:
            heard, hearing.own_voice = await self._recognise(stretch)
        except ModelError as error:
            self._dialogue.emit(Notice(str(error), Severity.ERROR, error.mend))
            hearing.reason = "the recogniser failed"
            return ""
        except Exception as error:
            logging.getLogger(__name__).exception("the recogniser failed")
            self._dialogue.failed(error)
            hearing.reason = "the recogniser failed"
            return ""
        verdict = judge(SpeechEvidence.of(heard, stretch))
        if not verdict.is_speech:
            hearing.reason = verdict.reason
            return ""
        return heard.text.strip()

    def _paused(self, stretch: SpeechSegment) -> None:
        """Start transcribing a finished segment, once per revision."""
        hearing = self._hearing
        if hearing is None or hearing.utterance != stretch.utterance:
            return
        if stretch.revision not in hearing.words:
            job = asyncio.create_task(self._words(hearing, stretch))
            hearing.words[stretch.revision] = job
            self._jobs.start(self._attempt(hearing, stretch, job))

    async def _attempt(
        self, hearing: UtteranceTranscription, stretch: SpeechSegment, job: "asyncio.Task[str]"
    ) -> None:
        """Once the words are known, try an answer."""
        await job
        if self._hearing is not hearing or stretch.revision in hearing.void:
            return
        text = f"{await self._earlier(hearing)} {job.result()}".strip()
        await self._tell_words(stretch, text)
        if not text:
            hearing.wordless = True
            if hearing.over is not None:
                await self._end_without_words(hearing)
            return
        marks = TurnTimes(speech_ended=stretch.ended)
        attempt = Attempt(text=text, marks=marks, own_voice=hearing.own_voice)
        attempt.marks.stamp("transcript")
        hearing.attempt = attempt
        if hearing.over is not None:
            self._settle(hearing, attempt)
        await self.push_frame(PartialFrame(stretch.utterance, text, hearing.own_voice))
        await self.push_frame(AttemptFrame(attempt))

    async def _tell_words(self, stretch: SpeechSegment, text: str) -> None:
        """Tell the turn detector how complete the words are."""
        phrase = completeness_of(text, self._language)
        frame = CompletenessFrame(stretch.utterance, stretch.revision, phrase)
        await self.push_frame(frame, FrameDirection.UPSTREAM)

    async def _earlier(self, hearing: UtteranceTranscription) -> str:
        """The turn's beginning. Segments are recognised in order, so this hardly waits."""
        parts = [await job for job in hearing.beginning]
        return " ".join(part for part in parts if part)

    async def _peek(self, stretch: SpeechSegment) -> None:
        """Make a partial transcript while the user is still speaking."""
        hearing = self._hearing
        try:
            heard, own_voice = await self._recognise(stretch)
        except ModelError as error:
            logger.warning("partial transcript failed: {}", type(error).__name__)
            return
        if hearing is None or self._hearing is not hearing or hearing.over is not None:
            return
        if not judge(SpeechEvidence.of(heard, stretch)).is_speech:
            return
        earlier = await self._earlier(hearing)
        text = f"{earlier} {heard.text.strip()}".strip()
        if text and hearing.utterance == stretch.utterance:
            if not self._dialogue.asleep:
                self._dialogue.emit(PartialTranscript(self._dialogue.next_turn, text))
            await self.push_frame(PartialFrame(stretch.utterance, text, own_voice))

    async def _resumed(self, frame: SpeechResumedFrame) -> None:
        hearing = self._hearing
        if hearing is None or hearing.utterance != frame.utterance:
            return
        if frame.commit and frame.revision in hearing.words:
            hearing.beginning.append(hearing.words[frame.revision])
        hearing.void.add(frame.revision)
        hearing.wordless = False
        await self._withdraw(hearing)

    async def _withdraw(self, hearing: UtteranceTranscription) -> None:
        attempt, hearing.attempt = hearing.attempt, None
        if attempt is not None and not attempt.confirmed:
            attempt.withdraw()
            if attempt.passed:
                await self.push_frame(InterruptionFrame())

    async def _over(self, frame: TurnOverFrame) -> None:
        hearing = self._hearing
        if hearing is None or hearing.utterance != frame.utterance:
            return
        hearing.over = frame.decided
        if frame.forced and not self._dialogue.asleep:
            self._dialogue.emit(Notice(TOO_LONG, Severity.WARNING))
        if hearing.attempt is not None:
            self._settle(hearing, hearing.attempt)
        elif hearing.wordless:
            await self._end_without_words(hearing)

    def _settle(self, hearing: UtteranceTranscription, attempt: Attempt) -> None:
        attempt.marks.turn_decided = hearing.over
        attempt.confirm()
        self._hearing = None

    async def _end_without_words(self, hearing: UtteranceTranscription) -> None:
        self._hearing = None
        self._dialogue.ignore(hearing.reason)
        await self.push_frame(SpeechDiscardedFrame(hearing.utterance, hearing.reason))

    async def _discard(self, frame: SpeechDiscardedFrame) -> None:
        """The detector abandoned the utterance, for example because the microphone was muted."""
        hearing, self._hearing = self._hearing, None
        if hearing is not None:
            await self._withdraw(hearing)
            self._dialogue.ignore(frame.reason)
        await self.push_frame(frame)

    async def _typed(self, text: str) -> None:
        hearing = self._hearing
        if hearing is not None and hearing.over is None:  # typing replaces what is being said
            self._hearing = None
            await self._withdraw(hearing)
        marks = TurnTimes(speech_ended=time.monotonic())
        marks.stamp("turn_decided")
        marks.stamp("transcript")
        attempt = Attempt(text=text, marks=marks, typed=True)
        attempt.confirm()
        self._dialogue.emit(UserSensed(sure=True))
        self._dialogue.hearing()
        await self.push_frame(AttemptFrame(attempt))
