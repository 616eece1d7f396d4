"""`assistant memory verify-forgotten` as a user types it."""

import io
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from assistant.ipc.server import RequestServer
from assistant.memory import open_memory
from assistant.memory.retrieval.encoding import QueryEncoder
from assistant.memory.store.table import MemoryTable
from assistant.paths import Home
from assistant.settings import Settings
from tests.support.desks import in_session
from tests.support.encoders import HashingEncoder
from tests.support.memories import memory
from ui.commands import main

SECRET = "The silver parrot hides in Zürich."
Run = Callable[..., tuple[int, list[str], list[str]]]


@pytest.fixture
def run(home: Home, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """With these lines on standard input: exit code, lines of standard output and error."""

    def command(*words: str, given: str = "") -> tuple[int, list[str], list[str]]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given.encode())))
        code = main.main(["memory", "verify-forgotten", *words])
        told = capfd.readouterr()
        return code, told.out.splitlines(), told.err.splitlines()

    return command


@pytest.fixture
def forgotten(home: Home) -> Iterator[MemoryTable]:
    """A table from which the secret was deleted, and not yet purged."""
    told = memory(SECRET, "me")
    with closing(MemoryTable.open(str(home.memories))) as table:
        table.add([told, memory("The weather is fine.", "me", at=1)])
        table.delete("me", [told.id])
        yield table


def row(lines: list[str]) -> dict[str, Any]:
    [line] = lines
    found: dict[str, Any] = json.loads(line)
    return found


def test_an_empty_home_holds_nothing(run: Run) -> None:
    code, out, err = run(given=SECRET)
    assert (code, err) == (0, [])
    assert out[0] == "No traces were found."
    assert out[1].startswith("Searched: ")


def test_an_old_version_and_a_log_line_are_found_and_cleaned(
    run: Run, home: Home, forgotten: MemoryTable
) -> None:
    forgotten.close()
    home.log.write_text(f"oh: {SECRET.upper()}\n", encoding="utf-16")
    code, out, _ = run(given=f"\n{SECRET}\nsomething else\n")
    assert code == 1
    assert (
        "An older version of the memories still contains 1 memory that was removed or changed."
        in out
    )
    assert "A text was found in logs/assistant.log." in out
    home.log.unlink()
    code, out, _ = run("--clean", given=SECRET)
    assert (code, out[0]) == (0, "No traces were found.")
    assert not any("parrot" in line.lower() for line in out)
    found = row(run("--json")[1])
    assert (found["clean"], found["removed"], found["free_pages"]) == (True, 0, 0)


def test_a_strange_file_is_found_without_any_text(run: Run, home: Home) -> None:
    (home.root / "notes.txt").write_text("x")
    code, out, _ = run("--json")
    assert code == 1
    assert row(out)["unknown_files"] == ["notes.txt"]
    assert row(out)["searched"] == []


def test_a_running_assistant_is_asked(run: Run, home: Home, forgotten: MemoryTable) -> None:
    forgotten.close()
    with open_memory(
        home, Settings(), None, lambda: QueryEncoder(HashingEncoder()), print
    ) as memory:
        in_session(memory)
        with closing(RequestServer(home.door, memory.answer)):
            code, out, _ = run("--json", given=SECRET)
            assert (code, row(out)["removed"]) == (1, 1)
            assert run("--clean", given=SECRET)[0] == 0


def test_nobody_waits_for_a_terminal(
    run: Run, home: Home, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    class Terminal(io.TextIOWrapper):
        def isatty(self) -> bool:
            return True

    real = io.TextIOWrapper
    monkeypatch.setattr(io, "TextIOWrapper", lambda raw: Terminal(raw) if raw else real(raw))
    code, out, _ = run("--json", given=SECRET)
    assert (code, row(out)["texts"]) == (0, 0)
