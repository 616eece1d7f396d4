"""Converts exchanges to the messages of a chat template.

The templates of some model families reject two consecutive messages with the same role. So if no
word of an answer was heard, the user's words are joined with the user's next words.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from assistant.context.conversation import Exchange
from models.interfaces import Message

CUT_MARK = " […] "
LONGEST_TOKEN = 8
"""Assumed maximum number of characters per token. Ordinary text has fewer on average."""


@dataclass(frozen=True, slots=True)
class Group:
    """Consecutive exchanges that are rendered as one pair of messages, and so leave the window
    together.

    Only the last exchange has an answer; the other answers were interrupted before their first
    word.
    """

    exchanges: tuple[Exchange, ...]

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(exchange.id for exchange in self.exchanges)

    def messages(self, wording: Callable[[Exchange], str]) -> tuple[Message, ...]:
        """Return the user message and the assistant message of the group.

        Args:
            wording: returns what the user said in an exchange, as the model may see it.
        """
        words = "\n".join(wording(exchange) for exchange in self.exchanges)
        return Message("user", words), Message("assistant", self.exchanges[-1].assistant_text)


def group_exchanges(exchanges: Sequence[Exchange]) -> tuple[list[Group], tuple[Exchange, ...]]:
    """Group exchanges so that each group ends with an answer. Return the groups, oldest first, and
    the unanswered exchanges after the last answer.

    The unanswered exchanges get no message of their own. Their words are put at the start of the
    next user message.
    """
    groups: list[Group] = []
    pending: list[Exchange] = []
    for exchange in exchanges:
        pending.append(exchange)
        if exchange.assistant_text:
            groups.append(Group(tuple(pending)))
            pending = []
    return groups, tuple(pending)


def largest(most: int, fits: Callable[[int], bool]) -> int:
    """Return the largest size up to `most` that fits, found by bisection. Return 0 if no size
    fits."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if fits(middle):
            low = middle
        else:
            high = middle - 1
    return low


def shortened(text: str, limit: int, count: Callable[[str], int]) -> tuple[int, int] | None:
    """Determine where to cut `text` so that its beginning and its end together have at most `limit`
    tokens.

    Return the number of characters to keep at the beginning and at the end, or None if `text` needs
    no cut. Cuts fall between words where possible. The result contains no user text, so it may be
    stored.
    """
    if len(text.encode("utf-8", "replace")) <= limit:  # no token is shorter than a byte
        return None
    if len(text) <= limit * LONGEST_TOKEN and count(text) <= limit:
        return None
    size = largest(
        min(len(text), limit * LONGEST_TOKEN) // 2,
        lambda size: count(cut(text, (size, size))) <= limit,
    )
    return _between_words(text, size)


def cut(text: str, kept: tuple[int, int]) -> str:
    """Return the beginning and the end of `text`, with a mark in place of its middle.

    Args:
        kept: the number of characters to keep at the beginning and at the end.
    """
    head, tail = kept
    return f"{text[:head]}{CUT_MARK}{text[len(text) - tail :]}".strip()


def _between_words(text: str, size: int) -> tuple[int, int]:
    """Move each cut to a space, so that no word is split, unless this would remove more than half
    of the text on that side."""
    head = text.rfind(" ", 0, size + 1)
    tail = text.find(" ", max(0, len(text) - size - 1))
    after = len(text) - tail - 1
    return (
        head if head > size // 2 else size,
        after if tail >= 0 and after > size // 2 else size,
    )
