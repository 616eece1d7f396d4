"""Decides whether speech is addressed to the assistant: asleep, awake, wake phrase, follow-up."""

import time
from dataclasses import dataclass

from rapidfuzz.distance.Indel import normalized_similarity as likeness

from assistant.intents import normalised
from assistant.settings import Settings

SHORT_LIKENESS = 0.7


LONG_LIKENESS = 0.6


JOINED_LIKENESS = 0.85


SINGLE_LIKENESS = 0.9
"""Minimum similarity, letter by letter, between what was heard and the wake phrase: names are
often misheard."""


@dataclass(frozen=True, slots=True)
class Addressed:
    """Speech that began with the wake phrase; `rest` is what followed."""

    rest: str


def addressed(text: str, wake_phrase: str) -> Addressed | None:
    """Whether `text` begins with the wake phrase, allowing for recognition errors."""
    phrase = normalised(wake_phrase).split()
    words = text.split()
    for taken in range(len(phrase), 0, -1):
        heard = normalised(" ".join(words[:taken])).split()
        if heard and (_alike(heard, phrase) or _joined_alike(heard, phrase)):
            return Addressed(" ".join(words[taken:]).lstrip(" ,.;:!?-"))
    return None


def _alike(heard: list[str], phrase: list[str]) -> bool:
    """Compare word by word. One letter sets short words apart ("Ada", "add"), but not long ones.

    A phrase of one word has nothing else to go by, so it must be nearly right.
    """
    return len(heard) == len(phrase) > 1 and all(
        likeness(one, other) >= (SHORT_LIKENESS if len(other) <= 3 else LONG_LIKENESS)
        for one, other in zip(heard, phrase, strict=True)
    )


def _joined_alike(heard: list[str], phrase: list[str]) -> bool:
    """Compare a phrase of one word, or one that was heard as fewer words than it has: "Heyada"."""
    one, other = "".join(heard), "".join(phrase)
    if len(phrase) == 1:  # not "compute" or "commuter" for "computer"
        same_ends = one[:1] == other[:1] and one[-1:] == other[-1:]
        return len(heard) == 1 and same_ends and likeness(one, other) >= SINGLE_LIKENESS
    return len(heard) < len(phrase) and likeness(one, other) >= JOINED_LIKENESS


class AddresseeDetector:
    """Decides what speech to act on.

    Awake: all speech or, if a wake phrase is set, only speech that begins with it or follows an
    answer. Asleep: only the wake phrase ("hey" and the assistant's name if none is set)."""

    def __init__(self, settings: Settings) -> None:
        self._required = settings.turn.wake_phrase
        self._follow_up_s = settings.turn.follow_up_s
        self._name = settings.persona.name
        self._last_answer = float("-inf")
        self.asleep = False

    @property
    def wake_phrase(self) -> str:
        return self._required or f"hey {self._name}"

    @property
    def names(self) -> tuple[str, ...]:
        """What may precede or follow a command: "stop, Ada"."""
        return (self.wake_phrase, f"hey {self._name}", self._name)

    def answered(self) -> None:
        """An answer has just ended."""
        self._last_answer = time.monotonic()

    def meant_for_me(self, text: str, *, answering: bool) -> str | None:
        """The words addressed to the assistant, without the wake phrase; None if there are none.

        An empty string means the wake phrase alone.
        """
        call = addressed(text, self.wake_phrase)
        if call is not None and (self.asleep or self._required):
            return call.rest
        if self.asleep:
            return None
        if not self._required or answering:
            return text
        follows = time.monotonic() - self._last_answer <= self._follow_up_s
        return text if follows else None
