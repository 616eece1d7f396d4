"""The loudspeaker, microphone and notes used to measure both systems.

While a clip plays, all times are those of `time.monotonic()`. Afterwards they are milliseconds from
the labelled end of its speech.
"""

import asyncio
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np

from assistant.voice.audio.files import FileMicrophone, NullLoudspeaker
from models.interfaces import Samples
from scripts.bench.voice.labels import Clip

LEAD_IN_S = 1.0
"""Room noise before a clip, during which the voice detectors settle."""
GIVE_UP_S = 8.0
"""A clip not answered this long after the end of speech counts as unanswered."""
LATEST_BEGIN_S = 30.0
"""The longest time until a clip must have begun to play."""
LISTEN_ON_S = 0.8
"""Listening continues this long after the first audio, as the rest of the clip may become another
turn."""
CUT_OFF_S = 1.5
"""A turn is cut off if it ends within this time after the end of an unfinished phrase."""
AUDIBLE = 164
"""Amplitude of a sample that can be heard: 46 dB below full scale."""
PAUSE_S = 0.3
"""Silence after which a sound counts as a new stretch."""
POLL_S = 0.02


class TimedLoudspeaker(NullLoudspeaker):
    """Plays sound at a device's pace, and records when each stretch of it became audible."""

    def __init__(self) -> None:
        super().__init__()
        self.onsets: list[float] = []
        self._audible_until = float("-inf")

    async def play(self, samples: Samples) -> None:
        loud = np.flatnonzero(np.abs(samples.astype(np.int32)) >= AUDIBLE)
        if len(loud):
            starts = time.monotonic() + self._queue.queued / self.sample_rate
            first, last = (starts + float(loud[i]) / self.sample_rate for i in (0, -1))
            if first - self._audible_until > PAUSE_S:
                self.onsets.append(first)
            self._audible_until = last
        await super().play(samples)


@dataclass(frozen=True, slots=True)
class Turn:
    """When the system decided that a turn was over, and the text it understood."""

    decided: float
    text: str


@dataclass(slots=True)
class Notes:
    """What a system did with a clip, and when, on the clock of `time.monotonic`."""

    turns: list[Turn] = field(default_factory=list)
    stages: dict[str, float] = field(default_factory=dict)
    reply: str = ""
    """What was said without the language model."""

    def stamp(self, stage: str) -> None:
        """Record that `stage` begins now, unless it began before."""
        self.stages.setdefault(stage, time.monotonic())


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a system reacted to a clip. Times are milliseconds from the end of the speech.

    `stages` holds only the stages that led to `first_audio_ms`.
    """

    first_audio_ms: float | None
    turns: tuple[tuple[float, str], ...]
    stages: dict[str, float]
    reply: str = ""
    """What was said instead of the language model's answer; empty if the model answered."""

    @property
    def text(self) -> str:
        """The understood text of all turns."""
        return " ".join(text for _, text in self.turns)

    @property
    def split(self) -> bool:
        """Whether a turn ended before the speech did, or the clip became more than one turn."""
        return len(self.turns) > 1 or any(decided < 0 for decided, _ in self.turns)

    @property
    def cut_off(self) -> bool:
        """Whether a turn ended no later than CUT_OFF_S after the end of the speech, which is too
        soon for an unfinished phrase."""
        return any(decided <= CUT_OFF_S * 1000 for decided, _ in self.turns)

    @property
    def latency_ms(self) -> float | None:
        """Time of the first audio if the language model answers the whole clip, otherwise None."""
        return None if self.split or self.reply else self.first_audio_ms


class System(Protocol):
    """One of the two systems that are compared."""

    name: str

    async def load(self) -> None:
        """Load the models and warm them up."""

    async def hear(self, clip: Clip) -> Outcome:
        """Play `clip` in a new conversation, which ends when the answer has begun."""

    async def close(self) -> None:
        """End the system with all its processes."""


def microphone(clip: Clip) -> FileMicrophone:
    return FileMicrophone([clip.samples], lead_in_s=LEAD_IN_S)


async def answer_to(
    clip: Clip, microphone: FileMicrophone, loudspeaker: TimedLoudspeaker
) -> tuple[float, float | None]:
    """Wait for the answer to a clip that is being played.

    Returns:
        When the clip's speech ended, and when the first sound after it began; None if none began.

    Raises:
        TimeoutError: the clip did not begin to play.
    """
    until = time.monotonic() + LATEST_BEGIN_S
    ended: float | None = None
    onset: float | None = None
    while (now := time.monotonic()) < until:
        await asyncio.sleep(POLL_S)
        if ended is None and microphone.starts:
            ended = microphone.starts[0] + clip.speech_end_s
            until = ended + GIVE_UP_S
        if ended is not None:
            onset = next((moment for moment in loudspeaker.onsets if moment >= ended), None)
        if onset is not None and now > onset + LISTEN_ON_S:
            break
    if ended is None:
        raise TimeoutError(f"{clip.name} was not listened to")
    return ended, onset


def outcome(notes: Notes, ended: float, onset: float | None) -> Outcome:
    def since(moment: float) -> float:
        return round((moment - ended) * 1000, 1)

    return Outcome(
        first_audio_ms=None if onset is None else since(onset),
        turns=tuple((since(turn.decided), turn.text) for turn in notes.turns),
        stages={name: since(moment) for name, moment in notes.stages.items()},
        reply=notes.reply,
    )


@dataclass(frozen=True, slots=True)
class Models:
    """The files, window, prompt and limits that both systems share."""

    recogniser: Path
    language_model: Path
    voice: Path
    context_tokens: int
    threads: int
    system_prompt: str
    max_tokens: int
    temperature: float
