"""Lets a package export names whose modules are imported only on first use.

    if TYPE_CHECKING:
        from assistant.memory.service import MemoryService, open_memory
    else:
        __getattr__ = exports(__name__)

Importing all of `assistant.memory` takes half a second. A command that needs only one small
function from the package should not have to wait that long.
"""

import ast
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path


def exports(package: str) -> Callable[[str], object]:
    """Return a `__getattr__` function for a package. The function imports a name from the module
    that the package's `TYPE_CHECKING` block gives for it.

    Raises:
        AttributeError: the package does not export the name. The returned function raises it.
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
            if each.module is not None and each.module != package  # Python finds submodules itself
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
