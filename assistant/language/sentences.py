"""Split a text into sentences."""

import re
from functools import cache
from typing import NamedTuple

from assistant.language.word_lists import language_data

WORD = re.compile(r"[^\W\d_][\w-]*")
MARKS = ".!?…。！？"
"""Punctuation marks that end a sentence."""
_CLOSERS = "\"'”’»)\\]」』）"
_END = re.compile(
    rf"(?<![.!?…])[.!?…]++[{_CLOSERS}]*+(?=\s|$)"  # tries a run of marks once, at its start
    rf"|[。！？]++[{_CLOSERS}]*+"  # in scripts without spaces between words
)
_SEMICOLON = re.compile(rf"{_END.pattern}|;(?=\s|$)")
_OPENERS = "\"'“‘«([*_"
_BEGINNING = re.compile(r"(?:^|[.!?…]\s)[\s\"“«(-]*$")
_LEADING = re.compile(r"^(?:[ ,;:]|-(?!\.?\d))+")
"""Marks before the first word, but not a minus."""
_LONGEST = 12
"""Number of characters before a position that are searched for an abbreviation or for the end of
the previous sentence.
"""


class Sentence(NamedTuple):
    """A sentence, including its punctuation marks but no surrounding spaces.

    `start` and `end` give its range in the text, [start, end).
    """

    start: int
    end: int
    text: str


def sentences(text: str, *, semicolons: bool = False) -> list[Sentence]:
    """Split `text` into sentences, which together contain everything but spaces.

    Takes linear time, even for a megabyte of text without punctuation marks.

    Args:
        semicolons: whether a semicolon also ends a sentence.
    """
    found: list[Sentence] = []
    start = 0
    for match in (_SEMICOLON if semicolons else _END).finditer(text):
        if _ends(text, match):
            _append(found, text, start, match.end())
            start = match.end()
    _append(found, text, start, len(text))
    return found


def begins_sentence(text: str, at: int) -> bool:
    """Whether the word at index `at` is the first word of a sentence.

    Such a word is capitalised even if it is not a name.
    """
    return _BEGINNING.search(text[max(0, at - _LONGEST) : at]) is not None


def is_abbreviation(word: str) -> bool:
    """Whether a word is an abbreviation, such as a title, initials (but not "i") or "u.s".

    The word must be in lower case and without its last full stop.
    """
    known = any(word in words for words in _abbreviations().values())
    return (known and word != "no") or _initials(word)


@cache
def _abbreviations() -> dict[str, frozenset[str]]:
    found = language_data("en")["abbreviations"]
    return {where: frozenset(words.split()) for where, words in found.items()}


def stated(text: str) -> int:
    """Return the number of words that are not part of a question.

    >>> stated("I got a dog. Do you have any pets?")
    4
    """
    return sum(len(WORD.findall(each.text)) for each in sentences(text) if "?" not in each.text)


def _append(found: list[Sentence], text: str, start: int, end: int) -> None:
    inside = text[start:end]
    bare = inside.lstrip()
    if bare:
        start = end - len(bare)
        bare = bare.rstrip()
        found.append(Sentence(start, start + len(bare), bare))


def _ends(text: str, match: re.Match[str]) -> bool:
    following = text[match.end() : match.end() + 2].lstrip()[:1]
    marks = match.group()
    if marks[-1] in _CLOSERS and following.islower():
        return False  # "Stop!" he said
    if marks != ".":
        return True
    before = text[max(0, match.start() - _LONGEST) : match.start()].rpartition(" ")[2]
    written = before.lstrip(_OPENERS)
    word = written.lower()
    if word in _abbreviations()["at_ends"]:
        return following.isupper() or not following
    if word in _abbreviations()["before_numbers"]:
        return not following.isdigit()
    return word not in _abbreviations()["before_names"] and not (
        written[:1].isupper() and _initials(word)
    )


def _initials(word: str) -> bool:
    return word != "i" and re.fullmatch(r"[^\W\d_](?:\.[^\W\d_])*", word) is not None


def as_sentence(words: str) -> str:
    """Return `words` with a capital letter and, unless they end with a mark, a full stop. Extra
    spaces, and stray commas and the like at either end, are removed.

    >>> as_sentence("my locker code is 4471")
    'My locker code is 4471.'
    """
    plain = _LEADING.sub("", " ".join(words.split())).rstrip(" ,;:-")
    if not plain:
        return ""
    ended = plain if plain[-1] in ".!?…" or plain[-1] in _CLOSERS else f"{plain}."
    return f"{ended[:1].upper()}{ended[1:]}"
