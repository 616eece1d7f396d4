"""Decides whether a candidate is a new line, repeats a line, or replaces one."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from assistant.language.calendar import MONTHS, WEEKDAYS
from assistant.language.normalisation import numbers_in
from assistant.language.stemming import TextAnalyzer
from assistant.memory import with_value
from assistant.tasks.settling import Candidate
from assistant.tasks.subjects import VALUES, other_end, span_of, subjects

_NEGATIVE = re.compile(
    r"(?:\w+ )?(?:no|not|without|never|nothing|none|don't|won't|can't|leave out|avoid)\b",
    re.IGNORECASE,
)
_ADDS = re.compile(r"\b(?:also|too|as well|plus|another|in addition|on top)\b", re.IGNORECASE)
_FRAME = re.compile(
    r"(?P<what>.+?)(?:'s| is| are| will be| has to be| must be| should be)\b", re.IGNORECASE
)
_DAY_PARTS = ("morning", "afternoon", "evening", "night", "noon", "midnight", "early", "late")
_LOOSE = re.compile(r"(?:a|an|one)\b", re.IGNORECASE)
_FILLER = re.compile(
    r"\b(?:on|at|in|for|by|the|a|an|to|it|is|around|about|just|only|euros?|pounds?|dollars?)\b",
    re.IGNORECASE,
)


_TWICE = re.compile(r"\b(\w+) \1\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a candidate goes: `line` is the index of the line that `text` replaces; None if `text`
    is a new line."""

    text: str
    line: int | None = None


class Merging:
    """Compares candidates with lines. The rules work for English only."""

    def __init__(self, lexicon: TextAnalyzer) -> None:
        self._lexicon = lexicon
        words = (*WEEKDAYS, *MONTHS, *_DAY_PARTS)
        self._values = {stem for word in words for stem in self._stems(word)}

    def related(self, text: str, others: Sequence[str]) -> bool:
        """Whether a text shares a content word with one of the others."""
        own = {stem for stem in self._stems(text) - self._values if not stem.startswith("#")}
        return any(own & self._stems(other) for other in others)

    def names_same_number(self, text: str, answer: str) -> bool:
        """Whether an answer repeats a number from a text."""
        return any(stem.startswith("#") for stem in self._stems(text) & self._stems(answer))

    def repeats(self, answer: str, text: str) -> bool:
        """Whether an answer repeats all content words of a text."""
        own = self._stems(text)
        return bool(own) and own <= self._stems(answer)

    def place(self, new: Candidate, lines: Sequence[str]) -> Place | None:
        """Return where a candidate goes; None if the lines already say it.

        Args:
            lines: oldest first.
        """
        stems = self._stems(new.text.partition(",")[0] if new.drops else new.text)
        negative = _negative(new.text)
        whole = stems or {new.text.casefold()}
        for at in reversed(range(len(lines))):
            old = self._stems(lines[at]) or {lines[at].casefold()}
            if _negative(lines[at]) is negative and whole <= old:
                return None
        for at in reversed(range(len(lines))):
            old = self._stems(lines[at])
            if negative and not _negative(lines[at]) and stems and stems <= old:
                return Place(new.text, at)
            if not new.drops and _negative(lines[at]) and old and old <= stems:
                return Place(new.text, at)
            if (
                _negative(lines[at]) is negative
                and old
                and old < stems
                and not _ADDS.search(new.text)
            ):
                return Place(new.text, at)
        if new.drops or _ADDS.search(new.text):
            return Place(new.text)
        meant = self._corrected(new, lines) if new.corrects else self._changed(new.text, lines)
        text = new.text if meant is None else self._put_into(lines[meant], new.text)
        return Place(text, meant)

    # -- inside ---------------------------------------------------------------------------------

    def _corrected(self, new: Candidate, lines: Sequence[str]) -> int | None:
        """Return the index of the line that a correction refers to: the one that has most in common
        with it or, for a mere number, any line with a number. Of several, return the newest."""
        about, stems = subjects(new.text), self._stems(new.text)
        found: list[tuple[int, int, int]] = []
        for at, line in enumerate(lines):
            if _negative(line) or other_end(line, new.text):
                continue
            same = len(about & subjects(line))
            shared = len(stems & self._stems(line))
            if same or shared:
                found.append((same + shared, same, at))
        if found:
            return max(found)[2]
        number = numbers_in(new.text)
        counted = [at for at, line in enumerate(lines) if numbers_in(line) and not _negative(line)]
        return counted[-1] if number and not about and counted else None

    def _changed(self, text: str, lines: Sequence[str]) -> int | None:
        """Return the index of the line whose value a text changes without saying so."""
        frame = _frame(text)
        about, stems = subjects(text) & VALUES, self._stems(text)
        for at in reversed(range(len(lines))):
            line = lines[at]
            if _negative(line) or _negative(text) or other_end(line, text):
                continue
            if frame and frame == _frame(line):
                return at
            old = self._stems(line)
            rest = self._without_values(stems)
            alike = rest and rest <= self._without_values(old) and stems - rest != old - rest
            if about & subjects(line) and alike and stems - rest:
                return at
        return None

    def _without_values(self, stems: set[str]) -> set[str]:
        return {stem for stem in stems - self._values if not stem.startswith("#")}

    def _put_into(self, line: str, text: str) -> str:
        """Return the line with the text's value in place of its own, or else the text itself."""
        if not _LOOSE.match(text):
            made = with_value(line, text, self._lexicon)
            if made is not None and made.certain:
                return _TWICE.sub(r"\1", f"{line[:1]}{made.text[1:].rstrip('.')}")
        for subject in VALUES & subjects(line):
            old, new = span_of(subject, line), span_of(subject, text)
            if old is None or new is None:
                continue
            around = f"{text[: new[0]]} {text[new[1] :]}"
            if not _FILLER.sub("", around).strip(" ,."):
                return f"{line[: old[0]]}{text[new[0] : new[1]]}{line[old[1] :]}"
        return text

    def _stems(self, text: str) -> set[str]:
        return self._lexicon.content_and_numbers(text)


def _negative(text: str) -> bool:
    return _NEGATIVE.match(text) is not None


def _frame(text: str) -> str:
    """Return the subject of a statement: "the theme" of "the theme is pirates"."""
    found = _FRAME.match(text)
    what = found["what"].casefold() if found else ""
    return "" if what in ("it", "that", "there", "we", "this") else what
