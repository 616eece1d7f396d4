"""Scores extracted memories against labels, without a model.

A label names the words that a fact about the same thing must contain; see
data/evaluation/README.md.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from assistant.language.stemming import TextAnalyzer
from scripts.common import rows as json_rows
from scripts.eval.extraction_words import fold, holds, is_dated, written_out

TYPES = ("fact", "preference", "event", "profile")
FRAMING = frozenset({"user", "name", "call"})
"""Stems that a fact may contain although nobody said them.

The only verb is "call" ("is called"): other verbs, such as "likes", may be the invented part of a
fact.
"""
SAME = {
    "mum": "mother", "mom": "mother", "mam": "mother", "dad": "father", "kid": "child",
    "children": "child", "nan": "grandmoth", "gran": "grandmoth", "grandma": "grandmoth",
    "grandpa": "grandfath", "grandad": "grandfath", "goe": "go",
}  # fmt: skip
"""Stems that count as the same word."""


@dataclass(frozen=True, slots=True)
class Predicted:
    """An extracted memory; `quote` is the text that it claims to be based on, empty if none."""

    type: str
    text: str
    quote: str = ""


@dataclass(frozen=True, slots=True)
class Label:
    """A fact in an utterance. A match contains one phrase from each group of `must`, no phrase of
    `none_of`, and one of the dates in `when`: 2026-03-14, 2026-03, 2026, or 03-14 for any year.
    """

    type: str
    text: str
    must: tuple[tuple[str, ...], ...]
    none_of: tuple[str, ...] = ()
    when: tuple[str, ...] = ()

    def words_match(self, text: str) -> bool:
        return all(any(holds(text, phrase) for phrase in group) for group in self.must) and not any(
            holds(text, phrase) for phrase in self.none_of
        )

    def matches(self, text: str) -> bool:
        return self.words_match(text) and is_dated(text, self.when)


@dataclass(frozen=True, slots=True)
class Row:
    """One utterance. `may` has facts that may be extracted but needn't be."""

    id: str
    part: str
    kind: str
    said: str
    said_at: datetime
    facts: tuple[Label, ...]
    may: tuple[Label, ...] = ()
    before: tuple[tuple[str, str], ...] = ()
    """(role, text) pairs of the previous exchange; the role is `user` or `assistant`."""
    recalled: tuple[str, ...] = ()
    note: str = ""


@dataclass(slots=True)
class Tally:
    """Counts labels and predictions. In a count by type, each of them counts under its own type."""

    labels: int = 0
    found: int = 0
    covered: int = 0
    """Labels found, or contained in a prediction that was matched to another label: "Jo is a baker
    and plays chess"."""
    predicted: int = 0
    """Predictions, except those that are allowed but not required."""
    right: int = 0
    mistyped: int = 0
    """Right except for the type."""
    undated: int = 0
    """Labels missed only because the date is wrong or was left as "tomorrow"."""
    unsupported: int = 0
    """Predictions that match no label and contain a word that nobody said."""
    from_assistant: int = 0
    """Predictions that match no label and contain a word that only the assistant said."""
    padded: int = 0
    """Right predictions with a word that is neither in the utterances nor in the label; often a
    synonym."""
    repeated: int = 0
    """Predictions that repeat another, right prediction."""
    misquoted: int = 0
    """Predictions whose quote the user did not say, now or in the previous exchange."""
    without: int = 0
    """Rows without facts."""
    false_alarms: int = 0
    """Rows without facts in which something was found."""

    @property
    def precision(self) -> float:
        return _share(self.right, self.predicted)

    @property
    def recall(self) -> float:
        return _share(self.found, self.labels)

    @property
    def coverage(self) -> float:
        return _share(self.covered, self.labels)

    @property
    def f1(self) -> float:
        return _share(2 * self.right, self.predicted + self.labels)

    @property
    def unsupported_share(self) -> float:
        return _share(self.unsupported, self.predicted)

    @property
    def false_alarm_share(self) -> float:
        return _share(self.false_alarms, self.without)


@dataclass(frozen=True, slots=True)
class Score:
    whole: Tally
    parts: Mapping[str, Tally]
    types: Mapping[str, Tally]
    kinds: Mapping[str, Tally]


@dataclass(slots=True)
class _Tallies:
    whole: Tally = field(default_factory=Tally)
    parts: dict[str, Tally] = field(default_factory=dict)
    types: dict[str, Tally] = field(default_factory=dict)
    kinds: dict[str, Tally] = field(default_factory=dict)

    def of(self, row: Row, type_: str | None = None) -> list[Tally]:
        """The tallies that count something in `row`, including the tally of its type if one is
        given."""
        tallies = [self.whole]
        tallies.append(self.parts.setdefault(row.part, Tally()))
        tallies.append(self.kinds.setdefault(row.kind, Tally()))
        if type_ is not None:
            tallies.append(self.types.setdefault(type_, Tally()))
        return tallies


def score(rows: Iterable[Row], predicted: Mapping[str, Sequence[Predicted]]) -> Score:
    """Compare extracted facts with the labels. A row that is not in `predicted` has no extracted
    facts.

    Each label is matched by at most one prediction, and each prediction matches at most one label:
    if a fact is extracted twice, the second is wrong; two facts in one sentence find one label.

    Raises:
        ValueError: something was extracted from a row that doesn't exist.
    """
    rows = list(rows)
    unknown = sorted(set(predicted) - {row.id for row in rows})
    if unknown:
        raise ValueError(f"there are no labels of these rows: {', '.join(unknown)}")
    lexicon, tallies = TextAnalyzer(), _Tallies()
    for row in rows:
        _count(row, predicted.get(row.id, ()), lexicon, tallies)
    return Score(tallies.whole, tallies.parts, tallies.types, tallies.kinds)


def _count(row: Row, facts: Sequence[Predicted], lexicon: TextAnalyzer, tallies: _Tallies) -> None:
    right = pairs(row.facts, facts)
    rest = [index for index in range(len(facts)) if index not in right]
    allowed = {rest[index] for index in pairs(row.may, [facts[index] for index in rest])}
    wrong = [facts[index] for index in rest if index not in allowed]
    sources = _Sources(row, lexicon)
    for index, position in right.items():
        faults = _faults_of_right(facts[index], row.facts[position], sources)
        _add(tallies.of(row, facts[index].type), "predicted", "right", *faults)
    for fact in wrong:
        _add(tallies.of(row, fact.type), "predicted", *_faults_of_wrong(fact, row, sources))
    for position, label in enumerate(row.facts):
        if position in right.values():
            _add(tallies.of(row, label.type), "labels", "covered", "found")
        elif any(label.matches(fact.text) for fact in facts):
            _add(tallies.of(row, label.type), "labels", "covered")
        elif any(label.words_match(fact.text) for fact in wrong):
            _add(tallies.of(row, label.type), "labels", "undated")
        else:
            _add(tallies.of(row, label.type), "labels")
    if not row.facts:
        _add(tallies.of(row), "without", *(["false_alarms"] if wrong else []))


def _faults_of_right(fact: Predicted, label: Label, sources: "_Sources") -> Iterator[str]:
    if fact.type != label.type:
        yield "mistyped"
    if sources.missing(fact.text, label.text):
        yield "padded"
    if not sources.quotes(fact.quote):
        yield "misquoted"


def _faults_of_wrong(fact: Predicted, row: Row, sources: "_Sources") -> Iterator[str]:
    if any(label.matches(fact.text) for label in (*row.facts, *row.may)):
        yield "repeated"
    elif sources.missing(fact.text):
        yield "unsupported"
    elif sources.not_the_users(fact.text):
        yield "from_assistant"
    if not sources.quotes(fact.quote):
        yield "misquoted"


class _Sources:
    """The words that may support a fact; words of recalled notes may not."""

    def __init__(self, row: Row, lexicon: TextAnalyzer) -> None:
        self._lexicon = lexicon
        days = [day for label in (*row.facts, *row.may) for day in label.when]
        dates = [written_out(day) for day in (*days, row.said_at.date().isoformat())]
        by_user = [row.said, *(text for role, text in row.before if role == "user")]
        self._utterances = [fold(text) for text in by_user]
        self._users = self._stems(" ".join((*by_user, *dates))) | FRAMING
        self._anybodys = self._users | self._stems(" ".join(text for _, text in row.before))

    def quotes(self, quote: str) -> bool:
        """Whether the user said the quote word for word, or there is no quote."""
        return not quote or any(fold(quote) in said for said in self._utterances)

    def missing(self, text: str, label: str = "") -> set[str]:
        """Stems of `text` that nobody said and that are not in the label."""
        return self._stems(text) - self._anybodys - self._stems(label)

    def not_the_users(self, text: str) -> set[str]:
        return self._stems(text) - self._users

    def _stems(self, text: str) -> set[str]:
        """Stems of a text; numbers in words and figures have the same stem, and so do mum and
        mother."""
        return {SAME.get(stem, stem) for stem in self._lexicon.content(fold(text))}


def pairs(labels: Sequence[Label], facts: Sequence[Predicted]) -> dict[int, int]:
    """The largest matching, as index of a fact → index of its label (by augmenting paths)."""
    matching = [[n for n, label in enumerate(labels) if label.matches(f.text)] for f in facts]
    taken: dict[int, int] = {}

    def place(fact: int, tried: set[int]) -> bool:
        for label in matching[fact]:
            if label not in tried:
                tried.add(label)
                if label not in taken or place(taken[label], tried):
                    taken[label] = fact
                    return True
        return False

    for fact in range(len(facts)):
        place(fact, set())
    return {fact: label for label, fact in taken.items()}


def read_rows(path: Path) -> list[Row]:
    """The labelled utterances.

    Raises:
        ValueError, KeyError: the file doesn't have the expected form.
    """
    return [_row(row) for row in json_rows.read_rows(path)]


def _row(raw: Mapping[str, Any]) -> Row:
    return Row(
        id=raw["id"],
        part=raw["part"],
        kind=raw["kind"],
        said=raw["said"],
        said_at=datetime.fromisoformat(raw["said_at"]),
        facts=tuple(map(_label, raw["facts"])),
        may=tuple(map(_label, raw.get("may", ()))),
        before=tuple((turn["role"], turn["text"]) for turn in raw.get("before", ())),
        recalled=tuple(raw.get("recalled", ())),
        note=raw.get("note", ""),
    )


def _label(raw: Mapping[str, Any]) -> Label:
    return Label(
        type=raw["type"],
        text=raw["text"],
        must=tuple(tuple(group) for group in raw["must"]),
        none_of=tuple(raw.get("not", ())),
        when=tuple(raw.get("when", ())),
    )


def table(result: Score) -> list[str]:
    """The lines of a Markdown table: one for the whole set, and one for each part and type."""
    named = [("all", result.whole)]
    named += [(f"part {name}", tally) for name, tally in sorted(result.parts.items())]
    named += [(name, tally) for name, tally in sorted(result.types.items())]
    return [
        "| | labels | predicted | right | precision | recall | unsupported | false alarms |",
        "|---|---|---|---|---|---|---|---|",
        *(
            f"| {name} | {t.labels} | {t.predicted} | {t.right} | {t.precision:.3f} | "
            f"{t.recall:.3f} | {t.unsupported} ({t.unsupported_share:.1%}) | "
            f"{t.false_alarms} of {t.without} |"
            for name, t in named
        ),
    ]


def _add(tallies: Iterable[Tally], *names: str) -> None:
    for tally in tallies:
        for name in names:
            setattr(tally, name, getattr(tally, name) + 1)


def _share(count: int, of: int) -> float:
    """The share, or NaN if there is nothing to count."""
    return count / of if of else math.nan
