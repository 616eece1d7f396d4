"""The conversation so far, and the summary of its older part.

Exchanges are immutable. An update replaces an exchange with a new object, so that exchanges
returned earlier never change. The exchanges that a summary covers stay in the conversation word for
word. If the summary is dropped, they are visible again.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from uuid import uuid4


@dataclass(frozen=True, slots=True)
class Exchange:
    """One turn of the conversation: the user's words and the assistant's answer.

    `assistant_text` contains only the words that reached the loudspeaker. It is empty if the answer
    was interrupted before its first word. Times are UTC. `ended` is None while the answer is in
    progress.
    """

    id: str
    turn: int
    user_text: str
    started: datetime
    assistant_text: str = ""
    interrupted: bool = False
    ended: datetime | None = None

    @property
    def open(self) -> bool:
        return self.ended is None

    @property
    def message_count(self) -> int:
        return 1 + bool(self.assistant_text)


Importance = Callable[[Sequence[Exchange]], Mapping[str, float]]
"""Returns the importance of each exchange, in [0, 1], by its id. The result omits unknown
exchanges. The function must be fast, because it runs on the event loop, though only once in dozens
of turns."""


def no_importance(_: Sequence[Exchange]) -> Mapping[str, float]:
    """Return no ratings, so that all exchanges are equally important."""
    return {}


@dataclass(frozen=True, slots=True)
class Summary:
    """A short version of the conversation's older part.

    `covers` contains the ids of all exchanges that the text is based on, directly or through
    earlier summaries. If any of these exchanges is forgotten, the summary is dropped.
    """

    id: str
    text: str
    covers: tuple[str, ...]
    created: datetime


def new_id() -> str:
    return uuid4().hex


class Conversation:
    """One user's conversation. Not thread-safe: use it on the event loop only."""

    def __init__(
        self,
        conversation_id: str,
        user: str,
        exchanges: Sequence[Exchange] = (),
        summary: Summary | None = None,
    ) -> None:
        self.id = conversation_id
        self.user = user
        self._exchanges = list(exchanges)
        self._summary: Summary | None = None
        if summary is not None:
            self.apply(summary)

    @classmethod
    def begin(cls, user: str) -> "Conversation":
        return cls(new_id(), user)

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        """All exchanges, oldest first, including those that the summary covers."""
        return tuple(self._exchanges)

    @property
    def summary(self) -> Summary | None:
        return self._summary

    @property
    def uncovered(self) -> tuple[Exchange, ...]:
        """The exchanges that the summary does not cover, oldest first."""
        if self._summary is None:
            return tuple(self._exchanges)
        covered = frozenset(self._summary.covers)
        return tuple(exchange for exchange in self._exchanges if exchange.id not in covered)

    @property
    def last_turn(self) -> int:
        """The number of the last turn, or 0 before the first turn. Numbering continues after a
        restart, so that turn numbers stay unique."""
        return max((exchange.turn for exchange in self._exchanges), default=0)

    def append_user(self, turn: int, text: str, started: datetime | None = None) -> Exchange:
        """Add a new exchange with the user's words. The exchange stays open until `complete` is
        called."""
        exchange = Exchange(new_id(), turn, text, started or datetime.now(UTC))
        self._exchanges.append(exchange)
        return exchange

    def complete(
        self,
        turn: int,
        heard_text: str,
        interrupted: bool = False,
        *,
        ended: datetime | None = None,
    ) -> Exchange:
        """Close the open exchange of `turn` with the words that were heard.

        Raises:
            LookupError: no exchange of this turn is open.
        """
        for index, exchange in reversed(list(enumerate(self._exchanges))):
            if exchange.turn == turn and exchange.open:
                closed = replace(
                    exchange,
                    assistant_text=heard_text.strip(),
                    interrupted=interrupted,
                    ended=ended or datetime.now(UTC),
                )
                self._exchanges[index] = closed
                return closed
        raise LookupError(f"turn {turn} is not open")

    def apply(self, summary: Summary) -> bool:
        """Let `summary` take the place of all exchanges that it covers.

        Return False and change nothing if `summary` is outdated: one of its exchanges was removed
        or is still open, or it does not cover everything that the current summary covers.
        """
        complete = {exchange.id for exchange in self._exchanges if not exchange.open}
        before = set(self._summary.covers) if self._summary is not None else set()
        covers = set(summary.covers)
        if not summary.covers or not covers <= complete or not before <= covers:
            return False
        self._summary = summary
        return True

    def hide(self, ids: Iterable[str]) -> frozenset[str]:
        """Remove exchanges from the conversation. Return the ids that were found.

        If the summary covers one of the removed exchanges, drop the summary too. The other
        exchanges that the summary covered become visible again.
        """
        wanted = frozenset(ids)
        gone = frozenset(exchange.id for exchange in self._exchanges if exchange.id in wanted)
        self._exchanges = [exchange for exchange in self._exchanges if exchange.id not in gone]
        if self._summary is not None and not wanted.isdisjoint(self._summary.covers):
            self._summary = None
        return gone

    def unhide(self, exchanges: Iterable[Exchange]) -> None:
        """Undo `hide`: put the missing exchanges back in their places. No summary covers them."""
        present = {exchange.id: exchange for exchange in self._exchanges}
        every = {exchange.id: exchange for exchange in exchanges} | present
        self._exchanges = sorted(every.values(), key=lambda exchange: exchange.started)
