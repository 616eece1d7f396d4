"""Recognises spoken commands, and what they are about, without a language model.

Pure functions on the transcript; others carry the command out. The words come from `command_text`,
the patterns from `grammar` and `data/commands`; this module finds the pattern that fits.
"""

import re
from collections.abc import Iterable

from assistant.intents.arguments import ARGUMENT_CHECKS
from assistant.intents.command import Command, CommandKind
from assistant.intents.command_text import (
    CommandReading,
    CommandText,
    Word,
    normalised,
    words_of_names,
)
from assistant.intents.grammar import CommandLanguage, Pattern, bare, language, line

TWICE_WORDS = 14
"""Maximum number of words of an utterance with two commands."""
ENGLISH = "en"


def recognise(text: str, names: tuple[str, ...] = (), code: str = ENGLISH) -> Command | None:
    """The command that all of `text` forms; None if it is anything else.

    `names` are the assistant's name and wake phrase, which may be at either end. What continues
    ("forget that, I meant ...") or is about others ("she forgot that") is not a command.

    Raises:
        FileNotFoundError: the language `code` has no commands.
    """
    spoken = language(code)
    said = CommandText(text, spoken)
    if not said.words:
        return None
    found = _recognised(said, said.words, words_of_names(names), spoken)
    if found is None:
        found = _of_two_sentences(said, words_of_names(names), spoken)
    return found


def _recognised(
    said: CommandText,
    words: tuple[Word, ...],
    names: tuple[tuple[str, ...], ...],
    spoken: CommandLanguage,
) -> Command | None:
    readings = list(said.readings(words, names))
    lines = [reading.line for reading in readings]
    if any(idiom.regex.fullmatch(each) for each in lines for idiom in spoken.idioms):
        return None
    for reading in readings:
        found = _fitting(said, reading, spoken)
        if found is not None:
            return found
    return None


def _of_two_sentences(
    said: CommandText, names: tuple[tuple[str, ...], ...], spoken: CommandLanguage
) -> Command | None:
    """Two commands, the last of which counts ("Unsay that. I mean, forget it"), or a command to
    forget and a reason: "That was meant for my sister, forget that"."""
    if len(said.words) > TWICE_WORDS:
        return None
    for at in range(len(said.words) - 1, 0, -1):
        if not said.words[at - 1].pause:
            continue
        first, last = said.words[:at], said.words[at:]
        command = _recognised(said, last, names, spoken)
        if command is not None:
            why = _comments(said, first, names, spoken.comment_before)
            why = why and _forgets_that(command, last, spoken)
            if why or _recognised(said, first, names, spoken):
                return command
        elif _comments(said, last, names, spoken.comment_after):
            command = _recognised(said, first, names, spoken)
            if command is not None and _forgets_that(command, first, spoken):
                return command
    return None


def _comments(
    said: CommandText,
    words: tuple[Word, ...],
    names: tuple[tuple[str, ...], ...],
    begins: re.Pattern[str],
) -> bool:
    return any(begins.match(reading.line) for reading in said.readings(words, names))


def _forgets_that(command: Command, words: tuple[Word, ...], spoken: CommandLanguage) -> bool:
    """Whether it forgets more than "it": after a sentence, "forget it" may just mean giving up."""
    return command.kind is CommandKind.FORGET_THAT and words[-1].plain not in spoken.unnamed_first


def sounds_like_undo(text: str, code: str = ENGLISH) -> bool:
    """Whether `text` is a typical mishearing of "undo". Meant for the turn after forgetting, when
    "undo" is the most likely thing to say."""
    return bare(normalised(text)).removesuffix(" please") in language(code).undo


def _fitting(said: CommandText, reading: CommandReading, spoken: CommandLanguage) -> Command | None:
    """The first command that a reading matches."""
    asked = said.is_question and not reading.polite
    text = reading.line
    for frame in () if asked else spoken.frames:
        found = frame.regex.fullmatch(text)
        if found is not None:
            objects = spoken.objects + (spoken.pointed if frame.slot == "object" else ())
            command = _first(said, _held(found, frame, reading.words), objects, spoken)
            if command is not None:
                return command
    commands = tuple(each for each in spoken.commands if each[1].asked or not asked)
    return _first(said, reading.words, commands, spoken)


def _first(
    said: CommandText,
    words: tuple[Word, ...],
    patterns: Iterable[tuple[str, Pattern]],
    spoken: CommandLanguage,
) -> Command | None:
    """The command of the first pattern that fits all these words, and whose slot is valid."""
    text = line(word.plain for word in words)
    for kind, pattern in patterns:
        found = pattern.regex.fullmatch(text)
        if found is None:
            continue
        if not pattern.slot:
            return Command(CommandKind(kind))
        named = _held(found, pattern, words)
        if pattern.slot != "time" and _breaks_off(words[: words.index(named[0])], named[0]):
            continue
        command = _filled(said, CommandKind(kind), pattern, named, spoken)
        if command is not None:
            return command
    return None


def _breaks_off(before: tuple[Word, ...], named: Word) -> bool:
    """Whether there is a pause, and no hesitation, right before what is named."""
    return bool(before and before[-1].pause and named.place == before[-1].place + 1)


def _held(found: re.Match[str], pattern: Pattern, words: tuple[Word, ...]) -> tuple[Word, ...]:
    """The words in the pattern's slot."""
    first, last = (found.string[:edge].count(" ") for edge in found.span(pattern.slot))
    return words[first:last]


def _filled(
    said: CommandText,
    kind: CommandKind,
    pattern: Pattern,
    words: tuple[Word, ...],
    spoken: CommandLanguage,
) -> Command | None:
    """The command with what the user named; None if that can't be a name."""
    if pattern.slot == "time":
        minutes = spoken.durations.minutes(" ".join(word.plain for word in words))
        return Command(kind, minutes=minutes) if minutes is not None else None
    if kind is CommandKind.KNOW and len(words) == 1 and words[0].plain in spoken.user:
        return Command(kind)
    names_something = ARGUMENT_CHECKS[pattern.slot](said.text, words, spoken)
    return Command(kind, about=said.named(words)) if names_something else None
