"""The common behaviour of all programs in `scripts`: how they start and report bad input."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from assistant.errors import ModelMissing
from scripts.common import program
from scripts.common.rows import InputUnusable, Keep, read_rows

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
PROGRAMS = sorted(set(SCRIPTS.glob("*.py")) - {SCRIPTS / "__init__.py"})


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_a_program_finds_the_project_wherever_it_is_started(path: Path) -> None:
    head, _, tail = path.read_text("utf-8").partition("\nfrom scripts")
    assert "sys.path.insert(0, str(Path(__file__).resolve().parent.parent))" in head
    assert "parser = program.parser(__doc__)" in tail


def test_a_program_prints_its_help_from_another_folder(tmp_path: Path) -> None:
    command = [sys.executable, str(SCRIPTS / "eval_commands.py"), "--help"]
    printed = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "usage: eval_commands.py" in printed.stdout
    assert "precision and recall" in printed.stdout


def options(*arguments: str) -> program.Options:
    return program.parser("What it does.\n\nAnd how.\n").parse_args(arguments)


def test_figures_are_the_last_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert program.run(lambda _: {"p50": 1.5}, options()) == 0
    assert capsys.readouterr().out == ""
    assert program.run(lambda _: {"p50": 1.5}, options("--json")) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["p50"], found["machine"]["cores"] >= 1) == (1.5, True)


@pytest.mark.parametrize(
    ("error", "code", "printed"),
    [
        (InputUnusable("No clips."), 2, "No clips.\n"),
        (ModelMissing("It is missing.", mend="pull it"), 3, "It is missing.\npull it\n"),
        (FileNotFoundError(2, "No such file", "x.wav"), 1, "x.wav: No such file\n"),
        (KeyboardInterrupt(), 130, ""),
    ],
)
def test_a_failure_is_reported_in_one_sentence(
    error: BaseException, code: int, printed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def work(_: program.Options) -> program.Figures:
        raise error

    assert program.run(work, options("--json")) == code
    assert capsys.readouterr() == ("", printed)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ('{"file": "a"}\n{"fi', "Line 2 of .* is not JSON"),
        ('["file"]', "Line 1 of .* is not a JSON object"),
        ('{"text": "a"}', "Line 1 of .* has no `file`"),
        (b"\xff\xfe", "is not text"),
        (None, "can't be read: No such file"),
    ],
)
def test_a_bad_file_is_named_with_its_line(
    text: str | bytes | None, wrong: str, tmp_path: Path
) -> None:
    file = tmp_path / "rows.jsonl"
    if text is not None:
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InputUnusable, match=wrong):
        read_rows(file, "file")


def test_rows_are_saved_as_they_arrive(tmp_path: Path) -> None:
    file = tmp_path / "kept.jsonl"
    file.write_text("of an earlier run")
    keep = Keep(file)
    keep({"clip": 1})
    assert read_rows(file) == [{"clip": 1}]
    keep({"clip": 2})
    assert read_rows(file, "clip") == [{"clip": 1}, {"clip": 2}]
    Keep(None)({"clip": 3})
