"""Whether a newer statement of the user names what it takes the place of: `we'll paint it green
instead of yellow` after `I think we'll paint the kitchen yellow`.

It needs no pattern of what is being said, which `conflicts` reads: the old value is in both, and so
is a word of what they are about. English alone.
"""

import re
from collections.abc import Collection, Iterator

from assistant.memory.conflicts import LONGEST, MOST_CONTENT, SENTENCE
from assistant.memory.lexicon import Lexicon
from assistant.memory.record import USER, Memory
from assistant.memory.wording import ASIDES, folded

_OLD = r"(?:(?:the|a|an|my|our|on|at|in|to|for|called) )*(?P<old>[\w'-]+)"
_ENDED = re.compile(
    r"\b(?:i|we) (?:have )?(?:just )?(?:finally )?(?:sold|dropped|gave up|given up|got rid of"
    r"|gave away|given away|cancelled|canceled) "
    r"(?:the|my|our) (?P<old>[\w'-]+)"
)
"""What one has, drives, plays, learns, … no more."""
_REPLACED = (
    re.compile(rf"\binstead of {_OLD}"),
    re.compile(
        r"\b(?:moved|changed|switched|rescheduled|postponed|shifted|put back|brought forward)\b"
        rf"[\w' -]*? from {_OLD} to\b"
    ),
    re.compile(r"\bnot (?:[\w'-]+ ){0,4}?(?P<old>[\w'-]+) (?:anymore|after all)\b"),
    re.compile(rf"[\w'], not {_OLD}[\s.!]*$"),
)
_LASTS = re.compile(
    r"\b(?:now|changed|decided|will|in the end|from now on|these days|nowadays|is|are|am|called"
    r"|named|after all|anymore|switched|moved|rescheduled|postponed|shifted|put|brought)\b"
)
"""`I walked to work instead of the bus` was once, and says nothing of other days."""
_UNREAL = re.compile(
    r"\b(?:if|would|could|might|may|maybe|perhaps|wish|imagine|suppose|pretend|unless|should|almost"
    r"|nearly|thinking of|thinking about|used to|dreamt|dreamed|joke|joking|today|tonight|tomorrow"
    r"|this time|for once|for a while)\b"
)
_HELD = re.compile(
    r"\b(?:i|we) (?:am |are |usually |always |often |only |still )*(?:have|own|keep|keeping|drive"
    r"|driving|ride|riding|play|playing|learn|learning|study|studying|practise|practising|use|using"
    r"|sing|singing|attend|attending|teach|teaching|drink|eat|smoke|grow|growing|do|doing|go to"
    r"|going to|take|taking)\b"
)
"""What is had, driven, played, … and given up; that one likes it, or bought it once, stays true."""
_OWN = re.compile(r"^(?:i|we)\b")
_THEIRS = re.compile(r"\b(?:he|she|they) (?:do|does|did|will|is|are|has|have) not\b")
_WHOSE = re.compile(r"^(?:my|our) ([\w'-]+)")
_WHO = re.compile(r"\b(?!(?:i|we|he|she|it|they|that|this)\b)([\w'-]+) (?:does|is|has|will) not\b")
_SPENT = re.compile(r"\b(?:yesterday|ago|last (?:\w+day|week|month|year)|once)\b")
"""What is over was never to last: it stays true."""


def names_what_it_replaces(memory: Memory, lexicon: Lexicon) -> bool:
    """Whether it may take the place of something. Quick."""
    return _read(memory, lexicon) and next(_replaced(memory.text), None) is not None


def replaces(newer: Memory, older: Memory, lexicon: Lexicon) -> bool:
    """Whether the newer of two statements names what the older one says, and says otherwise."""
    if not (_read(newer, lexicon) and _read(older, lexicon)):
        return False
    plain = folded(older.text)
    before = set(lexicon.content(plain))
    if older.text.rstrip().endswith("?") or _SPENT.search(plain) or len(before) > MOST_CONTENT:
        return False
    after = set(lexicon.content(folded(newer.text)))
    for old, had, sentence in _replaced(newer.text):
        value = set(lexicon.content(old))
        if not value or not value <= before or _of_another(sentence, plain, before, lexicon):
            continue
        if (_HELD.search(plain) is not None) if had else bool((after & before) - value):
            return True
    return False


def _read(memory: Memory, lexicon: Lexicon) -> bool:
    return memory.speaker == USER and lexicon.language == "en" and len(memory.text) <= LONGEST


def _of_another(sentence: str, older: str, before: Collection[str], lexicon: Lexicon) -> bool:
    """It is somebody else of whom something is no longer so."""
    if _THEIRS.search(sentence) and _OWN.search(older):
        return True
    named = (found[1] for find in (_WHOSE, _WHO) for found in find.finditer(sentence))
    return any(not set(lexicon.content(who)) <= set(before) for who in named)


def _replaced(text: str) -> Iterator[tuple[str, bool, str]]:
    """The old values, whether each is of something that was had, and the sentence."""
    for sentence in SENTENCE.findall(text):
        plain = ASIDES.sub(" ", folded(sentence)).strip()
        if sentence.rstrip().endswith("?") or _UNREAL.search(plain):
            continue
        if found := _ENDED.search(plain):
            yield found["old"], True, plain
        for pattern in _REPLACED if _LASTS.search(plain) else ():
            if found := pattern.search(plain):
                yield found["old"], False, plain
