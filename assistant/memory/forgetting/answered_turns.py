"""Keeps track of the memories in the prompts of recent turns, and of the things that the assistant
has named since the last turn."""

from collections import deque
from collections.abc import Callable, Iterable
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
from assistant.memory.forgetting.answer_origins import AnsweredTurn, Things

TURNS = 50
"""Number of turns whose recalled memories are stored."""


class AnsweredTurns:
    """The turns of the running conversation, and the things that the assistant has named since the
    last turn. Use it only on the event loop.

    The text of the memories in the prompts is not stored. So when a memory is purged, only its id
    must be removed here.

    Args:
        conversation: returns the running conversation.
        forget_questions: clears the caches of earlier questions.
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
        self.named: Things = ()
        """The things named by the last reply to a command: they were read out, stored, corrected,
        forgotten or brought back. The user's "that" refers to them until another turn ends, even if
        none of them exists any more."""

    def watch(self, event: Event) -> None:
        """Receive an event from the event bus."""
        if isinstance(event, TurnEnded):
            used = tuple(replace(each, text="", words=()) for each in event.memories)
            self._used.append((event.turn, used))
            self.named = ()
        elif isinstance(event, ForgettingBegan):
            self._going[event.id] = frozenset(event.memories)
        elif isinstance(event, ForgettingDone):
            self._purged(self._going.pop(event.id, None))
        elif isinstance(event, RecordChanged):
            self._purged(None)

    def spoke_of(self, things: Iterable[Iterable[str]]) -> None:
        """Note the things that a reply names. A reply that names nothing changes nothing.

        Args:
            things: for each thing, the ids of the memories or exchanges that contain it; no ids if
                it was forgotten.
        """
        self.named = tuple(tuple(ids) for ids in things) or self.named

    def _purged(self, ids: frozenset[str] | None) -> None:
        """Drop these memories. If `ids` is None, it isn't known which were purged, so drop all."""
        turns = [
            (turn, tuple(each for each in used if ids is not None and each.id not in ids))
            for turn, used in self._used
        ]
        self._used.clear()
        self._used.extend(turns)
        self.named = tuple(
            tuple(each for each in ids_of if ids is None or each not in ids)
            for ids_of in self.named
        )
        self._forget_questions()

    def all(self) -> list[AnsweredTurn]:
        """Return the turns, oldest first, each with the memories that were in its prompt. The list
        is a copy that may be used on another thread."""
        used = dict(self._used)
        exchanges = self._conversation().exchanges
        return [AnsweredTurn(each, used.get(each.turn, ())) for each in exchanges]
