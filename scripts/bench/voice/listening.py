"""What both systems are measured with: one loudspeaker, one microphone, one set of notes.

All times are `time.monotonic()` while a clip runs, and milliseconds from the labelled end of its
speech once it is over.
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
"""Room noise before a clip, in which the voice detectors settle."""
GIVE_UP_S = 8.0
"""From the end of speech; past it a clip counts as unanswered."""
LATEST_BEGIN_S = 30.0
"""By then a pipeline has started."""
LISTEN_ON_S = 0.8
"""After the first audio: whether what was left of the clip becomes a turn of its own."""
CUT_OFF_S = 1.5
"""A turn that is taken for over within this time of the end of an unfinished phrase is cut off."""
AUDIBLE = 164
"""Amplitude of a sample that can be heard: -46 dB below full scale."""
PAUSE_S = 0.3
"""Silence after which sound counts as a new onset."""
POLL_S = 0.02


class TimedLoudspeaker(NullLoudspeaker):
    """Takes sound at a device's pace, and knows when each stretch of it began to be audible."""

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
    """When a turn was taken for over, and what was understood."""

    decided: float
    text: str


@dataclass(slots=True)
class Notes:
    """What a system did with a clip, on the clock of `time.monotonic`."""

    turns: list[Turn] = field(default_factory=list)
    stages: dict[str, float] = field(default_factory=dict)

    def stamp(self, stage: str) -> None:
        """`stage` began now, unless it already did."""
        self.stages.setdefault(stage, time.monotonic())


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a system made of a clip. Times in milliseconds from the end of the speech.

    `stages` only hold what led to `first_audio_ms`.
    """

    first_audio_ms: float | None
    turns: tuple[tuple[float, str], ...]
    stages: dict[str, float]

    @property
    def text(self) -> str:
        """All that was understood, in however many turns."""
        return " ".join(text for _, text in self.turns)

    @property
    def split(self) -> bool:
        """A turn ended before the speech did, or the clip became more than one."""
        return len(self.turns) > 1 or any(decided < 0 for decided, _ in self.turns)

    @property
    def cut_off(self) -> bool:
        """A turn was over within CUT_OFF_S of the end: for an unfinished phrase, too soon."""
        return any(decided <= CUT_OFF_S * 1000 for decided, _ in self.turns)

    @property
    def latency_ms(self) -> float | None:
        """First audio, where it answers the whole clip."""
        return None if self.split else self.first_audio_ms


class System(Protocol):
    """One of the two that are compared."""

    name: str

    async def load(self) -> None:
        """Load the models and warm them up."""

    async def hear(self, clip: Clip) -> Outcome:
        """A fresh conversation in which `clip` is said; ends when the answer has begun."""

    async def close(self) -> None:
        """End, with all processes."""


def microphone(clip: Clip) -> FileMicrophone:
    return FileMicrophone([clip.samples], lead_in_s=LEAD_IN_S)


async def answer_to(
    clip: Clip, microphone: FileMicrophone, loudspeaker: TimedLoudspeaker
) -> tuple[float, float | None]:
    """Wait for the answer to a clip that is being played.

    Returns:
        When its speech ended, and when the first sound after that began; None where none came.

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
    )


@dataclass(frozen=True, slots=True)
class Models:
    """What both run on: the same files, the same window, the same prompt and limits."""

    recogniser: Path
    language_model: Path
    voice: Path
    context_tokens: int
    threads: int
    system_prompt: str
    max_tokens: int
    temperature: float
