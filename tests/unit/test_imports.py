"""Imports for good: collection pauses while they run, and leaves what they made alone. Modules that
are rarely used wait."""

import gc
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from ui.process import imports
from ui.process.imports import imports_for_good

MODULE = "imported_for_good"


@pytest.fixture(autouse=True)
def nothing_stays_frozen() -> Iterator[None]:
    """Thaw what these tests froze, as a session that ends does: later garbage is collected."""
    before = gc.get_freeze_count()
    yield
    sys.modules.pop(MODULE, None)
    if gc.get_freeze_count() > before:
        gc.unfreeze()
    gc.enable()


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path / f"{MODULE}.py"


def collected() -> set[int]:
    """Ids of all objects that the garbage collector searches."""
    return {id(each) for each in gc.get_objects()}


def test_what_is_imported_is_searched_by_the_collector_never_again(module: Path) -> None:
    module.write_text("import gc\nRAN = gc.isenabled()\nMADE = [[]]\n")
    with imports_for_good():
        made = import_module(MODULE)
        assert id(made.MADE) in collected()

    assert not made.RAN
    assert gc.isenabled()
    assert not {id(made.MADE), id(vars(made))} & collected()
    later: list[list[int]] = [[]]
    assert id(later) in collected()


def test_a_failed_import_leaves_the_collector_enabled(module: Path) -> None:
    module.write_text("raise ImportError('broken')\n")
    with pytest.raises(ImportError, match="broken"), imports_for_good():
        import_module(MODULE)

    assert gc.isenabled()


def test_a_module_that_is_rarely_used_is_loaded_when_it_is_used(
    module: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[str] = []
    monkeypatch.setattr(sys, "loaded_in_test", loaded, raising=False)
    monkeypatch.setattr(imports, "RARELY_USED", {MODULE})
    module.write_text("import sys\nsys.loaded_in_test.append(__name__)\nVALUE = 7\n")

    with imports_for_good():
        made = import_module(MODULE)
    assert loaded == []
    assert made.VALUE == 7
    assert loaded == [MODULE]
