"""hear → *barge in*: decides whether a sound should stop the assistant's voice.

The voice is lowered the moment someone seems to speak, and stopped once there are words. A cough,
an "mm-hmm" or the assistant's own echo only lowers it, for half a second at most.
"""

import asyncio
import re
from collections.abc import Sequence

from pipecat.frames.frames import Frame, InterruptionFrame
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor
from rapidfuzz.distance.Indel import normalized_similarity as likeness

from assistant.language.numbers import cardinals
from assistant.voice.background_tasks import TaskSet
from assistant.voice.dialogue import Dialogue
from assistant.voice.frames import (
    AnswerRequestFrame,
    PartialFrame,
    SpeechDiscardedFrame,
    SpeechStartedFrame,
    StopSpeakingFrame,
)
from assistant.voice.speculation import SpeculativeAnswer

DUCKING_S = 0.5
ECHO_LEAST_WORDS = 2
ECHO_ERRORS = 0.4
"""Maximum share of words that may differ: an echo through a room is recognised poorly."""
ALIKE = 0.72
OWN_VOICE = 0.22
"""Minimum `echo_similarity` at which the sound resembles the assistant's own voice; see there."""
SURELY_OWN_VOICE = 0.33
"""Minimum `echo_similarity` at which the sound is the assistant's voice, whatever the words are: an
echo that gets through is often misheard, and scores 0.33 to 0.86; people speaking over it score up
to 0.3."""
OTHER_WORDS = 4
OTHER_SHARE = 0.6
"""Minimum number and share of words not in the answer by which the user's speech is recognised over
an echo that gets through."""

_BACKCHANNEL_WORDS = (
    "mm mmm mhm mhmm hm hmm hmmm uh huh um ah aha ahh oh ooh wow yeah yea yep yup yes ya ok okay "
    "right sure cool nice great true really alright exactly indeed"
)
_BACKCHANNEL_PHRASES = re.compile(
    r"\b(?:i see|got it|all right|makes sense|of course|thats right|fair enough)\b"
)
_MOST_BACKCHANNEL_WORDS = 4


class BargeIn(FrameProcessor):
    """Lowers or stops the voice, depending on what is said while it speaks."""

    def __init__(self, dialogue: Dialogue, *, duck: float, echoes: bool) -> None:
        super().__init__(name="barge-in")
        self._dialogue = dialogue
        self._duck = duck
        self._echoes = echoes
        """Whether the microphone may hear the loudspeaker."""
        self._restoring: asyncio.TimerHandle | None = None
        self._spoken_into: SpeculativeAnswer | None = None
        """The answer being played when the current utterance began, which may be its echo."""
        self._considering = TaskSet(dialogue.failed)

    async def cleanup(self) -> None:
        await super().cleanup()
        self._restore()
        self._considering.cancel()

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        if isinstance(frame, SpeechStartedFrame):
            self._spoken_into = self._dialogue.sounds_in_the_room() if self._echoes else None
            if self._dialogue.aloud:
                self._lower()
        elif isinstance(frame, PartialFrame):
            if self._reason(frame.text, frame.own_voice) is None:
                if self._dialogue.aloud:
                    await self._interrupt()
                await self.push_frame(frame, direction)
        elif isinstance(frame, SpeechDiscardedFrame):
            self._restore()
        elif isinstance(frame, StopSpeakingFrame):
            await self._interrupt()
        elif isinstance(frame, AnswerRequestFrame):
            await self._requested(frame)
        else:
            await self.push_frame(frame, direction)

    async def _requested(self, frame: AnswerRequestFrame) -> None:
        answer = frame.answer
        if answer.withdrawn:
            return
        reason = None if answer.typed else self._reason(answer.user_text, answer.own_voice)
        if reason == "echo" or (reason is not None and self._dialogue.aloud):
            self._considering.start(self._consider(frame, reason))
            return
        if self._dialogue.answering:
            await self._interrupt()
        answer.passed = True
        await self.push_frame(frame)

    async def _consider(self, frame: AnswerRequestFrame, reason: str) -> None:
        """Ignore a backchannel during the answer; after its end, the same words are a turn."""
        answer = frame.answer
        if not await answer.may_be_heard():
            return
        if self._dialogue.aloud or reason == "echo":
            self._restore()
            self._dialogue.ignore(reason, answer.user_text)
        else:
            answer.passed = True
            await self.push_frame(frame)

    def _reason(self, text: str, own_voice: float) -> str | None:
        """Why these words don't stop the voice; None if they do."""
        if self._spoken_into is not None and is_echo(text, self._spoken_into.text, own_voice):
            return "echo"
        if is_backchannel(text):
            return "backchannel"
        return None if self._dialogue.meant_for_me(text) is not None else "not addressed"

    async def _interrupt(self) -> None:
        self._restore()
        if self._dialogue.answering:
            self._dialogue.cut_off()
            await self.push_frame(InterruptionFrame())

    def _lower(self) -> None:
        self._dialogue.voice.set_gain(self._duck)
        if self._restoring is None:
            loop = asyncio.get_running_loop()
            self._restoring = loop.call_later(DUCKING_S, self._restore)

    def _restore(self) -> None:
        if self._restoring is not None:
            self._restoring.cancel()
            self._restoring = None
        self._dialogue.voice.set_gain(1.0)


def is_backchannel(text: str) -> bool:
    """Whether `text` is a listener's "mm-hmm" or "okay, right", which doesn't stop the answer."""
    words = _words(text)
    if not 0 < len(words) <= _MOST_BACKCHANNEL_WORDS:
        return False
    rest = _BACKCHANNEL_PHRASES.sub(" ", " ".join(words))
    return all(word in _BACKCHANNEL_WORDS.split() for word in rest.split())


def is_echo(text: str, speaking_text: str, own_voice: float = 0.0) -> bool:
    """Whether `text` is (mostly) a run of the words that the assistant is speaking. If the sound
    resembles the assistant's voice, a misheard run of them counts too.

    Args:
        own_voice: how much of the sound came from the loudspeaker; see `echo_similarity`.
    """
    heard, spoken = _words(text), _words(speaking_text)
    if not spoken:
        return False
    if own_voice >= OWN_VOICE:
        others = sum(word not in spoken for word in heard)
        if own_voice >= SURELY_OWN_VOICE or others < max(OTHER_WORDS, OTHER_SHARE * len(heard)):
            return True
    if len(heard) < ECHO_LEAST_WORDS:
        return False
    return _distance_within(heard, spoken) <= ECHO_ERRORS * len(heard)


def _words(text: str) -> list[str]:
    plain = text.lower().replace("'", "").replace("’", "")
    return [str(cardinals().get(word, word)) for word in re.findall(r"[^\W_]+", plain)]


def _distance_within(heard: Sequence[str], spoken: Sequence[str]) -> float:
    """Edit distance from `heard` to the nearest run of `spoken`; similar words are half an edit."""
    row = [0.0] * (len(spoken) + 1)
    for i, word in enumerate(heard, 1):
        previous, row[0] = row[0], float(i)
        for j, other in enumerate(spoken, 1):
            change = previous + _difference(word, other)
            previous, row[j] = row[j], min(change, row[j] + 1, row[j - 1] + 1)
    return min(row)


def _difference(one: str, other: str) -> float:
    if one == other:
        return 0.0
    return 0.5 if likeness(one, other) >= ALIKE else 1.0
