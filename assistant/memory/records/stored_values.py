"""Converts times and texts to the form in which the stores keep them."""

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def microseconds(moment: datetime) -> int:
    """Return a time as microseconds since 1970 in UTC.

    Raises:
        ValueError: the time has no time zone.
    """
    if moment.tzinfo is None:
        raise ValueError(f"the time {moment} has no zone")
    return (moment - _EPOCH) // timedelta(microseconds=1)


def time_of(microseconds: int) -> datetime:
    return _EPOCH + timedelta(microseconds=microseconds)


def storable(text: str) -> str:
    """Return the text as valid UTF-8. Lone surrogates, which a broken terminal may send, become
    question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")
