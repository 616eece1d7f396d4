"""What a text and an imported row must be like to become a memory."""

from collections.abc import Mapping

from assistant.errors import SettingsError
from assistant.memory import table_schema
from assistant.memory.record import Memory

LONGEST_TEXT = 10_000
"""Characters of a memory that is written by hand, and of what is searched."""


def checked(text: str) -> str:
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


def read_row(row: object, number: int, user_id: str) -> Memory:
    """An exported memory.

    Raises:
        SettingsError: it isn't one, or is another user's; the sentence names its number.
    """
    try:
        if not isinstance(row, Mapping):
            raise ValueError("it is no JSON object")
        memory = table_schema.imported(row)
        if not memory.id:
            raise ValueError("the field `id` is empty")
        if memory.user_id != user_id:
            raise ValueError(f"it is a memory of {memory.user_id!r:.40}, not of {user_id!r:.40}")
        for name in table_schema.NUMBERS:
            if not 0.0 <= getattr(memory, name) <= 1.0:
                raise ValueError(f"the field `{name}` is not between 0 and 1")
    except (TypeError, ValueError, OverflowError) as error:
        raise SettingsError(
            f"Line {number} can't be imported: {error}. Nothing was imported.",
            mend="Correct the line, and import the file again.",
        ) from error
    return memory
