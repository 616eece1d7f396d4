"""Whether what is said is said to the assistant: asleep, awake, wake phrase, follow-up."""

import time

from assistant.settings import Settings
from assistant.voice.commands import addressed


class Attention:
    """Awake, it heeds all speech, or with a wake phrase set, that which begins with it or follows
    an answer. Asleep, only the wake phrase ("hey" and its name, where none is set)."""

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
        """What may stand before or after a command: "stop, Ada"."""
        return (self.wake_phrase, f"hey {self._name}", self._name)

    def answered(self) -> None:
        """An answer has just ended."""
        self._last_answer = time.monotonic()

    def meant_for_me(self, text: str, *, answering: bool) -> str | None:
        """What was said to the assistant, without the wake phrase; None when it wasn't meant.

        An empty string is the wake phrase alone.
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
