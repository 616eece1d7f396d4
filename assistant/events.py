"""The events that report what happens in the assistant. A user interface learns of everything
through events.

Events are immutable and contain plain values, so that they can be reduced to a state, recorded and
replayed. Times are milliseconds since the end of the user's speech unless a name says otherwise.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any


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
    """The assistant's process has ended. It can be started again."""


class Severity(StrEnum):
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Event:
    """Base class of all events."""


@dataclass(frozen=True, slots=True)
class PhaseChanged(Event):
    phase: Phase


@dataclass(frozen=True, slots=True)
class Notice(Event):
    """One sentence for the user, e.g. that a device is back or a model was restarted."""

    text: str
    severity: Severity = Severity.INFO
    mend: str | None = None


@dataclass(frozen=True, slots=True)
class Loading(Event):
    """A model is being loaded or, if `done`, has been loaded. `role` is one of the roles in
    `ModelsReady`."""

    role: str
    name: str
    done: bool = False


@dataclass(frozen=True, slots=True)
class ModelsReady(Event):
    """All models are loaded. `names` maps each role (stt, llm, tts, encoder) to the model's
    name."""

    names: dict[str, str]


@dataclass(frozen=True, slots=True)
class SoundReady(Event):
    """The names of the microphone and the loudspeaker in use; None for a missing device."""

    microphone: str | None
    loudspeaker: str | None


@dataclass(frozen=True, slots=True)
class TurnStarted(Event):
    """The user began to speak or to type."""

    turn: int


@dataclass(frozen=True, slots=True)
class UserSensed(Event):
    """Somebody is typing, or speaking, perhaps to another person. This event is not recorded.

    Background work stops on this event. `sure` is False until the voice has lasted long enough to
    be certain.
    """

    sure: bool = False


@dataclass(frozen=True, slots=True)
class IdleWork(Event):
    """An idle job has started or stopped. `kind` is the running job's kind, or None if it has
    stopped. `waiting` is the number of subjects, e.g. exchanges, that wait for processing."""

    kind: str | None
    waiting: int


@dataclass(frozen=True, slots=True)
class PartialTranscript(Event):
    turn: int
    text: str


@dataclass(frozen=True, slots=True)
class SpeechIgnored(Event):
    """Sound that did not become a turn. `reason` says why, e.g. noise, echo, asleep or muted."""

    reason: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class CommandHeard(Event):
    """The user has given a command to the assistant itself, or answered a question of a skill. This
    is not a turn, and it is not recorded. The reply, if any, follows as `Remarked`."""

    text: str


@dataclass(frozen=True, slots=True)
class Remarked(Event):
    """A fixed remark of the assistant, such as "Good night.". It is not a turn, and no model wrote
    it. `command` is the kind of the command that it replies to, if any."""

    text: str
    command: str = ""


@dataclass(frozen=True, slots=True)
class RingingChanged(Event):
    """A timer, an alarm or a reminder has begun or stopped ringing. The words that belong to it
    follow as `Remarked`."""

    rings: bool


@dataclass(frozen=True, slots=True)
class TurnHeard(Event):
    """The user has finished speaking or typing. `text` contains the words of the turn."""

    turn: int
    text: str


@dataclass(frozen=True, slots=True)
class MemoryUsed:
    """A memory that was recalled for a turn, or that every prompt contains.

    `said` is a time in UTC. `superseded_by` is the id of the newer memory that replaces this one.
    `parts` are the named terms whose sum is the score. `words` are the words shared with the turn.
    If `near` is False, the memory is too dissimilar to the turn to be worth its tokens. `corrects`:
    the memory supersedes something that is still in the prompt's conversation. `answers` is the
    probability that it answers the turn's question (None if it was not judged). `outdated_by` is
    the id of a newer answer that seems to outdate it.
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
    corrects: bool = False
    answers: float | None = None
    outdated_by: str | None = None


@dataclass(frozen=True, slots=True)
class MemoriesRead(Event):
    """Long-term memory can now be searched. `count` excludes memories that are being forgotten."""

    count: int


@dataclass(frozen=True, slots=True)
class MemoriesCounted(Event):
    """The number of memories has changed. `count` excludes memories that are being forgotten."""

    count: int


@dataclass(frozen=True, slots=True)
class ProfileChanged(Event):
    """The notes about the user that every prompt contains have changed. There are now `count`."""

    count: int


@dataclass(frozen=True, slots=True)
class Recalled(Event):
    """The memories recalled for a turn, best first. `TurnEnded` has those that fitted into the
    prompt.

    `missed`: the embedding of the question was not ready by the deadline. The search then used the
    question's words and, if there was one, the embedding of the words heard shortly before. If even
    this took too long, nothing was recalled. `stand_in`: only the fast encoder was ready in time,
    not the stronger one. `brief`: memories were ranked only by words and meaning, for lack of time.
    """

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
    """The prompt of a turn was built. `sections` is empty if the assistant answers without the
    language model. `left_out` lists the recalled memories that the prompt does not contain, each as
    its id and the reason in words."""

    turn: int
    sections: tuple[PromptSection, ...]
    budget_tokens: int
    left_out: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class AnswerText(Event):
    """A piece of the answer, as it is written. What is written may be ahead of what is spoken."""

    turn: int
    text: str


@dataclass(frozen=True, slots=True)
class AnswerHeard(Event):
    """All words of the answer that have reached the loudspeaker so far."""

    turn: int
    text: str


@dataclass(frozen=True, slots=True)
class Latency:
    """Milliseconds from the end of the user's speech to each step; None for a step that the turn
    lacks.

    `turn_decided`: the turn is known to be over. `transcript`: its words are known. `recall`:
    memories have been recalled. `first_token`: the model has written the answer's first token.
    `first_audio`: the answer's first sample was passed to the audio device.
    """

    turn_decided: float | None = None
    transcript: float | None = None
    recall: float | None = None
    first_token: float | None = None
    first_audio: float | None = None


@dataclass(frozen=True, slots=True)
class TurnEnded(Event):
    """A turn is over, because it was answered, interrupted or abandoned.

    `assistant` contains only the words that were heard. `read_tokens` is the number of tokens that
    the model had to read between the end of the turn and its first token. `tokens_per_s` is the
    speed at which it then wrote; None if the answer was too short to measure the speed. `exchange`
    is the id under which the turn is stored and can be forgotten. `near_misses` are the best of the
    recalled memories that the prompt did not contain, each as its id, its score, and the reason why
    it was left out.
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
    near_misses: tuple[tuple[str, float, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ForgettingBegan(Event):
    """Exchanges and memories (listed by id) are now hidden and will be purged at `due` (UTC)."""

    id: str
    exchanges: tuple[str, ...]
    memories: tuple[str, ...]
    due: datetime


@dataclass(frozen=True, slots=True)
class ForgettingUndone(Event):
    """The user undid the forgetting in time. All exchanges and memories are restored."""

    id: str


@dataclass(frozen=True, slots=True)
class Searched:
    """The result of searching one store for remains of forgotten data: the number of files,
    versions and bytes searched, and the places where data was `found`. Contains no user text."""

    name: str
    files: int = 0
    versions: int = 0
    bytes: int = 0
    found: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ForgettingDone(Event):
    """The forgotten data has been purged, and the stores have been searched for remains of it.

    `files` and `bytes` count what was searched. `clean` is True if no remains were found.
    `searched` has the results for each store. `unprovable` contains sentences about places that
    could not be searched.
    """

    id: str
    files: int = 0
    bytes: int = 0
    clean: bool = True
    searched: tuple[Searched, ...] = ()
    unprovable: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WishTaken(Event):
    """The user said how they want to be answered from now on. `memories` are the ids of the notes
    that record this wish. Every prompt from the next turn on contains them."""

    memories: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RecordChanged(Event):
    """The session went off or back on the record. Off the record, nothing that is said is
    stored."""

    off: bool


@dataclass(frozen=True, slots=True)
class StateEntry:
    """An entry of the user's state: a timer, a list, an item of it, and so on. `parent` is the id
    of the entry that it belongs to, or empty. `assistant.skills` defines the keys of `content`."""

    id: str
    parent: str
    content: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class StateChanged(Event):
    """The user's state has changed. `entries` are all entries of this kind, in the order in which
    they were added."""

    kind: str
    entries: tuple[StateEntry, ...]


@dataclass(frozen=True, slots=True)
class RecordingChanged(Event):
    """A recording of the conversation's events to `path` has started. If `path` is None, recording
    has stopped."""

    path: str | None


@dataclass(frozen=True, slots=True)
class MicrophoneLevel(Event):
    """Root mean square of the latest block of microphone audio, in dBFS."""

    dbfs: float


@dataclass(frozen=True, slots=True)
class SessionEnded(Event):
    turns: int
