"""The state of the conversation that all processors share.

The dialogue gives each turn its number and its prompt, and tracks whether its answer is being
played. When a turn ends, the dialogue adds the turn to the history, stores it in the transcript and
the ledger, and emits an event. Everything here runs on the event loop.
"""

import asyncio
import logging
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

from assistant.context import Exchange, ShortTermMemory
from assistant.errors import AssistantError
from assistant.event_bus import EventBus
from assistant.events import (
    AnswerHeard,
    Event,
    MemoryUsed,
    Notice,
    Phase,
    PhaseChanged,
    PromptBuilt,
    RecordChanged,
    Severity,
    SpeechIgnored,
    TurnEnded,
    TurnHeard,
    TurnStarted,
)
from assistant.memory import HiddenItems
from assistant.settings import Settings
from assistant.voice.background_tasks import TaskSet
from assistant.voice.cache_warming import CacheWarmer, ReadingSpeed
from assistant.voice.last_said import LastSaid
from assistant.voice.latency import LatencyLog
from assistant.voice.speculation import SpeculativeAnswer
from assistant.voice.thinking_cue import ThinkingCue
from assistant.voice.turns.addressee import AddresseeDetector
from assistant.voice.voice_output import Voice
from models.interfaces import Generation, LanguageModel

logger = logging.getLogger(__name__)

SETTLE_S = 2.0
"""Seconds that a new turn waits for the previous turn to be stored. After that, the previous turn
is cut off."""
ECHO_TAIL_S = 0.35
"""Seconds after an answer's end during which its echo may still reach the microphone."""


class Dialogue:
    """Tracks the turns of the user and the assistant."""

    voice: Voice
    """The assistant's voice. The loudspeaker's processor sets this attribute."""

    def __init__(
        self,
        settings: Settings,
        bus: EventBus,
        llm: LanguageModel,
        memory: ShortTermMemory,
        ledger: LatencyLog,
    ) -> None:
        self._settings = settings
        self._bus = bus
        self._memory = memory
        self._ledger = ledger
        self.attention = AddresseeDetector(settings)
        self.reading = ReadingSpeed()
        self.cache = CacheWarmer(llm, self.reading)
        self._muted = False
        self.aloud = False
        self.ringing = False
        """Whether something rings, including pauses between two rings and while the user
        speaks."""
        self.user_speaks = False
        self.speech_began = float("-inf")
        """The `time.monotonic()` at which the user last began to speak or typed a line."""
        self.turns = memory.turns
        self._current: SpeculativeAnswer | None = None
        """The answer of the turn in progress."""
        self._sounding: SpeculativeAnswer | None = None
        self._cue = ThinkingCue(self)
        self._silent_since = float("-inf")
        self._started_at = datetime.now(UTC)
        self._idle = asyncio.Event()
        self._idle.set()
        self.quiet = asyncio.Event()
        self.quiet.set()
        """Set while no turn is being answered and nobody speaks."""
        self._closing = TaskSet(self.failed)
        self._phase = Phase.STARTING
        self._stale = self._drafted = False
        """`_stale`: the model's cache no longer matches the start of the prompt. `_drafted`: the
        cache contains words that have not become a turn."""
        self.last_said = LastSaid()

    # -- whether the assistant is addressed ------------------------------------------------------

    @property
    def asleep(self) -> bool:
        return self.attention.asleep

    def meant_for_me(self, text: str) -> str | None:
        """Return the words addressed to the assistant, without the wake phrase. Return None if the
        text is not addressed to it."""
        return self.attention.meant_for_me(text, answering=self.answering or self.ringing)

    def sleep(self) -> None:
        self.attention.asleep = True
        self._rest()

    def wake(self) -> None:
        if self.attention.asleep:
            self.attention.asleep = False
            self._rest()

    def mute(self, muted: bool) -> None:
        self._muted = muted
        self._rest()

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        """The exchanges of the running conversation."""
        return self._memory.conversation.exchanges

    def hide(self, items: HiddenItems) -> None:
        """Remove `items` from the running conversation at once, and from the model's cache when the
        model is free."""
        self.last_said.hide()
        self._memory.hide(items.exchanges)
        self.refresh()

    def unhide(
        self, items: HiddenItems, exchanges: Sequence[tuple[str, Exchange]]
    ) -> Sequence[Exchange]:
        here = [each for key, each in exchanges if key == self._memory.conversation.id]
        unsaved = self._memory.unhide(items.exchanges, here)
        self.refresh()
        return unsaved

    def purged(self, items: HiddenItems, *, clean: bool) -> None:
        """Remove items from the model's cache, too, after their deletion from disk."""
        del clean
        self.last_said.purged()
        self._memory.purged(items.exchanges)
        self.cache.clear_background()
        self.refresh()

    def record(self, *, off: bool) -> None:
        """With `off`, go off the record: nothing is stored. Otherwise, go back on the record, and
        discard what was said in between."""
        if off:
            self._memory.go_off_record()
        else:
            self._memory.go_on_record()
            self.last_said.hide()
            self.refresh()
        self.emit(RecordChanged(off))

    @property
    def off_record(self) -> bool:
        return self._memory.off_record

    def refresh(self) -> None:
        """Read the changed start of the next prompt into the model's cache. During a turn, wait for
        the turn's end first."""
        self._stale = True
        self._read_anew()

    def _read_anew(self) -> None:
        if (self._stale or self._drafted) and not self.answering and not self.user_speaks:
            self._stale = self._drafted = False
            self.cache.warm(self._memory.read_ahead())

    # -- the life of a turn ----------------------------------------------------------------------

    @property
    def next_turn(self) -> int:
        return self.turns + 1

    @property
    def answering(self) -> bool:
        """Whether a turn is being answered, or the assistant is speaking."""
        return self._current is not None or self.aloud

    def sounds_in_the_room(self) -> SpeculativeAnswer | None:
        """Return the answer that is being played, or whose playback ended at most `ECHO_TAIL_S`
        seconds ago, if any."""
        recent = time.monotonic() - self._silent_since < ECHO_TAIL_S
        return self._sounding if self.aloud or recent else None

    def speech_started(self) -> None:
        """React to the start of speech: stop background work, and announce a turn if awake."""
        self.user_speaks = True
        self.speech_began = time.monotonic()
        self.quiet.clear()
        self._memory.pause()
        if not self.asleep:
            self._started_at = datetime.now(UTC)
            self.emit(TurnStarted(self.next_turn))
            if not self.answering:
                self._show(Phase.HEARING)

    def ignore(self, reason: str, text: str = "") -> None:
        """Report why speech did not become a turn. While asleep, its text is not reported."""
        self.user_speaks = False
        self.emit(SpeechIgnored(reason, "" if self.asleep else text))
        if not self.answering:
            self._rest()
            self._memory.summarize_if_due()

    async def settled(self) -> None:
        """Wait until the previous turn is stored, so that the next prompt includes it."""
        try:
            async with asyncio.timeout(SETTLE_S):
                await self._idle.wait()
        except TimeoutError:
            logger.error("the previous turn did not end; closing it")
            self.cut_off()
            await self._idle.wait()

    def read_draft(self, words: str, memories: Sequence[MemoryUsed]) -> None:
        """Read the prompt for the user's words so far into the model's cache, unless an earlier
        turn is still being answered. Words that don't become a turn are overwritten later."""
        free, speed = self.user_speaks and not self.answering, self.reading.tokens_per_s
        if free and (draft := self._memory.draft(words, memories, speed)):
            self._drafted = True
            self.cache.warm(draft, measured=False)

    async def begin(self, answer: SpeculativeAnswer) -> Generation | str:
        """Build the prompt for an answer. Return the request to the model, or the fixed reply if
        the model isn't needed. The turn begins later, when the answer is confirmed."""
        self._memory.pause()
        await self.cache.cool()
        answer.turn, answer.hides, self._drafted = self.next_turn, self.last_said.hides, True
        answer.when_confirmed(partial(self._confirmed, answer))
        words, speed = answer.user_text, self.reading.tokens_per_s
        prompt = self._memory.prompt(words, answer.memories, speed, not_known=answer.not_known)
        reply = prompt.reply
        used = {each.id for each in prompt.memories.used}
        answer.memories = tuple(each for each in answer.memories if each.id in used)
        answer.near_misses = prompt.memories.near_misses
        answer.context_tokens = 0 if reply else prompt.tokens
        if prompt.notice is not None:
            answer.when_confirmed(partial(self.emit, prompt.notice))
        left_out = tuple((each.id, reason.value) for each, reason in prompt.memories.left_out)
        sections = () if reply else prompt.sections
        built = PromptBuilt(answer.turn, sections, prompt.budget, left_out)
        answer.when_confirmed(partial(self.emit, built))
        if reply:
            return reply
        return Generation(
            messages=prompt.messages,
            max_tokens=self._settings.llm.max_answer_tokens,
            temperature=self._settings.llm.temperature,
        )

    def _confirmed(self, answer: SpeculativeAnswer) -> None:
        self.turns = answer.turn
        answer.started = self._started_at
        self.user_speaks = self._drafted = False
        self._current = answer
        self._idle.clear()
        self.quiet.clear()
        self.emit(TurnHeard(answer.turn, answer.user_text))
        self._show(Phase.THINKING)
        if self._settings.general.sounds and not answer.typed:
            self._cue.start(answer)

    def written(self, answer: SpeculativeAnswer) -> None:
        """Read a complete answer into the model's cache while it is still being played."""
        if self._current is answer:
            self.cache.warm(self._memory.read_ahead(answer.user_text, answer.text))

    def sounding(self, answer: SpeculativeAnswer) -> None:
        """Note that a clause of the answer begins to play."""
        answer.times.stamp("first_audio")
        self._sounding = answer
        self.aloud = True
        self.quiet.clear()
        self._show(Phase.SPEAKING)

    def heard(self, answer: SpeculativeAnswer) -> None:
        """Report how much of the answer has been played."""
        if not answer.remark:
            self.emit(AnswerHeard(answer.turn, answer.heard))

    def cut_off(self) -> None:
        """Stop the voice at once, and end the turn. Only the part of the answer that was heard is
        stored."""
        self.voice.hush()
        self._fall_silent()
        if self._current is not None:
            self._current.close()
            self._closing.start(self._finish(self._current, interrupted=True))
        else:
            self._rest()

    def _fall_silent(self) -> None:
        if self.aloud:
            self.aloud = False
            self._silent_since = time.monotonic()

    def spoken(self, answer: SpeculativeAnswer) -> None:
        """End the turn after its answer was played to the end."""
        answer.ended.set()
        self._fall_silent()
        self._closing.start(self._finish(answer, interrupted=False))

    async def _finish(self, answer: SpeculativeAnswer, *, interrupted: bool) -> None:
        """End a turn, unless it has ended: add it to the history, store it, and emit its event."""
        if answer.remark or self._current is not answer:
            if answer.remark and not self.asleep:
                self.attention.answered()  # "Yes?" invites a follow-up
            self._rest()
            return
        self._current = None
        self.attention.answered()
        ended = TurnEnded(
            turn=answer.turn,
            user=answer.user_text,
            assistant=answer.heard,
            interrupted=interrupted,
            latency_ms=answer.times.latency(),
            memories=answer.memories,
            context_tokens=answer.context_tokens,
            read_tokens=answer.read_tokens,
            tokens_per_s=answer.tokens_per_s,
            near_misses=answer.near_misses,
        )
        try:
            exchange = await self._memory.keep(ended, answer.started or self._started_at)
            ended = replace(ended, exchange=exchange)
            await asyncio.to_thread(self._ledger.write, ended)
        except AssistantError as error:
            self.emit(Notice(str(error), Severity.WARNING, error.mend))
        finally:
            self._idle.set()
        self.emit(ended)
        self.last_said.say(ended.assistant, lasts=answer.hides == self.last_said.hides)
        if self._current is None:
            self._stale = self._drafted = False  # the cache is warmed below
            self._rest()
            if not self.user_speaks:
                self._memory.summarize_if_due()
            self.cache.warm(self._memory.read_ahead())

    # -- events ----------------------------------------------------------------------------------

    def emit(self, event: Event) -> None:
        self._bus.emit(event)

    def sound(self, *, works: bool) -> None:
        """Show that the audio devices were lost, or that they work again."""
        if works:
            self._show(Phase.SPEAKING if self.aloud else self._resting())
        else:
            self._show(Phase.PAUSED)

    def listen(self) -> None:
        """Show that the assistant listens, and fill the model's cache."""
        self._rest()
        self.cache.warm(self._memory.read_ahead())

    def _rest(self) -> None:
        if self.answering:
            return
        self._read_anew()
        if not self.user_speaks:
            self.quiet.set()
        self._show(self._resting())

    def _resting(self) -> Phase:
        return Phase.MUTED if self._muted else Phase.ASLEEP if self.asleep else Phase.LISTENING

    def _show(self, phase: Phase) -> None:
        if phase is not self._phase:
            self._phase = phase
            self.emit(PhaseChanged(phase))

    def failed(self, error: Exception) -> None:
        """Report an unexpected error, and end the turn. The session goes on."""
        what = str(error) if isinstance(error, AssistantError) else type(error).__name__
        text = f"This turn went wrong ({what}). See the log for details."
        self.emit(Notice(text, Severity.ERROR))
        self.user_speaks = False
        self.cut_off()

    async def close(self) -> None:
        """End the session. The part of the current answer that was heard is stored."""
        self.cut_off()
        await self._closing.finish(timeout_s=1.0)
        await self.cache.cool()
        await self._memory.close()
