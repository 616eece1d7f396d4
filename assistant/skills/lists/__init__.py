"""Lists and notes: adding to them, reading them out, and removing from them."""

from typing import TYPE_CHECKING

from assistant.facade import exports

if TYPE_CHECKING:
    from assistant.skills.lists.lists import Lists
    from assistant.skills.lists.notes import Notes
else:
    __getattr__ = exports(__name__)

__all__ = [
    "Lists",
    "Notes",
]
