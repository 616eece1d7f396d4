"""Cuts the text of an answer, as it streams in, into clauses that can be spoken.

    deltas ─ WordStream → written words ─ read_aloud → spoken forms ─ ClauseSplitter → clauses

Every decision is made when a written word is complete, and depends only on the text before it. So
the boundaries of the deltas don't matter. Each spoken word knows where in the answer it ends, so
that after an interruption it is known how much of the answer was heard.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from assistant.voice.speech.pronunciation import Pause, read_aloud
from assistant.voice.speech.word_stream import Break, WordStream, WrittenWord

CODE_REMARK = ("Code", "omitted.")


@dataclass(frozen=True, slots=True)
class SpokenWord:
    """A word of a clause. The word ends at `clause.spoken[spoken_end]`; once it has been heard, so
    has the answer up to `source_end`."""

    text: str
    source_end: int
    spoken_end: int


@dataclass(frozen=True, slots=True)
class Clause:
    """A piece of the answer as it is read aloud."""

    spoken: str
    words: tuple[SpokenWord, ...]


@dataclass(frozen=True, slots=True)
class ClauseLength:
    """How long a clause may get, in spoken words.

    Attributes:
        least: from this many words on, the clause ends at a comma.
        long: from this many on, it also ends before a conjunction.
        most: at this many it ends anywhere.
    """

    least: int
    long: int
    most: int


PACES = (ClauseLength(2, 5, 8), ClauseLength(5, 10, 16), ClauseLength(9, 18, 30))
"""For the first clause, the second, and all others. The first is needed at once, the second can be
written while the first is spoken, and the others sound better as whole sentences."""

_CONJUNCTIONS = (
    "and but or so because since although though while when where which who that if unless until "
    "after before than with without including such like for from to into about"
)


class ClauseSplitter:
    """Turns the deltas of one answer into clauses, as early as is sensible.

    `language` is as in the settings; symbols are read out in English only.
    """

    def __init__(self, language: str = "en") -> None:
        self._language = language
        self._stream = WordStream()
        self._words: list[tuple[str, int]] = []
        """Each word of the clause that is being put together, with its `source_end`."""
        self._read_to = 0
        self._clauses = 0

    def feed(self, delta: str) -> list[Clause]:
        """Add `delta`; returns the clauses that are now complete."""
        return [clause for found in self._stream.feed(delta) for clause in self._take(found)]

    def finish(self) -> list[Clause]:
        """End the answer; returns what is left of it."""
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
        # "$5" has been heard only after "dollars".
        self._words += [(word, self._read_to) for word in words[:-1]]
        self._words += [(word, found.end) for word in words[-1:]]
        self._read_to = found.end

    def _punctuate(self, mark: str) -> None:
        """Add the mark of a silent word to the last spoken one: a comma for a lone dash, a full
        stop for an emoji that ends a sentence."""
        if self._words and self._words[-1][0][-1] not in ".,;:!?":
            text, source_end = self._words[-1]
            self._words[-1] = (f"{text}{mark}", source_end)

    def _cut(self) -> list[Clause]:
        """End the clause: returns a list that holds it, or [] if it has no words."""
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
