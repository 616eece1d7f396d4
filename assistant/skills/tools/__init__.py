"""Tools of other programs: which one is meant, with which arguments, and what is said about its
answer."""

from typing import TYPE_CHECKING

from assistant.facade import exports

if TYPE_CHECKING:
    from assistant.skills.tools.tools import Tools
else:
    __getattr__ = exports(__name__)

__all__ = [
    "Tools",
]
