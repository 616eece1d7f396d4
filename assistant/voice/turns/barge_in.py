"""The pipeline's step after `hearing`: decides whether a sound interrupts the assistant's voice.

The voice is lowered as soon as someone seems to speak, and stopped when the recogniser finds words
that ask for it: a command, a question, "wait". A cough, an "mm-hmm", words to somebody else in the
room or an echo of the assistant's own voice doesn't stop the voice. It only lowers the voice, for
half a second at most.
"""

import asyncio
import re
from collections.abc import Sequence
from itertools import product

from pipecat.frames.frames import Frame, InterruptionFrame
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor
from rapidfuzz import fuzz
from rapidfuzz.distance.Indel import normalized_similarity as likeness

from assistant.intents import CommandKind, recognise
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
from assistant.voice.turns.words import WordJudge

DUCKING_S = 0.5
"""Maximum number of seconds for which the voice is lowered."""
ECHO_LEAST_WORDS = 2
"""An utterance with at least this many words may be an echo of any part of an answer. A single word
is an echo only if it was spoken just now. Otherwise nobody could say "stop" to an answer that
contains this word."""
SOUNDS_ALIKE = 0.65
"""Minimum similarity, by letters, of a several-word echo to what was just spoken. Short echoes are
often misheard as other words ("of course" as "of commerce"). Comparing words recognises half of the
short echoes, comparing letters three quarters. When people interrupt with two words, one utterance
in 20 is this similar by chance. Longer ones hardly ever are."""
JUST_SPOKEN_WORDS = 5
"""An utterance may echo up to this many of the words played just before it began. Saying them takes
one to two seconds. So many are needed because an echo arrives late, and its beginning is noticed
even later."""
ECHO_ERRORS = 0.4
"""Maximum share of wrong words in an echo. It is high because echoes are transcribed poorly."""
ALIKE = 0.72
"""Similarity, by letters, at which a wrong word is only half an error."""
OWN_VOICE = 0.22
"""Minimum `echo_similarity` of sound that resembles the assistant's own voice."""
SURELY_OWN_VOICE = 0.33
"""Minimum `echo_similarity` of sound that counts as the assistant's own voice, whatever its words.
Echoes that the canceller left are often transcribed wrongly, and score 0.33 to 0.86. People who
speak at the same time score up to 0.3."""
OTHER_WORDS = 4
OTHER_SHARE = 0.6
"""Minimum number and minimum share of words that the answer doesn't contain. With fewer such words,
sound that resembles the assistant's own voice counts as an echo."""

INTERRUPTS, BEGINS_TO_INTERRUPT = 0.0, 2.0
"""Minimum log-odds that a finished or unfinished utterance asks the assistant to stop. An
unfinished one may still become something else."""
NO_INTERRUPTION = "no interruption"


class BargeIn(FrameProcessor):
    """Lowers or stops the assistant's voice, depending on what the user says.

    Without a judge of words, everything that is not an echo interrupts.
    """

    def __init__(self, dialogue: Dialogue, words: WordJudge, *, duck: float, echoes: bool) -> None:
        super().__init__(name="barge-in")
        self._dialogue = dialogue
        self._words = words
        self._duck = duck
        self._echoes = echoes
        """Whether the microphone may pick up the loudspeaker's sound."""
        self._restoring: asyncio.TimerHandle | None = None
        self._spoken_into: SpeculativeAnswer | None = None
        """The answer that was being played when the utterance began. The utterance may be its
        echo."""
        self._began_during: SpeculativeAnswer | None = None
        """The answer that was being played when the utterance began, whether or not it can be
        heard in the microphone."""
        self._words_before = 0
        """Number of words of `_spoken_into` that had been played when the utterance began."""
        self._interrupted = False
        """Whether the utterance has interrupted the assistant."""
        self._considering = TaskSet(dialogue.failed)

    async def cleanup(self) -> None:
        await super().cleanup()
        self._restore()
        self._considering.cancel()

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        if isinstance(frame, SpeechStartedFrame):
            self._interrupted = False
            self._began_during = self._dialogue.sounds_in_the_room()
            self._spoken_into = self._began_during if self._echoes else None
            if self._spoken_into is not None:
                self._words_before = len(self._spoken_into.heard.split())
            if self._dialogue.aloud:
                self._lower()
        elif isinstance(frame, PartialFrame):
            if await self._reason(frame.text, frame.own_voice, BEGINS_TO_INTERRUPT) is None:
                if self._dialogue.aloud and not self._was_talked_over():
                    await self._interrupt()
                await self.push_frame(frame, direction)
        elif isinstance(frame, SpeechDiscardedFrame):
            self._restore()
        elif isinstance(frame, StopSpeakingFrame):
            await self._interrupt()
            await self.push_frame(frame, direction)
        elif isinstance(frame, AnswerRequestFrame):
            await self._requested(frame)
        else:
            await self.push_frame(frame, direction)

    async def _requested(self, frame: AnswerRequestFrame) -> None:
        answer = frame.answer
        text, own_voice = answer.user_text, answer.own_voice
        reason = None if answer.typed else await self._reason(text, own_voice, BEGINS_TO_INTERRUPT)
        if answer.withdrawn:
            return
        if reason == "echo" or (reason is not None and self._dialogue.aloud):
            self._considering.start(self._consider(frame, reason))
            return
        if answer.typed:
            self._interrupted = False
        await self._pass_on(frame)

    async def _pass_on(self, frame: AnswerRequestFrame) -> None:
        if self._dialogue.answering:
            await self._interrupt()
        frame.answer.interrupts = self._interrupted
        frame.answer.passed = True
        await self.push_frame(frame)

    async def _consider(self, frame: AnswerRequestFrame, reason: str) -> None:
        """Wait for the end of an utterance that should not interrupt yet. Ignore the utterance if
        it is an echo, or if the assistant is still speaking and should go on. Otherwise pass it on
        as a turn."""
        answer, judged = frame.answer, reason
        if not await answer.may_be_heard():
            return
        answer.ready = False  # its preparation begins only now
        if reason == NO_INTERRUPTION:
            judged = await self._reason(answer.user_text, answer.own_voice, INTERRUPTS) or ""
        if judged and (self._dialogue.aloud or judged == "echo"):
            self._restore()
            self._dialogue.ignore(judged, answer.user_text)
        else:
            await self._pass_on(frame)

    async def _reason(self, text: str, own_voice: float, least: float) -> str | None:
        """Return the reason why these words don't interrupt the voice, or None if they do.

        Args:
            least: minimum log-odds of an interruption.
        """
        if self._is_echo(text, own_voice):
            return "echo"
        dialogue = self._dialogue
        if dialogue.ringing:
            return None
        if dialogue.aloud and recognise(text, dialogue.attention.names) is None:
            answer = dialogue.sounds_in_the_room()
            odds = await self._words.interrupts(text, answer.heard if answer is not None else "")
            if odds is not None and odds < least:
                return NO_INTERRUPTION
        return None if dialogue.meant_for_me(text) is not None else "not addressed"

    def _was_talked_over(self) -> bool:
        """Whether the assistant began to speak while the user was speaking, because its remark
        could not wait any longer."""
        answer = self._dialogue.sounds_in_the_room()
        return answer is not None and answer.over_user and answer is not self._began_during

    def _is_echo(self, text: str, own_voice: float) -> bool:
        answer = self._spoken_into
        if answer is None or (answer.rings and self._silences(text, answer)):
            return False
        words = answer.heard.split()[max(0, self._words_before - JUST_SPOKEN_WORDS) :]
        if answer.remark and own_voice < OWN_VOICE:
            words = []  # "Say undo to keep it", "Which one: …?": people answer in these very words
        return is_echo(text, answer.text, own_voice, " ".join(words))

    def _silences(self, text: str, answer: SpeculativeAnswer) -> bool:
        """Whether these words surely tell the bell to stop. The tones of the bell make any voice
        resemble what was played. The recogniser may find words in the bell's own echo, but not
        these."""
        command = recognise(text, self._dialogue.attention.names)
        stops = command is not None and command.kind is CommandKind.STOP
        return stops and set(_words(text)).isdisjoint(_words(answer.text))

    async def _interrupt(self) -> None:
        self._restore()
        if self._dialogue.answering:
            self._interrupted = True
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


def is_echo(text: str, speaking_text: str, own_voice: float = 0.0, just_spoken: str = "") -> bool:
    """Whether `text` is an echo of the assistant's own speech. Most words of an echo occur in a row
    in `speaking_text`. If the sound resembles the assistant's voice, fewer words must match.

    Args:
        own_voice: the `echo_similarity` of the sound.
        just_spoken: the words that were played during the utterance, and shortly before it.
    """
    heard, spoken = _words(text), _words(speaking_text)
    if not spoken:
        return False
    if own_voice >= OWN_VOICE:
        others = sum(word not in spoken for word in heard)
        if own_voice >= SURELY_OWN_VOICE or others < max(OTHER_WORDS, OTHER_SHARE * len(heard)):
            return True
    recent = _words(just_spoken)
    if len(heard) < ECHO_LEAST_WORDS:
        return any(_difference(*pair) < 1 for pair in product(heard, recent))
    if _sounds_alike("".join(heard), "".join(recent)):
        return True
    return _distance_within(heard, spoken) <= ECHO_ERRORS * len(heard)


def _sounds_alike(heard: str, spoken: str) -> bool:
    """Whether the letters heard resemble a part of those spoken. Both are without spaces."""
    compare = fuzz.partial_ratio if len(heard) <= len(spoken) else fuzz.ratio
    return compare(heard, spoken) >= 100 * SOUNDS_ALIKE


def _words(text: str) -> list[str]:
    plain = text.lower().replace("'", "").replace("’", "")
    return [str(cardinals().get(word, word)) for word in re.findall(r"[^\W_]+", plain)]


def _distance_within(heard: Sequence[str], spoken: Sequence[str]) -> float:
    """Return the least edit distance, in words, between `heard` and any part of `spoken`. Replacing
    a word by a similar one counts as half an edit."""
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
