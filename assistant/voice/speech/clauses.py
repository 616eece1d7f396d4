"""Cuts the streamed text of an answer into clauses that can be spoken.

    deltas ─ WordStream → written words ─ read_aloud → spoken forms ─ ClauseSplitter → clauses

A delta is a piece of streamed text. Each decision is made when a written word is complete, and
depends only on the text up to there. So it doesn't matter where the deltas end. Each spoken word
has its position in the answer, so that it is known how much of an interrupted answer was heard.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from assistant.voice.speech.pronunciation import Pause, read_aloud
from assistant.voice.speech.word_stream import Break, WordStream, WrittenWord

CODE_REMARK = ("Code", "omitted.")
"""Words that are spoken in place of a block of code."""


@dataclass(frozen=True, slots=True)
class SpokenWord:
    """A word of a clause. It ends before `clause.spoken[spoken_end]`. Once it has been heard, the
    answer's text up to `source_end` counts as heard."""

    text: str
    source_end: int
    spoken_end: int


@dataclass(frozen=True, slots=True)
class Clause:
    """A piece of the answer, in the form in which it is read aloud."""

    spoken: str
    words: tuple[SpokenWord, ...]


@dataclass(frozen=True, slots=True)
class ClauseLength:
    """Limits on the length of a clause, in spoken words.

    Attributes:
        least: minimum number of words in a clause that ends at a comma.
        long: minimum number of words in a clause that ends before a conjunction.
        most: number of words at which a clause ends in any case.
    """

    least: int
    long: int
    most: int


PACES = (ClauseLength(2, 5, 8), ClauseLength(5, 10, 16), ClauseLength(9, 18, 30))
"""Limits for the first clause, the second, and all others. The first clause is short because the
user is waiting. Later clauses are longer because whole sentences sound better."""

_CONJUNCTIONS = (
    "and but or so because since although though while when where which who that if unless until "
    "after before than with without including such like for from to into about"
)


def clauses_of(text: str, language: str = "en") -> list[Clause]:
    """Cut a complete text into clauses. `language` is as for `ClauseSplitter`."""
    splitter = ClauseSplitter(language)
    return [*splitter.feed(text), *splitter.finish()]


class ClauseSplitter:
    """Cuts the deltas of one answer into clauses, each as early as possible.

    Args:
        language: the setting `persona.language`. Symbols are replaced by words in English only.
    """

    def __init__(self, language: str = "en") -> None:
        self._language = language
        self._stream = WordStream()
        self._words: list[tuple[str, int]] = []
        """The words of the incomplete clause, each with its `source_end`."""
        self._read_to = 0
        self._clauses = 0

    def feed(self, delta: str) -> list[Clause]:
        """Add a piece of the answer. Return the clauses that it completes."""
        return [clause for found in self._stream.feed(delta) for clause in self._take(found)]

    def finish(self) -> list[Clause]:
        """End the answer. Return its remaining clauses."""
        clauses = [clause for found in self._stream.finish() for clause in self._take(found)]
        return [*clauses, *self._cut()]

    def _take(self, found: WrittenWord | Break) -> Iterator[Clause]:
        if isinstance(found, Break):
            yield from self._cut()
            return
        if found.is_code:
            yield from self._cut()
            self._add(found, CODE_REMARK)
            yield from self._cut()
            return
        reading = read_aloud(found.text, self._language)
        pace = PACES[min(self._clauses, len(PACES) - 1)]
        if len(self._words) >= pace.long and found.text.lower() in _CONJUNCTIONS.split():
            yield from self._cut()
        if not reading.words and reading.ending is not Pause.NONE:
            self._punctuate("," if reading.ending is Pause.CLAUSE else ".")
        self._add(found, reading.words)
        count, ending = len(self._words), reading.ending
        ends_at_comma = ending is Pause.CLAUSE and count >= pace.least
        if ending is Pause.SENTENCE or count >= pace.most or ends_at_comma:
            yield from self._cut()

    def _add(self, found: WrittenWord, words: tuple[str, ...]) -> None:
        # Only the last word gets the end: "$5" has not been heard until "dollars" was played.
        self._words += [(word, self._read_to) for word in words[:-1]]
        self._words += [(word, found.end) for word in words[-1:]]
        self._read_to = found.end

    def _punctuate(self, mark: str) -> None:
        """Add a punctuation mark to the last spoken word, in place of a token without speech. E.g.
        a lone dash becomes a comma, and an emoji with a full stop becomes a full stop."""
        if self._words and self._words[-1][0][-1] not in ".,;:!?":
            text, source_end = self._words[-1]
            self._words[-1] = (f"{text}{mark}", source_end)

    def _cut(self) -> list[Clause]:
        """End the clause. Return it in a list, or an empty list if the clause has no words."""
        if not self._words:
            return []
        words: list[SpokenWord] = []
        spoken_end = -1
        for text, source_end in self._words:
            spoken_end += 1 + len(text)
            words.append(SpokenWord(text, source_end, spoken_end))
        self._words = []
        self._clauses += 1
        return [Clause(" ".join(word.text for word in words), tuple(words))]
