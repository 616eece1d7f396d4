"""`assistant memory …` on input that nobody means to give, and on stores that can't be had."""

import io
import json
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from assistant.compose import memory as building
from assistant.memory.retrieval.encoding import QueryEncoder
from assistant.memory.store import open_table
from assistant.memory.store.table import MemoryTable
from assistant.paths import Home
from tests.support.encoders import HashingEncoder
from tests.support.talking import OBEYING
from ui.commands import main
from ui.commands.memory import requests

ROOT = Path(__file__).resolve().parents[2]
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(home: Home, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """A command in this process: exit code, standard output, standard error."""
    monkeypatch.setattr(building, "profile_encoder", lambda _: QueryEncoder(HashingEncoder()))

    def command(*words: str, typed: bytes = b"") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(typed)))
        code = main.main(["memory", *words])
        told = capfd.readouterr()
        return code, told.out, told.err

    return command


def one_sentence(err: str) -> str:
    sentence, *mend = err.splitlines()
    assert len(mend) <= 1
    return sentence


@pytest.mark.parametrize("act", ["add", "search"])
def test_texts_that_are_none_are_refused(run: Run, act: str) -> None:
    for typed, said in (
        (
            b"My dog is called Max. " * 50_000,
            "The text has 1,099,999 characters; the limit is 10,000",
        ),
        (b"", "The text is empty."),
        (b" \n\t", "The text is empty."),
        (b"a NUL \0 byte", "The text contains a NUL character."),
    ):
        code, out, err = run(act, "-", typed=typed)
        assert (code, out) == (2, "")
        assert one_sentence(err).startswith(said)
    assert '"total": 0' in run("list", "--json")[1]


def test_texts_that_are_odd_are_kept(run: Run) -> None:
    odd = ("?!...", "🐶👩‍👩‍👧‍👦", "שלום \u202e كلبي", "half a pair \udc80")
    for text in odd:
        assert run("add", text)[0] == 0
        assert run("search", text)[0] == 0
    assert run("add", "-", typed=b"not UTF-8 \xff\xfe \xed\xa0\x80")[0] == 0
    code, out, _ = run("list", "--json")
    texts = [row.get("text", "") for row in map(json.loads, out.splitlines())]
    assert code == 0
    assert set(odd[:3]) | {"half a pair ?"} <= set(texts)
    assert texts[0].startswith("not UTF-8 \ufffd")
    assert "\u202e" not in run("list")[1], "a terminal's direction is not to be changed"


@pytest.mark.parametrize(
    "line", [b"\xff\xfe", b"\0", b'{"id": "\\ud800"}', b"[]", b"1" * 1_000_000]
)
def test_lines_that_are_no_memories_are_named(run: Run, line: bytes) -> None:
    code, out, err = run("import", "-", typed=line)
    assert (code, out) == (2, "")
    assert one_sentence(err).startswith("Line 1 ")


def test_a_store_of_a_newer_version_is_left_alone(
    run: Run, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as newer:
        newer.setattr(open_table, "MIGRATIONS", (*open_table.MIGRATIONS, lambda _: None))
        MemoryTable.open(str(home.memories)).close()
    code, out, err = run("list")
    assert (code, out) == (5, "")
    assert one_sentence(err) == (
        f"The memory store {home.memories} was written by a newer version of this program."
    )


def test_a_store_that_another_has_open_is_refused(
    run: Run, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requests, "STARTING_S", 0.0)
    with closing(MemoryTable.open(str(home.memories))):
        code, out, err = run("add", "Tea.")
    assert (code, out) == (5, "")
    assert one_sentence(err).startswith(f"The memory store {home.memories} is in use by another")


def test_a_home_that_cannot_be_written_is_one_sentence(home: Home) -> None:
    home.root.chmod(0o500)
    command = [*OBEYING, sys.executable, "-m", "ui.commands.main", "--home", str(home.root)]
    try:
        done = subprocess.run(
            [*command, "memory", "add", "Tea."],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        home.root.chmod(0o700)
    assert (done.returncode, done.stdout) == (5, "")
    assert one_sentence(done.stderr) == f"The data folder {home.root} is read-only."


def test_credentials_in_the_setting_are_not_repeated(run: Run) -> None:
    code, out, err = run("--set", "memory.store=s3://me:s3cr3t@bucket/path", "list")
    assert (code, out) == (2, "")
    assert "credentials" in one_sentence(err)
    assert "s3cr3t" not in err
