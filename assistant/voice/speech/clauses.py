"""Cuts the text of an answer, as it streams in, into clauses that can be spoken.

    deltas ─ WordStream → written words ─ read → spoken forms ─ ClauseSplitter → clauses

Every decision is made when a written word is complete, and depends only on the text before it. So
the boundaries of the deltas don't matter. Each spoken word knows where in the answer it ends: after
an interruption, `heard_text` returns the answer up to the last word that was heard.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from assistant.voice.speech.pronunciation import Pause, SpokenForm, read
from assistant.voice.speech.written_words import Break, WordStream, WrittenWord

__all__ = [
    "Clause",
    "ClauseSplitter",
    "SpokenWord",
    "heard_text",
    "speakable",
]

CODE_REMARK = ("Code", "omitted.")


@dataclass(frozen=True, slots=True)
class SpokenWord:
    """`text` is `clause.spoken[spoken_start:spoken_end]`. Once it has been heard, so has the answer
    up to `source_end`."""

    text: str
    source_end: int
    spoken_start: int
    spoken_end: int


@dataclass(frozen=True, slots=True)
class Clause:
    """A piece of the answer, `answer[source_start:source_end]`, and how it is read aloud."""

    source_start: int
    source_end: int
    spoken: str
    words: tuple[SpokenWord, ...]


@dataclass(frozen=True, slots=True)
class ClauseLength:
    """How long a clause may get, in spoken words.

    Attributes:
        least: from this many on, it ends at a comma.
        long: from this many on, it ends before a conjunction.
        most: at this many it ends anywhere.
    """

    least: int
    long: int
    most: int


PACES = (ClauseLength(2, 5, 8), ClauseLength(5, 10, 16), ClauseLength(9, 18, 30))
"""For the first clause, the second, and all others. The first is needed at once; there is time for
the second while the first is spoken; the rest sound better as whole sentences."""

_CONJUNCTIONS = (
    "and but or so because since although though while when where which who that if unless until "
    "after before than with without including such like for from to into about"
)


@dataclass(frozen=True, slots=True)
class _Piece:
    """A written word and how it is spoken."""

    start: int
    end: int
    words: tuple[str, ...]


@dataclass(slots=True)
class ClauseSplitter:
    """Turns the deltas of one answer into clauses, as early as is sensible.

    `language` as in the settings; symbols are read out in English only.
    """

    language: str = "en"
    _reader: WordStream = field(default_factory=WordStream)
    _pieces: list[_Piece] = field(default_factory=list)
    _spoken: int = 0
    _clauses: int = 0

    def feed(self, delta: str) -> list[Clause]:
        """Add `delta`; returns the clauses that are now complete."""
        return [clause for found in self._reader.feed(delta) for clause in self._take(found)]

    def finish(self) -> list[Clause]:
        """End the answer; returns what is left of it."""
        clauses = [clause for found in self._reader.finish() for clause in self._take(found)]
        return [*clauses, *self._cut()]

    def _take(self, found: WrittenWord | Break) -> Iterator[Clause]:
        if isinstance(found, Break):
            yield from self._cut()
            return
        if found.is_code:
            yield from self._cut()
            self._add(found, SpokenForm(CODE_REMARK))
            yield from self._cut()
            return
        reading = read(found.text, self.language)
        pace = PACES[min(self._clauses, len(PACES) - 1)]
        if self._spoken >= pace.long and found.text.lower() in _CONJUNCTIONS.split():
            yield from self._cut()
        if not reading.words and reading.ending is not Pause.NONE:
            self._punctuate("," if reading.ending is Pause.CLAUSE else ".")
        self._add(found, reading)
        if self._is_over(reading.ending, pace):
            yield from self._cut()

    def _is_over(self, ending: Pause, pace: ClauseLength) -> bool:
        if ending is Pause.SENTENCE or self._spoken >= pace.most:
            return True
        return ending is Pause.CLAUSE and self._spoken >= pace.least

    def _add(self, found: WrittenWord, reading: SpokenForm) -> None:
        self._pieces.append(_Piece(found.start, found.end, reading.words))
        self._spoken += len(reading.words)

    def _punctuate(self, mark: str) -> None:
        """Add a mark to the last spoken word: a comma for a dash that stands alone, a full stop for
        one that follows an emoji."""
        for index in range(len(self._pieces) - 1, -1, -1):
            piece = self._pieces[index]
            if piece.words:
                if piece.words[-1][-1] not in ".,;:!?":
                    words = (*piece.words[:-1], f"{piece.words[-1]}{mark}")
                    self._pieces[index] = _Piece(piece.start, piece.end, words)
                return

    def _cut(self) -> list[Clause]:
        """The clause made of the words so far; none if there is nothing to say.

        Silent words wait for the next clause, so that its source starts where the last one ended.
        """
        if not self._spoken:
            return []
        clause = _clause(self._pieces)
        self._pieces, self._spoken = [], 0
        self._clauses += 1
        return [clause]


def _clause(pieces: list[_Piece]) -> Clause:
    words: list[SpokenWord] = []
    at = 0
    before = pieces[0].start
    for piece in pieces:
        for index, text in enumerate(piece.words):
            last = index == len(piece.words) - 1
            # "$5" has been heard only after "dollars".
            words.append(SpokenWord(text, piece.end if last else before, at, at + len(text)))
            at += len(text) + 1
        before = piece.end
    spoken = " ".join(word.text for word in words)
    return Clause(pieces[0].start, pieces[-1].end, spoken, tuple(words))


def speakable(text: str, language: str = "en") -> str:
    """The part of a complete text that is read aloud."""
    splitter = ClauseSplitter(language)
    return " ".join(clause.spoken for clause in [*splitter.feed(text), *splitter.finish()])


_THOUGHT = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)\s*", re.DOTALL | re.IGNORECASE)
_STRAY = re.compile(r"</think(?:ing)?>\s*", re.IGNORECASE)


def heard_text(answer: str, source_end: int | None = None) -> str:
    """The answer up to `source_end` (default: all of it), without the model's thoughts."""
    return _STRAY.sub("", _THOUGHT.sub("", answer[:source_end])).strip()
