"""`assistant memory …` as a user types it."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from assistant.errors import StoreError
from assistant.memory import UserMemory
from assistant.memory.store.table import MemoryTable
from assistant.paths import Home
from tests.support.command_line import MAIN, ROOT, Run, in_own_process, objects
from tests.support.talking import OBEYING
from ui.text.export import write

TEA = "Tea, never coffee."


@pytest.fixture
def run(run: Run) -> Run:
    return partial(run, "memory")


def test_a_memory_is_added_found_changed_exported_and_forgotten(run: Run, tmp_path: Path) -> None:
    assert run("list")[1] == [
        "There are no memories yet. To write one down: assistant memory add TEXT"
    ]
    long = "The spare key lies under the blue pot " + "beside the door " * 9 + "\x1b[31m鍵🔑"
    code, out, _ = run("add", *long.split(" "))
    assert code == 0
    key = out[0].removeprefix("Added with the id ").rstrip(".")

    listed = run("list")[1]
    assert listed[0].startswith(key)
    assert "today" in listed[0]
    found = run("search", "where is the spare key")[1]
    assert "words: " in " ".join(found)
    assert all(len(line) <= 100 for line in [*listed, *found])
    shown = run("show", key)[1]
    assert any("written down by you" in line for line in shown)
    assert "\x1b" not in "".join(shown)

    for words, said in (
        (("pin", key), "is pinned"),
        (("unpin", key), "not pinned"),
        (("never-recall", key), "never recalled"),
        (("never-recall", key, "--undo"), "can be recalled"),
        (("feedback", key, "+"), "feedback +1"),
        (("feedback", key, "-"), "no feedback"),
    ):
        assert said in run(*words)[1][0]
    assert run("edit", key, "It is in the shed.")[1] == [f"Edited {key}."]
    assert run("stats")[1][0].startswith("1 memory, from 0 exchanges")
    file, again = tmp_path / "memories.jsonl", tmp_path / "again.jsonl"
    assert run("export", str(file))[0] == 0
    assert file.stat().st_mode & 0o077 == 0
    before = file.read_bytes()
    assert run("import", str(file))[1] == ["1 memory imported."]
    assert run("export", str(again))[0] == 0
    assert again.read_bytes() == before
    assert run("rebuild")[1] == ["Rebuilt: 1 memory."]
    forgotten, looked = run("forget", key, "--now")[1]
    assert forgotten == "Forgotten: 1 memory."
    assert looked.endswith("nothing found.")
    assert run("import", str(file))[1] == [
        "0 memories imported.",
        "Left out, since you have forgotten them: 1 memory.",
    ]


def test_json_output_is_one_object_per_line(run: Run) -> None:
    [added] = objects(run("add", TEA, "--json")[1])
    assert added["event"] == "added"
    listed = objects(run("list", "--json")[1])
    assert [row["event"] for row in listed] == ["memory", "listed"]
    assert listed[0]["id"] == added["id"]
    (found, _) = objects(run("search", "tea", "--json")[1])
    assert found["score"] == pytest.approx(sum(found["parts"].values()), abs=0.01)
    assert found["words"] == ["tea"]
    assert objects(run("stats", "--json")[1])[0]["by_kind"] == {"fact": 1}
    assert objects(run("export", "-")[1])[0]["text"] == TEA


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["show", "0123456789"], 5, "There is no memory '0123456789'."),
        (["show", "0123"], 2, "'0123' is too short: give 6 or more characters of an id."),
        (["add", " "], 2, "The text is empty."),
        (["search", ""], 2, "The text is empty."),
        (["list", "--limit", "0"], 2, "--limit must be a number, 1 or more."),
        (["import", "/nowhere/at/all"], 5, None),
        (["forget"], 2, None),
        (["fly"], 2, None),
    ],
)
def test_errors_give_one_sentence_and_advice(
    run: Run, words: list[str], code: int, sentence: str | None
) -> None:
    ended, out, err = run(*words)
    assert (ended, out, len(err)) == (code, [], 2)
    assert sentence is None or err[0] == sentence
    assert err[1].startswith("→ ")


def test_memories_that_score_too_low_for_a_conversation_are_counted(run: Run) -> None:
    run("add", "The spare key lies under the blue pot.")
    run("add", TEA)
    for question, many in (("where is the spare key", "1 of 2"), ("football", "All")):
        assert run("search", question)[1][-1] == (
            f"{many} score too low to be recalled in a conversation (below 0.5)."
        )


# -- files --------------------------------------------------------------------------------------


def test_an_export_never_overwrites_a_file(run: Run, tmp_path: Path) -> None:
    run("add", TEA)
    file = tmp_path / "memories.jsonl"
    file.write_text("of last year")
    code, out, err = run("export", str(file))
    assert (code, out) == (5, [])
    assert err == [f"The file {file} already exists.", "→ Choose another name, or remove it."]
    assert file.read_text() == "of last year"
    assert list(tmp_path.glob("*memories.jsonl*")) == [file]
    assert run("export", str(tmp_path / ("x" * 300)))[0] == 5


@pytest.mark.parametrize("taken", [True, False])
def test_an_export_that_fails_leaves_no_file(tmp_path: Path, taken: bool) -> None:
    file = tmp_path / "memories.jsonl"

    def rows() -> Iterator[dict[str, Any]]:
        yield {"text": TEA}
        if not taken:
            raise StoreError("The memories can't be read.")
        file.write_text("somebody else's")

    with pytest.raises(StoreError, match="already exists" if taken else "can't be read"):
        write(rows(), file)
    assert [each.read_text() for each in tmp_path.iterdir()] == ["somebody else's"] * taken


@pytest.mark.parametrize(
    "line",
    [b"{", b"[]", b"\xff\xfe", b'{"id": "\\ud800"}', b"1" * 1_000_000],
)
def test_a_bad_line_is_named_and_nothing_is_imported(run: Run, tmp_path: Path, line: bytes) -> None:
    run("add", TEA)
    good = "\n".join(run("export", "-")[1])
    file = tmp_path / "bad.jsonl"
    file.write_bytes(f"{good}\n".encode() + line + b"\n")
    code, out, err = run("import", str(file))
    assert (code, out) == (2, [])
    assert err[0].startswith("Line 2 ")
    assert err[0].endswith("Nothing was imported.")
    assert "\n".join(run("export", "-")[1]) == good
    assert run("import", "-", typed=line)[2][0].startswith("Line 1 ")


# -- texts --------------------------------------------------------------------------------------


def test_invalid_texts_are_refused(run: Run) -> None:
    for typed, said in (
        (b"My dog is called Max. " * 50_000, "The text has 1,099,999 characters; the limit is"),
        (b" \n\t", "The text is empty."),
        (b"a NUL \0 byte", "The text contains a NUL character."),
    ):
        code, out, err = run("add", "-", typed=typed)
        assert (code, out) == (2, [])
        assert err[0].startswith(said)


def test_odd_texts_are_accepted(run: Run) -> None:
    odd = ("?!...", "🐶👩‍👩‍👧‍👦", "שלום \u202e كلبي", "half a pair \udc80")
    for text in odd:
        assert run("add", text)[0] == 0
        assert run("search", text)[0] == 0
    assert run("add", "-", typed=b"not UTF-8 \xff\xfe \xed\xa0\x80")[0] == 0
    code, out, _ = run("list", "--json")
    texts = [row.get("text", "") for row in objects(out)]
    assert code == 0
    assert set(odd[:3]) | {"half a pair ?"} <= set(texts)
    assert texts[0].startswith("not UTF-8 \ufffd")
    assert "\u202e" not in "".join(run("list")[1]), (
        "this character would change the terminal's writing direction"
    )


# -- stores -------------------------------------------------------------------------------------


def test_a_store_that_another_process_has_open_is_refused(
    run: Run, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ui.commands.requests.STARTING_S", 0.0)
    with closing(MemoryTable.open(str(home.memories))):
        code, out, err = run("add", TEA)
    assert (code, out) == (5, [])
    assert err[0].startswith(f"The memory store {home.memories} is in use by another")


def test_a_read_only_home_is_reported_in_one_sentence(home: Home) -> None:
    home.root.chmod(0o500)
    command = [*OBEYING, *MAIN, "--home", str(home.root), "memory", "add", TEA]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    finally:
        home.root.chmod(0o700)
    assert (done.returncode, done.stdout) == (5, "")
    assert done.stderr.splitlines()[0] == f"The data folder {home.root} is read-only."


# -- a running assistant ------------------------------------------------------------------------


def test_commands_are_sent_to_a_running_assistant(
    run: Run, home: Home, running: UserMemory
) -> None:
    [added] = objects(run("add", "The bike is green.", "--json")[1])
    assert running.find("bike").memories[0].id == added["id"]
    assert run("edit", added["short"], "The bike is red.")[0] == 0
    assert running.find("bike").memories[0].text == "The bike is red."
    assert run("never-recall", added["short"])[0] == 0
    assert running.find("bike").memories == ()
    assert run("show", "0123456789")[0] == 5
    assert run("forget", added["short"])[0] == 0
    assert objects(run("list", "--json")[1])[-1]["total"] == 0
    done = in_own_process("memory", "add", "The car is green.", home=home.root)
    assert (done.returncode, done.stderr) == (0, "")
    assert running.find("car").memories[0].text == "The car is green."


def test_a_running_assistant_shows_each_user_their_own(run: Run, running: UserMemory) -> None:
    key = objects(run("add", "The bike is green.", "--json")[1])[0]["id"]
    kim = ("--user", "kim")
    assert run("show", key, *kim)[0] == 5
    assert objects(run("search", "bike", *kim, "--json")[1])[-1]["found"] == 0
    assert run("forget", key, *kim)[0] == 5
    assert run("add", "Kim's bike is blue.", *kim)[0] == 0
    (found, _) = objects(run("search", "bike", *kim, "--json")[1])
    assert found["text"] == "Kim's bike is blue."
    assert [each.text for each in running.find("bike").memories] == ["The bike is green."]


@pytest.mark.real
def test_a_memory_added_by_one_process_is_found_by_another(home: Home) -> None:
    command = partial(in_own_process, "--profile", "tiny", "memory", home=home.root)
    done = command("add", "My dog Max sleeps under the stairs.")
    assert (done.returncode, done.stderr) == (0, "")
    command("add", "The tax office closes at noon.")
    done = command("search", "where does my pet rest", "--json")
    first = json.loads(done.stdout.splitlines()[0])
    assert first["text"] == "My dog Max sleeps under the stairs."
