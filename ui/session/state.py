"""The state that the screen shows, computed from the events of the session.

Independent of how the state is drawn.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from assistant.events import (
    AnswerHeard,
    AnswerText,
    CommandHeard,
    Event,
    ForgettingBegan,
    ForgettingDone,
    ForgettingUndone,
    IdleWork,
    Latency,
    Loading,
    MemoriesCounted,
    MemoriesRead,
    MemoryUsed,
    MicrophoneLevel,
    ModelsReady,
    Notice,
    PartialTranscript,
    Phase,
    PhaseChanged,
    PromptBuilt,
    PromptSection,
    Recalled,
    RecordChanged,
    RecordingChanged,
    Remarked,
    RingingChanged,
    SessionEnded,
    Severity,
    SoundReady,
    SpeechIgnored,
    StateChanged,
    StateEntry,
    TurnEnded,
    TurnHeard,
    TurnStarted,
)

SILENCE_DBFS = -96.0
MOST_NOTICES = 200
MOST_TURNS = 500
"""Maximum number of turns and lines in the state. Older turns remain in the transcript."""
OFF_THE_RECORD = "Off the record: from now on, nothing you say is kept."
ON_THE_RECORD = "Back on the record. What was said in between has not been kept."
STEPS = ("turn_decided", "transcript", "recall", "first_token", "first_audio")
"""Names of the steps of a turn: attributes of `Latency`, in their usual order."""


@dataclass(slots=True)
class Turn:
    """One turn of the conversation, finished or in progress."""

    number: int
    at: datetime
    user: str = ""
    written: str = ""
    """The part of the answer that has been written. It may be ahead of `heard`, the part that has
    been spoken."""
    heard: str = ""
    over: bool = False
    interrupted: bool = False
    recalled: tuple[MemoryUsed, ...] = ()
    missed: bool = False
    """Whether the embedding of the question missed the deadline of recall."""
    stand_in: bool = False
    """Whether only the fast encoder met the deadline."""
    brief: bool = False
    """Whether recall only had time to rank by words and meaning."""
    sections: tuple[PromptSection, ...] = ()
    budget: int = 0
    left_out: dict[str, str] = field(default_factory=dict)
    """Reasons why recalled memories are not in the prompt, by memory id."""
    latency: Latency = field(default_factory=Latency)
    read_tokens: int | None = None
    """Number of prompt tokens that the model had to read after the end of speech; None until
    known."""
    tokens_per_s: float | None = None
    exchange: str = ""
    """Id of the turn's exchange in the transcript; empty until the turn is over."""

    @property
    def tokens(self) -> int:
        """The number of tokens of the whole prompt."""
        return sum(section.tokens for section in self.sections)

    @property
    def unheard(self) -> str:
        """The part of the written answer that has not been spoken."""
        return self.written[len(self.heard) :] if self.written.startswith(self.heard) else ""

    @property
    def shown(self) -> tuple[MemoryUsed, ...]:
        """The memories in the prompt, best first."""
        return tuple(memory for memory in self.recalled if memory.id not in self.left_out)

    def cached(self) -> tuple[int, ...] | None:
        """Return the number of cached tokens of each section of the prompt; None if unknown.

        Cached tokens are those that the model had read before the user finished speaking.
        """
        if self.read_tokens is None:
            return None
        left, parts = max(self.tokens - self.read_tokens, 0), []
        for section in self.sections:
            parts.append(min(left, section.tokens))
            left -= parts[-1]
        return tuple(parts)


@dataclass(slots=True)
class ConversationLine:
    """A line between turns: a command, a remark, ignored speech, or a note to the user."""

    kind: str
    """`command`, `remark`, `ignored` or `note`. A note never quotes what was said."""
    text: str
    number: int
    """Number of entries before this one."""


Entry = Turn | ConversationLine


@dataclass(slots=True)
class ShownNotice:
    """A notice, and whether the user has dismissed it."""

    notice: Notice
    dismissed: bool = False


@dataclass(slots=True)
class PendingForget:
    """A deletion that the user has requested. It is pending, undone or complete."""

    id: str
    at: datetime
    exchanges: frozenset[str]
    memories: frozenset[str]
    lines: int
    """Lines with a smaller `number` may quote forgotten text."""
    undone: bool = False
    receipt: ForgettingDone | None = None

    @property
    def open(self) -> bool:
        """Whether the deletion can still be undone."""
        return not self.undone and self.receipt is None


@dataclass(slots=True)
class ScreenState:
    """All data that the screen shows. `version` increases with every change."""

    version: int = 0
    phase: Phase = Phase.STARTING
    off_record: bool = False
    ringing: bool = False
    """Whether a timer, an alarm or a reminder rings."""
    recording: str | None = None
    """The file to which the conversation is recorded; None if it isn't recorded."""
    models: dict[str, str] = field(default_factory=dict)
    loading: dict[str, str] = field(default_factory=dict)
    """Names of the models being loaded, by role."""
    anew: bool = False
    """Whether the assistant was restarted, so that the next turn has the number 1 again."""
    microphone: str | None = None
    """Name of the microphone; None until known, or if there is none."""
    deaf: bool = False
    """Whether the session has no microphone."""
    level_dbfs: float = SILENCE_DBFS
    partial: str = ""
    """The words recognised so far while the user is speaking."""
    entries: deque[Entry] = field(default_factory=lambda: deque(maxlen=MOST_TURNS))
    begun: int = 0
    """Number of entries added so far, including those dropped from `entries`."""
    memories: int | None = None
    """Number of memories; None until they are loaded."""
    idle: IdleWork | None = None
    """The background work in progress, if any."""
    kept: dict[str, tuple[StateEntry, ...]] = field(default_factory=dict)
    """The user's entries by kind: timers, lists, items of lists, forms, slots of forms, etc."""
    notices: deque[ShownNotice] = field(default_factory=lambda: deque(maxlen=MOST_NOTICES))
    forgettings: list[PendingForget] = field(default_factory=list)
    hidden_exchanges: frozenset[str] = frozenset()
    """Ids of exchanges whose text must not be shown, because they are forgotten or about to be."""
    hidden_memories: frozenset[str] = frozenset()
    hidden_lines: int = 0
    """Lines with a smaller `number` must not be shown, except notes."""

    def add(self, entry: Entry) -> None:
        self.entries.append(entry)
        self.begun += 1

    def hides(self, entry: Entry) -> bool:
        """Return whether the text of an entry must not be shown."""
        if isinstance(entry, Turn):
            return entry.exchange in self.hidden_exchanges
        return entry.kind != "note" and entry.number < self.hidden_lines

    @property
    def turns(self) -> list[Turn]:
        """The turns among the entries, oldest first."""
        return [entry for entry in self.entries if isinstance(entry, Turn)]

    @property
    def turn(self) -> Turn | None:
        """The newest turn, if any."""
        return next((each for each in reversed(self.entries) if isinstance(each, Turn)), None)

    @property
    def trouble(self) -> ShownNotice | None:
        """The newest warning or error that the user has not dismissed, if any."""
        serious = (
            each
            for each in reversed(self.notices)
            if not each.dismissed and each.notice.severity is not Severity.INFO
        )
        return next(serious, None)

    @property
    def undoable(self) -> PendingForget | None:
        """The newest deletion that the user can still undo, if any."""
        return next((each for each in reversed(self.forgettings) if each.open), None)


def fold(state: ScreenState, event: Event, at: datetime) -> None:
    """Apply an event to the state.

    Args:
        at: the time at which the event happened.
    """
    state.version += 1
    match event:
        case PhaseChanged(phase):
            state.phase = phase
            if phase is Phase.STARTING:
                _begin(state)
            if phase is not Phase.HEARING:
                state.partial = ""
        case MicrophoneLevel(dbfs):
            state.level_dbfs = dbfs
        case Loading(role, name, done):
            if done:
                state.loading.pop(role, None)
            else:
                state.loading[role] = name
        case SoundReady(microphone):
            state.microphone, state.deaf = microphone, microphone is None
        case ModelsReady(names):
            state.models = dict(names)
            state.loading.clear()
        case MemoriesRead(count) | MemoriesCounted(count):
            state.memories = count
        case IdleWork(kind):
            state.idle = event if kind is not None else None
        case StateChanged(kind, entries):
            state.kept[kind] = entries
        case Notice():
            state.notices.append(ShownNotice(event))
        case RecordChanged(off):
            state.off_record, note = off, OFF_THE_RECORD if off else ON_THE_RECORD
            state.add(ConversationLine("note", note, state.begun))
        case RingingChanged(rings):
            state.ringing = rings
        case RecordingChanged(path):
            state.recording = path
        case SessionEnded():
            state.idle = None
        case CommandHeard(text):
            state.add(ConversationLine("command", text, state.begun))
        case Remarked(text):
            state.add(ConversationLine("remark", text, state.begun))
        case SpeechIgnored(reason, text):
            state.partial = ""
            if text:
                state.add(ConversationLine("ignored", f"{text} ({reason})", state.begun))
        case PartialTranscript(_, text):
            state.partial = text
        case ForgettingBegan() | ForgettingUndone() | ForgettingDone():
            _forgetting(state, event, at)
        case _:
            _turn(state, event, at)


def percentile(values: Sequence[float], share: float) -> float | None:
    """Return a percentile with linear interpolation, or None if there are no values.

    Args:
        share: the percentile as a fraction, e.g. 0.95 for p95.
    """
    if not values:
        return None
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def _turn(state: ScreenState, event: Event, at: datetime) -> None:
    match event:
        case TurnStarted():
            state.partial = ""
        case TurnHeard(number, text):
            state.partial = ""
            _of(state, number, at).user = text
        case Recalled(number, memories, missed, stand_in, brief):
            turn = _of(state, number, at)
            turn.recalled, turn.missed = memories, missed
            turn.stand_in, turn.brief = stand_in, brief
        case PromptBuilt(number, sections, budget, left_out):
            turn = _of(state, number, at)
            turn.sections, turn.budget, turn.left_out = sections, budget, dict(left_out)
        case AnswerText(number, text):
            _of(state, number, at).written += text
        case AnswerHeard(number, text):
            _of(state, number, at).heard = text
        case TurnEnded():
            turn = _of(state, event.turn, at)
            turn.user, turn.heard = event.user, event.assistant
            turn.interrupted, turn.over = event.interrupted, True
            turn.latency, turn.read_tokens = event.latency_ms, event.read_tokens
            turn.tokens_per_s, turn.exchange = event.tokens_per_s, event.exchange


def _begin(state: ScreenState) -> None:
    """Prepare the state for a new session. An unfinished turn of the previous session ends."""
    state.memories, state.idle, state.ringing = None, None, False
    state.loading.clear()
    state.kept.clear()
    if state.turn is not None and not state.anew:
        state.anew = True
        state.turn.over = True
        state.add(ConversationLine("note", "The assistant was restarted.", state.begun))


def _of(state: ScreenState, number: int, at: datetime) -> Turn:
    """Return the newest turn if it has this number; otherwise add a new turn and return it."""
    turn = state.turn
    if turn is None or turn.number != number or state.anew:
        state.anew = False
        turn = Turn(number, at)
        state.add(turn)
    return turn


def _forgetting(state: ScreenState, event: Event, at: datetime) -> None:
    match event:
        case ForgettingBegan(key, exchanges, memories):
            ids = frozenset(exchanges), frozenset(memories)
            state.forgettings.append(PendingForget(key, at, *ids, lines=state.begun))
        case ForgettingUndone(key):
            for each in state.forgettings:
                each.undone = each.undone or each.id == key
        case ForgettingDone():
            for each in state.forgettings:
                if each.id == event.id:
                    each.receipt, each.lines = event, state.begun
                    _erase(state, each)
    hidden = [each for each in state.forgettings if not each.undone]
    state.hidden_exchanges = frozenset().union(*(each.exchanges for each in hidden))
    state.hidden_memories = frozenset().union(*(each.memories for each in hidden))
    state.hidden_lines = max((each.lines for each in hidden), default=0)


def _erase(state: ScreenState, gone: PendingForget) -> None:
    """Remove forgotten text from this process: from turns, from recalled memories, from prompts and
    from lines between turns.

    The texts of all prompts and lines so far are removed, because any may quote the forgotten text.
    """
    for entry in state.entries:
        if isinstance(entry, ConversationLine) and entry.kind != "note":
            entry.text = ""
    for turn in state.turns:
        if turn.exchange in gone.exchanges:
            turn.user = turn.written = turn.heard = ""
        turn.recalled = tuple(each for each in turn.recalled if each.id not in gone.memories)
        turn.sections = tuple(replace(each, text="") for each in turn.sections)


def chosen(state: ScreenState, number: int | None) -> Turn | None:
    """Return the turn with this number, or the newest turn if there is none.

    Numbers start from 1 again with each start of the assistant. If several turns have this number,
    the newest of them is returned.
    """
    return next((turn for turn in reversed(state.turns) if turn.number == number), state.turn)
