"""Only forgetting, curation and the stores themselves delete anything."""

import re

import pytest

from tests.unit.test_house import ROOT

MEMORY = "assistant/memory"
CALLED_BY = {
    r"\.delete_exchanges\(": ("forgetting", "transcript"),
    r"\btable\.delete\(": ("forgetting", "curation", "store", "index_sync.py"),
    r"\btable\.rewrite\(": ("forgetting", "store"),
    r"\bindex\.purge\(": ("forgetting", "index_sync.py"),
}


def callers(pattern: str) -> set[str]:
    """The program's files that contain this pattern."""
    return {
        path.relative_to(ROOT).as_posix()
        for folder in ("assistant", "ui", "models")
        for path in (ROOT / folder).rglob("*.py")
        if re.search(pattern, path.read_text("utf-8"))
    }


@pytest.mark.parametrize(("pattern", "rooms"), CALLED_BY.items())
def test_deleting_functions_are_called_only_by_allowed_modules(
    pattern: str, rooms: tuple[str, ...]
) -> None:
    found = callers(pattern)
    allowed = tuple(f"{MEMORY}/{room}" for room in rooms)
    assert found
    assert [path for path in sorted(found) if not path.startswith(allowed)] == []
