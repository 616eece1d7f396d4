"""Finds out from the words of an answer which parts of the prompt it was based on.

A model doesn't say which memory it used. But words of the answer that are not in the question must
come from somewhere, usually from a memory that contains the same words, possibly inflected. Names
and numbers count more, because most facts that users ask for are names or numbers.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from assistant.language.normalisation import numbers_in
from assistant.language.numbers import numbers, scales
from assistant.language.sentences import begins_sentence
from assistant.language.stemming import TextAnalyzer, synonym_stems
from assistant.language.word_lists import listed
from assistant.memory.records.memory import Memory
from assistant.memory.retrieval.question import ASSISTANT_DID

DISTINCT = 3.0
"""Weight of a name or a number; any other word has weight 1."""
ENOUGH = 2.0
"""Minimum weight of the words that a source shares with an answer: two words, or one name."""
MOST_OF_IT = 0.5
"""Minimum share of an answer's new words, by weight, that identifies a text as its source."""
FEWEST_FOR_SAME = 5
"""Minimum number of letters in a stem that also matches longer stems: allerg matches allergi."""
LONGEST_TAIL = 3
MANY_ASKED = 3
"""If a question has at least this many content words, it may still be about a statement that lacks
one of them."""
LEAST_ASKED = 0.5
"""Minimum share of a question's words that a text must contain to be the source of the answer "yes"
or "no"."""

SAYING = frozenset(
    listed(
        "tell told say said mention rememb know think believ recal note mean sure yes no right"
        " actual cours great nice love happi glad sorri help pleas thank hello welcom"
    )
)
"""Stems of words about saying and remembering, and of courtesies."""
SAME = synonym_stems("things", "tellings")
"""Maps stems to the stem of a word with the same meaning."""
CHANGED = frozenset({"die", "lie", "tie"})
"""English stems with word forms that don't begin with the stem, e.g. "dying" and its stem "die"."""
_WORD = re.compile(r"[^\W_][\w'’.-]*\w|[^\W_]")
_MINE = re.compile(r"\b(i|i'm|i've|i'd|my|mine|myself|we|our|ours|us|the user)\b", re.IGNORECASE)
_FAVOUR = re.compile(
    r"\b(can|could|will|would) (i|we) (have|get|hear|ask)\b|\b(shall|should) we\b", re.IGNORECASE
)
_UNKNOWING = re.compile(
    r"\b(i (?:do not|don't|cannot|can't|couldn't) (?:know|remember|recall|tell|say|have|find)"
    r"|i'm not (?:sure|aware|certain)|i am not (?:sure|aware|certain)|(?:i have )?no (?:idea|record"
    r"|memory|information|notes?)|i don't think you've told me"
    r"|you (?:haven't|have not|didn't|did not|never) (?:yet )?"
    r"(?:told|tell|mention|mentioned|say|said|shared?)|not (?:that )?i know of)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Source:
    """A text that the answer may be based on: a memory, or the turn whose index is `origin`."""

    origin: Memory | int
    text: str
    near: bool = True
    """Whether the text is similar to the question. If the answer's words identify no source, only
    a similar text can be chosen.
    """


@dataclass(frozen=True, slots=True)
class _Fit:
    source: Source
    place: int
    shared: frozenset[str]
    """Words that are both in the source and new in the answer."""
    asked: frozenset[str]
    """Words that are both in the source and in the question."""
    weight: float


def distinct(text: str, lexicon: TextAnalyzer) -> set[str]:
    """Return the stems of the names and numbers in a text.

    Names are words that are capitalised within a sentence. A text that is just a name is missed,
    because the name begins the sentence.
    """
    found = {f"#{each}" for each in numbers_in(text)}
    for match in _WORD.finditer(text):
        word = match.group()
        named = word[0].isupper() and word.partition("'")[0] != "I"
        if named and not begins_sentence(text, match.start()):
            found.update(lexicon.content(word))
    return found - SAYING


def stems(text: str, lexicon: TextAnalyzer) -> set[str]:
    """Return the stems of a text's words, and its numbers as `#` followed by digits.

    Courtesies and words about saying and remembering are left out.
    """
    return lexicon.content_and_numbers(text) - SAYING


def may_have(
    text: str, wanted: Iterable[str], lexicon: TextAnalyzer, *, every: bool = False
) -> bool:
    """Whether a text may contain one of these stems, or all of them if `every` is True.

    Only compares letters, which takes a hundredth of the time that stemming the text takes.
    """
    if lexicon.language != "en" or not text.isascii():
        return True
    small = text.lower().replace("'", "")
    seen = (any(form in small for form in _beginnings(stem)) for stem in wanted)
    return all(seen) if every else any(seen)


def _beginnings(stem: str) -> tuple[str, ...]:
    """Return strings such that every word with this stem contains one of them.

    For example, the stem of "city" is citi, so "cit" is returned. The stem of "dying" is die, so
    "d" is returned.
    """
    if stem in CHANGED:
        return (stem[0],)
    if stem[0] != "#":
        return (stem[:-1] if stem[-1] in "ie" and len(stem) > 1 else stem,)
    if not stem[1:].isdigit():
        return (stem[1:],)
    number = int(stem[1:])
    if number >= 100:
        return (stem[1:], *scales())
    tens = number // 10 * 10 or number
    return (stem[1:], *(word for word, value in numbers().items() if value in (number, tens)))


def _stems(text: str, lexicon: TextAnalyzer) -> set[str]:
    return {SAME.get(each, each) for each in stems(text, lexicon)} - SAYING


def attributed_sources(
    question: str,
    answer: str,
    sources: Sequence[Source],
    lexicon: TextAnalyzer,
    earlier: str = "",
) -> tuple[list[Source], set[str]]:
    """Return the sources that an answer was based on, best first, and the words that identified
    them.

    Several sources are returned if each contributes something of its own. Sources that say the same
    thing are all returned, because forgetting only one of them would change nothing. No source is
    returned if the answer says that it doesn't know, or if its words came from elsewhere.

    Args:
        sources: the likeliest first.
        earlier: the user's previous words, if a question with little content ("And how old is he?")
            refers to them.
    """
    said = answer.replace("’", "'")
    if not said.strip() or _UNKNOWING.search(said):
        return [], set()
    asked = _stems(question, lexicon)
    new = {each for each in _stems(answer, lexicon) if not _among(each, asked)}
    named = distinct(answer, lexicon).union(*(distinct(each.text, lexicon) for each in sources))
    weights = {each: DISTINCT if each in named or each[0] == "#" else 1.0 for each in new}
    asked |= _stems(earlier, lexicon)
    whose = f"{earlier} {question}"
    mine = bool(_MINE.search(whose) or ASSISTANT_DID.search(whose)) and not _FAVOUR.search(question)
    fits = [_fit(each, place, asked, weights, lexicon) for place, each in enumerate(sources)]
    chosen = _covering(fits, weights, mine=mine)
    if chosen:
        return [fit.source for fit in chosen], {stem for fit in chosen for stem in fit.shared}
    if mine and (fit := _by_question(fits, asked, weights)) is not None:
        return [fit.source], set(fit.asked)
    return [], set()


def asked_about(
    question: str, answer: str, sources: Sequence[Source], lexicon: TextAnalyzer
) -> tuple[list[Source], bool]:
    """Return the sources that a question asks about, the likeliest first, whatever the answer was.

    These sources contain all of the question's words, or all but one if the question has many. The
    second value is False if the question may be about general knowledge instead: it isn't about the
    user, and the assistant seemed to know the answer.

    Args:
        sources: statements of the user.
    """
    asked = _stems(question, lexicon)
    mine = bool(_MINE.search(question)) and not _FAVOUR.search(question)
    if not asked or (len(asked) == 1 and not mine):
        return [], mine
    least = len(asked) - (len(asked) >= MANY_ASKED)
    fits = [_fit(each, place, asked, {}, lexicon) for place, each in enumerate(sources)]
    most = max((len(fit.asked) for fit in fits), default=0)
    found = [fit.source for fit in fits if len(fit.asked) == most >= least]
    return found, mine or bool(_UNKNOWING.search(answer.replace("’", "'")))


def _fit(
    source: Source, place: int, asked: set[str], weights: Mapping[str, float], lexicon: TextAnalyzer
) -> _Fit:
    own = _stems(source.text, lexicon)
    shared = frozenset(each for each in weights if _among(each, own))
    also = frozenset(each for each in asked if _among(each, own))
    return _Fit(source, place, shared, also, sum(weights[each] for each in shared))


def _among(stem: str, others: Iterable[str]) -> bool:
    return any(_same(stem, other) for other in others)


def _same(one: str, two: str) -> bool:
    if one == two:
        return True
    short, long = sorted((one, two), key=len)
    return (
        len(short) >= FEWEST_FOR_SAME
        and short[0] != "#"
        and long.startswith(short)
        and len(long) - len(short) <= LONGEST_TAIL
    )


def _covering(fits: Sequence[_Fit], weights: Mapping[str, float], *, mine: bool) -> list[_Fit]:
    """Return the best source, then sources that explain enough of the answer's remaining words.

    Sources that say the same thing as one of these are included.
    """
    whole = sum(weights.values())
    best = max(fits, key=_order, default=None)
    if best is None or not _tells(best, whole, mine=mine):
        return []
    chosen: list[_Fit] = []
    left = set(weights)
    while best is not None:
        chosen += [fit for fit in fits if _says_all_of(best, fit)]
        left -= best.shared
        rest = [_of_the_rest(fit, left, weights) for fit in fits if fit not in chosen]
        best = max((fit for fit in rest if fit.weight >= DISTINCT), key=_order, default=None)
    return chosen


def _order(fit: _Fit) -> tuple[float, int, int]:
    return fit.weight, len(fit.asked), -fit.place


def _says_all_of(best: _Fit, one: _Fit) -> bool:
    more = one.shared >= best.shared and len(one.asked) >= len(best.asked)
    return more or one.place == best.place


def _of_the_rest(fit: _Fit, left: set[str], weights: Mapping[str, float]) -> _Fit:
    shared = fit.shared & left
    return replace(fit, shared=shared, weight=sum(weights[each] for each in shared))


def _tells(fit: _Fit, whole: float, *, mine: bool) -> bool:
    """Whether a source shares so many words with the answer that this can't be a coincidence.

    More shared words are required if the question isn't about the user, because such questions are
    mostly answered from general knowledge.
    """
    if not fit.shared:
        return False
    if mine:
        return fit.weight >= ENOUGH or bool(fit.asked) or fit.weight >= MOST_OF_IT * whole
    return fit.weight >= ENOUGH and bool(fit.asked)


def _by_question(
    fits: Sequence[_Fit], asked: set[str], weights: Mapping[str, float]
) -> _Fit | None:
    """Return the likeliest source about the subject of the question.

    This is for answers such as "No." to the question "Do I like coffee?". Returns None if the
    answer contains new names or numbers, because these came from elsewhere.
    """
    if any(weight == DISTINCT for weight in weights.values()):
        return None
    least = max(1, LEAST_ASKED * len(asked))
    close = [fit for fit in fits if fit.source.near and len(fit.asked) >= least]
    return max(close, key=lambda fit: (len(fit.asked), -fit.place), default=None)
