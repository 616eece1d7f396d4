"""Compares the wording of answers with the lists of phrases in the language data. English only."""

import re
from collections.abc import Iterator
from functools import cache

from assistant.language.numbers import one_of
from assistant.language.word_lists import language_data

LONGEST_PHRASE = 16
"""Maximum number of words that may be one of the phrases."""
MOST_TRIED = 24
_LEADING = re.compile(
    r"^(?:(?:so|well|oh|ah|um|uh|er|erm|hmm|and|then)\b[\s,.:;!?…-]*)+", re.IGNORECASE
)
_MARKS = ' \t.,;:!?…"“”—–-'


def phrases(name: str) -> tuple[str, ...]:
    """Return a list of phrases about forms."""
    found: list[str] = language_data("en")["forms"][name]
    return tuple(found)


def plain(words: str) -> str:
    """Return words in lower case, with plain apostrophes and without punctuation marks."""
    said = words.lower().replace("’", "'")
    return " ".join(re.sub(r"[^\w' ]", " ", said).split())


def _once(said: str) -> str:
    """Return words without repetitions: "no no" as "no"."""
    return re.sub(r"\b([\w']+)(?: \1\b)+", r"\1", said)


def stripped(words: str, *names: str) -> str:
    """Return words without punctuation marks and fillers around them, and without the phrases of
    these lists.

    >>> stripped("Um, I think about fifty, or so.", "around_number")
    'fifty'
    """
    said = words.replace("’", "'").strip(_MARKS)
    before, after = _edges("around", *names)
    while True:
        inner = after.sub("", before.sub("", said)).strip(_MARKS)
        if inner == said:
            return said
        said = inner


def without_lead(words: str, name: str) -> str:
    """Return words without fillers around them, and without the phrases of a list before them.

    >>> without_lead("Well, I need milk and eggs, please.", "before_list")
    'milk and eggs'
    """
    said = stripped(words)
    before, _ = _edges(name)
    while True:
        inner = stripped(before.sub("", said))
        if inner == said:
            return said
        said = inner


def is_phrase(words: str, name: str) -> bool:
    """Return whether words are one of a list's phrases, apart from fillers around them."""
    if len(words.split()) > LONGEST_PHRASE:
        return False
    return any(each in _all(name) for each in _without_fillers(_once(plain(words))))


def begins_with(words: str, name: str) -> bool:
    """Return whether words begin with one of a list's phrases, followed by a pause or nothing."""
    said = _LEADING.sub("", words.replace("’", "'").strip(_MARKS))
    return _begins(name).match(said) is not None


@cache
def _all(name: str) -> frozenset[str]:
    return frozenset(map(plain, phrases(name)))


def _without_fillers(said: str) -> Iterator[str]:
    """Yield words with fewer and fewer of the fillers around them. As phrases may consist of
    fillers, too, all ways of leaving some out are tried."""
    before, after = _edges("around")
    waiting = [said]
    for _ in range(MOST_TRIED):
        if not waiting:
            return
        now = waiting.pop(0)
        shorter = (before.sub("", now).strip(), after.sub("", now).strip())
        waiting += [each for each in shorter if each != now and each not in waiting]
        yield now


@cache
def _edges(*names: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    words = one_of(re.escape(each) for name in names for each in phrases(name))
    gap = r"[\s,.;:!?…—–-]+"
    return (
        re.compile(rf"^{words}(?:{gap}|$)(?!['’])", re.IGNORECASE),
        re.compile(rf"(?:^|{gap}){words}$", re.IGNORECASE),
    )


@cache
def _begins(name: str) -> re.Pattern[str]:
    words = one_of(map(re.escape, phrases(name)))
    return re.compile(rf"(?:{words}\s)*{words}(?=\s*[,.;:!?—–]|\s*$)", re.IGNORECASE)
