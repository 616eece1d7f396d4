"""How exchanges and times stand in the transcript's tables."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from assistant.context.conversation import Exchange

EXCHANGE = "id, turn, user_text, started, assistant_text, interrupted, ended"


def exchange_of(row: Sequence[Any]) -> Exchange:
    """From the columns of `EXCHANGE`."""
    key, turn, said, started, answer, interrupted, ended = row
    return Exchange(key, turn, said, time_of(started), answer, bool(interrupted), time_of(ended))


def storable(text: str) -> str:
    """Half surrogate pairs, which broken terminals send, have no UTF-8 form."""
    return text.encode("utf-8", "replace").decode("utf-8")


def microseconds(moment: datetime) -> int:
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def time_of(microseconds: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds)
