"""The state that the screen shows, folded from the assistant's events. Knows nothing about
drawing."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from assistant.events import (
    AnswerHeard,
    AnswerText,
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
    SessionEnded,
    Severity,
    SoundReady,
    SpeechIgnored,
    TurnEnded,
    TurnHeard,
    TurnStarted,
)

SILENCE_DBFS = -96.0
MOST_NOTICES = 200
MOST_TURNS = 500
"""Maximum number of turns and remarks in the state; the transcript has all turns."""
OFF_THE_RECORD = "Off the record: from now on, nothing you say is kept."
ON_THE_RECORD = "Back on the record. What was said in between has not been kept."
STEPS = ("turn_decided", "transcript", "recall", "first_token", "first_audio")
"""Steps of a turn, in the order they happen."""


@dataclass(slots=True)
class Turn:
    """One turn, over or in progress."""

    number: int
    at: datetime
    user: str = ""
    written: str = ""
    """The answer as the model wrote it; ahead of `heard`."""
    heard: str = ""
    over: bool = False
    interrupted: bool = False
    recalled: tuple[MemoryUsed, ...] = ()
    missed: bool = False
    """Recall missed something at its deadline; `stand_in` and `brief` as in `Recalled`."""
    stand_in: bool = False
    brief: bool = False
    sections: tuple[PromptSection, ...] = ()
    budget: int = 0
    left_out: dict[str, str] = field(default_factory=dict)
    """Ids of recalled memories that are not in the prompt → reason."""
    latency: Latency = field(default_factory=Latency)
    read_tokens: int | None = None
    """Tokens the model had to read after the end of speech; None until known."""
    tokens_per_s: float | None = None
    exchange: str = ""
    """Id in the transcript, once the turn is over."""

    @property
    def tokens(self) -> int:
        """Tokens of the whole prompt."""
        return sum(section.tokens for section in self.sections)

    @property
    def unheard(self) -> str:
        """The written text that has not been heard yet, or never will be."""
        return self.written[len(self.heard) :] if self.written.startswith(self.heard) else ""

    @property
    def shown(self) -> tuple[MemoryUsed, ...]:
        """The memories that the model saw, best first."""
        return tuple(memory for memory in self.recalled if memory.id not in self.left_out)

    def cached(self) -> tuple[int, ...] | None:
        """For each section, the tokens that the model had read before the user finished."""
        if self.read_tokens is None:
            return None
        left, parts = max(self.tokens - self.read_tokens, 0), []
        for section in self.sections:
            parts.append(min(left, section.tokens))
            left -= parts[-1]
        return tuple(parts)


@dataclass(frozen=True, slots=True)
class RemarkLine:
    """A line that is not a turn: a remark of the assistant, ignored speech, or a note."""

    kind: str
    """`remark`, `ignored` or `note`."""
    text: str


Entry = Turn | RemarkLine


@dataclass(slots=True)
class ShownNotice:
    """A notice and whether it was dismissed."""

    notice: Notice
    dismissed: bool = False


@dataclass(slots=True)
class PendingForget:
    """A deletion that is pending, undone or done."""

    id: str
    at: datetime
    exchanges: frozenset[str]
    memories: frozenset[str]
    undone: bool = False
    receipt: ForgettingDone | None = None

    @property
    def open(self) -> bool:
        """Whether the deletion can still be undone."""
        return not self.undone and self.receipt is None


@dataclass(slots=True)
class ScreenState:
    """Everything a screen shows. `version` grows with every change."""

    version: int = 0
    phase: Phase = Phase.STARTING
    off_record: bool = False
    recording: str | None = None
    """The file that the conversation is recorded to."""
    models: dict[str, str] = field(default_factory=dict)
    loading: dict[str, str] = field(default_factory=dict)
    """Names of the models being loaded, by role."""
    anew: bool = False
    """The assistant was restarted, and numbers its turns from 1."""
    microphone: str | None = None
    """Name of the device, once known."""
    deaf: bool = False
    """There is no microphone."""
    level_dbfs: float = SILENCE_DBFS
    partial: str = ""
    """Words heard so far of a turn that has not ended."""
    entries: deque[Entry] = field(default_factory=lambda: deque(maxlen=MOST_TURNS))
    begun: int = 0
    """Number of entries ever added."""
    memories: int | None = None
    """Number of memories; None until loaded."""
    idle: IdleWork | None = None
    """The idle work in progress."""
    notices: deque[ShownNotice] = field(default_factory=lambda: deque(maxlen=MOST_NOTICES))
    forgettings: list[PendingForget] = field(default_factory=list)
    hidden_exchanges: frozenset[str] = frozenset()
    """Ids of exchanges that are being forgotten or are gone, and must not be shown."""
    hidden_memories: frozenset[str] = frozenset()

    def add(self, entry: Entry) -> None:
        self.entries.append(entry)
        self.begun += 1

    @property
    def turns(self) -> list[Turn]:
        """All turns, oldest first."""
        return [entry for entry in self.entries if isinstance(entry, Turn)]

    @property
    def turn(self) -> Turn | None:
        """The newest turn."""
        return next((each for each in reversed(self.entries) if isinstance(each, Turn)), None)

    @property
    def trouble(self) -> ShownNotice | None:
        """The newest warning or error that has not been dismissed."""
        serious = (
            each
            for each in reversed(self.notices)
            if not each.dismissed and each.notice.severity is not Severity.INFO
        )
        return next(serious, None)

    @property
    def undoable(self) -> PendingForget | None:
        """The deletion that the user can undo."""
        return next((each for each in reversed(self.forgettings) if each.open), None)


def fold(state: ScreenState, event: Event, at: datetime) -> None:
    """Apply an event to the state."""
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
        case Notice():
            state.notices.append(ShownNotice(event))
        case RecordChanged(off):
            state.off_record = off
            state.add(RemarkLine("note", OFF_THE_RECORD if off else ON_THE_RECORD))
        case RecordingChanged(path):
            state.recording = path
        case SessionEnded():
            state.idle = None
        case Remarked(text):
            state.add(RemarkLine("remark", text))
        case SpeechIgnored(reason, text):
            state.partial = ""
            if text:
                state.add(RemarkLine("ignored", f"{text} ({reason})"))
        case PartialTranscript(_, text):
            state.partial = text
        case ForgettingBegan() | ForgettingUndone() | ForgettingDone():
            _forgetting(state, event, at)
        case _:
            _turn(state, event, at)


def percentile(values: Sequence[float], share: float) -> float | None:
    """With linear interpolation; None if there are no values. `share` is in [0, 1]."""
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
    """Begin a new session; an unfinished turn of the previous one stays incomplete."""
    state.memories, state.idle = None, None
    state.loading.clear()
    if state.turn is not None and not state.anew:
        state.anew = True
        state.turn.over = True
        state.add(RemarkLine("note", "The assistant was restarted."))


def _of(state: ScreenState, number: int, at: datetime) -> Turn:
    """The turn with this number; a new one if there is none."""
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
            state.forgettings.append(PendingForget(key, at, *ids))
        case ForgettingUndone(key):
            for each in state.forgettings:
                each.undone = each.undone or each.id == key
        case ForgettingDone():
            for each in state.forgettings:
                if each.id == event.id:
                    each.receipt = event
                    _erase(state, each)
    hidden = [each for each in state.forgettings if not each.undone]
    state.hidden_exchanges = frozenset().union(*(each.exchanges for each in hidden))
    state.hidden_memories = frozenset().union(*(each.memories for each in hidden))


def _erase(state: ScreenState, gone: PendingForget) -> None:
    """Remove every trace of forgotten text from this process too: its turns, its memories in other
    turns, and all prompts so far, since any prompt may quote it."""
    for turn in state.turns:
        if turn.exchange in gone.exchanges:
            turn.user = turn.written = turn.heard = ""
        turn.recalled = tuple(each for each in turn.recalled if each.id not in gone.memories)
        turn.sections = tuple(replace(each, text="") for each in turn.sections)


def chosen(state: ScreenState, number: int | None) -> Turn | None:
    """The turn with that number, or the newest. Numbers start again with each start."""
    return next((turn for turn in reversed(state.turns) if turn.number == number), state.turn)
