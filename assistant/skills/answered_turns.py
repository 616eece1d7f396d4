"""Remembers which memories were in the prompts of recent turns, so that skills can find out what an
answer was based on."""

from collections import deque
from collections.abc import Callable

from assistant.context import Conversation
from assistant.events import Event, ForgettingDone, MemoryUsed, RecordChanged, TurnEnded
from assistant.memory import AnsweredTurn

TURNS = 50
"""Number of turns whose recalled memories are stored."""


class AnsweredTurns:
    """The turns of the running conversation. Use it only on the event loop.

    Args:
        conversation: returns the running conversation.
        forget_questions: clears the caches about earlier questions.
    """

    def __init__(
        self,
        conversation: Callable[[], Conversation],
        forget_questions: Callable[[], object] = lambda: None,
    ) -> None:
        self._conversation = conversation
        self._forget_questions = forget_questions
        self._used: deque[tuple[int, tuple[MemoryUsed, ...]]] = deque(maxlen=TURNS)

    def watch(self, event: Event) -> None:
        """Receive an event from the event bus."""
        if isinstance(event, TurnEnded):
            self._used.append((event.turn, event.memories))
        elif isinstance(event, ForgettingDone | RecordChanged):
            self._used.clear()
            self._forget_questions()

    def all(self) -> list[AnsweredTurn]:
        """Return the turns, oldest first, each with the memories that were in its prompt. The list
        is a copy that may be used on another thread."""
        used = dict(self._used)
        exchanges = self._conversation().exchanges
        return [AnsweredTurn(each, used.get(each.turn, ())) for each in exchanges]
