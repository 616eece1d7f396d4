"""What a text and an imported row must be like to become a memory."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from assistant.errors import SettingsError
from assistant.memory.records import serialization
from assistant.memory.records.memory import Memory

LONGEST_TEXT = 10_000
"""Characters of a memory that is written by hand, and of what is searched."""
MOST = 2**31 - 1
"""Of what an imported row may count, so that counting on never outgrows the table."""
FIRST_YEAR, LAST_YEAR = 2, 9998
"""Of its times: beyond them some zones have no date for a moment."""
HALF = re.compile("[\ud800-\udfff]")
"""Half a surrogate pair has no UTF-8 form."""


def validated_text(text: str) -> str:
    """A text as it is kept.

    Raises:
        SettingsError: it is empty, too long, or no text.
    """
    text = text.strip()
    if not text:
        raise SettingsError("The text is empty.", mend="assistant memory --help")
    if "\0" in text:
        raise SettingsError("The text holds a NUL character.", mend="Leave it out.")
    if len(text) > LONGEST_TEXT:
        raise SettingsError(
            f"The text has {len(text):,} characters; {LONGEST_TEXT:,} are the most.",
            mend="Say it more briefly, or in several memories.",
        )
    return text


def memory_from_import(row: object, number: int, user_id: str) -> Memory:
    """An exported memory.

    Raises:
        SettingsError: it isn't one, or is another user's; the sentence names its number.
    """
    try:
        if not isinstance(row, Mapping):
            raise ValueError("it is no JSON object")
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
    """Raises ValueError: a text, an id or the name of a field can't be written to a file."""
    for name, value in row.items():
        if HALF.search(name):
            raise ValueError("the name of a field holds half a character")
        for text in value if isinstance(value, list) else [value]:
            if isinstance(text, str) and HALF.search(text):
                raise ValueError(f"the field `{name}` holds half a character")


def _check_values(memory: Memory) -> None:
    """Raises ValueError: a number or a time is none that can be reckoned with."""
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
