"""Memories and exchanges as JSON rows."""

from typing import Any

from assistant.context import Exchange
from assistant.ipc import Row
from assistant.memory.records.ids import short
from assistant.memory.records.memory import Memory
from assistant.memory.records.serialization import to_json


def row(memory: Memory, **more: Any) -> Row:
    """A memory's row; `short` is the beginning of its id, almost always enough to name it."""
    return {**to_json(memory), "short": short(memory.id), **more}


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
