"""Imports LanceDB without libraries of which it uses nothing here. Importing them would take longer
than importing all the rest of LanceDB."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, TypeVar

CLIENT = "lance_namespace_urllib3_client"
"""The web client, which is only used with a LanceDB server: 150 generated classes."""
OVERRIDES = "overrides"
"""Compares the signature of each method that overrides another. LanceDB uses this only on Python
3.11; on newer versions, it has the same stand-in as here."""

Method = TypeVar("Method")


def import_lancedb() -> Any:
    """Import LanceDB. If this version can't be imported with the stand-ins, import it again with
    the real libraries. Its modules that were imported by then keep the stand-ins."""
    if "lancedb" not in sys.modules:
        try:
            with _stand_ins():
                return import_module("lancedb")
        except (ImportError, AttributeError, RuntimeError, TypeError):
            sys.modules.pop("lance_namespace", None)  # has the client's classes among its names
    return import_module("lancedb")


class _OnUse(type):
    """The type of a stand-in for a class. The class itself is imported when it is first used."""

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> None:
        if bases:
            raise TypeError(f"{name} needs the real {bases[0].__name__}")
        super().__init__(name, bases, namespace)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return _real(cls)(*args, **kwargs)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, _real(cls))

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):  # asked for by `typing` about every annotation
            raise AttributeError(name)
        return getattr(_real(cls), name)


def _real(stand_in: type) -> Any:
    return getattr(import_module(stand_in.__module__), stand_in.__name__)


class _ClientFinder(Loader):
    """Finds stand-ins for the client's modules. They have every name that is imported from them."""

    def find_spec(
        self, name: str, _path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name.partition(".")[0] != CLIENT:
            return None
        return ModuleSpec(name, self, is_package=True)

    def create_module(self, _spec: ModuleSpec) -> None:
        """Let Python create an empty module."""

    def exec_module(self, module: ModuleType) -> None:
        def stand_in(name: str) -> type:
            if name.startswith("__"):
                raise AttributeError(name)
            return _OnUse(name, (), {"__module__": module.__name__})

        vars(module)["__getattr__"] = stand_in


@contextmanager
def _stand_ins() -> Iterator[None]:
    """Within the block, the client and `overrides` are replaced unless they have been imported."""
    finder = _ClientFinder()
    if CLIENT not in sys.modules:
        sys.meta_path = [finder, *sys.meta_path]  # other threads may be going through the old list
    overrides = ModuleType(OVERRIDES)
    vars(overrides).update(override=_override, EnforceOverrides=type("EnforceOverrides", (), {}))
    replaced = sys.modules.setdefault(OVERRIDES, overrides) is overrides
    try:
        yield
    finally:
        if finder in sys.meta_path:
            sys.meta_path = [each for each in sys.meta_path if each is not finder]
            for name in [each for each in sys.modules if each.partition(".")[0] == CLIENT]:
                del sys.modules[name]
        if replaced:
            del sys.modules[OVERRIDES]


def _override(method: Method) -> Method:
    return method
