"""Spoken commands of the loop itself, recognised without a language model.

Pure functions on the transcript; what a command does is `SpokenCommands`' business.
"""

import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import Enum, auto

SHORT_LIKENESS = 0.7
LONG_LIKENESS = 0.6
JOINED_LIKENESS = 0.85
SINGLE_LIKENESS = 0.9
"""How alike what was heard and the wake phrase must be, letter by letter: names are misheard."""

_POLITE = (
    r"(?:(?:please|okay|ok|hey|now|so|just|well|oh|alright|all right|you can|could you|can you)"
    r"\s+)*"
)
_TAIL = r"(?:\s+(?:please|now|then|thanks|thank you|for now))*"
_STOP = re.compile(
    rf"{_POLITE}(?:stop|stop it|stop that|stop talking|stop speaking|be quiet|quiet|shut up|hush|"
    rf"that's enough|enough|silence){_TAIL}"
)
_SLEEP = re.compile(
    rf"{_POLITE}(?:go to sleep|go back to sleep|sleep now|stop listening|stop listening to me)"
    rf"{_TAIL}"
)
_WAKE = re.compile(rf"{_POLITE}(?:wake up|start listening|are you awake){_TAIL}")


class Command(Enum):
    STOP = auto()
    """Be silent; nothing is answered."""
    SLEEP = auto()
    """Heed nothing until woken."""
    WAKE = auto()


@dataclass(frozen=True, slots=True)
class Addressed:
    """Speech that began with the wake phrase; `rest` is what followed it."""

    rest: str


def plain(text: str) -> str:
    """Lower case, without punctuation and doubled spaces: what commands are matched against."""
    return " ".join(re.sub(r"[^\w\s']", " ", text.lower().replace("’", "'")).split())


def recognise(text: str, names: tuple[str, ...] = ()) -> Command | None:
    """The command that `text` is, all of it; None when it is anything else.

    `names` are the assistant's own name and wake phrase, which may stand at either end.
    """
    words = plain(text)
    for name in filter(None, map(plain, names)):
        words = re.sub(rf"^{re.escape(name)}\s+|\s+{re.escape(name)}$", "", words)
    for command, pattern in (
        (Command.STOP, _STOP),
        (Command.SLEEP, _SLEEP),
        (Command.WAKE, _WAKE),
    ):
        if pattern.fullmatch(words):
            return command
    return None


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
