"""Everything that happened: all that a face ever sees.

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
    """What the assistant is doing, in the words that the user is shown."""

    STARTING = "starting"
    LISTENING = "listening"
    HEARING = "hearing"
    THINKING = "thinking"
    SPEAKING = "speaking"
    ASLEEP = "asleep"
    MUTED = "muted"
    PAUSED = "paused"
    STOPPED = "stopped"
    """Its process has ended, and can be started again."""


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
    """One sentence for the user: a device came back, a model was restarted, a limit was met."""

    text: str
    severity: Severity = Severity.INFO
    mend: str | None = None


@dataclass(frozen=True, slots=True)
class Loading(Event):
    """A model is being read into memory, or has been. `role` as in `ModelsReady`."""

    role: str
    name: str
    done: bool = False


@dataclass(frozen=True, slots=True)
class ModelsReady(Event):
    """Names by role: stt, llm, tts, encoder."""

    names: dict[str, str]


@dataclass(frozen=True, slots=True)
class SoundReady(Event):
    """The devices that are listened to and spoken with, by their names; None where there is
    none."""

    microphone: str | None
    loudspeaker: str | None


@dataclass(frozen=True, slots=True)
class TurnStarted(Event):
    """The user began to speak (or to type)."""

    turn: int


@dataclass(frozen=True, slots=True)
class UserSensed(Event):
    """Somebody is there: maybe a voice, before it is long enough to be `sure`; a voice, whoever it
    speaks to; or something is typed. Work that nobody waits for stops here. Not recorded."""

    sure: bool = False


@dataclass(frozen=True, slots=True)
class IdleWork(Event):
    """What is worked on between utterances; None when that has stopped. So much waits."""

    kind: str | None
    waiting: int


@dataclass(frozen=True, slots=True)
class PartialTranscript(Event):
    turn: int
    text: str


@dataclass(frozen=True, slots=True)
class SpeechIgnored(Event):
    """Sound that did not become a turn, and why: noise, backchannel, echo, asleep, muted..."""

    reason: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class Remarked(Event):
    """What the assistant says of itself, such as "Good night."; no turn and no model."""

    text: str


@dataclass(frozen=True, slots=True)
class TurnHeard(Event):
    """The turn is decided and these are its words."""

    turn: int
    text: str


@dataclass(frozen=True, slots=True)
class MemoryUsed:
    """A memory that was recalled for a turn, and why.

    `said` is when, in UTC; `parts` add up to the score, each with its name; `words` are those of
    the turn that the memory has too; one that is not `near` is too unlike the turn for the prompt.
    """

    id: str
    text: str
    score: float
    kind: str = "exchange"
    speaker: str = "user"
    said: datetime | None = None
    superseded_by: str | None = None
    parts: tuple[tuple[str, float], ...] = ()
    words: tuple[str, ...] = ()
    near: bool = True


@dataclass(frozen=True, slots=True)
class MemoriesRead(Event):
    """The long-term memory can be searched from now on; there are so many, without those that are
    being forgotten."""

    count: int


@dataclass(frozen=True, slots=True)
class MemoriesCounted(Event):
    """There are so many now, without those that are being forgotten."""

    count: int


@dataclass(frozen=True, slots=True)
class ProfileChanged(Event):
    """What every prompt tells of the user is another from now on; so many notes."""

    count: int


@dataclass(frozen=True, slots=True)
class Recalled(Event):
    """What was recalled for a turn, best first; which of it the prompt had room for is in
    `TurnEnded`. `missed` says that the question's meaning was not known within the deadline, or
    came too late to be looked for: its words decided, with the meaning of what had been heard of it
    shortly before, if anything; or nothing is found, where even for them there was no time.
    `stand_in` says that it was known by the quick encoder alone: the stronger one was late. `brief`
    says that there was no time to look at anything but words and meaning."""

    turn: int
    memories: tuple[MemoryUsed, ...]
    missed: bool
    stand_in: bool = False
    brief: bool = False


@dataclass(frozen=True, slots=True)
class PromptSection:
    """One part of the prompt as the model saw it: system, profile, summary, history, memories,
    state, newest message."""

    name: str
    text: str
    tokens: int


@dataclass(frozen=True, slots=True)
class PromptBuilt(Event):
    """What the model is shown in a turn. `left_out` are the ids of memories that were recalled and
    are not in it, each with the reason in words."""

    turn: int
    sections: tuple[PromptSection, ...]
    budget_tokens: int
    left_out: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class AnswerText(Event):
    """A piece of the answer as it is written; may run ahead of what is heard."""

    turn: int
    text: str


@dataclass(frozen=True, slots=True)
class AnswerHeard(Event):
    """The words of the answer that have reached the loudspeaker so far, all of them."""

    turn: int
    text: str


@dataclass(frozen=True, slots=True)
class Latency:
    """Milliseconds from the end of the user's speech; None where the turn had no such step.

    `turn_decided` the turn is over; `transcript` its words are known; `recall` memories are there;
    `first_token` and `first_audio` of the answer (the first sample given to the device).
    """

    turn_decided: float | None = None
    transcript: float | None = None
    recall: float | None = None
    first_token: float | None = None
    first_audio: float | None = None


@dataclass(frozen=True, slots=True)
class TurnEnded(Event):
    """A turn is over: answered, interrupted or given up.

    `assistant` holds the words that were heard, no more. `read_tokens` is what the model had to
    read between the end of the turn and its first token; `tokens_per_s` how fast it then wrote,
    None for answers too short to tell. `exchange` is the id by which it is kept, and forgotten.
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
    """Something is out of sight, and will be gone for good at `due` (UTC): exchanges and memories,
    by their ids."""

    id: str
    exchanges: tuple[str, ...]
    memories: tuple[str, ...]
    due: datetime


@dataclass(frozen=True, slots=True)
class ForgettingUndone(Event):
    """The user took it back in time; all of it is there again."""

    id: str


@dataclass(frozen=True, slots=True)
class Searched:
    """A store: how many files, versions and bytes of it were looked through for what was
    forgotten, and where something was found; no words."""

    name: str
    files: int = 0
    versions: int = 0
    bytes: int = 0
    found: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ForgettingDone(Event):
    """It is gone for good. So many files and bytes were looked through for it, and nothing was
    found, if `clean`. `searched` says the same store by store,
    `unprovable` are sentences on what could not be looked through."""

    id: str
    files: int = 0
    bytes: int = 0
    clean: bool = True
    searched: tuple[Searched, ...] = ()
    unprovable: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RecordChanged(Event):
    """Off the record nothing is kept of what is said."""

    off: bool


@dataclass(frozen=True, slots=True)
class RecordingChanged(Event):
    """The conversation's events are written to this file from now on; or no more, if there is
    none."""

    path: str | None


@dataclass(frozen=True, slots=True)
class MicrophoneLevel(Event):
    """Root mean square of the last stretch of sound, in dBFS."""

    dbfs: float


@dataclass(frozen=True, slots=True)
class SessionEnded(Event):
    turns: int


Listener = Callable[[Event], None]


@dataclass(slots=True)
class EventBus:
    """Hands each event to every listener, in order, on the caller's thread.

    Everything that emits runs on the assistant's event loop. A listener must be quick and must not
    raise; one that raises is dropped, and the others are told by a `Notice`.
    """

    listeners: list[Listener] = field(default_factory=list)

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Returns the function that ends the subscription."""
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
