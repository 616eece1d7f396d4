"""The pipeline's step after `intent_routing`: rings, and says what it rings for."""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress

from pipecat.frames.frames import Frame, InterruptionFrame
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor

from assistant.events import Remarked, RingingChanged
from assistant.language.sentences import sentences
from assistant.voice.dialogue import Dialogue
from assistant.voice.frames import AnswerRequestFrame
from assistant.voice.speculation import SpeculativeAnswer
from assistant.voice.transport import heard_text

MOST_WAIT_S = 8.0
"""Seconds after which an answer is cut off at the end of a sentence, so that the bell can sound."""
MOST_WAIT_FOR_USER_S = 30.0
"""Seconds after which the bell sounds even while the user is speaking."""
REPEAT_S = 4.0
"""Seconds between two rings of an insistent bell."""
RINGS_FOR_S = 60.0
"""Seconds after which an insistent bell gives up."""
LOOK_S = 0.05
"""Seconds between two checks of how far an answer has been spoken."""
LOST_S = 60.0
"""Seconds after which words that never reached the loudspeaker count as lost, because a step of the
pipeline failed."""


class Ringing(FrameProcessor):
    """Rings for one thing at a time. Use it only on the event loop.

    The bell and the words are one remark. So they are lowered and interrupted like any answer, and
    an echo of them is recognised. After an interruption, they sound again once the user has
    finished. If the user gave a command or began a turn, they don't, because the user has noticed
    the bell.

    Args:
        speaks: whether answers are spoken. If not, the bell sounds only once.
    """

    def __init__(self, dialogue: Dialogue, *, speaks: bool) -> None:
        super().__init__(name="ringing")
        self._dialogue = dialogue
        self._speaks = speaks
        self._one_at_a_time = asyncio.Lock()
        self._over = asyncio.Event()
        self._works = asyncio.Event()
        """Set while the audio devices work."""
        self._works.set()
        self._silenced = False
        self._began = float("-inf")
        """The `time.monotonic()` at which the bell first sounded."""
        self._remark: SpeculativeAnswer | None = None
        """The remark that is on its way to the loudspeaker, or being played."""

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        if isinstance(frame, InterruptionFrame):
            self._drop()
        await self.push_frame(frame, direction)

    async def ring(self, words: Callable[[], str | None], *, insistent: bool) -> int:
        """Sound the bell and say `words()` once nobody speaks and no answer plays. Return the
        number of calls of `words` up to the last one whose text was at least partly played. If
        there is none, return 1 if the user silenced the bell, otherwise 0.

        Args:
            words: called each time right before its text is said. None stops the ringing.
            insistent: whether to repeat the bell and the words every few seconds, until they are
                silenced or a minute has passed.
        """
        async with self._one_at_a_time:
            self._over.clear()
            self._silenced = False
            try:
                return await self._ring(words, again=insistent and self._speaks)
            finally:
                self._drop()
                if self._dialogue.ringing:
                    self._dialogue.ringing = False
                    self._dialogue.emit(RingingChanged(False))

    def silence(self) -> bool:
        """Stop ringing. Return whether something was ringing."""
        if not self._dialogue.ringing:
            return False
        self._silenced = True
        self._end()
        return True

    def noticed(self) -> None:
        """Stop ringing if the user has begun to speak since the bell first sounded."""
        if self._dialogue.ringing and self._dialogue.speech_began > self._began:
            self._end()

    def sound(self, *, works: bool) -> None:
        """React to the loss or the return of the audio devices: without them, nothing rings."""
        if works:
            self._works.set()
        else:
            self._works.clear()
            self._drop()

    # -- inside ----------------------------------------------------------------------------------

    async def _ring(self, words: Callable[[], str | None], *, again: bool) -> int:
        called, heard, written = 0, 0, ""
        while True:
            over_user = await self._wait_for_quiet()
            text = words() if self._goes_on else None
            if text is None:
                return heard or int(self._silenced)
            called += 1
            if not self._dialogue.ringing:
                self._dialogue.ringing, self._began = True, time.monotonic()
                self._dialogue.emit(RingingChanged(True))
            if text != written:
                written = text
                self._dialogue.emit(Remarked(text))
            if await self._say(text, over_user=over_user):
                heard = called
            if heard and not again:
                return heard
            with suppress(TimeoutError):
                async with asyncio.timeout(REPEAT_S):
                    await self._over.wait()

    @property
    def _goes_on(self) -> bool:
        late = self._dialogue.ringing and time.monotonic() - self._began >= RINGS_FOR_S
        return not (late or self._over.is_set())

    @property
    def _sounds(self) -> bool:
        """Whether the bell or the words are being played."""
        playing = self._dialogue.sounds_in_the_room() if self._dialogue.aloud else None
        return playing is not None and playing is self._remark

    async def _wait_for_quiet(self) -> bool:
        """Wait until no turn is being answered and nobody speaks. If that takes too long, cut the
        answer off. Return whether the user is still speaking."""
        dialogue, since = self._dialogue, time.monotonic()
        while self._goes_on:
            if not self._works.is_set():
                await asyncio.sleep(LOOK_S)
                since = time.monotonic()
                continue
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_S):
                    await dialogue.quiet.wait()
                    return False
            waited = time.monotonic() - since
            between = waited >= MOST_WAIT_S and self._sentence_ended()
            if between or waited >= MOST_WAIT_FOR_USER_S:
                if dialogue.answering:
                    dialogue.cut_off()
                    await self.push_frame(InterruptionFrame())
                    await dialogue.settled()
                return dialogue.user_speaks
        return False

    def _sentence_ended(self) -> bool:
        """Whether the last word that was played ends a sentence of the answer."""
        dialogue = self._dialogue
        answer = dialogue.sounds_in_the_room() if dialogue.aloud else None
        if answer is None or dialogue.user_speaks:
            return False
        return any(each.end == len(answer.heard) for each in sentences(heard_text(answer.text)))

    async def _say(self, text: str, *, over_user: bool) -> bool:
        """Sound the bell and say `text`. Return whether any of it was heard."""
        remark = SpeculativeAnswer("", remark=True, text=text, rings=True, over_user=over_user)
        remark.confirm()
        self._remark = remark
        self._dialogue.last_said.say(text, lasts=False)
        await self.push_frame(AnswerRequestFrame(remark))
        with suppress(TimeoutError):
            async with asyncio.timeout(LOST_S):
                await remark.ended.wait()
        self._drop()
        return bool(remark.heard)

    def _end(self) -> None:
        self._over.set()
        self._drop()

    def _drop(self) -> None:
        """Stop the remark that is on its way to the loudspeaker, or being played."""
        sounds, remark, self._remark = self._sounds, self._remark, None
        if remark is not None:
            remark.close()
        if sounds:
            self._dialogue.cut_off()
