"""A language model that answers whatever schema is asked of it, and one that fails in every way."""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from enum import Enum, auto
from typing import Any

from assistant.errors import ModelFailed
from models.interfaces import Chunk, Generation, Usage
from tests.support.scripted_model import ScriptedModel

WORDS = "words"
"""Each text of an answer."""


def fitting(schema: Mapping[str, Any]) -> Any:
    """The smallest value that fits, the same each time; of several choices the last."""
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][-1]
    for choice in ("anyOf", "oneOf"):
        if choice in schema:
            return fitting(schema[choice][-1])
    match schema.get("type"):
        case "object":
            wanted = schema.get("required", ())
            return {key: fitting(schema["properties"][key]) for key in wanted}
        case "array":
            return [fitting(schema["items"]) for _ in range(schema.get("minItems", 0))]
        case "integer" | "number":
            return schema.get("minimum", 0)
        case "boolean":
            return True
        case "null":
            return None
    return WORDS


class FittingModel(ScriptedModel):
    """For work that is not known yet: it gets an answer of the form that it wants."""

    async def stream(self, request: Generation) -> AsyncGenerator[Chunk]:
        schema = request.json_schema
        yield Chunk(json.dumps(fitting(schema)) if schema is not None else WORDS)
        yield Chunk("", Usage(1, 0, 1))


class Fault(Enum):
    RUBBISH = auto()
    """It is no JSON."""
    WRONG = auto()
    """It is, but of another form."""
    ENDLESS = auto()
    HANGS = auto()
    STUBBORN = auto()
    """Hangs, and goes on when it is cancelled."""
    DIES = auto()


class FaultyModel(FittingModel):
    """As long as it has a `fault`."""

    def __init__(self, fault: Fault | None) -> None:
        super().__init__()
        self.fault = fault
        self.asked = asyncio.Event()
        self.freed = asyncio.Event()
        """What is stubborn gives up then."""

    async def stream(self, request: Generation) -> AsyncGenerator[Chunk]:
        self.asked.set()
        match self.fault:
            case None:
                async for chunk in super().stream(request):
                    yield chunk
            case Fault.RUBBISH:
                yield Chunk("Sure! Here you are: {")
            case Fault.WRONG:
                yield Chunk('{"something": ["else"]}')
            case Fault.ENDLESS:
                while True:
                    yield Chunk('{"worth": "')
                    await asyncio.sleep(0)
            case Fault.HANGS:
                await asyncio.Event().wait()
            case Fault.STUBBORN:
                while not self.freed.is_set():
                    try:
                        await self.freed.wait()
                    except asyncio.CancelledError:
                        continue
            case Fault.DIES:
                raise ModelFailed("The language model ended in the middle of its answer.")
