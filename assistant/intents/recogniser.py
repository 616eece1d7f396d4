"""Recognises spoken commands and their arguments by matching patterns, without a model.

The functions are pure: commands are carried out elsewhere. This module finds the pattern that
matches an utterance. The words of the utterance come from `command_text`, and the patterns from
`grammar` and `data/commands`.
"""

import re
from collections.abc import Iterable
from dataclasses import replace

from assistant.intents.arguments import ARGUMENT_CHECKS
from assistant.intents.command import CANCELLING, Command, CommandKind
from assistant.intents.command_text import CommandReading, CommandText, Word, normalised
from assistant.intents.grammar import Pattern, bare, language, line

TWICE_WORDS = 14
"""Maximum number of words in an utterance with two sentences."""
LONGEST_DURATION = 6
"""Maximum number of words in a duration. "Two and three quarters of an hour" is already too
long."""
ENGLISH = "en"
UNTIL = re.compile(r"\b(?:un)?till?\s+(.*\w)", re.IGNORECASE | re.DOTALL)
AFTER_PAUSE = ("time", "correction")
"""Slots whose words may follow a pause."""


def recognise(text: str, names: tuple[str, ...] = ()) -> Command | None:
    """Return the command that `text` expresses, or None if `text` is anything else.

    `names` are the assistant's name and wake phrase, which `text` may begin or end with. The
    command must be the whole utterance: "forget that, I meant ..." is not a command, and neither is
    "she forgot that".
    """
    said = CommandText(text, language(ENGLISH), names)
    command = _recognised(said, said.words) or _of_two_sentences(said)
    return in_full(command, text) if command is not None else None


def in_full(command: Command, text: str) -> Command:
    """Return the command, completed from `text`. Sets `for_good`, `names_wish`, `every`, and the
    `minutes` or `when` of SLEEP. Extends the `words` of a calculation by the "how many" before
    them, and makes the whole text the `words` of ACT."""
    if command.kind in CANCELLING:
        return replace(command, every=_says_every(command, text))
    if command.kind is CommandKind.ACT:
        return replace(command, words=text)
    if command.kind is CommandKind.SLEEP:
        return replace(command, minutes=_minutes_in(text), when=_end_in(text))
    if command.kind is CommandKind.CALCULATE and command.words:
        return replace(command, words=_with_amount(command.words, text))
    if command.kind not in (CommandKind.LIFT, CommandKind.REMEMBER):
        return command
    lists = language(ENGLISH).subjects
    before = text.partition(command.words)[0] if command.words else text
    said = f" {bare(normalised(before))} "
    if command.kind is CommandKind.LIFT:
        return replace(command, names_wish=any(f" {each} " in said for each in lists["wishes"]))
    return replace(command, for_good=any(f" {each} forget " in said for each in lists["for_good"]))


def _with_amount(words: str, text: str) -> str:
    """Return the words of a calculation with the "how many" before them, if there is one."""
    start = text.index(words)
    before = text[:start].rstrip()
    for asked in language(ENGLISH).subjects["amounts"]:
        if before.lower().endswith(asked):
            return text[len(before) - len(asked) : start + len(words)]
    return words


def _says_every(command: Command, text: str) -> bool:
    """Return whether the user means all things of a kind. An "every" in the time ("every Monday")
    or in the words of a reminder doesn't count."""
    for argument in (command.when, command.words):
        text = text.replace(argument, " ") if argument else text
    said = f" {bare(normalised(text))} "
    return any(f" {each} " in said for each in language(ENGLISH).subjects["every"])


def _minutes_in(text: str) -> int | None:
    """Return the duration that `text` names, in minutes; None if it names none, or more than
    one."""
    durations, words = language(ENGLISH).durations, normalised(text).split()
    found: list[int] = []
    at = 0
    while at < len(words):
        ends = range(min(len(words), at + LONGEST_DURATION), at, -1)
        spans = ((end, durations.minutes(" ".join(words[at:end]))) for end in ends)
        end, minutes = next(((e, m) for e, m in spans if m is not None), (at + 1, None))
        found += [minutes] if minutes is not None else []
        at = end
    return found[0] if len(found) == 1 else None


def _end_in(text: str) -> str | None:
    """Return the words after "until"."""
    found = UNTIL.search(text)
    return found[1] if found else None


def _recognised(said: CommandText, words: tuple[Word, ...]) -> Command | None:
    readings = list(said.readings(words))
    idioms = said.language.idioms
    if any(idiom.regex.fullmatch(reading.line) for reading in readings for idiom in idioms):
        return None
    commands = (_fitting(said, reading) for reading in readings)
    return next((command for command in commands if command is not None), None)


def _of_two_sentences(said: CommandText) -> Command | None:
    """Return the command of an utterance with two sentences. If both are commands, the last one
    counts ("Unsay that. I mean, forget it"). Otherwise, one must be the reason for the other: "That
    was meant for my sister, forget that"."""
    if len(said.words) > TWICE_WORDS:
        return None
    for at in range(len(said.words) - 1, 0, -1):
        if not said.words[at - 1].pause:
            continue
        first, last = said.words[:at], said.words[at:]
        command = _recognised(said, last)
        if command is not None:
            why = _comments(said, first, said.language.comment_before)
            why = why and _forgets_that(said, command, last)
            if why or _recognised(said, first):
                return command
        elif _comments(said, last, said.language.comment_after):
            command = _recognised(said, first)
            if command is not None and _forgets_that(said, command, first):
                return command
    return None


def _comments(said: CommandText, words: tuple[Word, ...], begins: re.Pattern[str]) -> bool:
    return any(begins.match(reading.line) for reading in said.readings(words))


def _forgets_that(said: CommandText, command: Command, words: tuple[Word, ...]) -> bool:
    """Return whether the command clearly asks to forget what was said. "Forget it" isn't clear
    enough: next to another sentence, it may just mean giving up."""
    unnamed = said.language.subjects["unnamed_first"]
    return command.kind is CommandKind.FORGET_THAT and words[-1].plain not in unnamed


def _fitting(said: CommandText, reading: CommandReading) -> Command | None:
    """Return the first command whose pattern matches the words of the reading."""
    spoken, asked = said.language, said.is_question and not reading.polite
    for frame in () if asked else spoken.frames:
        found = frame.regex.fullmatch(reading.line)
        if found is not None:
            objects = spoken.objects + (spoken.pointed if frame.slot == "object" else ())
            command = _first(said, _held(found, frame, reading.words), objects)
            if command is not None:
                return command
    commands = tuple(each for each in spoken.commands if each[1].asked or not asked)
    return _first(said, reading.words, commands)


def _first(
    said: CommandText, words: tuple[Word, ...], patterns: Iterable[tuple[str, Pattern]]
) -> Command | None:
    """Return the command of the first pattern that matches all these words and accepts the words in
    its slot."""
    text = line(word.plain for word in words)
    for kind, pattern in patterns:
        found = pattern.regex.fullmatch(text)
        if found is None:
            continue
        if not pattern.slot:
            return Command(CommandKind(kind))
        named = _held(found, pattern, words)
        if pattern.slot not in AFTER_PAUSE and _breaks_off(
            words[: words.index(named[0])], named[0]
        ):
            continue
        command = _filled(said, CommandKind(kind), pattern, named)
        if command is not None:
            return command
    return None


def _breaks_off(before: tuple[Word, ...], named: Word) -> bool:
    """Return whether there is a pause, without a hesitation, right before the words that name
    something."""
    return bool(before and before[-1].pause and named.place == before[-1].place + 1)


def _held(found: re.Match[str], pattern: Pattern, words: tuple[Word, ...]) -> tuple[Word, ...]:
    """Return the words in the pattern's slot."""
    first, last = (found.string[:edge].count(" ") for edge in found.span(pattern.slot))
    return words[first:last]


def _filled(
    said: CommandText, kind: CommandKind, pattern: Pattern, words: tuple[Word, ...]
) -> Command | None:
    """Return the command with its argument, or None if these words can't be its argument."""
    if pattern.slot == "time":
        minutes = said.language.durations.minutes(" ".join(word.plain for word in words))
        return Command(kind, minutes=minutes) if minutes is not None else None
    about_user = len(words) == 1 and words[0].plain in said.language.subjects["user"]
    if kind is CommandKind.KNOW and about_user:
        return Command(kind)
    names_something = ARGUMENT_CHECKS[pattern.slot](said, words)
    return Command(kind, words=said.named(words)) if names_something else None
