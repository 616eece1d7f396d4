"""Selects the sentences that a summary of a conversation may contain.

These are the user's statements, rewritten in the third person with dates instead of relative days,
and the user's questions, word for word.

The rules are cautious and work for English only, like those for facts. Unlike facts, a summary may
contain statements about things other than the user ("the roof leaks"). The assistant's words are
never used.
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
"""Minimum number of content words in a sentence of a summary."""
MOST_WORDS = 60
"""Maximum number of words in a summary, which must fit into a note in the prompt."""
MOST_ASKED = 2
"""Maximum number of questions in a summary."""
LONGEST_ASKED = 14
"""Maximum number of words in a question that a summary contains."""
ALIKE = 0.6
"""A sentence is redundant if an already chosen one contains at least this share of its content
words.
"""
OF_THE_USER = 1.5
"""Weight of a sentence about the user; a sentence about anything else has weight 1."""
QUESTION = 0.5
"""Weight of a question; a statement has weight 1."""
CLAUSES = re.compile(r"\s*(?:[,;:]|\band\b|\bbut\b)\s*")
_FAVOUR = re.compile(
    r"^(?:(?:please|ada|and|so|okay|ok|well|hey|oh)\b[\s,]*)*(?:(?:can|could|will|would) you|wake|"
    r"set|play|remind|stop|start|turn|tell me|ask me|repeat|what time|what's the time|what day|"
    r"what's the weather|is it going to|will it|shall i|should i|am i|do you|are you|have you|"
    r"did you|did i|do i|what did|what have|what do)\b",
    re.IGNORECASE,
)
"""Matches the beginnings of requests, and of questions that don't belong in a summary, e.g. about
the conversation itself, the time or the weather."""
_BEGINS = re.compile(
    r"(?:he|she|it|they|that|this|there|these|those|his|her|its|their)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class SummarySentence:
    """A sentence that a summary may contain, and the user's words that support it (`quote`)."""

    text: str
    quote: str
    exchange: str
    weight: float
    stems: tuple[str, ...]
    asked: bool = False


@dataclass(frozen=True, slots=True)
class SummarySentences:
    """The extracted sentences in order (`kept`), and the number of statements dropped because they
    begin with a pronoun, contain an unclear date, or are not supported by the user's words
    (`unsupported`).
    """

    kept: tuple[SummarySentence, ...] = ()
    unsupported: int = 0


def extract_sentences(exchanges: Iterable[Exchange], lexicon: TextAnalyzer) -> SummarySentences:
    """Extract all sentences that a summary of these exchanges may contain.

    If sentences are equal, only the last is included.
    """
    found: dict[str, SummarySentence] = {}
    dropped = 0
    for exchange in exchanges:
        said = exchange.user_text.strip()
        if not said or must_not_be_kept(said) or is_courtesy(said):
            continue
        on = exchange.started.astimezone().date()
        stated = [_stated(quote, exchange.id, on, lexicon) for quote in _quotes(said)]
        dropped += stated.count(None)
        for point in (*stated, _asked(said, exchange.id, lexicon)):
            if point is not None and len(set(point.stems) - FRAMING) >= FEWEST:
                found.pop(point.text.casefold(), None)
                found[point.text.casefold()] = point
    return SummarySentences(tuple(found.values()), dropped)


def select_sentences(
    every: Sequence[SummarySentence], most_words: int = MOST_WORDS
) -> list[SummarySentence]:
    """Select the most informative sentences that fit, and return them in the order they were
    said.
    """
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
    """Compose the summary from the chosen sentences by rules, without a model."""
    stated = " ".join(each.text for each in chosen_points if not each.asked)
    asked = " ".join(each.text for each in chosen_points if each.asked)
    return f"{stated} Asked: {asked}".strip() if asked else stated


def borne_out(sentence: str, by: Sequence[SummarySentence], lexicon: TextAnalyzer) -> bool:
    """Whether each clause of `sentence` says the same thing as one of the sentences in `by`.

    A clause must not add content words or change their order, and must contain the same negations.
    A clause that combines two sentences is rejected, because it may say something that nobody said.
    """
    clauses = [each for each in CLAUSES.split(sentence) if stems_in(each, lexicon)]
    return bool(clauses) and all(
        any(_says(clause, point, lexicon) for point in by) for clause in clauses
    )


# -- inside -------------------------------------------------------------------------------------


def _quotes(said: str) -> list[str]:
    """Return the statements about the user and about other things, in order."""
    own = statements(said)
    others = [
        each
        for each in declarative_sentences(said)
        if not any(each in one or one in each for one in own)
    ]
    return sorted([*own, *others], key=said.find)


def _stated(quote: str, exchange: str, on: date, lexicon: TextAnalyzer) -> SummarySentence | None:
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
    """Return the question if it is the whole utterance and can be understood without its
    context.
    """
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
    said = [stem for stem in stems_in(clause, lexicon) if stem not in FRAMING]
    if sorted(DENYING.findall(normalize(clause))) != sorted(DENYING.findall(normalize(point.text))):
        return False
    rest = iter(point.stems)
    return bool(said) and all(stem in rest for stem in said)
