"""Decides whether speech is addressed to the assistant, e.g. because of a wake phrase."""

import time

from rapidfuzz.distance.Indel import normalized_similarity as likeness

from assistant.intents import normalised
from assistant.settings import Settings

# All similarities are by letters. They are below 1 because the recogniser often misspells names.
SHORT_LIKENESS = 0.7
"""Minimum similarity of a word heard and a word of the wake phrase with up to three letters."""
LONG_LIKENESS = 0.6
"""Minimum similarity of a word heard and a longer word of the wake phrase."""
JOINED_LIKENESS = 0.85
"""Minimum similarity of the words heard and the wake phrase if the recogniser joined words."""
SINGLE_LIKENESS = 0.9
"""Minimum similarity of a word heard and a wake phrase of one word."""


def without_wake_phrase(text: str, wake_phrase: str) -> str | None:
    """Remove the wake phrase from the beginning of `text`, allowing for recognition errors. Return
    None if `text` doesn't begin with the wake phrase."""
    phrase = normalised(wake_phrase).split()
    words = text.split()
    for taken in range(len(phrase), 0, -1):
        heard = normalised(" ".join(words[:taken])).split()
        if heard and (_alike(heard, phrase) or _joined_alike(heard, phrase)):
            return " ".join(words[taken:]).lstrip(" ,.;:!?-")
    return None


def _alike(heard: list[str], phrase: list[str]) -> bool:
    """Whether the words heard are similar to a phrase of several words, word by word. Short words
    that differ in one letter, e.g. "Ada" and "add", count as different. Long ones count as similar.
    """
    return len(heard) == len(phrase) > 1 and all(
        likeness(one, other) >= (SHORT_LIKENESS if len(other) <= 3 else LONG_LIKENESS)
        for one, other in zip(heard, phrase, strict=True)
    )


def _joined_alike(heard: list[str], phrase: list[str]) -> bool:
    """Whether the words heard are similar to a phrase when written without spaces. This applies to
    phrases of one word, and to words that the recogniser joined, e.g. "Heyada". A single word must
    be nearly right, since nothing else is compared.
    """
    one, other = "".join(heard), "".join(phrase)
    if len(phrase) == 1:  # not "compute" or "commuter" for "computer"
        same_ends = one[:1] == other[:1] and one[-1:] == other[-1:]
        return len(heard) == 1 and same_ends and likeness(one, other) >= SINGLE_LIKENESS
    return len(heard) < len(phrase) and likeness(one, other) >= JOINED_LIKENESS


class AddresseeDetector:
    """Decides which speech is addressed to the assistant.

    While the assistant is asleep, it reacts only to speech that begins with the wake phrase. While
    awake, it reacts to all speech. But if the settings contain a wake phrase, speech must begin
    with the wake phrase, or come during or soon after an answer. The default wake phrase is "hey"
    and the assistant's name.
    """

    def __init__(self, settings: Settings) -> None:
        self._required = bool(settings.turn.wake_phrase)
        self._follow_up_s = settings.turn.follow_up_s
        self._last_answer = float("-inf")
        self._asleep = False
        self.sleeps = 0
        """Number of times that the assistant has been put to sleep."""
        name = settings.persona.name
        self.wake_phrase = settings.turn.wake_phrase or f"hey {name}"
        self.names = (self.wake_phrase, f"hey {name}", name)
        """Names of the assistant that may precede or follow a command, e.g. in "stop, Ada"."""

    @property
    def asleep(self) -> bool:
        return self._asleep

    @asleep.setter
    def asleep(self, asleep: bool) -> None:
        self._asleep = asleep
        self.sleeps += asleep

    def answered(self) -> None:
        """Note that an answer has just ended."""
        self._last_answer = time.monotonic()

    def meant_for_me(self, text: str, *, answering: bool) -> str | None:
        """Return the words addressed to the assistant, without the wake phrase. Return None if the
        text is not addressed to it, and "" if the user said only the wake phrase.

        Args:
            answering: whether the assistant is answering or speaking.
        """
        called = None
        if self.asleep or self._required:
            called = without_wake_phrase(text, self.wake_phrase)
        if called is not None or self.asleep:
            return called
        if not self._required or answering:
            return text
        return text if self.follows_answer(time.monotonic()) else None

    def follows_answer(self, moment: float) -> bool:
        """Whether `moment` (`time.monotonic`) is soon after the end of an answer."""
        return moment - self._last_answer <= self._follow_up_s
