"""Runs the command line as a user types it, in this process or in a separate one."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from assistant.memory.retrieval.encoding import QueryEncoder
from tests.support.encoders import HashingEncoder
from ui.commands import main

ROOT = Path(__file__).resolve().parents[2]
MAIN = [sys.executable, "-m", "ui.commands.main"]

Run = Callable[..., tuple[int, list[str], list[str]]]
"""Runs a command; returns its exit code and the lines of standard output and standard error."""


class _Input(io.TextIOWrapper):
    terminal = False

    def isatty(self) -> bool:
        return self.terminal


def in_process(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """Runs commands in this process, with a fast encoder.

    Standard input contains `typed`, and is a terminal if `terminal` is true.
    """
    monkeypatch.setattr(
        "assistant.compose.memory.profile_encoder", lambda _: QueryEncoder(HashingEncoder())
    )
    monkeypatch.setenv("COLUMNS", "100")

    def run(
        *words: str, typed: str | bytes = b"", terminal: bool = False
    ) -> tuple[int, list[str], list[str]]:
        given = typed if isinstance(typed, bytes) else typed.encode()
        stdin = _Input(io.BytesIO(given), encoding="utf-8")
        stdin.terminal = terminal
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdin", stdin)
            code = main.main(list(words))
        shown = capfd.readouterr()
        return code, shown.out.splitlines(), shown.err.splitlines()

    return run


def in_own_process(*words: str, home: Path, **more: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*MAIN, *words],
        cwd=ROOT,
        env={**os.environ, "ASSISTANT_HOME": str(home), **more},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def in_this_process(*words: str, home: Path, **more: str) -> "subprocess.CompletedProcess[str]":
    """The same, where it doesn't matter in which process a command runs: starting one takes far
    longer than most commands."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        for name, value in {"ASSISTANT_HOME": str(home), **more}.items():
            patch.setenv(name, value)
        code = main.main(list(words))
    return subprocess.CompletedProcess([*MAIN, *words], code, out.getvalue(), err.getvalue())


def objects(lines: list[str]) -> list[dict[str, Any]]:
    """The objects that `--json` printed."""
    return [json.loads(line) for line in lines]
