"""The state of the conversation that all processors share.

Processors handle frames; the dialogue persists. It gives each confirmed attempt its number and its
prompt, knows when its answer is being played, and closes the turn: history, transcript, ledger,
event. Everything here runs on the event loop.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial

from loguru import logger

from assistant.context import Exchange, ShortTermMemory
from assistant.errors import AssistantError
from assistant.events import (
    AnswerHeard,
    Event,
    EventBus,
    MicrophoneLevel,
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
from assistant.voice.attempt import LEAST_MEASURED, Attempt
from assistant.voice.background_tasks import TaskSet
from assistant.voice.cache_warming import CacheWarmer
from assistant.voice.latency_log import LatencyLog
from assistant.voice.turns.addressee import AddresseeDetector
from models.interfaces import Generation, LanguageModel

SETTLE_S = 2.0
"""Seconds that a new turn waits for the last one to be stored before it is closed by force."""


ECHO_TAIL_S = 0.35
"""Seconds after an answer's end during which its echo may still reach the microphone."""


def _nothing(*_: object) -> None:
    """Placeholder until there is a loudspeaker."""


@dataclass(slots=True)
class LoudspeakerControl:
    """What the dialogue may do to the loudspeaker; set by the loudspeaker's processor."""

    set_gain: Callable[[float], None] = _nothing
    chime: Callable[[], None] = _nothing
    hush: Callable[[], None] = _nothing
    """Go silent at once, ahead of the interruption that follows."""


class Dialogue:
    """Tracks who said what, and whose turn it is."""

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
        self.cache = CacheWarmer(llm, self.has_read)
        self.voice = LoudspeakerControl()
        self.muted = False
        self.aloud = False
        self.user_speaks = False
        self.turns = memory.turns
        self._current: Attempt | None = None
        self._sounding: Attempt | None = None
        self._silent_since = float("-inf")
        self._started_at = datetime.now(UTC)
        self._idle = asyncio.Event()
        self._idle.set()
        self._quiet = asyncio.Event()
        self._quiet.set()
        self._closing = TaskSet(self.failed)
        self._phase = Phase.STARTING
        self._stale = False
        """The model's cache no longer matches the start of the prompt."""
        self.last_answer = ""
        """The part of it that was heard."""
        self._reads_per_s: float | None = None

    # -- whether the assistant is addressed ------------------------------------------------------

    @property
    def asleep(self) -> bool:
        return self.attention.asleep

    def meant_for_me(self, text: str) -> str | None:
        """The words addressed to the assistant, without the wake phrase; None if there are none."""
        return self.attention.meant_for_me(text, answering=self.answering)

    def sleep(self) -> None:
        self.attention.asleep = True
        self._rest()

    def wake(self) -> None:
        if self.attention.asleep:
            self.attention.asleep = False
            self._rest()

    def mute(self, muted: bool) -> None:
        self.muted = muted
        self._rest()

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        """The running conversation's exchanges."""
        return self._memory.conversation.exchanges

    def hide(self, items: HiddenItems) -> None:
        """Out of the running conversation, and of the model's cache as soon as it is free."""
        self.last_answer = ""
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
        """It leaves the model too."""
        del clean
        self._memory.purged(items.exchanges)
        self.cache.clear_background()
        self.refresh()

    def record(self, *, off: bool) -> None:
        """Go off the record, keeping nothing that is said; or back on, dropping what was said
        meanwhile."""
        if off:
            self._memory.go_off_record()
        else:
            self._memory.go_on_record()
            self.last_answer = ""
            self.refresh()
        self.emit(RecordChanged(off))

    @property
    def off_record(self) -> bool:
        return self._memory.off_record

    def refresh(self) -> None:
        """The start of the next prompt has changed: read it while nobody is waiting. During a turn,
        this waits for its end."""
        self._stale = True
        self._read_anew()

    def _read_anew(self) -> None:
        if self._stale and not self.answering and not self.user_speaks:
            self._stale = False
            self.cache.warm(self._memory.read_ahead())

    # -- the life of a turn ----------------------------------------------------------------------

    @property
    def next_turn(self) -> int:
        return self.turns + 1

    @property
    def answering(self) -> bool:
        """Whether a turn is being answered, or something is being said."""
        return self._current is not None or self.aloud

    def sounds_in_the_room(self) -> Attempt | None:
        """The attempt being played, or that ended within the last `ECHO_TAIL_S`."""
        recent = time.monotonic() - self._silent_since < ECHO_TAIL_S
        return self._sounding if self.aloud or recent else None

    def hearing(self) -> None:
        """Someone has begun to speak."""
        self.user_speaks = True
        self._memory.pause()
        if not self.asleep:
            self._started_at = datetime.now(UTC)
            self.emit(TurnStarted(self.next_turn))
            if not self.answering:
                self._show(Phase.HEARING)

    def ignore(self, reason: str, text: str = "") -> None:
        """What was heard did not become a turn. While asleep, even its words are withheld."""
        self.user_speaks = False
        self.emit(SpeechIgnored(reason, "" if self.asleep else text))
        if not self.answering:
            self._rest()
            self._memory.summarize_if_due()

    async def quiet(self) -> None:
        """Wait until nothing is being answered or said."""
        await self._quiet.wait()

    async def settled(self) -> None:
        """Wait until the previous turn is stored, so that the prompt includes it."""
        try:
            async with asyncio.timeout(SETTLE_S):
                await self._idle.wait()
        except TimeoutError:
            logger.error("the previous turn did not end; closing it")
            self.voice.hush()
            self.cut_off(self._current)
            await self._idle.wait()

    async def begin(self, attempt: Attempt) -> Generation:
        """Build the prompt for an attempt. The turn itself begins when it is confirmed."""
        self._memory.pause()
        await self.cache.cool()
        attempt.turn = self.next_turn
        attempt.when_confirmed(partial(self._confirmed, attempt))
        prompt = self._memory.prompt(attempt.text, attempt.memories, reads_per_s=self._reads_per_s)
        used = {each.id for each in prompt.memories.used}
        attempt.memories = tuple(each for each in attempt.memories if each.id in used)
        attempt.context_tokens = prompt.tokens
        if prompt.notice is not None:
            attempt.when_confirmed(partial(self.emit, prompt.notice))
        left_out = tuple((each.id, reason.value) for each, reason in prompt.memories.left_out)
        built = PromptBuilt(attempt.turn, prompt.sections, prompt.budget, left_out)
        attempt.when_confirmed(partial(self.emit, built))
        return Generation(
            messages=prompt.messages,
            max_tokens=self._settings.llm.max_answer_tokens,
            temperature=self._settings.llm.temperature,
        )

    def _confirmed(self, attempt: Attempt) -> None:
        self.turns = attempt.turn
        attempt.started = self._started_at
        self.user_speaks = False
        self._current = attempt
        self._idle.clear()
        self._quiet.clear()
        self.emit(TurnHeard(attempt.turn, attempt.text))
        self._show(Phase.THINKING)
        if self._settings.general.sounds and not attempt.typed:
            self.voice.chime()

    def has_read(self, tokens: int, seconds: float) -> None:
        """Track how fast the model reads; this decides how many memories a prompt holds."""
        if tokens >= LEAST_MEASURED and seconds > 0:
            speed = tokens / seconds
            before = self._reads_per_s if self._reads_per_s is not None else speed
            self._reads_per_s = 0.7 * before + 0.3 * speed

    def written(self, attempt: Attempt) -> None:
        """The answer is complete, though not yet heard: meanwhile, read it into the cache."""
        if self._current is attempt:
            self.cache.warm(self._memory.read_ahead(attempt.text, attempt.answer))

    def sounding(self, attempt: Attempt) -> None:
        """The first sample of an answer, or of its next clause, is going to the loudspeaker."""
        attempt.marks.stamp("first_audio")
        self._sounding = attempt
        self.aloud = True
        self._quiet.clear()
        self._show(Phase.SPEAKING)

    def heard(self, attempt: Attempt) -> None:
        """More of the answer has been played."""
        if not attempt.remark:
            self.emit(AnswerHeard(attempt.turn, attempt.heard))

    def interrupting(self) -> Attempt | None:
        """The user's words stop the current answer. Returns its attempt, if there is one."""
        if self._current is not None:
            self._current.marks.stamp("interrupted")
        return self._current

    def cut_off(self, attempt: Attempt | None) -> None:
        """Playback was stopped: the answer is what was heard of it."""
        self._fall_silent()
        if attempt is not None and attempt is self._current:
            attempt.closed = True
            self._closing.start(self._finish(attempt, interrupted=True))
        else:
            self._rest()

    def _fall_silent(self) -> None:
        if self.aloud:
            self.aloud = False
            self._silent_since = time.monotonic()

    def spoken(self, attempt: Attempt) -> None:
        """The answer was played to its end."""
        self._fall_silent()
        self._closing.start(self._finish(attempt, interrupted=False))

    async def _finish(self, attempt: Attempt, *, interrupted: bool) -> None:
        """Close a turn, once: add it to the history, store it, emit its event."""
        if attempt.remark or self._current is not attempt:
            if attempt.remark and not self.asleep:
                self.attention.answered()  # "Yes?" invites a follow-up
            self._rest()
            return
        self._current = None
        attempt.marks.stamp("answer_ended")
        self.attention.answered()
        ended = TurnEnded(
            turn=attempt.turn,
            user=attempt.text,
            assistant=attempt.heard,
            interrupted=interrupted,
            latency_ms=attempt.marks.latency(),
            memories=attempt.memories,
            context_tokens=attempt.context_tokens,
            read_tokens=attempt.read_tokens,
            tokens_per_s=attempt.tokens_per_s,
        )
        try:
            exchange = await self._memory.keep(ended, attempt.started or self._started_at)
            ended = replace(ended, exchange=exchange)
            await asyncio.to_thread(self._ledger.write, ended)
        except AssistantError as error:
            self.emit(Notice(str(error), Severity.WARNING, error.mend))
        finally:
            self._idle.set()
        self.emit(ended)
        self.last_answer = ended.assistant
        if self._current is None:
            self._stale = False  # the cache is warmed below
            self._rest()
            if not self.user_speaks:
                self._memory.summarize_if_due()
            self.cache.warm(self._memory.read_ahead())

    # -- events ----------------------------------------------------------------------------------

    def emit(self, event: Event) -> None:
        self._bus.emit(event)

    def level(self, dbfs: float) -> None:
        self.emit(MicrophoneLevel(dbfs))

    def sound(self, *, works: bool) -> None:
        """The audio devices were lost, or are back."""
        if works:
            self._show(Phase.SPEAKING if self.aloud else self._resting())
        else:
            self._show(Phase.PAUSED)

    def listen(self) -> None:
        """Everything is ready: start listening."""
        self._rest()
        self.cache.warm(self._memory.read_ahead())

    def _rest(self) -> None:
        if self.answering:
            return
        self._read_anew()
        self._quiet.set()
        self._show(self._resting())

    def _resting(self) -> Phase:
        return Phase.MUTED if self.muted else Phase.ASLEEP if self.asleep else Phase.LISTENING

    def _show(self, phase: Phase) -> None:
        if phase is not self._phase:
            self._phase = phase
            self.emit(PhaseChanged(phase))

    def failed(self, error: Exception) -> None:
        """Something broke that should not have: report it, abandon the turn, and go on."""
        what = str(error) if isinstance(error, AssistantError) else type(error).__name__
        text = f"This turn went wrong ({what}). See the log for details."
        self.emit(Notice(text, Severity.ERROR))
        self.voice.hush()
        self.cut_off(self._current)

    async def close(self) -> None:
        """End the session. What was heard of the current answer is kept."""
        self.cut_off(self._current)
        await self._closing.finish(timeout_s=1.0)
        await self.cache.cool()
        await self._memory.close()
