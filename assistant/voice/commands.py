"""Spoken commands, recognised without a language model: which, and about what.

Pure functions on the transcript; what a command does is others' business. How one is read: words
(`utterance`), the patterns of a language (`grammar`, `data/commands`), and here what fits.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum

from assistant.voice.grammar import Language, Pattern, bare, language, line
from assistant.voice.subjects import SUBJECTS
from assistant.voice.utterance import Reading, Utterance, Word

SHORT_LIKENESS = 0.7
LONG_LIKENESS = 0.6
JOINED_LIKENESS = 0.85
SINGLE_LIKENESS = 0.9
"""How alike what was heard and the wake phrase must be, letter by letter: names are misheard."""
TWICE_WORDS = 14
"""Of two commands in one utterance."""
ENGLISH = "en"


class Kind(StrEnum):
    """What is wanted. The values are the names of the kinds in `data/commands`."""

    STOP = "stop"
    """Be silent; nothing is answered."""
    REPEAT = "repeat"
    """Say the last answer again."""
    SLEEP = "sleep"
    """Heed nothing until woken."""
    WAKE = "wake"
    FORGET_THAT = "forget_that"
    """What was just said, or the answer that was just given."""
    FORGET_SPAN = "forget_span"
    """The last `minutes`."""
    FORGET_TODAY = "forget_today"
    FORGET_CONVERSATION = "forget_conversation"
    """The running one."""
    FORGET_ABOUT = "forget_about"
    FORGET_ALL = "forget_all"
    """Everything that is known of the user."""
    UNDO = "undo"
    """Keep what was just forgotten."""
    KNOW = "know"
    """Tell what is remembered about something. Asked of Rome it is a question for the model: so
    whoever finds nothing remembered lets it pass."""
    OFF_RECORD = "off_record"
    ON_RECORD = "on_record"


@dataclass(frozen=True, slots=True)
class Command:
    """A spoken command.

    `about` has FORGET_ABOUT, in the user's words ("my dog", "Anna"), and KNOW, where None is the
    user; `minutes` has FORGET_SPAN.
    """

    kind: Kind
    about: str | None = None
    minutes: int | None = None


@dataclass(frozen=True, slots=True)
class Addressed:
    """Speech that began with the wake phrase; `rest` is what followed it."""

    rest: str


def plain(text: str) -> str:
    """Lower case, without punctuation and doubled spaces: what commands are matched against."""
    return " ".join(re.sub(r"[^\w\s']", " ", text.lower().replace("’", "'")).split())


def recognise(text: str, names: tuple[str, ...] = (), code: str = ENGLISH) -> Command | None:
    """The command that `text` is, all of it; None when it is anything else.

    `names` are the assistant's own name and wake phrase, which may stand at either end. What goes
    on ("forget that, I meant ...") or is said of others ("she forgot that") is no command.

    Raises:
        FileNotFoundError: the language `code` has no commands.
    """
    spoken = language(code)
    said = Utterance(text, spoken)
    if not said.words:
        return None
    found = _recognised(said, said.words, _called(names), spoken)
    if found is None:
        found = _of_two_sentences(said, _called(names), spoken)
    return found


def _recognised(
    said: Utterance, words: tuple[Word, ...], names: tuple[tuple[str, ...], ...], spoken: Language
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
    said: Utterance, names: tuple[tuple[str, ...], ...], spoken: Language
) -> Command | None:
    """Two commands, of which the last holds ("Unsay that. I mean, forget it"), or one of
    forgetting and why: "That was meant for my sister, forget that"."""
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
    said: Utterance,
    words: tuple[Word, ...],
    names: tuple[tuple[str, ...], ...],
    begins: re.Pattern[str],
) -> bool:
    return any(begins.match(reading.line) for reading in said.readings(words, names))


def _forgets_that(command: Command, words: tuple[Word, ...], spoken: Language) -> bool:
    """Whether more than "it" is to be forgotten: "forget it" after a sentence may be giving up."""
    return command.kind is Kind.FORGET_THAT and words[-1].plain not in spoken.unnamed_first


def answer(text: str, names: tuple[str, ...] = (), code: str = ENGLISH) -> bool | None:
    """Whether `text` says yes or no to a question that the assistant has just asked.

    None where it is neither, or both, or asks back: then nothing was agreed to.
    """
    spoken = language(code)
    heard = Utterance(text, spoken)
    if heard.is_question:
        return None
    rest = line(word.plain for word in heard.unaddressed(_called(names)))
    said: set[bool] = set()
    while rest:
        shapes = ((spoken.yes, True), (spoken.no, False), (spoken.beside, None))
        found = [(match.end(), means) for shape, means in shapes if (match := shape.match(rest))]
        if not found:
            return None
        end, means = max(found, key=lambda each: each[0])
        said |= set() if means is None else {means}
        rest = rest[end:]
    return said.pop() if len(said) == 1 else None


def sounds_like_undo(text: str, code: str = ENGLISH) -> bool:
    """Whether it is what a recogniser makes of "undo". For the turn after something was forgotten,
    in which nothing is likelier."""
    return bare(plain(text)).removesuffix(" please") in language(code).undo


def _called(names: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """The words of each name."""
    return tuple(tuple(bare(plain(name)).split()) for name in names if plain(name))


def _fitting(said: Utterance, reading: Reading, spoken: Language) -> Command | None:
    """The first command that a reading is."""
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
    said: Utterance,
    words: tuple[Word, ...],
    patterns: Iterable[tuple[str, Pattern]],
    spoken: Language,
) -> Command | None:
    """What the first of the patterns makes of these words that fits all of them."""
    text = line(word.plain for word in words)
    for kind, pattern in patterns:
        found = pattern.regex.fullmatch(text)
        if found is None:
            continue
        if not pattern.slot:
            return Command(Kind(kind))
        named = _held(found, pattern, words)
        if pattern.slot != "time" and _breaks_off(words[: words.index(named[0])], named[0]):
            continue
        command = _filled(said, Kind(kind), pattern, named, spoken)
        if command is not None:
            return command
    return None


def _breaks_off(before: tuple[Word, ...], named: Word) -> bool:
    """Whether there is a pause right before what is named, without a hesitation in it."""
    return bool(before and before[-1].pause and named.place == before[-1].place + 1)


def _held(found: re.Match[str], pattern: Pattern, words: tuple[Word, ...]) -> tuple[Word, ...]:
    """The words in the pattern's slot."""
    first, last = (found.string[:edge].count(" ") for edge in found.span(pattern.slot))
    return words[first:last]


def _filled(
    said: Utterance, kind: Kind, pattern: Pattern, words: tuple[Word, ...], spoken: Language
) -> Command | None:
    """The command with what the user named; None where that is no name for anything."""
    if pattern.slot == "time":
        minutes = spoken.durations.minutes(" ".join(word.plain for word in words))
        return Command(kind, minutes=minutes) if minutes is not None else None
    if kind is Kind.KNOW and len(words) == 1 and words[0].plain in spoken.user:
        return Command(kind)
    names_something = SUBJECTS[pattern.slot](said.text, words, spoken)
    return Command(kind, about=said.named(words)) if names_something else None


def addressed(text: str, wake_phrase: str) -> Addressed | None:
    """Whether `text` begins with the wake phrase, allowing for recognition errors."""
    phrase = plain(wake_phrase).split()
    words = text.split()
    for taken in range(len(phrase), 0, -1):
        heard = plain(" ".join(words[:taken])).split()
        if heard and (_alike(heard, phrase) or _joined_alike(heard, phrase)):
            return Addressed(" ".join(words[taken:]).lstrip(" ,.;:!?-"))
    return None


def _alike(heard: list[str], phrase: list[str]) -> bool:
    """Word by word. Short words are told apart by a letter ("Ada", "add"), long ones are not.

    A phrase of one word has nothing else to be known by, so it must be nearly right.
    """
    return len(heard) == len(phrase) > 1 and all(
        _likeness(one, other) >= (SHORT_LIKENESS if len(other) <= 3 else LONG_LIKENESS)
        for one, other in zip(heard, phrase, strict=True)
    )


def _joined_alike(heard: list[str], phrase: list[str]) -> bool:
    """One word, or heard as fewer words than it has: "Heyada"."""
    one, other = "".join(heard), "".join(phrase)
    if len(phrase) == 1:  # not "compute" or "commuter" for "computer"
        same_ends = one[:1] == other[:1] and one[-1:] == other[-1:]
        return len(heard) == 1 and same_ends and _likeness(one, other) >= SINGLE_LIKENESS
    return len(heard) < len(phrase) and _likeness(one, other) >= JOINED_LIKENESS


def _likeness(one: str, other: str) -> float:
    return SequenceMatcher(None, one, other).ratio()
