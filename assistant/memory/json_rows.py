"""Converts memories and exchanges to JSON rows."""

from datetime import UTC
from typing import Any

from assistant.context import Exchange
from assistant.ipc import Row
from assistant.memory.browse import MemoryEntry
from assistant.memory.forgetting.answer_origins import ToldItem
from assistant.memory.forgetting.explanation import ExplainedMemory, Explanation
from assistant.memory.records.ids import short
from assistant.memory.records.memory import Memory
from assistant.memory.records.serialization import to_json
from assistant.memory.retrieval.results import RecalledMemory

CUT = 200
"""Maximum number of characters of text in a light row."""
WHY = ("event", "score", "parts", "words")
"""Fields of a search result that a list row doesn't have."""


def row(memory: Memory, **more: Any) -> Row:
    """Return a memory as a row. `short` is a shortened id, which almost always identifies the
    memory.
    """
    return {**to_json(memory), "short": short(memory.id), **more}


def light_row(entry: MemoryEntry, text: str) -> Row:
    """Return a memory as a row that contains only the columns of a list, with its text
    shortened.
    """
    return {
        "event": "memory",
        "id": entry.id,
        "short": short(entry.id),
        "kind": entry.kind.value,
        "speaker": entry.speaker,
        "created": entry.created.astimezone(UTC).isoformat(),
        "pinned": entry.pinned,
        "never_recall": entry.never_recall,
        "superseded_by": entry.superseded_by,
        "text": text[:CUT],
    }


def found_row(found: RecalledMemory, entry: MemoryEntry | None = None) -> Row:
    """Return a search result as a row. If `entry` is given, return a light row with the fields in
    `WHY` added.
    """
    full = {
        "event": "found",
        "id": found.id,
        "short": short(found.id),
        "score": round(found.score, 4),
        "parts": {name: round(value, 4) for name, value in found.parts.items()},
        "words": list(found.words),
        "kind": found.kind.value,
        "speaker": found.speaker,
        "created": found.created.astimezone(UTC).isoformat(),
        "superseded_by": found.superseded_by,
        "sources": list(found.sources),
        "tier": found.tier,
        "text": found.text,
    }
    if entry is None:
        return full
    return light_row(entry, found.text) | {key: full[key] for key in WHY}


def answer_row(found: Explanation, **more: Any) -> Row:
    """Return an explained answer as a row, without what was recalled for it. `from_model` says
    whether the answer came from the model alone.
    """
    from_model = not found.sources and not found.fixed
    of_it = {"from_model": from_model, "fixed": found.fixed}
    return {"event": "answer", **exchange_row(found.exchange), **of_it, **more}


def recalled_row(recalled: ExplainedMemory) -> Row:
    """Return, as a row, a memory that was recalled for an answer. `score` is null if the memory is
    a note that every prompt contains. `left_out` is null if the memory was in the prompt.
    """
    score = round(recalled.score, 4) if recalled.score is not None else None
    more = {"score": score, "left_out": recalled.left_out, "based_on": recalled.based_on}
    return row(recalled.memory, event="recalled", **more)


def source_row(told: ToldItem) -> Row:
    """Return, as a row, something that an answer was based on. `memory` is null if the source is an
    exchange of the same conversation rather than a memory.
    """
    return {
        "event": "source",
        "text": told.text,
        "speaker": told.speaker,
        "told": told.when.astimezone(UTC).isoformat(),
        "memory": told.memory.id if told.memory is not None else None,
    }


def exchange_row(exchange: Exchange, **more: Any) -> Row:
    ended = exchange.ended.isoformat() if exchange.ended else None
    return {
        "id": exchange.id,
        "turn": exchange.turn,
        "started": exchange.started.isoformat(),
        "ended": ended,
        "user": exchange.user_text,
        "assistant": exchange.assistant_text,
        "interrupted": exchange.interrupted,
        **more,
    }
