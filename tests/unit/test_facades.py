"""Façades: every name that a package's `__init__` exports exists, and is imported only on use."""

import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

from assistant.facade import exports

ROOT = Path(__file__).resolve().parents[2]
FACADES = sorted(
    ".".join(path.relative_to(ROOT).parent.parts)
    for top in ("assistant", "models")
    for path in (ROOT / top).rglob("__init__.py")
    if "exports(__name__)" in path.read_text("utf-8")
)


def test_there_are_facades() -> None:
    assert {"assistant.memory", "assistant.voice", "models.selection"} <= set(FACADES)


@pytest.mark.parametrize("name", FACADES)
def test_every_exported_name_exists_and_no_module_hides_it(name: str) -> None:
    package = importlib.import_module(name)
    own = {each.name for each in pkgutil.iter_modules(package.__path__)}
    for exported in package.__all__:
        found = getattr(package, exported)
        if exported in own:  # whichever was imported first would win
            assert found is importlib.import_module(f"{name}.{exported}")


def test_a_name_that_is_not_exported_is_an_error() -> None:
    with pytest.raises(AttributeError, match=r"'assistant\.memory' has no attribute 'Nothing'"):
        exports("assistant.memory")("Nothing")


def test_importing_the_facades_imports_nothing_else() -> None:
    code = f"import sys, {', '.join(FACADES)}; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    ours = {each for each in done.stdout.split() if each.startswith(("assistant", "models"))}
    parents = {name.rpartition(".")[0] for name in FACADES}
    assert ours - set(FACADES) - parents == {"assistant.facade", "assistant.telemetry"}
