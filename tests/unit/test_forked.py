"""A forked process is like one of a new interpreter, and ends like it."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.forked import Forked

TELL = """
import json, locale, os, signal, sys, tempfile, time

def is_inherited(number):
    try:
        return os.get_inheritable(number)
    except OSError:
        return False

print(json.dumps({
    "argv": sys.argv,
    "environment": dict(os.environ),
    "folder": os.getcwd(),
    "group": [os.getpgid(0), os.getsid(0)],
    "inherited": [number for number in range(100) if is_inherited(number)],
    "locale": locale.setlocale(locale.LC_ALL),
    "main": [__name__, __file__, __spec__.name, sys.modules["__main__"].__spec__.name],
    "masked": list(signal.pthread_sigmask(signal.SIG_BLOCK, [])),
    "path": sys.path,
    "read": sys.stdin.read(),
    "signals": [str(signal.getsignal(each)) for each in sorted(signal.valid_signals())],
    "streams": [
        [str(each), each.fileno(), each.errors, each.line_buffering]
        for each in (sys.stdin, sys.stdout, sys.stderr)
    ],
    "temporary": tempfile.tempdir,
    "zone": time.tzname,
}))
"""
BOTH = ("new", "forked")
Process = subprocess.Popen[str] | Forked


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of a module that `python -m told` finds."""
    monkeypatch.chdir(tmp_path)
    return tmp_path / "told.py"


def started(how: str, *arguments: str, **more: str) -> Process:
    environment = {**os.environ, **more}
    if how == "forked":
        return Forked("told", *arguments, env=environment)
    return subprocess.Popen(
        [sys.executable, "-m", "told", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )


def ended(process: Process, typed: str = "") -> tuple[int, str, str]:
    """Its exit code and what it printed."""
    printed = process.communicate(typed)
    return process.wait(), *printed


def test_what_a_module_finds_is_the_same(module: Path) -> None:
    module.write_text(TELL)
    found: list[dict[str, Any]] = []
    for how in BOTH:
        code, out, errors = ended(started(how, "-x", "ä y", TOLD="yes", TZ="Asia/Tokyo"), "1\n2")
        assert (code, errors) == (0, "")
        found.append(json.loads(out))
    new, forked = found
    assert new["read"] == "1\n2"
    assert forked == new


@pytest.mark.parametrize(
    "code",
    [
        "sys.exit(3)",
        "sys.exit('why')",
        "raise OSError('why')",
        "import atexit; atexit.register(print, 'last')",
        "os.kill(os.getpid(), signal.SIGTERM)",
        "signal.raise_signal(signal.SIGINT)",
        "import threading; threading.Timer(0.1, print, ['last']).start()",
    ],
)
def test_the_end_is_the_same(module: Path, code: str) -> None:
    module.write_text(f"import os, signal, sys\n{code}\n")
    (new, out, errors), forked = (ended(started(how)) for how in BOTH)
    assert forked[:2] == (new, out)
    assert forked[2].splitlines()[-1:] == errors.splitlines()[-1:]


def test_processes_are_apart_and_can_be_waited_for_and_killed(module: Path) -> None:
    module.write_text("import sys; print('begun', flush=True); sys.stdin.read()")
    first, second = (started("forked") for _ in range(2))
    assert second.stdout is not None
    second.stdout.readline()
    assert ended(first) == (0, "begun\n", "")  # the other has no copy of its standard input
    assert second.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        second.wait(0.01)
    second.kill()
    assert ended(second) == (-signal.SIGKILL, "", "")
    assert second.poll() == -signal.SIGKILL


def test_variables_of_the_interpreter_are_refused() -> None:
    with pytest.raises(AssertionError, match="PYTHONPATH needs a new interpreter"):
        Forked("told", env={**os.environ, "PYTHONPATH": "/elsewhere"})
