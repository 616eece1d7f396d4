"""Splits an utterance into sentences and clauses, and says which of them may fill a form: none that
is a question, that only supposes something, that quotes, or that is about other people.

English only.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from assistant.forms.wording import plain, stripped
from assistant.language.dialogue_acts import is_question
from assistant.language.numbers import one_of
from assistant.language.sentences import sentences
from assistant.language.word_lists import words_of

SHORT_QUESTION = 5
"""A question of at most so many words may be an unsure answer: "A four, maybe?"."""
_BREAK = re.compile(
    r"\s*[,;:…—–]+(?!\d)\s*(?:(?:and|but|so|because)\b\s*)?|\s+(?:but|because|although|though|while)\s+"
    r"|\s+and\s+(?=(?:i|i'm|i've|i'd|i'll|my|it|it's|he|she|they|the|we|we're|our|there's)\b)",
    re.IGNORECASE,
)
_ASKING = re.compile(
    r"^(?:(?:so|and|but|oh|hey|well|wait|hang on|now) )*"
    r"(?:(?:why|how|what|where|when|who|which)(?:'s)?"
    r"|(?:do|are|can|could|would|will|have|did) you|is (?:it|that|there)|should i|shall|may i|can i"
    r"|tell me|(?:is|are|was|were|does|did|should|could|would) (?:an?|the|my|our|that|this|i|we))\b"
)
_ANY_BUT = re.compile(r"\b(?:any|every|all)(?:thing|body|one| \w+)? (?:but|except)\b")
_QUOTED = re.compile(r"[\"“”]")
_SAID = re.compile(r"\b(?:says|said|saying|told|tells|asked|asks|reckons|thinks|texted|wrote)\b")
_TO_SOMEBODY = re.compile(r"\b(?:you|your|you're|yours|you've|you'll)\b")
_NAMED = re.compile(
    r"^(?:(?:so|and|but|oh|well|because|since|then|now) )*([A-Z][a-z]+)(?:'s| (?:is|was|has|had"
    r"|will|can\w*|won't|would|does|doesn't|did|didn't|isn't|wasn't|takes?|says?|said|wants?|needs?|likes?"
    r"|got|thinks?|reckons?|just|still|also|always|never)\b)"
)


@dataclass(frozen=True, slots=True)
class Clause:
    """A part of an utterance, [start, end) in characters. `usable` is whether it may fill a form;
    `others`, whether it is about other people."""

    text: str
    start: int
    end: int
    usable: bool
    others: bool


@dataclass(frozen=True, slots=True)
class Told:
    """A sentence with its clauses."""

    whole: Clause
    clauses: tuple[Clause, ...]


def told(text: str) -> list[Told]:
    """Return the sentences of an utterance. Apostrophes have to be plain."""
    return [_told(each.text, each.start) for each in sentences(text, semicolons=True)]


def about_others(text: str) -> bool:
    """Return whether words are about other people: "my sister has asthma", "he takes aspirin"."""
    said = plain(text)
    if _others().search(said):
        return True
    named = _NAMED.match(text.strip())
    return named is not None and named[1].lower() not in words_of("forms", "no_names")


def _told(text: str, start: int) -> Told:
    asked = _asks(text) or _ANY_BUT.search(plain(text)) is not None
    cuts = [match.span() for match in _BREAK.finditer(text)]
    starts, ends = [0, *(end for _, end in cuts)], [*(first for first, _ in cuts), len(text)]
    parts = [(first, last) for first, last in zip(starts, ends, strict=True) if first < last]
    made: list[Clause] = []
    for first, last in parts:
        made.append(_clause(text[first:last], start + first, asked=asked))
    return Told(_clause(text, start, asked=asked), tuple(_carried(made)))


def _carried(clauses: list[Clause]) -> Iterator[Clause]:
    """Yield the clauses. One without a subject of its own is about whom the one before it is about:
    "my wife takes aspirin, and ibuprofen"."""
    others = False
    for each in clauses:
        others = each.others or (others and not _own().search(plain(each.text)))
        usable = each.usable and not others
        yield Clause(each.text, each.start, each.end, usable, others)


def _clause(text: str, start: int, *, asked: bool) -> Clause:
    others = about_others(text)
    said = plain(stripped(text))
    usable = not (
        asked
        or others
        or _QUOTED.search(text)
        or _SAID.search(said)
        or _TO_SOMEBODY.search(said)
        or _supposed().search(said)
        or _asks(text)
    )
    return Clause(text, start, start + len(text), usable, others)


def _asks(text: str) -> bool:
    """Return whether a sentence is a question. A few words with a question mark may also be an
    unsure answer."""
    if _ASKING.match(plain(text)):
        return True
    mark = text.rstrip("\"' ").endswith("?")
    if mark and len(text.split()) <= SHORT_QUESTION:
        return False
    return mark or is_question(text)


@cache
def _others() -> re.Pattern[str]:
    """Return a pattern for words that speak of others."""
    people = words_of("words", "persons") | words_of("forms", "people")
    relation = one_of(map(re.escape, people - words_of("forms", "advisers")))
    pronoun = one_of(map(re.escape, words_of("forms", "others")))
    return re.compile(
        rf"\b{pronoun}\b|\b(?:my|our|the|a|this|that|some|wee|little|old) (?:[\w']+ )?"
        rf"{relation}(?:'s)?\b|^(?:and |but |so )?{relation}(?:'s| (?:is|was|has|said|says|takes))"
    )


@cache
def _own() -> re.Pattern[str]:
    return re.compile(r"\b(?:i|i'm|i've|i'd|i'll|me|my|mine|we|we're|we'll|we've|it's|it|that's)\b")


@cache
def _supposed() -> re.Pattern[str]:
    return re.compile(rf"\b{one_of(words_of('forms', 'supposed'))}\b|\blast (?:time|year)\b")
