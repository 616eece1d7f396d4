"""The notation for spoken commands, and the data with which a language's commands are parsed.

The languages are files in `data/commands`; their first lines explain the notation. Patterns become
regular expressions over words that each end in a space, so that an optional word takes its space
with it.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Any

from assistant.intents.durations import Durations
from assistant.language.numbers import cardinals, scales
from data import located

LONGEST_NAME = 10
"""Maximum number of words that name one thing; durations have fewer."""
LONGEST_OBJECT = 24
"""Maximum number of words in the object of forgetting: "everything that I told you about ..."."""
OBJECTS = frozenset({"object", "memory"})
"""Slots that hold an object of forgetting."""
_TOKEN = re.compile(r"<\w+>|\{\w+\}|[\[\]()|?*]|[\w']+")
_BRACKETS = {"[": "(?:", "]": ")?", "(": "(?:", ")": ")", "|": "|", "*": "*"}


class GrammarError(ValueError):
    """A pattern can't be parsed: a mistake in the language's data, found while that is written."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """One way to say a command."""

    regex: re.Pattern[str]
    asked: bool
    """Whether it may be phrased as a question."""
    slot: str
    """The kind of thing that the user can name in it; empty if there is none."""


class Notation:
    """Compiles patterns to regular expressions, with parts that patterns share."""

    def __init__(self, parts: Mapping[str, str]) -> None:
        self._parts = parts

    def pattern(self, text: str) -> Pattern:
        """Compile a pattern.

        Raises:
            GrammarError: a part is unknown or contains itself, or brackets don't match.
        """
        try:
            regex = re.compile(self.expression(text.rstrip(" ?")))
        except re.error as error:
            raise GrammarError(f"{text!r}: {error}") from error
        return Pattern(regex, text.rstrip().endswith("?"), next(iter(regex.groupindex), ""))

    def any_of(self, text: str) -> str:
        """The expression for a list; it tries the longest entries first."""
        return "(?:" + "|".join(map(self.expression, longest_first(text))) + ")"

    def expression(self, text: str, within: tuple[str, ...] = ()) -> str:
        """The regular expression, not yet compiled."""
        return "".join(self._element(token, within) for token in _TOKEN.findall(text))

    def _element(self, token: str, within: tuple[str, ...]) -> str:
        if token in _BRACKETS:
            return _BRACKETS[token]
        if token.startswith("{"):
            slot = token[1:-1]
            longest = LONGEST_OBJECT if slot in OBJECTS else LONGEST_NAME
            return rf"(?P<{slot}>(?:\S+ ){{1,{longest}}}?)"
        if not token.startswith("<"):
            return re.escape(bare(token)) + " "
        name = token[1:-1]
        if name in within or name not in self._parts:
            raise GrammarError(f"there is no part {name!r} to stand here")
        one_of = " | ".join(longest_first(self._parts[name]))
        return f"(?:{self.expression(one_of, (*within, name))})"


@dataclass(frozen=True, slots=True)
class CommandLanguage:
    """The data of one language; its expressions match words that each end in a space."""

    hesitations: frozenset[str]
    heard: Mapping[tuple[str, ...], tuple[str, ...]]
    """What a recogniser tends to write → the words that were spoken."""
    pointers: frozenset[str]
    please: frozenset[str]
    heard_of_requests: Mapping[tuple[str, ...], tuple[str, ...]]
    """What a recogniser tends to write for the first word of a request → the word spoken."""
    spelled: tuple[str, ...]
    not_misspelled: frozenset[str]
    lead: re.Pattern[str]
    tail: re.Pattern[str]
    asking_tail: re.Pattern[str]
    requests: Mapping[str, re.Pattern[str]]
    """How a request begins, by the form of the verb that follows: `plain`, `doing` or `did`."""
    forms: Mapping[str, str]
    """Other verb forms → the plain verb."""
    idioms: tuple[Pattern, ...]
    frames: tuple[Pattern, ...]
    """Ways to ask that an object be forgotten."""
    objects: tuple[tuple[str, Pattern], ...]
    """What can be forgotten, with the kind of command."""
    pointed: tuple[tuple[str, Pattern], ...]
    """Objects that only point at something said ("that"); they don't fit into every frame."""
    commands: tuple[tuple[str, Pattern], ...]
    """All other commands, with their kind, in the order in which they are tried."""
    undo: frozenset[str]
    """Other words that mean "undo" right after the assistant has offered to undo."""
    comment_before: re.Pattern[str]
    comment_after: re.Pattern[str]
    """Beginnings of sentences that explain why something should be forgotten."""
    subjects: Mapping[str, frozenset[str]]
    """Lists of words that decide what can be named, by their names in the data."""
    durations: Durations
    yes: re.Pattern[str]
    no: re.Pattern[str]
    beside: re.Pattern[str]


@cache
def language(code: str) -> CommandLanguage:
    """Load and compile `data/commands/CODE.toml`, once: it takes some tens of milliseconds.

    Raises:
        FileNotFoundError: this language has no commands.
        GrammarError: the file can't be parsed.
    """
    found = tomllib.loads(located(f"commands/{code}.toml").read_text(encoding="utf-8"))
    return _compiled(found)


def _compiled(found: Mapping[str, Any]) -> CommandLanguage:
    notation = Notation(found["parts"])
    answers = found["answers"]
    return CommandLanguage(
        hesitations=words(found["hesitations"]),
        heard=_replacements(found["heard"]),
        pointers=words(found["pointers"]),
        please=words(found["please"]),
        heard_of_requests=_replacements(found["heard_of_requests"]),
        spelled=tuple(sorted(words(found["spelling"]["words"]))),
        not_misspelled=words(found["spelling"]["but_not"]),
        lead=re.compile(notation.any_of(found["leads"])),
        tail=_at_the_end(notation.any_of(found["tails"])),
        asking_tail=_at_the_end(notation.any_of(found["asking_tails"])),
        requests={
            form: re.compile(notation.any_of(text)) for form, text in found["requests"].items()
        },
        forms={form: bare(verb) for verb, text in found["forms"].items() for form in words(text)},
        idioms=tuple(map(notation.pattern, found["idioms"]["patterns"])),
        frames=tuple(map(notation.pattern, found["frames"]["patterns"])),
        objects=_by_kind(found["objects"], notation),
        pointed=_by_kind(found["pointed"], notation),
        commands=_by_kind(
            {kind: entry["patterns"] for kind, entry in found["commands"].items()}, notation
        ),
        undo=words(answers["undo"]),
        comment_before=re.compile(notation.any_of(found["comments"]["before"])),
        comment_after=re.compile(notation.any_of(found["comments"]["after"])),
        subjects={name: words(text) for name, text in found["subjects"].items()},
        durations=Durations.of(found["time"], cardinals() | scales()),
        yes=re.compile(notation.any_of(answers["yes"])),
        no=re.compile(notation.any_of(answers["no"])),
        beside=re.compile(notation.any_of(answers["beside"])),
    )


def _by_kind(
    texts: Mapping[str, Iterable[str]], notation: Notation
) -> tuple[tuple[str, Pattern], ...]:
    return tuple((kind, notation.pattern(text)) for kind, each in texts.items() for text in each)


def _at_the_end(expression: str) -> re.Pattern[str]:
    return re.compile(rf"(?<= ){expression}$")


def _replacements(entries: Mapping[str, str]) -> dict[tuple[str, ...], tuple[str, ...]]:
    return {
        tuple(bare(wrong).split()): tuple(bare(right).split())
        for right, text in entries.items()
        for wrong in listed(text)
    }


def listed(text: str) -> list[str]:
    """The entries of a list; inside brackets, `|` does not separate entries."""
    entries, depth, entry = [], 0, ""
    for sign in chain(text, "\n"):
        depth += (sign in "([") - (sign in ")]")
        if sign in "|\n" and depth == 0:
            entries.append(" ".join(entry.split()))
            entry = ""
        else:
            entry += sign
    return [each for each in entries if each]


def longest_first(text: str) -> list[str]:
    """A list's entries in the order in which to try them: "throw away" before "throw"."""
    return sorted(listed(text), key=lambda entry: len(entry.split()), reverse=True)


def words(text: str) -> frozenset[str]:
    return frozenset(map(bare, listed(text)))


def bare(text: str) -> str:
    """The form in which words are compared: without apostrophes, which recognisers often omit."""
    return text.replace("’", "'").replace("'", "").lower()


def line(of: Iterable[str]) -> str:
    """Words in the form that the expressions need: each with a space after it."""
    return "".join(f"{word} " for word in of)
