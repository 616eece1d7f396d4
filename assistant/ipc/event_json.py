"""Events as JSON objects, and back: how they reach a screen in another process, and how a recorded
conversation holds them.

    {"type": "TurnHeard", "turn": 3, "text": "what is it"}
"""

from functools import cache

from pydantic import TypeAdapter, ValidationError

from assistant.errors import StoreError
from assistant.events import Event
from assistant.ipc.messages import Row


def event_to_json(event: Event) -> Row:
    """An event as JSON knows it."""
    name = type(event).__name__
    row: Row = _adapters()[name].dump_python(event, mode="json")
    return {"type": name, **row}


def event_from_json(row: Row) -> Event:
    """The event of a row.

    Raises:
        StoreError: it is none, or of a version that knows other events.
    """
    fields = dict(row)
    name = fields.pop("type", "")
    adapter = _adapters().get(name)
    if adapter is None:
        raise StoreError("This is not an event that this version knows.")
    try:
        return adapter.validate_python(fields)
    except ValidationError as error:
        raise StoreError(f"This is not a {name} as this version knows it.") from error


@cache
def _adapters() -> dict[str, TypeAdapter[Event]]:
    """By the events' names."""
    return {kind.__name__: TypeAdapter(kind) for kind in Event.__subclasses__()}
