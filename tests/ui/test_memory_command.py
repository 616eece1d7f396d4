"""`assistant memory …` as a user types it, and the door to an assistant that runs."""

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from assistant.compose import memory as building
from assistant.ipc import client, messages
from assistant.ipc.client import RequestRefused
from assistant.ipc.server import RequestServer
from assistant.memory import open_memory
from assistant.memory.retrieval.encoding import QueryEncoder
from assistant.memory.user_memory import UserMemory
from assistant.paths import Home
from assistant.settings import Settings
from tests.support.desks import in_session
from tests.support.encoders import HashingEncoder
from ui.commands import main

ROOT = Path(__file__).resolve().parents[2]
Run = Callable[..., tuple[int, list[str], list[str]]]
Row = dict[str, Any]


@pytest.fixture
def run(home: Home, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """A command in this process: exit code, lines of standard output, of standard error."""
    monkeypatch.setattr(building, "profile_encoder", lambda _: QueryEncoder(HashingEncoder()))
    monkeypatch.setenv("COLUMNS", "80")

    def command(*words: str) -> tuple[int, list[str], list[str]]:
        code = main.main(["memory", *words])
        told = capfd.readouterr()
        return code, told.out.splitlines(), told.err.splitlines()

    return command


@pytest.fixture
def running(home: Home) -> Iterator[UserMemory]:
    """What of a running assistant has to do with memories."""
    with (
        open_memory(
            home, Settings(), None, lambda: QueryEncoder(HashingEncoder()), print
        ) as memory,
        closing(RequestServer(home.door, memory.answer)),
    ):
        yield in_session(memory)


def objects(lines: list[str]) -> list[Row]:
    return [json.loads(line) for line in lines]


def echo(request: messages.Request) -> Iterator[Row]:
    yield {"heard": request.get("words")}


def knock(folder: Path, words: str = "hello") -> list[Row] | None:
    answered = client.send_request(folder, {"words": words})
    return None if answered is None else list(answered)


def other_process(home: Home, *words: str, **more: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "ui.commands.main", "memory", *words],
        cwd=ROOT,
        env={**os.environ, "ASSISTANT_HOME": str(home.root), **more},
        capture_output=True,
        text=True,
        check=False,
    )


def test_alone_it_shows_help(run: Run) -> None:
    code, out, _ = run()
    assert code == 0
    assert any("never-recall" in line for line in out)


def test_a_memory_s_whole_life(run: Run, tmp_path: Path) -> None:
    assert run("list")[1] == [
        "There are no memories yet. To write one down: assistant memory add TEXT"
    ]
    long = "The spare key lies under the blue pot " + "beside the door " * 9 + "\x1b[31m鍵🔑"
    code, out, _ = run("add", *long.split(" "))
    assert code == 0
    key = out[0].removeprefix("Added as ").rstrip(".")

    listed = run("list")[1]
    assert listed[0].startswith(key)
    assert "today" in listed[0]
    assert all(len(line) <= 80 for line in listed)
    found = run("search", "where is the spare key")[1]
    assert "words: " in " ".join(found)
    assert all(len(line) <= 80 for line in found)
    shown = run("show", key)[1]
    assert any("written down by you" in line for line in shown)
    assert "\x1b" not in "".join(shown)

    assert "pinned" in run("pin", key)[1][0]
    assert "not pinned" in run("unpin", key)[1][0]
    assert "never recalled" in run("never-recall", key)[1][0]
    assert "can be recalled" in run("never-recall", key, "--undo")[1][0]
    assert "feedback +1" in run("feedback", key, "+")[1][0]
    assert "no feedback" in run("feedback", key, "-")[1][0]
    assert run("edit", key, "It is in the shed.")[1] == [f"Edited as {key}."]
    assert run("stats")[1][0].startswith("1 memory, from 0 exchanges")
    file = tmp_path / "memories.jsonl"
    assert run("export", str(file))[0] == 0
    assert file.stat().st_mode & 0o077 == 0
    before = file.read_bytes()
    assert run("import", str(file))[1] == ["1 memory imported."]
    again = tmp_path / "again.jsonl"
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


def test_json_is_one_object_a_line(run: Run) -> None:
    added = objects(run("add", "Tea, never coffee.", "--json")[1])
    assert added[0]["event"] == "added"
    listed = objects(run("list", "--json")[1])
    assert [row["event"] for row in listed] == ["memory", "listed"]
    assert listed[0]["id"] == added[0]["id"]
    (found, _) = objects(run("search", "tea", "--json")[1])
    assert found["score"] == pytest.approx(sum(found["parts"].values()), abs=0.01)
    assert found["words"] == ["tea"]
    assert objects(run("stats", "--json")[1])[0]["by_kind"] == {"fact": 1}
    assert objects(run("export", "-")[1])[0]["text"] == "Tea, never coffee."


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
def test_errors_are_a_sentence_and_a_mend(
    run: Run, words: list[str], code: int, sentence: str | None
) -> None:
    ended, out, err = run(*words)
    assert (ended, out, len(err)) == (code, [], 2)
    assert sentence is None or err[0] == sentence
    assert err[1].startswith("→ ")


def test_an_export_replaces_no_file(run: Run, tmp_path: Path) -> None:
    run("add", "Tea, never coffee.")
    file = tmp_path / "memories.jsonl"
    file.write_text("of last year")

    code, out, err = run("export", str(file))

    assert (code, out) == (5, [])
    assert err == [
        f"The file {file} already exists.",
        "→ Choose another name, or remove it.",
    ]
    assert file.read_text() == "of last year"
    assert list(tmp_path.glob("*memories.jsonl*")) == [file]
    assert run("export", str(tmp_path / ("x" * 300)))[0] == 5


def test_what_the_voice_would_leave_out_is_told(run: Run) -> None:
    run("add", "The spare key lies under the blue pot.")
    run("add", "Tea, never coffee.")

    assert run("search", "where is the spare key")[1][-1] == (
        "1 of 2 score too low to be recalled in a conversation (below 0.5)."
    )
    assert run("search", "football")[1][-1] == (
        "All score too low to be recalled in a conversation (below 0.5)."
    )


def test_a_bad_line_is_named_and_nothing_is_imported(run: Run, tmp_path: Path) -> None:
    run("add", "Tea, never coffee.")
    good = "\n".join(run("export", "-")[1])
    file = tmp_path / "bad.jsonl"
    for bad in ("{", '{"id": 1}', "[]", "\udcff"):
        file.write_bytes(f"{good}\n{bad}\n".encode("utf-8", "surrogateescape"))
        code, out, err = run("import", str(file))
        assert (code, out) == (2, [])
        assert err[0].startswith("Line 2 ")
        assert err[0].endswith("Nothing was imported.")
    assert "\n".join(run("export", "-")[1]) == good


def test_a_running_assistant_is_asked(run: Run, running: UserMemory) -> None:
    added = objects(run("add", "The bike is green.", "--json")[1])[0]
    assert running.find("bike").memories[0].id == added["id"]

    assert run("edit", added["short"], "The bike is red.")[0] == 0
    assert running.find("bike").memories[0].text == "The bike is red."
    assert run("never-recall", added["short"])[0] == 0
    assert running.find("bike").memories == ()
    assert run("show", "0123456789")[0] == 5
    assert run("forget", added["short"])[0] == 0
    assert objects(run("list", "--json")[1])[-1]["total"] == 0


def test_a_running_assistant_shows_each_user_their_own(run: Run, running: UserMemory) -> None:
    key = objects(run("add", "The bike is green.", "--json")[1])[0]["id"]

    assert run("show", key, "--user", "kim")[0] == 5
    assert objects(run("search", "bike", "--user", "kim", "--json")[1])[-1]["found"] == 0
    assert run("forget", key, "--user", "kim")[0] == 5
    assert run("add", "Kim's bike is blue.", "--user", "kim")[0] == 0
    (found, _) = objects(run("search", "bike", "--user", "kim", "--json")[1])
    assert found["text"] == "Kim's bike is blue."
    assert [each.text for each in running.find("bike").memories] == ["The bike is green."]


def test_another_process_reaches_a_running_assistant(home: Home, running: UserMemory) -> None:
    done = other_process(home, "add", "The bike is green.")
    assert (done.returncode, done.stderr) == (0, "")
    assert running.find("bike").memories[0].text == "The bike is green."


@pytest.mark.parametrize("unix", [True, False])
def test_a_door_answers_until_it_is_closed(tmp_path: Path, unix: bool) -> None:
    assert knock(tmp_path / "door") is None
    opened = RequestServer(tmp_path / "door", echo, unix=unix)
    assert knock(tmp_path / "door", "ü" * 300_000) == [{"heard": "ü" * 300_000}]
    assert (tmp_path / "door").stat().st_mode & 0o077 == 0
    assert (tmp_path / "door" / "address").stat().st_mode & 0o077 == 0
    opened.close()
    opened.close()
    assert knock(tmp_path / "door") is None
    assert list((tmp_path / "door").iterdir()) == []


@pytest.mark.parametrize("name", ["home", "deep" * 30])
@pytest.mark.parametrize("unix", [True, False])
def test_a_copy_of_a_home_has_no_door_to_the_home(tmp_path: Path, name: str, unix: bool) -> None:
    opened = RequestServer(tmp_path / name / "door", echo, unix=unix)
    shutil.copytree(tmp_path / name, tmp_path / "copy", ignore=lambda *_: ["socket"])
    assert knock(tmp_path / "copy" / "door") is None
    another = RequestServer(tmp_path / "copy" / "door", echo, unix=unix)
    assert knock(tmp_path / name / "door") == [{"heard": "hello"}], "it was left alone"
    another.close()
    opened.close()


def test_a_deep_home_has_a_door_too(tmp_path: Path) -> None:
    folder = tmp_path / ("deep" * 30) / ("é" * 40)
    opened = RequestServer(folder, echo)
    assert knock(folder) == [{"heard": "hello"}]
    path = Path(json.loads((folder / "address").read_text())["path"])
    assert path.parent.stat().st_mode & 0o077 == 0
    opened.close()
    assert not path.parent.exists()


def test_what_a_killed_assistant_left_is_in_nobody_s_way(tmp_path: Path) -> None:
    for folder in (tmp_path / "door", tmp_path / ("deep" * 40)):
        killed = subprocess.run(
            [
                sys.executable,
                "-c",
                "import os, sys; from pathlib import Path\n"
                "from assistant.ipc.server import RequestServer\n"
                "RequestServer(Path(sys.argv[1]), lambda _: iter(())); os._exit(9)",
                str(folder),
            ],
            cwd=ROOT,
            check=False,
        )
        assert killed.returncode == 9
        left = Path(json.loads((folder / "address").read_text())["path"])
        assert left.exists()
        assert knock(folder) is None

        opened = RequestServer(folder, echo)
        assert knock(folder) == [{"heard": "hello"}]
        opened.close()
        assert not left.exists()


def test_without_the_secret_a_port_gives_nothing(tmp_path: Path) -> None:
    opened = RequestServer(tmp_path, echo, unix=False)
    file = tmp_path / "address"
    address = json.loads(file.read_text())
    file.write_text(json.dumps(address | {"secret": "guessed"}))
    with pytest.raises(RequestRefused, match="secret"):
        knock(tmp_path)
    opened.close()


def test_a_socket_in_a_folder_that_others_can_enter_is_not_trusted(tmp_path: Path) -> None:
    opened = RequestServer(tmp_path / "door", echo)
    (tmp_path / "door").chmod(0o755)
    assert knock(tmp_path / "door") is None
    opened.close()


def test_visitors_who_go_away_or_talk_nonsense_are_no_harm(tmp_path: Path) -> None:
    opened = RequestServer(tmp_path / "door", echo)
    path = str(tmp_path / "door" / "socket")
    for sent in (b"", b"nonsense\n", b"[1]\n", b"\xff\xfe\n"):
        with socket.socket(socket.AF_UNIX) as visitor:
            visitor.connect(path)
            visitor.sendall(sent)
    assert knock(tmp_path / "door") == [{"heard": "hello"}]
    opened.close()


def test_what_fails_behind_the_door_is_told(tmp_path: Path) -> None:
    def fails(_: messages.Request) -> Iterator[Row]:
        yield {"first": 1}
        raise RuntimeError("the moon fell")

    opened = RequestServer(tmp_path, fails)
    answered = client.send_request(tmp_path, {})
    assert answered is not None
    assert next(answered) == {"first": 1}
    with pytest.raises(RequestRefused, match="RuntimeError") as refused:
        next(answered)
    assert refused.value.exit_code == 70
    opened.close()


@pytest.mark.real
def test_what_one_process_adds_another_finds(home: Home) -> None:
    done = other_process(home, "add", "My dog Max sleeps under the stairs.", "--profile", "tiny")
    assert (done.returncode, done.stderr) == (0, "")
    other_process(home, "add", "The tax office closes at noon.", "--profile", "tiny")

    done = other_process(home, "search", "where does my pet rest", "--json", "--profile", "tiny")
    assert objects(done.stdout.splitlines())[0]["text"] == "My dog Max sleeps under the stairs."
