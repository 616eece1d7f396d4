"""Uses tools of other programs: chooses a tool, checks its arguments, and says what it answers."""

from typing import TYPE_CHECKING

from assistant.facade import exports

if TYPE_CHECKING:
    from assistant.skills.tools.tools import Tools
else:
    __getattr__ = exports(__name__)

__all__ = [
    "Tools",
]
