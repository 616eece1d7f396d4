"""The `assistant` command as a child process, and what it and its workers cost."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from assistant.paths import Home

ROOT = Path(__file__).resolve().parents[2]
END_S = 10.0
PATIENCE_S = 60.0


class Ended(Exception):
    """The command ended before it was expected to."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Of the command itself, and of the processes it started."""

    assistant: float
    workers: float

    @property
    def total(self) -> float:
        return self.assistant + self.workers


class Talking:
    """A running `assistant talk … --json`."""

    def __init__(self, process: "subprocess.Popen[str]", started: float) -> None:
        self.started = started
        self._process = process
        self._watched = psutil.Process(process.pid)

    def event(self, kind: str) -> dict[str, Any]:
        """Wait for the next event of this kind.

        Raises:
            Ended: the command ended without one.
        """
        assert self._process.stdout is not None
        for line in self._process.stdout:
            event: dict[str, Any] = json.loads(line)
            if event.get("event") == kind:
                return event
            if event.get("event") == "error":
                raise Ended(str(event))
        raise Ended(f"exit code {self._process.wait()} without `{kind}`")

    def say(self, text: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{text}\n")
        self._process.stdin.flush()

    def finish(self) -> None:
        """End it as its user does, and wait until all is stored.

        Raises:
            Ended: it failed at that, or did not end.
        """
        self.say("/quit")
        self.event("ended")
        try:
            code = self._process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired as error:
            raise Ended(f"it did not end within {PATIENCE_S:.0f} s") from error
        if code:
            raise Ended(f"exit code {code}")

    def cpu_seconds(self) -> Cost:
        def of(process: psutil.Process) -> float:
            times = process.cpu_times()
            return float(times.user + times.system)

        return Cost(of(self._watched), sum(map(of, self._watched.children(recursive=True))))

    def memory_mb(self) -> Cost:
        """Resident, pages of the model's file included."""

        def of(process: psutil.Process) -> float:
            return float(process.memory_info().rss) / 1e6

        return Cost(of(self._watched), sum(map(of, self._watched.children(recursive=True))))


def turns_in(home: Home) -> list[dict[str, Any]]:
    """What a home's ledger holds: see `assistant.voice.latency_log`."""
    if not home.ledger.exists():
        return []
    return [json.loads(line) for line in home.ledger.read_text(encoding="utf-8").splitlines()]


@contextmanager
def talking(home: Path, arguments: Sequence[str]) -> Iterator[Talking]:
    """Start the command; it is ended, with all its processes, when the block is left."""
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    started = time.monotonic()
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "ui.commands.main",
            "talk",
            "--json",
            "--home",
            str(home),
            *arguments,
        ],
        cwd=ROOT,
        # No entries in anybody's keyring, unless the environment wants them.
        env={"ASSISTANT_ENCRYPTION__MODE": "off"}
        | os.environ
        | {"PYTHONPATH": os.pathsep.join(paths)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield Talking(process, started)
    finally:
        process.terminate()
        try:
            process.communicate(timeout=END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
