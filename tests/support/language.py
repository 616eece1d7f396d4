"""A prompt, a schema and helpers that the tests of the language models share."""

from pathlib import Path

from assistant.paths import models_cache
from models import catalogue
from models.download.cache import ModelStore
from models.interfaces import Generation, LanguageModel, Message, Usage

TINY = "smollm2-135m-instruct"
SYSTEM = Message(
    "system", "You are Ada, a friendly voice assistant. You answer in short sentences."
)
STORY = [SYSTEM, Message("user", "Tell me a long story about a lighthouse keeper and the sea.")]
SCHEMA = {
    "type": "object",
    "properties": {
        "mood": {"enum": ["glad", "sad"]},
        "count": {"type": "integer"},
        "sure": {"type": "boolean"},
    },
    "required": ["mood", "count", "sure"],
    "additionalProperties": False,
}


def tiny_gguf() -> Path:
    """The file of the smallest chat model, which `assistant models pull` downloads."""
    return ModelStore(models_cache(), catalogue.read()).weights(TINY)


async def collect(llm: LanguageModel, request: Generation) -> tuple[str, Usage]:
    """The whole answer and its usage. Every chunk but the last has text; the last has the usage."""
    chunks = [chunk async for chunk in llm.stream(request)]
    assert all(chunk.text and chunk.usage is None for chunk in chunks[:-1])
    last = chunks[-1]
    assert last.text == ""
    assert last.usage is not None
    return "".join(chunk.text for chunk in chunks), last.usage
