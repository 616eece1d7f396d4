"""Was it said, or did the recogniser make it up? And does it mean to interrupt?

Whisper writes something for every sound: on noise it is "Thank you." or "You" as a rule, both of
which people say as well. So no phrase is suspect here; the sound and the decoder's own doubts
decide. The limits were set on recordings of rooms, music, animals, a sneeze, clocks and keyboards,
on synthetic hums, clicks, coughs and breath, and on people, down to a single "Help" (figures in
tests/real/test_judgement.py).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Protocol

import numpy as np

from models.interfaces import Samples, Transcription

LEAST_VOICE_S = 0.1
"""The shortest words, "you" and "help", hold 0.2 s of windows with a voice."""
CLEAR_VOICE = 0.83
"""Mean probability of a voice over the voiced windows: people 0.89 and more, babble 0.74–0.80."""
CERTAIN_VOICE = 0.9
"""With so much even a mumbled "you", that Whisper takes for silence and guesses at, is speech."""
SILENCE_LIKELY = 0.6
GUESSED = -1.0
"""Mean log probability of the text: people down to -0.99, noise from -0.5 to -2.2."""
MOST_CHARACTERS_PER_S = 45.0
"""Of text per second of voice: quick speech has 25, and 31 when the voice is scant."""
ABOVE_NOISE = 1.4
"""Of the sound's loud parts over the noise before it, as a ratio of amplitudes (3 dB)."""


class HeardStretch(Protocol):
    """A stretch of 16 kHz audio with what the voice detector made of it."""

    @property
    def samples(self) -> Samples: ...
    @property
    def voiced_s(self) -> float: ...
    @property
    def mean_voice(self) -> float: ...
    @property
    def max_voice(self) -> float: ...
    @property
    def noise_floor(self) -> float: ...


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that speaks for or against a transcription.

    `voiced_s` are the seconds of windows that the detector takes for voice, `mean_voice` its
    probability over them, `max_voice` over all. `level` and `noise_floor` are root mean squares of
    16-bit samples: of the loud parts of the stretch, and of the time before it.
    """

    text: str
    no_speech: float
    log_probability: float
    voiced_s: float
    mean_voice: float
    max_voice: float
    level: float
    noise_floor: float

    @classmethod
    def of(cls, transcription: Transcription, stretch: HeardStretch) -> "Evidence":
        return cls(
            text=transcription.text,
            no_speech=transcription.no_speech,
            log_probability=transcription.log_probability,
            voiced_s=stretch.voiced_s,
            mean_voice=stretch.mean_voice,
            max_voice=stretch.max_voice,
            level=loudness(stretch.samples),
            noise_floor=stretch.noise_floor,
        )


@dataclass(frozen=True, slots=True)
class Verdict:
    """`reason` is for the user: why it was, or wasn't, taken for speech."""

    is_speech: bool
    reason: str


def loudness(samples: Samples, window: int = 512) -> float:
    """Root mean square of the loud parts: the 90th percentile over windows of 32 ms."""
    count = len(samples) // window
    if not count:
        return 0.0
    frames = samples[: count * window].astype(np.float32).reshape(count, window)
    return float(np.percentile(np.sqrt(np.mean(frames * frames, axis=1)), 90))


def judge(evidence: Evidence) -> Verdict:
    """Whether `evidence.text` was really said."""
    characters = sum(character.isalnum() for character in evidence.text)
    if not characters:
        return Verdict(False, "no words")
    if evidence.voiced_s < LEAST_VOICE_S:
        return Verdict(False, "no voice")
    if characters > MOST_CHARACTERS_PER_S * evidence.voiced_s:
        return Verdict(False, "more words than voice")
    doubts = [doubt for doubt, holds in _doubts(evidence) if holds]
    # One alone is no proof: a whispered word is unclear, a short one looks like silence.
    if len(doubts) >= (3 if evidence.mean_voice >= CERTAIN_VOICE else 2):
        return Verdict(False, " and ".join(doubts))
    return Verdict(True, "speech")


def _doubts(evidence: Evidence) -> list[tuple[str, bool]]:
    return [
        ("the voice is unclear", evidence.mean_voice < CLEAR_VOICE),
        ("it is probably silence", evidence.no_speech > SILENCE_LIKELY),
        ("the words are a guess", evidence.log_probability < GUESSED),
        ("it is no louder than the noise", evidence.level < ABOVE_NOISE * evidence.noise_floor),
    ]


_BACKCHANNEL_WORDS = (
    "mm mmm mhm mhmm hm hmm hmmm uh huh um ah aha ahh oh ooh wow yeah yea yep yup yes ya ok okay "
    "right sure cool nice great true really alright exactly indeed"
)
_BACKCHANNEL_PHRASES = frozenset(
    {"i see", "got it", "all right", "makes sense", "of course", "thats right", "fair enough"}
)
_MOST_BACKCHANNEL_WORDS = 4


def is_backchannel(text: str) -> bool:
    """A listener's "mm-hmm", "yeah", "okay, right": goes with the voice, doesn't stop it."""
    words = _words(text)
    if not 0 < len(words) <= _MOST_BACKCHANNEL_WORDS:
        return False
    rest = " ".join(words)
    for phrase in _BACKCHANNEL_PHRASES:
        rest = re.sub(rf"\b{phrase}\b", " ", rest)
    return all(word in _BACKCHANNEL_WORDS.split() for word in rest.split())


ECHO_LEAST_WORDS = 2
ECHO_ERRORS = 0.4
"""Share of words that may differ: what comes back through a room is recognised badly."""
ALIKE = 0.72
OWN_VOICE = 0.22
"""Of `echo.likeness`, which tells where the figures are from."""
SURELY_OWN_VOICE = 0.33
"""What slips through is misheard as anything, and has 0.33 to 0.86; people over it up to 0.3."""
OTHER_WORDS = 4
OTHER_SHARE = 0.6
"""Over its own voice, let through, the user is heard by so many words that it does not speak."""
_NUMBERS = "zero one two three four five six seven eight nine ten eleven twelve"


def is_echo(text: str, speaking_text: str, own_voice: float = 0.0) -> bool:
    """Whether `text` is (mostly) a run of the words that the assistant itself speaks, or else,
    where the sound is like its own voice, hardly more than a misheard piece of them.

    Args:
        own_voice: how much of the sound is what the loudspeaker played; see `echo.likeness`.
    """
    heard, spoken = _words(text), _words(speaking_text)
    if not spoken:
        return False
    if own_voice >= OWN_VOICE:
        others = sum(word not in spoken for word in heard)
        if own_voice >= SURELY_OWN_VOICE or others < max(OTHER_WORDS, OTHER_SHARE * len(heard)):
            return True
    if len(heard) < ECHO_LEAST_WORDS:
        return False
    return _distance_within(heard, spoken) <= ECHO_ERRORS * len(heard)


def _words(text: str) -> list[str]:
    plain = text.lower().replace("'", "").replace("’", "")
    numbers = {str(value): name for value, name in enumerate(_NUMBERS.split())}
    return [numbers.get(word, word) for word in re.findall(r"[^\W_]+", plain)]


def _distance_within(heard: Sequence[str], spoken: Sequence[str]) -> float:
    """Edit distance of `heard` to the nearest run of `spoken`; alike words differ by a half."""
    row = [0.0] * (len(spoken) + 1)
    for i, word in enumerate(heard, 1):
        previous, row[0] = row[0], float(i)
        for j, other in enumerate(spoken, 1):
            change = previous + _difference(word, other)
            previous, row[j] = row[j], min(change, row[j] + 1, row[j - 1] + 1)
    return min(row)


def _difference(one: str, other: str) -> float:
    if one == other:
        return 0.0
    return 0.5 if SequenceMatcher(None, one, other, autojunk=False).ratio() >= ALIKE else 1.0
