"""Converts events to JSON objects and back, for a screen in another process and for recorded
conversations.

    {"type": "TurnHeard", "turn": 3, "text": "what is it"}
"""

from functools import cache

from pydantic import TypeAdapter, ValidationError

from assistant.errors import StoreError
from assistant.events import Event
from assistant.ipc.client import Row


def event_to_json(event: Event) -> Row:
    """Convert an event to JSON."""
    name = type(event).__name__
    row: Row = _adapters()[name].dump_python(event, mode="json")
    return {"type": name, **row}


def event_from_json(row: Row) -> Event:
    """Convert JSON to an event.

    Raises:
        StoreError: the JSON is not an event that this version can read.
    """
    fields = dict(row)
    name = fields.pop("type", "")
    adapter = _adapters().get(name)
    if adapter is None:
        raise StoreError("This is not an event that this version knows.")
    try:
        return adapter.validate_python(fields)
    except ValidationError as error:
        raise StoreError(f"This is not a {name} that this version can read.") from error


@cache
def _adapters() -> dict[str, TypeAdapter[Event]]:
    """Return the converter of each event class, by the name of the class."""
    return {kind.__name__: TypeAdapter(kind) for kind in Event.__subclasses__()}
