"""Tells backchannels and echoes of the assistant's own voice from real interruptions."""

import re
from collections.abc import Sequence

from rapidfuzz.distance.Indel import normalized_similarity as likeness

from assistant.language.numbers import cardinals

_BACKCHANNEL_WORDS = (
    "mm mmm mhm mhmm hm hmm hmmm uh huh um ah aha ahh oh ooh wow yeah yea yep yup yes ya ok okay "
    "right sure cool nice great true really alright exactly indeed"
)
_BACKCHANNEL_PHRASES = frozenset(
    {"i see", "got it", "all right", "makes sense", "of course", "thats right", "fair enough"}
)
_MOST_BACKCHANNEL_WORDS = 4


def is_backchannel(text: str) -> bool:
    """A listener's "mm-hmm", "yeah", "okay, right": accompanies the answer, doesn't stop it."""
    words = _words(text)
    if not 0 < len(words) <= _MOST_BACKCHANNEL_WORDS:
        return False
    rest = " ".join(words)
    for phrase in _BACKCHANNEL_PHRASES:
        rest = re.sub(rf"\b{phrase}\b", " ", rest)
    return all(word in _BACKCHANNEL_WORDS.split() for word in rest.split())


ECHO_LEAST_WORDS = 2
ECHO_ERRORS = 0.4
"""Share of words that may differ: an echo through a room is recognised poorly."""
ALIKE = 0.72
OWN_VOICE = 0.22
"""Minimum `echo_similarity` at which the sound resembles the assistant's own voice; see there."""
SURELY_OWN_VOICE = 0.33
"""Minimum `echo_similarity` at which it is the assistant's voice, no matter what the words: an
echo that gets through is often misheard, and scores 0.33 to 0.86; people speaking over it score up
to 0.3."""
OTHER_WORDS = 4
OTHER_SHARE = 0.6
"""Over an echo that gets through, the user is recognised by this many words, or this share of them,
that are not in the answer."""


def is_echo(text: str, speaking_text: str, own_voice: float = 0.0) -> bool:
    """Whether `text` is (mostly) a run of the words that the assistant is speaking. If the sound
    resembles its voice, a misheard piece of them counts too.

    Args:
        own_voice: how much of the sound came from the loudspeaker; see `echo_similarity`.
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
    return [str(cardinals().get(word, word)) for word in re.findall(r"[^\W_]+", plain)]


def _distance_within(heard: Sequence[str], spoken: Sequence[str]) -> float:
    """Edit distance from `heard` to the nearest run of `spoken`; similar words count a half."""
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
