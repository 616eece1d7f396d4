"""Façades: a package names what others may use of it, and imports it when it is first asked for.

    if TYPE_CHECKING:
        from assistant.memory.service import MemoryService, open_memory
    else:
        __getattr__ = exports(__name__)

To import all of `assistant.memory` takes half a second, which a command that wants the id of a
memory in a sentence is not to wait for.
"""

import ast
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path


def exports(package: str) -> Callable[[str], object]:
    """`__getattr__` of a package: gives the names that it imports for type checkers.

    Raises:
        AttributeError: it has no such name.
    """

    @cache
    def modules() -> dict[str, str]:
        source = Path(str(sys.modules[package].__file__)).read_text("utf-8")
        (block,) = (each for each in ast.parse(source).body if isinstance(each, ast.If))
        imports = (each for each in block.body if isinstance(each, ast.ImportFrom))
        return {
            alias.name: each.module
            for each in imports
            for alias in each.names
            if each.module is not None and each.module != package  # its own modules Python finds
        }

    def get(name: str) -> object:
        if name.startswith("__") or name not in modules():
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(modules()[name])
        if hasattr(module, name):
            found: object = getattr(module, name)
            return found
        return import_module(f"{module.__name__}.{name}")

    return get
