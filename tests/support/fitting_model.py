"""A language model whose answer fits any requested schema, and one that fails in several ways."""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from enum import Enum, auto
from typing import Any

from assistant.errors import ModelFailed
from models.interfaces import Chunk, Generation, Usage
from tests.support.scripted_model import ScriptedModel

WORDS = "words"
"""The value of every string in an answer."""


def fitting(schema: Mapping[str, Any]) -> Any:
    """The smallest value that fits, the same each time. Among several choices, it is the last."""
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
    """Lets tests run any idle work, even kinds added later: its answers fit any schema."""

    async def stream(self, request: Generation) -> AsyncGenerator[Chunk]:
        schema = request.json_schema
        yield Chunk(json.dumps(fitting(schema)) if schema is not None else WORDS)
        yield Chunk("", Usage(1, 0, 1))


class Fault(Enum):
    RUBBISH = auto()
    """The answer is not JSON."""
    WRONG = auto()
    """The answer is JSON, but doesn't fit the schema."""
    ENDLESS = auto()
    HANGS = auto()
    STUBBORN = auto()
    """The model hangs and ignores being cancelled."""
    DIES = auto()


class FaultyModel(FittingModel):
    """Fails as long as its `fault` is set, and otherwise answers like `FittingModel`."""

    def __init__(self, fault: Fault | None) -> None:
        super().__init__()
        self.fault = fault
        self.asked = asyncio.Event()
        self.freed = asyncio.Event()
        """Once this is set, a stubborn answer gives up."""

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
                raise ModelFailed("The language model stopped in the middle of its answer.")
