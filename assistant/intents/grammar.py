"""Compiles the notation for spoken commands, and loads the command data of a language.

Each language has a file in `data/commands`, whose first lines explain the notation. Patterns are
compiled to regular expressions. In the matched text each word ends with a space, so that an
optional word includes its space.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Any

from assistant.language.durations import Durations, durations
from data import located

LONGEST_NAME = 10
"""Maximum number of words that name one thing. Durations have fewer."""
LONGEST_OBJECT = 24
"""Maximum number of words of a statement, or of a description of what to forget: "everything that I
told you about ..."."""
OBJECTS = frozenset({"object", "memory", "statement"})
"""Slots that may have up to `LONGEST_OBJECT` words."""
_TOKEN = re.compile(r"<\w+>|\{\w+\}|[\[\]()|?*]|[\w']+")
_BRACKETS = {"[": "(?:", "]": ")?", "(": "(?:", ")": ")", "|": "|", "*": "*"}


class GrammarError(ValueError):
    """A pattern can't be parsed. This is a mistake in the language's data, not in the user's
    input."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """One way to phrase a command."""

    regex: re.Pattern[str]
    asked: bool
    """Whether the command may be phrased as a question."""
    slot: str
    """The name of the slot for the argument that the user names; empty if there is none."""


class Notation:
    """Compiles patterns to regular expressions. Patterns can refer to shared parts by name."""

    def __init__(self, parts: Mapping[str, str]) -> None:
        self._parts = parts
        self._written: dict[str, str] = {}
        """Part → its regular expression. Many parts are used in dozens of patterns."""

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
        """Return a regular expression for any entry of the list. It tries the longest entries
        first."""
        return "(?:" + "|".join(map(self.expression, longest_first(text))) + ")"

    def expression(self, text: str, within: tuple[str, ...] = ()) -> str:
        """Return the text of the regular expression for a pattern."""
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
            raise GrammarError(f"the part {name!r} is unknown, or contains itself")
        if name not in self._written:
            one_of = " | ".join(longest_first(self._parts[name]))
            self._written[name] = f"(?:{self.expression(one_of, (*within, name))})"
        return self._written[name]


@dataclass(frozen=True, slots=True)
class CommandLanguage:
    """The data of one language. In the text that its expressions match, each word ends with a
    space."""

    hesitations: frozenset[str]
    heard: Mapping[tuple[str, ...], tuple[str, ...]]
    """Words that a recogniser tends to write → the words that were spoken."""
    pointers: frozenset[str]
    please: frozenset[str]
    heard_of_requests: Mapping[tuple[str, ...], tuple[str, ...]]
    """Word that a recogniser tends to write at the start of a request → the word that was
    spoken."""
    spelled: tuple[str, ...]
    not_misspelled: frozenset[str]
    lead: re.Pattern[str]
    tail: re.Pattern[str]
    asking_tail: re.Pattern[str]
    requests: Mapping[str, re.Pattern[str]]
    """Verb form (`plain`, `doing` or `did`) → the pattern of the requests after which a verb has
    this form, e.g. "would you mind" for `doing`."""
    forms: Mapping[str, str]
    """Other verb forms → the plain verb."""
    idioms: tuple[Pattern, ...]
    frames: tuple[Pattern, ...]
    """Ways to ask that something be forgotten, with a slot for that thing."""
    objects: tuple[tuple[str, Pattern], ...]
    """Descriptions of what to forget, each with the kind of its command."""
    pointed: tuple[tuple[str, Pattern], ...]
    """Words that only point at what to forget ("that"). They don't fit into every frame."""
    commands: tuple[tuple[str, Pattern], ...]
    """All other commands, each with its kind, in the order in which they are tried."""
    undo: frozenset[str]
    """Other words that mean "undo" right after the assistant has offered to undo."""
    comment_before: re.Pattern[str]
    comment_after: re.Pattern[str]
    """Beginnings of sentences that explain why something should be forgotten. They come after the
    command; those of `comment_before` come before it."""
    subjects: Mapping[str, frozenset[str]]
    """Lists of words that decide whether words can name something, by the name of the list."""
    durations: Durations
    yes: re.Pattern[str]
    no: re.Pattern[str]
    delete: re.Pattern[str]
    """Further words that answer yes if the question is whether to forget something."""
    discard: re.Pattern[str]
    """Words that answer yes to such a question, unless there is a pause within them: "don't keep
    it"."""
    dismiss: re.Pattern[str]
    """Words that answer yes to such a question only if it is about one thing: "let it go"."""
    keep: re.Pattern[str]
    """Further words that answer no to such a question."""
    drop: re.Pattern[str]
    """Words that answer no to any other question: "forget it"."""
    nothing: re.Pattern[str]
    """Words that refuse to answer a question that asks for words, e.g. "What should I forget?"."""
    beside: re.Pattern[str]
    tag: re.Pattern[str]
    """Question tags, which turn an answer into a question that expects no reply: "isn't it?"."""
    why_not: re.Pattern[str]
    """Beginnings of explanations that follow a no."""
    choices: Mapping[str, re.Pattern[str]]
    """Words that choose among the things named: "first", "second", "third", "all"."""


@cache
def language(code: str) -> CommandLanguage:
    """Load and compile `data/commands/CODE.toml`. The result is cached, because this takes some
    tens of milliseconds.

    Raises:
        FileNotFoundError: this language has no commands.
        GrammarError: the file can't be parsed.
    """
    found = tomllib.loads(located(f"commands/{code}.toml").read_text(encoding="utf-8"))
    return _compiled(found, code)


def _compiled(found: Mapping[str, Any], code: str) -> CommandLanguage:
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
        durations=durations(code),
        yes=re.compile(notation.any_of(answers["yes"])),
        no=re.compile(notation.any_of(answers["no"])),
        delete=re.compile(notation.any_of(answers["delete"])),
        discard=re.compile(notation.any_of(answers["discard"])),
        dismiss=re.compile(notation.any_of(answers["dismiss"])),
        keep=re.compile(notation.any_of(answers["keep"])),
        drop=re.compile(notation.any_of(answers["drop"])),
        nothing=re.compile(notation.any_of(answers["nothing"])),
        beside=re.compile(notation.any_of(answers["beside"])),
        tag=_at_the_end(notation.any_of(answers["tags"])),
        why_not=re.compile(notation.any_of(answers["why_not"])),
        choices={
            name: re.compile(notation.any_of(text)) for name, text in found["choices"].items()
        },
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
    """Split a list into its entries. A `|` inside brackets does not separate entries."""
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
    """Return a list's entries in the order in which to try them, e.g. "throw away" before
    "throw"."""
    return sorted(listed(text), key=lambda entry: len(entry.split()), reverse=True)


def words(text: str) -> frozenset[str]:
    return frozenset(map(bare, listed(text)))


def bare(text: str) -> str:
    """Return the text in lower case and without apostrophes, which recognisers often omit. Words
    are compared in this form."""
    return text.replace("’", "'").replace("'", "").lower()


def line(of: Iterable[str]) -> str:
    """Join words, each followed by a space, as the expressions require."""
    return "".join(f"{word} " for word in of)
