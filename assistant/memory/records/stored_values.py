"""How times and texts are represented in the stores."""

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def microseconds(moment: datetime) -> int:
    """Microseconds since 1970, UTC. Raises ValueError if the time has no zone."""
    if moment.tzinfo is None:
        raise ValueError(f"the time {moment} has no zone")
    return (moment - _EPOCH) // timedelta(microseconds=1)


def time_of(microseconds: int) -> datetime:
    return _EPOCH + timedelta(microseconds=microseconds)


def storable(text: str) -> str:
    """The text as valid UTF-8: broken terminals send lone surrogates, which have no UTF-8 form."""
    return text.encode("utf-8", "replace").decode("utf-8")
