"""Sentences of a text."""

import re
from typing import NamedTuple

from assistant.language.word_lists import language_data, listed

WORD = re.compile(r"[^\W\d_][\w-]*")
MARKS = ".!?…。！？"
"""What ends a sentence."""
_CLOSERS = "\"'”’»)\\]」』）"
_END = re.compile(
    rf"(?<![.!?…])[.!?…]++[{_CLOSERS}]*+(?=\s|$)"  # a run of marks is tried once, at its start
    rf"|[。！？]++[{_CLOSERS}]*+"  # no space follows where words have none between
)
_SEMICOLON = re.compile(rf"{_END.pattern}|;(?=\s|$)")
_OPENERS = "\"'“‘«([*_"
_BEGINNING = re.compile(r"(?:^|[.!?…]\s)[\s\"“«(-]*$")
_ABBREVIATIONS = {
    where: frozenset(listed(words)) for where, words in language_data("en")["abbreviations"].items()
}
_LONGEST = 12
"""Characters before a place that are looked at, for an abbreviation or the sentence before."""


class Sentence(NamedTuple):
    """Where it stands in the text, [start, end), with its marks and without spaces around."""

    start: int
    end: int
    text: str


def sentences(text: str, *, semicolons: bool = False) -> list[Sentence]:
    """All but spaces is in one of them. Linear: a text may be a megabyte without any mark.

    Args:
        semicolons: they end a sentence, too.
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
    """Whether a word at this place is the first of a sentence: its capital says nothing."""
    return _BEGINNING.search(text[max(0, at - _LONGEST) : at]) is not None


def is_abbreviation(word: str) -> bool:
    """Of a word in small letters without its last full stop: titles, initials (but "I."), "u.s"."""
    known = any(word in words for words in _ABBREVIATIONS.values())
    return (known and word != "no") or _initials(word)


def stated(text: str) -> int:
    """How many words of a turn are not part of a question.

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
    if word in _ABBREVIATIONS["at_ends"]:
        return following.isupper() or not following
    if word in _ABBREVIATIONS["before_numbers"]:
        return not following.isdigit()
    return word not in _ABBREVIATIONS["before_names"] and not (
        written[:1].isupper() and _initials(word)
    )


def _initials(word: str) -> bool:
    return word != "i" and re.fullmatch(r"[^\W\d_](?:\.[^\W\d_])*", word) is not None
