"""Remembers which memories were in the prompts of recent turns, so that skills can find out what an
answer was based on."""

from collections import deque
from collections.abc import Callable
from dataclasses import replace

from assistant.context import Conversation
from assistant.events import (
    Event,
    ForgettingBegan,
    ForgettingDone,
    MemoryUsed,
    RecordChanged,
    TurnEnded,
)
from assistant.memory import AnsweredTurn

TURNS = 50
"""Number of turns whose recalled memories are stored."""


class AnsweredTurns:
    """The turns of the running conversation. Use it only on the event loop.

    The text of the memories in the prompts is not stored. So when a memory is purged, only its id
    must be removed here.

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
        self._going: dict[str, frozenset[str]] = {}
        """The ids of memories that are to be purged, by the id of the deletion."""

    def watch(self, event: Event) -> None:
        """Receive an event from the event bus."""
        if isinstance(event, TurnEnded):
            used = tuple(replace(each, text="", words=()) for each in event.memories)
            self._used.append((event.turn, used))
        elif isinstance(event, ForgettingBegan):
            self._going[event.id] = frozenset(event.memories)
        elif isinstance(event, ForgettingDone):
            self._purged(self._going.pop(event.id, None))
        elif isinstance(event, RecordChanged):
            self._purged(None)

    def _purged(self, ids: frozenset[str] | None) -> None:
        """Drop these memories. If `ids` is None, it isn't known which were purged, so drop all."""
        turns = [
            (turn, tuple(each for each in used if ids is not None and each.id not in ids))
            for turn, used in self._used
        ]
        self._used.clear()
        self._used.extend(turns)
        self._forget_questions()

    def all(self) -> list[AnsweredTurn]:
        """Return the turns, oldest first, each with the memories that were in its prompt. The list
        is a copy that may be used on another thread."""
        used = dict(self._used)
        exchanges = self._conversation().exchanges
        return [AnsweredTurn(each, used.get(each.turn, ())) for each in exchanges]
