"""Memories in a file: whole, or not at all, and in nobody's place."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assistant.errors import StoreError
from ui.text.export import write


def test_a_file_that_was_made_meanwhile_stays(tmp_path: Path) -> None:
    file = tmp_path / "memories.jsonl"

    def rows() -> Iterator[dict[str, Any]]:
        yield {"text": "Tea, never coffee."}
        file.write_text("somebody else's")

    with pytest.raises(StoreError, match="already exists"):
        write(rows(), file)

    assert file.read_text() == "somebody else's"
    assert list(tmp_path.iterdir()) == [file]


def test_what_can_not_be_read_to_its_end_leaves_no_file(tmp_path: Path) -> None:
    def rows() -> Iterator[dict[str, Any]]:
        yield {"text": "Tea, never coffee."}
        raise StoreError("The memories can't be read.")

    with pytest.raises(StoreError, match="can't be read"):
        write(rows(), tmp_path / "memories.jsonl")

    assert list(tmp_path.iterdir()) == []
