"""Normalises the words of an utterance, so that they can be matched against commands.

The words are first converted to lower case, hesitations and repetitions are removed, and common
recognition errors are corrected. Then `readings` removes, piece by piece, words around a command:
an introduction, an addition, a polite phrase or the assistant's name. It yields the result of every
step, because only matching shows which words belong to the command.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from rapidfuzz import process
from rapidfuzz.distance import OSA

from assistant.intents.grammar import CommandLanguage, bare, line


def normalised(text: str) -> str:
    """Return the text in lower case, without punctuation or repeated spaces. Commands are matched
    in this form."""
    return " ".join(re.sub(r"[^\w\s']", " ", text.lower().replace("’", "'")).split())


MOST_WORDS = 24
"""Maximum number of words of a command. Longer utterances are not examined."""
LONGEST_HEARD = 3
"""Maximum number of consecutive words in a recognition error that is corrected."""
LONGEST_STUTTER = 4
"""Maximum number of words in a phrase whose immediate repetition is removed."""
LEAST_MISSPELT = 6
"""Minimum length of a word, in letters, for tolerating one wrong letter in it."""
LEAST_NAME = 3
"""Minimum length of a name, in letters, for tolerating one wrong letter in it."""

_TOKEN = re.compile(r"\d+(?:[.,]\d+)?|[^\W\d_]+(?:['’][^\W\d_]+)*")
_PAUSE = re.compile(r"[,.;:!?…—–]| -")


@dataclass(frozen=True, slots=True)
class Word:
    """One word of an utterance. `place` is its index in the utterance. `start` and `end` are its
    range of characters."""

    plain: str
    place: int
    start: int
    end: int
    pause: str = ""
    """The punctuation mark after the word, if any."""


@dataclass(frozen=True, slots=True)
class CommandReading:
    """The words of an utterance that may be a command, without the words around them."""

    words: tuple[Word, ...]
    polite: bool
    """Whether the command was phrased as a request, so that a question mark doesn't make it a
    question."""

    @property
    def line(self) -> str:
        return line(word.plain for word in self.words)


class CommandText:
    """An utterance in one language. `names` are the assistant's names."""

    def __init__(self, text: str, language: CommandLanguage, names: tuple[str, ...] = ()) -> None:
        self.text = text
        self.is_question = text.rstrip(" \"'”’)").endswith("?")
        self.language = language
        self._names = [tuple(bare(normalised(name)).split()) for name in names if normalised(name)]
        spoken = [
            Word(bare(found.group()), place, found.start(), found.end())
            for place, found in enumerate(_TOKEN.finditer(text))
        ]
        too_long = len(spoken) > MOST_WORDS
        self.words = () if too_long else tuple(self._without_stutter(self._corrected(spoken)))

    def _corrected(self, spoken: list[Word]) -> list[Word]:
        """Record pauses, remove hesitations and correct recognition errors."""
        ends = [*(word.start for word in spoken[1:]), len(self.text)]
        noted = [
            replace(word, pause=_mark(self.text[word.end : end]))
            for word, end in zip(spoken, ends, strict=False)
        ]
        dropped = self.language.hesitations
        kept = [word for word in self._heard(noted) if word.plain not in dropped]
        asked = any(word.plain in self.language.please for word in noted)
        meant = self.language.heard_of_requests.get((kept[0].plain,)) if kept and asked else None
        if meant:
            kept[0] = replace(kept[0], plain=meant[0])
        return [self._spelled(word) for word in kept]

    def _heard(self, spoken: list[Word]) -> list[Word]:
        made: list[Word] = []
        at = 0
        while at < len(spoken):
            for count in range(LONGEST_HEARD, 0, -1):
                taken = spoken[at : at + count]
                meant = self.language.heard.get(tuple(word.plain for word in taken))
                if meant is not None:
                    first, last = taken[0], taken[-1]
                    whole = replace(first, end=last.end)
                    made += [replace(whole, plain=plain) for plain in meant[:-1]]
                    made.append(replace(whole, plain=meant[-1], place=last.place, pause=last.pause))
                    at += count
                    break
            else:
                made.append(spoken[at])
                at += 1
        return made

    def _without_stutter(self, words: list[Word]) -> list[Word]:
        """Remove immediate repetitions: "stop, stop, stop" → "stop", "forget that, forget that" →
        "forget that"."""
        made: list[Word] = []
        for word in words:
            made.append(word)
            for count in range(1, LONGEST_STUTTER + 1):
                last, before = made[-count:], made[-2 * count : -count]
                same = [each.plain for each in last] == [each.plain for each in before]
                if same and not (count == 1 and self._begins_anew(before[0])):
                    del made[-2 * count : -count]
                    break
        return made

    def _begins_anew(self, word: Word) -> bool:
        """Return whether a repetition of the word begins another sentence."""
        return bool(word.pause) and word.plain in self.language.pointers

    def _spelled(self, word: Word) -> Word:
        if len(word.plain) < LEAST_MISSPELT or word.plain in self.language.not_misspelled:
            return word
        best = process.extractOne(
            word.plain, self.language.spelled, scorer=OSA.distance, score_cutoff=1
        )
        same_start = best is not None and best[0][0] == word.plain[0]
        return replace(word, plain=best[0]) if best is not None and same_start else word

    def unaddressed(self) -> tuple[Word, ...]:
        """Return the words without the assistant's name at the beginning and at the end."""
        words = self.words[self._name_first(self.words) :]
        return words[: len(words) - self._name_last(words)]

    def named(self, words: tuple[Word, ...]) -> str:
        """Return these words as they were spoken, without hesitations between them."""
        parts = [self.text[words[0].start : words[0].end]]
        for before, word in pairwise(words):
            if word.place != before.place:
                following = word.place == before.place + 1
                parts.append(self.text[before.end : word.start] if following else " ")
                parts.append(self.text[word.start : word.end])
        return "".join(parts)

    def readings(self, words: tuple[Word, ...]) -> Iterator[CommandReading]:
        """Yield the words that remain after each removal of words around a command, shortest
        first."""
        fronts = list(self._fronts(CommandReading(words, polite=False)))
        for front in reversed(fronts):
            yield from reversed(list(self._tails(front)))

    def _fronts(self, reading: CommandReading) -> Iterator[CommandReading]:
        while reading.words:
            yield reading
            text = reading.line
            lead = self.language.lead.match(text)
            form, request = self._request(text)
            name = self._name_first(reading.words)
            if name:
                reading = replace(reading, words=reading.words[name:])
            elif lead and (not request or request.end() < lead.end()):
                reading = replace(reading, words=reading.words[_count(lead.group()) :])
            elif request:
                rest = reading.words[_count(request.group()) :]
                plain = self._plain_verbs(rest, form)
                reading = CommandReading(plain, polite=True)
            else:
                return

    def _tails(self, reading: CommandReading) -> Iterator[CommandReading]:
        while reading.words:
            yield reading
            text = reading.line
            tail = self.language.tail.search(text)
            asking = self.language.asking_tail.search(text)
            name = self._name_last(reading.words)
            if name:
                reading = replace(reading, words=reading.words[:-name])
            elif asking or tail:
                found = asking or tail
                count = _count(found.group()) if found else 0
                polite = reading.polite or asking is not None
                reading = CommandReading(reading.words[:-count], polite)
            else:
                return

    def _request(self, text: str) -> tuple[str, re.Match[str] | None]:
        """Return the longest polite request at the beginning, e.g. "would you mind", with the verb
        form that follows it."""
        best: tuple[str, re.Match[str] | None] = ("", None)
        for form, pattern in self.language.requests.items():
            found = pattern.match(text)
            if found and (best[1] is None or found.end() > best[1].end()):
                best = (form, found)
        return best

    def _plain_verbs(self, words: tuple[Word, ...], form: str) -> tuple[Word, ...]:
        """Convert verbs to the form that commands use: "would you mind forgetting" → "forget"."""
        if form == "plain":
            return words
        forms = self.language.forms
        return tuple(
            replace(word, plain=forms.get(word.plain, word.plain)) if at < 2 else word
            for at, word in enumerate(words)
        )

    def _name_first(self, words: tuple[Word, ...]) -> int:
        """Return the number of words at the beginning that form one of the assistant's names."""
        for name in self._names:
            if len(words) > len(name) and all(map(_same_name, words, name)):
                return len(name)
        return 0

    def _name_last(self, words: tuple[Word, ...]) -> int:
        """Return the number of words at the end that form one of the assistant's names. A misheard
        name only counts if a pause precedes it."""
        for name in self._names:
            if len(words) > len(name):
                last, before = words[-len(name) :], words[-len(name) - 1]
                exact = all(word.plain == part for word, part in zip(last, name, strict=True))
                if exact or (before.pause and all(map(_same_name, last, name))):
                    return len(name)
        return 0


def _mark(gap: str) -> str:
    found = _PAUSE.search(gap)
    return found.group().strip() if found else ""


def _count(expression: str) -> int:
    return expression.count(" ")


def _same_name(word: Word, name: str) -> bool:
    """Return whether the word is the name. One letter may be wrong or added, but none may be
    missing: for "Ada", "Aida" is accepted and "ad" is not."""
    if word.plain == name:
        return True
    longer = len(word.plain) >= len(name) >= LEAST_NAME
    return longer and OSA.distance(word.plain, name, score_cutoff=1) <= 1
