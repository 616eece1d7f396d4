"""Decides whether speech is addressed to the assistant: asleep, awake, wake phrase, follow-up."""

import time

from rapidfuzz.distance.Indel import normalized_similarity as likeness

from assistant.intents import normalised
from assistant.settings import Settings

SHORT_LIKENESS = 0.7
LONG_LIKENESS = 0.6
JOINED_LIKENESS = 0.85
SINGLE_LIKENESS = 0.9
"""Minimum similarity, letter by letter, between what was heard and the wake phrase: names are
often misheard."""


def without_wake_phrase(text: str, wake_phrase: str) -> str | None:
    """The rest of `text` after a wake phrase at its beginning, allowing for recognition errors;
    None if it doesn't begin with the phrase."""
    phrase = normalised(wake_phrase).split()
    words = text.split()
    for taken in range(len(phrase), 0, -1):
        heard = normalised(" ".join(words[:taken])).split()
        if heard and (_alike(heard, phrase) or _joined_alike(heard, phrase)):
            return " ".join(words[taken:]).lstrip(" ,.;:!?-")
    return None


def _alike(heard: list[str], phrase: list[str]) -> bool:
    """Compare word by word. Short words that differ in one letter ("Ada", "add") count as
    different, long ones as alike.

    A single word gives no other evidence, so `_joined_alike` requires it to be nearly right.
    """
    return len(heard) == len(phrase) > 1 and all(
        likeness(one, other) >= (SHORT_LIKENESS if len(other) <= 3 else LONG_LIKENESS)
        for one, other in zip(heard, phrase, strict=True)
    )


def _joined_alike(heard: list[str], phrase: list[str]) -> bool:
    """Compare a phrase that has one word, or was heard as fewer words than it has ("Heyada")."""
    one, other = "".join(heard), "".join(phrase)
    if len(phrase) == 1:  # not "compute" or "commuter" for "computer"
        same_ends = one[:1] == other[:1] and one[-1:] == other[-1:]
        return len(heard) == 1 and same_ends and likeness(one, other) >= SINGLE_LIKENESS
    return len(heard) < len(phrase) and likeness(one, other) >= JOINED_LIKENESS


class AddresseeDetector:
    """Decides which speech to act on.

    Awake: all speech or, if a wake phrase is set, only speech that begins with it or follows an
    answer. Asleep: only the wake phrase ("hey" and the assistant's name if none is set)."""

    def __init__(self, settings: Settings) -> None:
        self._required = bool(settings.turn.wake_phrase)
        self._follow_up_s = settings.turn.follow_up_s
        self._last_answer = float("-inf")
        self.asleep = False
        name = settings.persona.name
        self.wake_phrase = settings.turn.wake_phrase or f"hey {name}"
        self.names = (self.wake_phrase, f"hey {name}", name)
        """Names that may precede or follow a command, as in "stop, Ada"."""

    def answered(self) -> None:
        """An answer has just ended."""
        self._last_answer = time.monotonic()

    def meant_for_me(self, text: str, *, answering: bool) -> str | None:
        """The words addressed to the assistant, without the wake phrase; None if there are none.

        An empty string means that only the wake phrase was said.
        """
        called = None
        if self.asleep or self._required:
            called = without_wake_phrase(text, self.wake_phrase)
        if called is not None or self.asleep:
            return called
        if not self._required or answering:
            return text
        follows = time.monotonic() - self._last_answer <= self._follow_up_s
        return text if follows else None
