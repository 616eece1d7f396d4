"""Keeps older exchanges that matter in the window when those around them leave it.

The choice is made when the window is cut, and when a summary replaces its older part: in both cases
the model must re-read everything after that point anyway. In between the choice stays the same, so
that the prompt starts with the same bytes from turn to turn.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from assistant.context.conversation import Conversation, Exchange
from assistant.context.rendering import Group, group_exchanges

Importance = Callable[[Sequence[Exchange]], Mapping[str, float]]
"""Returns how much each exchange matters, in [0, 1], by id; unknown ones are missing. It must be
fast: it runs on the event loop, once in dozens of turns."""

MIN_IMPORTANCE = 0.6
"""Exchanges below this leave by age."""


def no_importance(_: Sequence[Exchange]) -> Mapping[str, float]:
    """Rates nothing as more important than the rest."""
    return {}


class EvictionPolicy:
    """Chooses the exchanges to keep; it stores only their ids.

    Args:
        cost: tokens that a group takes in the history.
        room: tokens for all kept groups together; 0 keeps none.
    """

    def __init__(self, importance: Importance, cost: Callable[[Group], int], room: int) -> None:
        self._importance = importance
        self._cost = cost
        self._room = room
        self._summary = ""
        self._covered: frozenset[str] = frozenset()

    def in_view(self, conversation: Conversation, left: Iterable[str]) -> list[Exchange]:
        """The exchanges that no summary covers, plus the important ones that it does, in order.

        Args:
            left: exchanges that left the window earlier; they don't come back.
        """
        summary = conversation.summary
        if summary is None or not self._room:
            return list(conversation.uncovered)
        covers = frozenset(summary.covers)
        if summary.id != self._summary:
            gone = frozenset(left)
            older = [e for e in conversation.exchanges if e.id in covers and e.id not in gone]
            self._summary = summary.id
            self._covered = frozenset(
                key for group in self._chosen(group_exchanges(older)[0]) for key in group.ids
            )
        kept = self._covered
        return [e for e in conversation.exchanges if e.id not in covers or e.id in kept]

    def leaving(self, groups: Sequence[Group]) -> list[Group]:
        """The groups in the order in which they leave: oldest first, important ones last."""
        chosen = {group.ids for group in self._chosen(groups)}
        last = [group for group in groups if group.ids in chosen]
        return [group for group in groups if group.ids not in chosen] + last

    def _chosen(self, groups: Sequence[Group]) -> list[Group]:
        """The most important groups that fit; the newer first where equal."""
        if not self._room:
            return []
        weights = self._importance([each for group in groups for each in group.exchanges])
        weighed = [
            (max(weights.get(key, 0.0) for key in group.ids), place, group)
            for place, group in enumerate(groups)
        ]
        chosen, room = [], self._room
        for weight, _, group in sorted(weighed, key=lambda each: each[:2], reverse=True):
            if weight >= MIN_IMPORTANCE and (cost := self._cost(group)) <= room:
                chosen.append(group)
                room -= cost
        return chosen
