"""What of a stretch of conversation its summary may tell: what the user told there, in the third
person and with its days written out, and what they asked about, in their own words.

Rules of English, on the safe side, as for facts; but a summary also takes what is told of others
("the roof leaks"), which nobody would keep as a fact about the user. The assistant's words are
never read.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date

from assistant.context import Exchange
from assistant.language.absolute_dates import with_absolute_dates
from assistant.language.calendar import WEEKDAYS
from assistant.language.dialogue_acts import is_courtesy, is_question
from assistant.language.normalisation import normalize
from assistant.language.stemming import TextAnalyzer
from assistant.language.third_person import third_person
from assistant.memory.curation.duplicates import POINTING
from assistant.memory.curation.grounding import DENYING, FRAMING, is_grounded, stems_in
from assistant.memory.curation.statements import declarative_sentences, must_not_be_kept, statements

FEWEST = 2
"""Words of content with which something is worth a sentence."""
MOST_WORDS = 60
"""Of a whole summary: a note of a prompt has room for as many."""
MOST_ASKED = 2
"""Questions that a summary names."""
LONGEST_ASKED = 14
"""Words of such a question."""
ALIKE = 0.6
"""Share of its words of content that make a point the same as one that is taken already."""
OF_THE_USER = 1.5
"""What a point about the user counts more than one about others."""
QUESTION = 0.5
"""What a question counts, to 1 of something told."""
CLAUSES = re.compile(r"\s*(?:[,;:]|\band\b|\bbut\b)\s*")
_FAVOUR = re.compile(
    r"^(?:(?:please|ada|and|so|okay|ok|well|hey|oh)\b[\s,]*)*(?:(?:can|could|will|would) you|wake|"
    r"set|play|remind|stop|start|turn|tell me|ask me|repeat|what time|what's the time|what day|"
    r"what's the weather|is it going to|will it|shall i|should i|am i|do you|are you|have you|"
    r"did you|did i|do i|what did|what have|what do)\b",
    re.IGNORECASE,
)
"""Said to have something done, or about the talk itself: no topic."""
_BEGINS = re.compile(
    r"(?:he|she|it|they|that|this|there|these|those|his|her|its|their)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class SummarySentence:
    """One sentence that may stand in a summary, and the user's words that it rests on."""

    text: str
    quote: str
    exchange: str
    weight: float
    stems: tuple[str, ...]
    asked: bool = False


@dataclass(frozen=True, slots=True)
class SummarySentences:
    """In their order, and how much was dropped since the words don't support it."""

    kept: tuple[SummarySentence, ...] = ()
    unsupported: int = 0


def extract_sentences(exchanges: Iterable[Exchange], lexicon: TextAnalyzer) -> SummarySentences:
    """All that a summary of these may tell, each thing once: its last telling."""
    found: dict[str, SummarySentence] = {}
    dropped = 0
    for exchange in exchanges:
        said = exchange.user_text.strip()
        if not said or must_not_be_kept(said) or is_courtesy(said):
            continue
        on = exchange.started.astimezone().date()
        told = [_told(quote, exchange.id, on, lexicon) for quote in _quotes(said)]
        dropped += told.count(None)
        for point in (*told, _asked(said, exchange.id, lexicon)):
            if point is not None and len(set(point.stems) - FRAMING) >= FEWEST:
                found.pop(point.text.casefold(), None)
                found[point.text.casefold()] = point
    return SummarySentences(tuple(found.values()), dropped)


def select_sentences(
    every: Sequence[SummarySentence], most_words: int = MOST_WORDS
) -> list[SummarySentence]:
    """The most telling ones that there is room for, in the order in which they were said."""
    best: list[tuple[int, SummarySentence]] = []
    words = asked = 0
    for place, point in sorted(enumerate(every), key=lambda each: (-each[1].weight, each[0])):
        length = len(point.text.split())
        if words + length > most_words or (point.asked and asked == MOST_ASKED):
            continue
        if any(_alike(point, other) for _, other in best):
            continue
        best.append((place, point))
        words += length
        asked += point.asked
    return [point for _, point in sorted(best, key=lambda each: each[0])]


def written(chosen_points: Sequence[SummarySentence]) -> str:
    """The summary that rules make."""
    told = " ".join(each.text for each in chosen_points if not each.asked)
    asked = " ".join(each.text for each in chosen_points if each.asked)
    return f"{told} Asked: {asked}".strip() if asked else told


def borne_out(sentence: str, by: Sequence[SummarySentence], lexicon: TextAnalyzer) -> bool:
    """Whether each clause of a sentence says what one of these points says, with no word of content
    that is not in it, in its order, and with as many denials.

    What was put together of two points would be a third thing that nobody said.
    """
    clauses = [each for each in CLAUSES.split(sentence) if stems_in(each, lexicon)]
    return bool(clauses) and all(
        any(_says(clause, point, lexicon) for point in by) for clause in clauses
    )


# -- inside -------------------------------------------------------------------------------------


def _quotes(said: str) -> list[str]:
    """Statements about the user, and such as are about others, in their order."""
    own = statements(said)
    others = [
        each
        for each in declarative_sentences(said)
        if not any(each in one or one in each for one in own)
    ]
    return sorted([*own, *others], key=said.find)


def _told(quote: str, exchange: str, on: date, lexicon: TextAnalyzer) -> SummarySentence | None:
    meant = with_absolute_dates(quote, on)
    if meant is None or _BEGINS.match(quote):
        return None
    text = third_person(meant)
    if not is_grounded(text, quote, [quote], on, lexicon):
        return None
    text = re.sub(rf"\b(?:{'|'.join(WEEKDAYS)}) (\d+ [A-Z][a-z]+) {on.year}\b", r"\1", text)
    of_user = OF_THE_USER if "the user" in text.lower() else 1.0
    stems = stems_in(text, lexicon)
    weight = of_user * len(set(stems) - FRAMING) / (1 + bool(POINTING.search(text)))
    return SummarySentence(text, quote, exchange, weight, stems)


def _asked(said: str, exchange: str, lexicon: TextAnalyzer) -> SummarySentence | None:
    """A question that is the whole of what was said, and understood by itself."""
    plain = " ".join(said.split())
    if not is_question(plain) or _FAVOUR.match(plain) or POINTING.search(plain):
        return None
    if len(plain.split()) > LONGEST_ASKED or len(re.findall(r"[.!?]", plain)) > 1:
        return None
    stems = stems_in(plain, lexicon)
    text = plain if plain.endswith("?") else f"{plain}?"
    return SummarySentence(text, plain, exchange, QUESTION * len(set(stems)), stems, asked=True)


def _alike(one: SummarySentence, other: SummarySentence) -> bool:
    own = set(one.stems) - FRAMING
    return len(own & set(other.stems)) >= ALIKE * max(1, len(own))


def _says(clause: str, point: SummarySentence, lexicon: TextAnalyzer) -> bool:
    told = [stem for stem in stems_in(clause, lexicon) if stem not in FRAMING]
    if sorted(DENYING.findall(normalize(clause))) != sorted(DENYING.findall(normalize(point.text))):
        return False
    rest = iter(point.stems)
    return bool(told) and all(stem in rest for stem in told)
