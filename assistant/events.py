"""The events. They report everything that happens, and are all that a user interface ever sees.

Events are frozen and carry plain values, so that they can be folded, recorded and replayed.
Times are milliseconds counted from the end of the user's speech unless a name says otherwise.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

logger = logging.getLogger(__name__)


class Phase(StrEnum):
    """What the assistant is doing, as shown to the user."""

    STARTING = "starting"
    LISTENING = "listening"
    HEARING = "hearing"
    THINKING = "thinking"
    SPEAKING = "speaking"
    ASLEEP = "asleep"
    MUTED = "muted"
    PAUSED = "paused"
    STOPPED = "stopped"
    """The assistant's process has ended; it can be started again."""


class Severity(StrEnum):
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Event:
    """Base of all events."""


@dataclass(frozen=True, slots=True)
class PhaseChanged(Event):
    phase: Phase


@dataclass(frozen=True, slots=True)
class Notice(Event):
    """One sentence for the user: a device came back, a model was restarted, a limit was reached."""

    text: str
    severity: Severity = Severity.INFO
    mend: str | None = None


@dataclass(frozen=True, slots=True)
class Loading(Event):
    """A model is being loaded, or has been (`done`). `role` as in `ModelsReady`."""

    role: str
    name: str
    done: bool = False


@dataclass(frozen=True, slots=True)
class ModelsReady(Event):
    """All models are loaded. `names` by role: stt, llm, tts, encoder."""

    names: dict[str, str]


@dataclass(frozen=True, slots=True)
class SoundReady(Event):
    """The names of the microphone and the loudspeaker in use; None if there is none."""

    microphone: str | None
    loudspeaker: str | None


@dataclass(frozen=True, slots=True)
class TurnStarted(Event):
    """The user began to speak or to type."""

    turn: int


@dataclass(frozen=True, slots=True)
class UserSensed(Event):
    """Somebody is speaking (to whomever) or typing. Not recorded.

    Work that nobody is waiting for stops on this event. `sure` is False until the voice has lasted
    long enough to be certain."""

    sure: bool = False


@dataclass(frozen=True, slots=True)
class IdleWork(Event):
    """The kind of idle job now running (None when it has stopped), and how many are waiting."""

    kind: str | None
    waiting: int


@dataclass(frozen=True, slots=True)
class PartialTranscript(Event):
    turn: int
    text: str


@dataclass(frozen=True, slots=True)
class SpeechIgnored(Event):
    """Sound that did not become a turn, and why: noise, backchannel, echo, asleep, muted, ..."""

    reason: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class Remarked(Event):
    """A remark of the assistant's own, such as "Good night."; not a turn, and no model wrote it."""

    text: str


@dataclass(frozen=True, slots=True)
class TurnHeard(Event):
    """The turn has ended, and these are its words."""

    turn: int
    text: str


@dataclass(frozen=True, slots=True)
class MemoryUsed:
    """A memory that was recalled for a turn, and why; or one that is always in the prompt.

    `said` is the time in UTC. `superseded_by` is the id of the memory that now holds instead.
    `parts` are the named terms that add up to the score. `words` are the words that the memory
    shares with the turn. If not `near`, it is too unlike the turn to be worth its tokens.
    """

    id: str
    text: str
    score: float = 0.0
    kind: str = "exchange"
    speaker: str = "user"
    said: datetime | None = None
    superseded_by: str | None = None
    parts: tuple[tuple[str, float], ...] = ()
    words: tuple[str, ...] = ()
    near: bool = True


@dataclass(frozen=True, slots=True)
class MemoriesRead(Event):
    """Long-term memory is ready to be searched. `count` excludes memories being forgotten."""

    count: int


@dataclass(frozen=True, slots=True)
class MemoriesCounted(Event):
    """The number of memories has changed. `count` excludes memories being forgotten."""

    count: int


@dataclass(frozen=True, slots=True)
class ProfileChanged(Event):
    """The notes about the user in every prompt have changed; there are now `count` of them."""

    count: int


@dataclass(frozen=True, slots=True)
class Recalled(Event):
    """The memories recalled for a turn, best first. `TurnEnded` has those that fit in the prompt.

    `missed`: the question's embedding missed the deadline. The search used the question's words
    and, if there was one, the embedding of what had been heard shortly before; it found nothing if
    even that took too long. `stand_in`: only the fast encoder was in time, not the stronger one.
    `brief`: there was only time to rank by words and meaning."""

    turn: int
    memories: tuple[MemoryUsed, ...]
    missed: bool
    stand_in: bool = False
    brief: bool = False


@dataclass(frozen=True, slots=True)
class PromptSection:
    """One part of the prompt as the model saw it: system, profile, summary, history, memories,
    state or newest message."""

    name: str
    text: str
    tokens: int


@dataclass(frozen=True, slots=True)
class PromptBuilt(Event):
    """The prompt of a turn. `left_out` lists memories that were recalled but not included: each id
    with the reason in words."""

    turn: int
    sections: tuple[PromptSection, ...]
    budget_tokens: int
    left_out: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class AnswerText(Event):
    """A piece of the answer as it is written; may be ahead of the spoken answer."""

    turn: int
    text: str


@dataclass(frozen=True, slots=True)
class AnswerHeard(Event):
    """The words of the answer that have reached the loudspeaker so far, all of them."""

    turn: int
    text: str


@dataclass(frozen=True, slots=True)
class Latency:
    """Milliseconds from the end of the user's speech; None if the turn had no such step.

    `turn_decided`: the turn is over; `transcript`: its words are known; `recall`: memories have
    been recalled; `first_token` and `first_audio` of the answer (the first sample given to the
    device).
    """

    turn_decided: float | None = None
    transcript: float | None = None
    recall: float | None = None
    first_token: float | None = None
    first_audio: float | None = None


@dataclass(frozen=True, slots=True)
class TurnEnded(Event):
    """A turn is over: answered, interrupted or abandoned.

    `assistant` holds only the words that were heard. `read_tokens` counts what the model had to
    read between the end of the turn and its first token. `tokens_per_s` is how fast it then wrote;
    None if the answer was too short to measure that. `exchange` is the id under which the turn is
    stored and forgotten.
    """

    turn: int
    user: str
    assistant: str
    interrupted: bool
    latency_ms: Latency
    memories: tuple[MemoryUsed, ...] = ()
    context_tokens: int = 0
    read_tokens: int = 0
    tokens_per_s: float | None = None
    exchange: str = ""


@dataclass(frozen=True, slots=True)
class ForgettingBegan(Event):
    """These exchanges and memories (by id) are hidden now and will be purged at `due` (UTC)."""

    id: str
    exchanges: tuple[str, ...]
    memories: tuple[str, ...]
    due: datetime


@dataclass(frozen=True, slots=True)
class ForgettingUndone(Event):
    """The user undid the forgetting in time; everything is back."""

    id: str


@dataclass(frozen=True, slots=True)
class Searched:
    """One store's share of the check after a purge: how many files, versions and bytes were
    searched for what was forgotten, and where something was `found`. Holds no words."""

    name: str
    files: int = 0
    versions: int = 0
    bytes: int = 0
    found: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ForgettingDone(Event):
    """The purge has deleted what was forgotten. `files` and `bytes` count what was searched for
    it; if `clean`, nothing was found. `searched` gives the same for each store; `unprovable` are
    sentences on places that could not be searched."""

    id: str
    files: int = 0
    bytes: int = 0
    clean: bool = True
    searched: tuple[Searched, ...] = ()
    unprovable: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RecordChanged(Event):
    """The session went off or back on the record. Off the record, nothing said is stored."""

    off: bool


@dataclass(frozen=True, slots=True)
class RecordingChanged(Event):
    """The conversation's events are written to `path` from now on; None when recording stops."""

    path: str | None


@dataclass(frozen=True, slots=True)
class MicrophoneLevel(Event):
    """Root mean square of the latest block of sound, in dBFS."""

    dbfs: float


@dataclass(frozen=True, slots=True)
class SessionEnded(Event):
    turns: int


Listener = Callable[[Event], None]


@dataclass(slots=True)
class EventBus:
    """Hands each event to every listener, in order, on the caller's thread.

    Everything that emits runs on the assistant's event loop. A listener must be quick and must not
    raise; one that raises is dropped, and a `Notice` reports it to the others.
    """

    listeners: list[Listener] = field(default_factory=list)

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Add a listener. Returns the function that removes it."""
        self.listeners.append(listener)

        def unsubscribe() -> None:
            if listener in self.listeners:
                self.listeners.remove(listener)

        return unsubscribe

    def emit(self, event: Event) -> None:
        for listener in tuple(self.listeners):
            try:
                listener(event)
            except Exception as error:
                logger.exception("A listener failed")
                self.listeners.remove(listener)
                self.emit(
                    Notice(f"A view failed and was closed: {error}.", severity=Severity.ERROR)
                )
