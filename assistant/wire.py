"""Events as JSON objects, and back: how they reach a screen in another process, and how a recorded
conversation holds them.

    {"type": "TurnHeard", "turn": 3, "text": "what is it"}
"""

from functools import cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from assistant.errors import StoreError
from assistant.events import Event

Row = dict[str, Any]


def encode(event: Event) -> Row:
    """An event as JSON knows it."""
    kind = type(event)
    row: Row = _adapter(kind).dump_python(event, mode="json")
    return {"type": kind.__name__, **row}


def decode(row: Row) -> Event:
    """The event of a row.

    Raises:
        StoreError: it is none, or of a version that knows other events.
    """
    fields = dict(row)
    kind = _kinds().get(fields.pop("type", ""))
    if kind is None:
        raise StoreError("This is not an event that this version knows.")
    try:
        return _adapter(kind).validate_python(fields)
    except ValidationError as error:
        raise StoreError(f"This is not a {kind.__name__} as this version knows it.") from error


@cache
def _kinds() -> dict[str, type[Event]]:
    return {kind.__name__: kind for kind in Event.__subclasses__()}


@cache
def _adapter(kind: type[Event]) -> TypeAdapter[Event]:
    return TypeAdapter(kind)
