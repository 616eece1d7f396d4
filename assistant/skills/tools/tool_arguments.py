"""Checks the arguments of a tool against the user's words.

The language model proposes arguments, and sometimes invents them. So only what the user has said is
passed to a tool: a text that occurs in the utterance, a number that was said, one of the tool's own
choices that was named, a time of day, or the time zone of a place. Everything else is dropped. If
the tool needs it, the user is asked for it.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from assistant.intents import recognise, yes_or_no
from assistant.language.clock_times import clock_time
from assistant.language.dialogue_acts import is_question
from assistant.language.numbers import number_of, with_digits
from assistant.language.places import zone_of
from assistant.memory import says_unknown
from assistant.tool_server_settings import Value
from assistant.tool_servers import Parameter, ParameterKind, Tool

Argument = Value | list[str]
Read = TypeVar("Read")

LONGEST_PLACE, LONGEST_TIME = 4, 6
"""Maximum number of words in the name of a place, and in a time."""
LONGEST_TEXT = 400
"""Maximum number of characters of an argument."""
_WORD = re.compile(r"[^\W_]+(?:[.:'’][^\W_]+)*")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_CLOCK = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)")
_SPELLED_DOT = re.compile(r"(?<=\w) dot (?=\w)", re.IGNORECASE)
_EDGES = " \t\n\"'“”‘’.,;:!?…"
_HALF_DAY = 12 * 60


def supported(tool: Tool, proposed: Mapping[str, Any], said: str) -> dict[str, Argument]:
    """Return the arguments that the user's words support.

    Args:
        proposed: what the language model proposes.
        said: the utterance.
    """
    text = written(said)
    found: dict[str, Argument] = {}
    for parameter in tool.parameters:
        value = _supported(parameter, proposed.get(parameter.name), text)
        if value is not None and _allowed(parameter, value):
            found[parameter.name] = value
    return found


def missing(tool: Tool, arguments: Mapping[str, Argument]) -> Parameter | None:
    """Return the first required parameter that has no argument yet; None if there is none."""
    needed = (each for each in tool.parameters if each.required)
    return next((each for each in needed if each.name not in arguments), None)


_NEGATIVE = re.compile(r"\b(?:minus|negative)\b")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")


def from_answer(parameter: Parameter, said: str) -> Argument | None:
    """Return the argument that the user names when asked for it; None if the words name none.

    >>> from_answer(Parameter("path"), "Shopping dot txt.")
    'Shopping.txt'
    """
    text = written(said).strip(_EDGES)
    unknown = says_unknown(text, only=True)
    if not text or len(text) > LONGEST_TEXT or unknown or _is_no_answer(said):
        return None
    named = _named(parameter, text)
    if isinstance(named, str) and not _allowed(parameter, named):
        named = named.lower()  # nobody says capitals
    return named if named is not None and _allowed(parameter, named) else None


def _is_no_answer(said: str) -> bool:
    """Whether the words are a question or a command."""
    return is_question(said) or recognise(said) is not None


def _allowed(parameter: Parameter, value: Argument) -> bool:
    """Whether a value is within the limits of the parameter's schema."""
    each_value = value if isinstance(value, list) else [value]
    return bool(each_value) and all(map(parameter.limits.allow, each_value))


def _named(parameter: Parameter, text: str) -> Argument | None:
    if parameter.choices:
        return _only_choice(parameter.choices, text)
    match parameter.kind:
        case ParameterKind.SWITCH:
            return yes_or_no(text, (), for_words=False)
        case ParameterKind.NUMBER | ParameterKind.INTEGER:
            value = number_of(text)
            numbers = [value] if value is not None else sorted(_numbers(text))
            return _number(parameter, numbers[0]) if len(numbers) == 1 else None
        case ParameterKind.TEXTS:
            return [each for part in re.split(r",| and ", text) if (each := part.strip(_EDGES))]
    return next(_zones(text), None) if _is_zone(parameter) else text


def written(said: str) -> str:
    """Return an utterance in which each spoken "dot" inside a name is written as a dot.

    >>> written("What's in notes dot txt?")
    "What's in notes.txt?"
    """
    return _SPELLED_DOT.sub(".", said)


def _supported(parameter: Parameter, value: Any, text: str) -> Argument | None:
    if value is None or isinstance(value, Mapping):
        return None
    if parameter.choices:
        return value if value == _only_choice(parameter.choices, text) else None
    match parameter.kind:
        case ParameterKind.NUMBER | ParameterKind.INTEGER:
            plain = isinstance(value, int | float) and not isinstance(value, bool)
            return _number(parameter, value) if plain and float(value) in _numbers(text) else None
        case ParameterKind.SWITCH:
            return None  # words alone don't show whether to switch it on or off
        case ParameterKind.TEXTS:
            parts = [_said_text(parameter, each, text) for each in _texts(value)]
            return [each for each in parts if each] if parts and all(parts) else None
    return _said_text(parameter, value, text)


def _texts(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else []


def _said_text(parameter: Parameter, value: Any, text: str) -> str | None:
    """Return the proposed text as the user said it, or as a time or a time zone that the user
    named."""
    if not isinstance(value, str) or not value.strip(_EDGES) or len(value) > LONGEST_TEXT:
        return None
    if _is_zone(parameter):
        zone = zone_of(value.strip(_EDGES))
        wanted = zone.key if zone is not None else value
        return wanted if wanted in set(_zones(text)) else None
    if (clock := _CLOCK.fullmatch(value)) is not None and value not in text:
        minutes = 60 * int(clock[1]) + int(clock[2])
        return value if _says_time(minutes, text) else None
    kept = _slice(value, text)
    return kept if kept != text.strip(_EDGES) else None  # the whole utterance is not an argument


def _slice(value: str, text: str) -> str | None:
    """Return the part of `text` that equals `value`, ignoring case and whitespace."""
    words = value.strip(_EDGES).split()
    pattern = r"\s+".join(re.escape(word) for word in words)
    found = re.search(rf"(?<!\w){pattern}(?!\w)", text, re.IGNORECASE)
    return found[0] if found else None


def _is_zone(parameter: Parameter) -> bool:
    return "zone" in parameter.spoken or parameter.spoken.endswith(" tz")


def _zones(text: str) -> Iterator[str]:
    """Yield the time zones of the places that the text names."""
    for zone in _read(text, LONGEST_PLACE, zone_of):
        yield zone.key


def _says_time(minutes: int, text: str) -> bool:
    """Whether the text names this time of day. If the text doesn't say which half of the day it
    means, both count."""
    for read, exact in _read(text.lower(), LONGEST_TIME, clock_time):
        said = 60 * read.hour + read.minute
        if said == minutes or (not exact and said % _HALF_DAY == minutes % _HALF_DAY):
            return True
    return False


def _read(text: str, longest: int, read: Callable[[str], Read | None]) -> Iterator[Read]:
    """Yield everything that `read` can read in a text, from left to right. At each word, the
    longest reading counts. Readings don't overlap."""
    words = _WORD.findall(text.replace("a.m.", "am").replace("p.m.", "pm"))
    at = 0
    while at < len(words):
        for end in range(min(len(words), at + longest), at, -1):
            if (found := read(" ".join(words[at:end]))) is not None:
                yield found
                at = end - 1
                break
        at += 1


def _numbers(text: str) -> set[float]:
    """Return the numbers that a text names, in digits or words. Return none at all if it says
    "minus" or "negative": a minus sign can't be told from a dash. Commas between thousands are
    ignored."""
    if _NEGATIVE.search(text.lower()):
        return set()
    text = _THOUSANDS.sub("", text)
    words = re.sub(r"[^\w\s.-]", " ", text.lower()).replace("-", " ").split()
    spoken = " ".join(with_digits([word.strip(".") for word in words], lone=True))
    return {float(each) for each in _NUMBER.findall(f"{text} {spoken}")}


def _number(parameter: Parameter, value: float) -> Value | None:
    if parameter.kind is ParameterKind.NUMBER:
        return value
    return int(value) if float(value).is_integer() else None


def _only_choice(choices: Sequence[str], text: str) -> str | None:
    """Return the choice whose words occur in a text, side by side. If one choice contains all the
    others that occur, return that one. Return None if none occurs, or several different ones."""
    said = f" {' '.join(_words_of(text))} "
    found = [
        each for each in choices if (words := _words_of(each)) and f" {' '.join(words)} " in said
    ]
    longest = max(found, key=len, default=None)
    others = [each for each in found if each != longest and each not in (longest or "")]
    return longest if not others else None


def _words_of(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", text.lower())
