"""Was it said, or did the recogniser make it up? And does it mean to interrupt?

Whisper writes something for every sound: on noise it is "Thank you." or "You" as a rule, both of
which people say as well. So no phrase is suspect here; the sound and the decoder's own doubts
decide. The limits were set on recordings of rooms, music, animals, a sneeze, clocks and keyboards,
on synthetic hums, clicks, coughs and breath, and on people, down to a single "Help" (figures in
tests/real/test_judgement.py).
"""

import re
from collections.abc import Sequence

from rapidfuzz.distance.Indel import normalized_similarity as likeness

from assistant.language.numbers import CARDINALS

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
    return [str(CARDINALS.get(word, word)) for word in re.findall(r"[^\W_]+", plain)]


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
    return 0.5 if likeness(one, other) >= ALIKE else 1.0
