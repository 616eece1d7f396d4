"""`assistant memory verify-forgotten` as a user types it."""

from contextlib import closing
from functools import partial
from typing import Any

import pytest

from assistant.memory.store.table import MemoryTable
from assistant.paths import Home
from tests.support.command_line import Run, objects
from tests.support.memories import memory

SECRET = "The silver parrot hides in Zürich."


@pytest.fixture
def run(run: Run) -> Run:
    return partial(run, "memory", "verify-forgotten")


@pytest.fixture
def forgotten(home: Home) -> None:
    """A table in which the secret was deleted, but not yet purged."""
    secret = memory(SECRET, "me")
    with closing(MemoryTable.open(str(home.memories))) as table:
        table.add([secret, memory("The weather is fine.", "me", at=1)])
        table.delete("me", [secret.id])


def row(lines: list[str]) -> dict[str, Any]:
    [only] = objects(lines)
    return only


def test_an_empty_home_has_no_traces(run: Run) -> None:
    code, out, err = run(typed=SECRET)
    assert (code, err) == (0, [])
    assert out[0] == "No traces were found."
    assert out[1].startswith("Searched: ")


@pytest.mark.usefixtures("forgotten")
def test_an_old_version_and_a_log_line_are_found_and_cleaned(run: Run, home: Home) -> None:
    home.log.write_text(f"oh: {SECRET.upper()}\n", encoding="utf-16")
    (home.root / "notes.txt").write_text("x")
    found = row(run("--json")[1])
    assert found["unknown_files"] == ["notes.txt"]
    (home.root / "notes.txt").unlink()
    code, out, _ = run(typed=f"\n{SECRET}\nsomething else\n")
    assert code == 1
    assert {
        "An older version of the memories still contains 1 memory that was removed or changed.",
        "A text was found in logs/assistant.log.",
    } <= set(out)
    home.log.unlink()
    code, out, _ = run("--clean", typed=SECRET)
    assert (code, out[0]) == (0, "No traces were found.")
    assert not any("parrot" in line.lower() for line in out)
    found = row(run("--json")[1])
    assert (found["clean"], found["removed"], found["free_pages"]) == (True, 0, 0)


@pytest.mark.usefixtures("forgotten", "running")
def test_a_running_assistant_does_the_search(run: Run) -> None:
    code, out, _ = run("--json", typed=SECRET)
    assert (code, row(out)["removed"]) == (1, 1)
    assert run("--clean", typed=SECRET)[0] == 0


def test_the_command_does_not_wait_for_input_from_a_terminal(run: Run) -> None:
    code, out, _ = run("--json", typed=SECRET, terminal=True)
    assert (code, row(out)["texts"]) == (0, 0)
