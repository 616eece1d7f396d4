"""Runs the `assistant` command as a child process, and measures what it and its workers cost."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from assistant.paths import Home
from scripts.common.program import NotMeasured
from scripts.common.rows import read_rows

ROOT = Path(__file__).resolve().parents[2]
END_S = 10.0
PATIENCE_S = 60.0


class Ended(NotMeasured):
    """The command ended before it was expected to."""


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of the assistant, of the processes that it started, and of the screen if there is
    one."""

    assistant: float
    workers: float
    screen: float | None = None

    @property
    def total(self) -> float:
        return self.assistant + self.workers + (self.screen or 0.0)

    def __sub__(self, other: "Cost") -> "Cost":
        screen = None if self.screen is None else self.screen - (other.screen or 0.0)
        return Cost(self.assistant - other.assistant, self.workers - other.workers, screen)

    def told(self, factor: float = 1.0, digits: int = 1) -> dict[str, float]:
        """The costs by name, with their sum as `total`."""
        values = {} if self.screen is None else {"screen": self.screen}
        values |= {"assistant": self.assistant, "workers": self.workers, "total": self.total}
        return {name: round(value * factor, digits) for name, value in values.items()}


def cpu_seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def memory_mb(process: psutil.Process) -> float:
    """Resident memory, including mapped pages of the model's file."""
    return float(process.memory_info().rss) / 1e6


def cost_of(figure: Callable[[psutil.Process], float], assistant: psutil.Process) -> Cost:
    return Cost(figure(assistant), sum(map(figure, assistant.children(recursive=True))))


class Talking:
    """A running `assistant talk … --json`."""

    def __init__(self, process: "subprocess.Popen[str]", started: float) -> None:
        self.started = started
        self._process = process
        self._watched = psutil.Process(process.pid)

    def event(self, kind: str) -> dict[str, Any]:
        """Wait for the next event of this kind.

        Raises:
            Ended: the command ended before such an event.
        """
        assert self._process.stdout is not None
        for line in self._process.stdout:
            event: dict[str, Any] = json.loads(line)
            if event.get("event") == kind:
                return event
            if event.get("event") == "error":
                raise Ended(f"The assistant failed: {event.get('message', event)}")
        raise Ended(f"The assistant ended with exit code {self._process.wait()} before `{kind}`.")

    def say(self, text: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{text}\n")
        self._process.stdin.flush()

    def finish(self) -> None:
        """End the command as its user does, and wait until everything is stored.

        Raises:
            Ended: the command failed, or did not end.
        """
        self.say("/quit")
        self.event("ended")
        has_ended_well(self._process)

    def cpu_seconds(self) -> Cost:
        return cost_of(cpu_seconds, self._watched)

    def memory_mb(self) -> Cost:
        return cost_of(memory_mb, self._watched)


def has_ended_well(process: "subprocess.Popen[Any]") -> None:
    """Wait for the process. Raises Ended: it did not end, or it failed."""
    try:
        code = process.wait(PATIENCE_S)
    except subprocess.TimeoutExpired as error:
        raise Ended(f"The assistant did not end within {PATIENCE_S:.0f} s.") from error
    if code:
        raise Ended(f"The assistant ended with exit code {code}.")


def turns_in(home: Home) -> list[dict[str, Any]]:
    """The turns in a home's ledger; see `assistant.voice.latency`."""
    return read_rows(home.ledger) if home.ledger.exists() else []


def environment() -> dict[str, str]:
    """The environment, with this checkout's modules. Encryption is off unless the environment sets
    it, so that no entries are added to anybody's keyring."""
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    modules = {"PYTHONPATH": os.pathsep.join(paths)}
    return {"ASSISTANT_ENCRYPTION__MODE": "off"} | os.environ | modules


@contextmanager
def talking(home: Path, arguments: Sequence[str]) -> Iterator[Talking]:
    """Start the command, and end it with all its processes when the block is left."""
    command = [sys.executable, "-m", "ui.commands.main", "talk", "--json", "--home", str(home)]
    started = time.monotonic()
    process = subprocess.Popen(
        [*command, *arguments],
        cwd=ROOT,
        env=environment(),
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
