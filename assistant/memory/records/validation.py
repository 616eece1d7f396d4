"""Validates texts and imported rows before they become memories."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from assistant.errors import SettingsError
from assistant.memory.records import serialization
from assistant.memory.records.memory import Memory

LONGEST_TEXT = 10_000
"""Maximum number of characters of a memory that the user writes by hand, and of a search text."""
MOST = 2**31 - 1
"""Largest count accepted in an imported row. It is so small that later increases can't overflow the
64-bit column."""
FIRST_YEAR, LAST_YEAR = 2, 9998
"""First and last year accepted in the times of an imported row. Times outside this range can't be
converted to every time zone."""
HALF = re.compile("[\ud800-\udfff]")
"""Matches a lone surrogate, which has no UTF-8 form."""


def validated_text(text: str) -> str:
    """Return the text without surrounding whitespace, as it is stored.

    Raises:
        SettingsError: the text is empty, too long, or contains a NUL character.
    """
    text = text.strip()
    if not text:
        raise SettingsError("The text is empty.", mend="assistant memory --help")
    if "\0" in text:
        raise SettingsError("The text contains a NUL character.", mend="Remove it.")
    if len(text) > LONGEST_TEXT:
        raise SettingsError(
            f"The text has {len(text):,} characters; the limit is {LONGEST_TEXT:,}.",
            mend="Shorten it, or split it into several memories.",
        )
    return text


def memory_from_import(row: object, number: int, user_id: str) -> Memory:
    """Convert an exported row to a memory.

    Raises:
        SettingsError: the row isn't a valid memory of this user. The message contains the line
            number.
    """
    try:
        if not isinstance(row, Mapping):
            raise ValueError("it is not a JSON object")
        _check_letters(row)
        memory = serialization.from_json(row)
        if not memory.id:
            raise ValueError("the field `id` is empty")
        if memory.user_id != user_id:
            raise ValueError(f"it is a memory of {memory.user_id!r:.40}, not of {user_id!r:.40}")
        _check_values(memory)
    except (TypeError, ValueError, OverflowError) as error:
        raise SettingsError(
            f"Line {number} can't be imported: {error}. Nothing was imported.",
            mend="Correct the line, and import the file again.",
        ) from error
    return memory


# -- inside -------------------------------------------------------------------------------------


def _check_letters(row: Mapping[str, Any]) -> None:
    """Raise ValueError if a text, an id or a field's name can't be encoded as UTF-8."""
    for name, value in row.items():
        if HALF.search(name):
            raise ValueError("a field's name contains an invalid character")
        for text in value if isinstance(value, list) else [value]:
            if isinstance(text, str) and HALF.search(text):
                raise ValueError(f"the field `{name}` contains an invalid character")


def _check_values(memory: Memory) -> None:
    """Raise ValueError if a number or a time is out of range."""
    for name in sorted(serialization.NUMBERS):
        if not 0.0 <= getattr(memory, name) <= 1.0:
            raise ValueError(f"the field `{name}` is not between 0 and 1")
    for name, least in (("uses", 0), ("feedback", -MOST)):
        if not least <= getattr(memory, name) <= MOST:
            raise ValueError(f"the field `{name}` is not between {least:,} and {MOST:,}")
    for name in sorted(serialization.TIMES):
        if not _reckonable(getattr(memory, name)):
            raise ValueError(
                f"the field `{name}` is not between the years {FIRST_YEAR} and {LAST_YEAR}"
            )


def _reckonable(moment: datetime | None) -> bool:
    years = range(FIRST_YEAR, LAST_YEAR + 1)
    return moment is None or (moment.year in years and moment.astimezone(UTC).year in years)
