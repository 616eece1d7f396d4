"""Normalise statements, so that two of them can be compared without a model.

Contractions, fillers and numerals are handled in English only. In other languages, words are
compared as they are. This misses some equal statements but never treats different ones as equal.
"""

import re
import unicodedata
from functools import cache

from assistant.language.numbers import numbers, one_of, with_digits
from assistant.language.word_lists import synonyms, words_of

_WORD = re.compile(r"[^\W_]+(?:['.,:][^\W_]+)*")
APOSTROPHES = str.maketrans("’‘ʼ＇", "''''")

_CONTRACTIONS = tuple(
    (re.compile(pattern), full)
    for pattern, full in (
        (r"\b(can)'t\b|\b(can)not\b", "can not"),
        (r"\bwon't\b", "will not"),
        (r"\b(\w+)n't\b", r"\1 not"),
        (r"\bi'm\b", "i am"),
        (r"\b(\w+)'re\b", r"\1 are"),
        (r"\b(\w+)'ve\b", r"\1 have"),
        (r"\b(\w+)'ll\b", r"\1 will"),
        (r"\b(i|you|he|she|we|they)'d\b", r"\1 would"),
        (r"\b(it|he|she|that|there|here|what|who|where|name)'s\b", r"\1 is"),
        (r"\b(have|has) got\b", r"\1"),
        (r"\b(?:any ?more|no longer)\b", "anymore"),
        (r"\bgonna\b", "going to"),
        (r"\bwanna\b", "want to"),
        (r"\bo ?k\b|\bo'?clock\b", " "),
        (r"\b(mr|mrs|ms|dr)\.", r"\1"),
    )
)

ASIDES = re.compile(
    r"\b(?:by the way|you know|i mean|you see|as i said|like i said|(?:as )?i(?:'ve)? told you"
    r"|did i (?:tell|mention)(?: to)?(?: you)?(?: that)?|have i (?:told|mentioned)(?: to)?(?: you)?"
    r"|(?:just )?(?:so you know|for your information)|don't forget(?: that)?"
    r"|(?:please )?remember(?: that)?(?= (?:i|my|we|our|the)\b)|let me tell you|of course)\b"
    r"|^\W*(?:(?:oh|well|so|yeah|yes|okay|ok|hey|right|look|listen|sure|and|but)\b\W*)+"
    r"|, (?:right|okay|ok|yeah|yes|you see|huh)\W*$"
)
"""Phrases that introduce or accompany a statement and add nothing to it, e.g. "by the way"."""

_BRITISH = re.compile(
    r"\b(behavi|col|endeav|fav|flav|harb|hon|hum|lab|neighb|od|rum|splend|vap)our"
)


def american_spelling(text: str) -> str:
    """Replace British spellings such as `colour` with American ones such as `color`.

    Speech recognisers write either. The text must be in lower case.

    >>> american_spelling("my neighbour's favourite colour, for four hours")
    "my neighbor's favorite color, for four hours"
    """
    return _BRITISH.sub(r"\1or", text)


def normalize(text: str) -> str:
    """Convert a text to lower case with plain apostrophes, full forms instead of contractions, and
    American spelling.
    """
    text = american_spelling(unicodedata.normalize("NFC", text).translate(APOSTROPHES).lower())
    for pattern, full in _CONTRACTIONS:
        text = pattern.sub(full, text)
    return text


def content_words(text: str, *, english: bool = True) -> tuple[str, ...]:
    """Return the content words of a statement in order, without fillers and with numbers as digits.

    >>> content_words("Oh by the way, I don't have twenty-one cats.")
    ('i', 'not', '21', 'cats')
    """
    if not english:
        return tuple(_WORD.findall(unicodedata.normalize("NFC", text).lower()))
    lowered = unicodedata.normalize("NFC", text).translate(APOSTROPHES).lower()
    found = _WORD.findall(normalize(ASIDES.sub(" ", lowered)).replace("-", " "))
    fillers, same = words_of("words", "fillers"), synonyms("things", "tellings")
    kept: list[str] = []
    for each in found:
        word = each.removesuffix("'s")
        word = same.get(word, word)
        if word not in fillers:
            kept.append(word)
    return tuple(with_digits(kept))


@cache
def _numeral() -> re.Pattern[str]:
    return re.compile(rf"\d|\b{one_of(numbers())}\b", re.IGNORECASE)


def numbers_in(text: str) -> set[str]:
    """Return the numbers in a text as strings of digits, however they are written there.

    The word `one` is not counted, because it is usually a pronoun.

    >>> sorted(numbers_in("Twenty-one of us came at 7:30"))
    ['21', '7:30']
    """
    if not _numeral().search(text):
        return set()
    found = {each for each in content_words(text) if each[0].isdecimal()}
    return found if re.search(r"\b1\b", text) else found - {"1"}
