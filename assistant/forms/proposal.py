"""The values that an utterance gives to the slots of a form."""

from dataclasses import dataclass
from enum import StrEnum

from assistant.forms.values import Value


class Way(StrEnum):
    """What is done with a value. Items may also be added to a list, or removed from it."""

    PUT = "put"
    ADD = "add"
    REMOVE = "remove"


@dataclass(frozen=True, slots=True)
class Proposal:
    """A value that the user's words give a slot.

    `words` are part of the utterance, exactly as they were said. If `way` isn't PUT, `value` is a
    list of items.
    """

    slot: str
    value: Value
    words: str
    way: Way = Way.PUT

    def applied(self, before: Value | None) -> Value:
        """Return the slot's new value.

        Args:
            before: its value so far; None if it is empty.
        """
        if self.way is Way.PUT or not isinstance(self.value, list):
            return self.value
        items = before if isinstance(before, list) else []
        folded = [each.casefold() for each in self.value]
        if self.way is Way.REMOVE:
            return [each for each in items if each.casefold() not in folded]
        known = {each.casefold() for each in items}
        return [*items, *(each for each in self.value if each.casefold() not in known)]
