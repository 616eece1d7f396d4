"""Older exchanges that stay in the window since they matter, while those around them leave it.

What matters is chosen when the window is cut, and when a summary takes the place of its older part:
all after it is read anew then anyway. In between the choice stays, so that the prompt's beginning
is the same bytes from turn to turn.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from assistant.context.conversation import Conversation, Exchange
from assistant.context.rendering import Group, group_exchanges

Importance = Callable[[Sequence[Exchange]], Mapping[str, float]]
"""How much each of these matters, in [0, 1], by its id; of what isn't there nothing is known. It is
quick: it is asked on the event loop, once in dozens of turns."""

MIN_IMPORTANCE = 0.6
"""What matters less leaves by its age."""


def no_importance(_: Sequence[Exchange]) -> Mapping[str, float]:
    """Nothing matters more than the rest."""
    return {}


class EvictionPolicy:
    """Holds ids alone.

    Args:
        cost: tokens of a group in the history.
        room: tokens that they may take in all; 0 keeps none.
    """

    def __init__(self, importance: Importance, cost: Callable[[Group], int], room: int) -> None:
        self._importance = importance
        self._cost = cost
        self._room = room
        self._summary = ""
        self._covered: frozenset[str] = frozenset()

    def in_view(self, conversation: Conversation, left: Iterable[str]) -> list[Exchange]:
        """What no summary covers, and what of the rest matters, in order.

        Args:
            left: exchanges that left the window before; they don't come back.
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
        """In the order in which they leave: the oldest first, and last of all what matters."""
        chosen = {group.ids for group in self._chosen(groups)}
        last = [group for group in groups if group.ids in chosen]
        return [group for group in groups if group.ids not in chosen] + last

    def _chosen(self, groups: Sequence[Group]) -> list[Group]:
        """What matters most, as far as there is room; of what matters as much the newest."""
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
