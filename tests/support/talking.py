"""The assistant as its user runs it: a process that tests write to and read from."""

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import psutil

from assistant.paths import models_cache
from tests.support.forked import Forked
from tests.support.patience import PATIENCE_S

OBEY = """
import ctypes
import os
import sys

if os.geteuid() == 0:
    for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
        ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP
os.execv(sys.argv[1], sys.argv[1:])
"""
OBEYING = (sys.executable, "-c", OBEY)
"""Put before a command: if root runs it, the process can't ignore file permissions."""

Row = dict[str, Any]


UNHURRIED = {"ASSISTANT_LLM__TIMEOUT_S": str(PATIENCE_S)}
"""On a busy machine the assistant waits for the model instead of giving up with an apology."""
FORGETFUL = {"ASSISTANT_MEMORY__ENABLED": "false"}
"""No long-term memory: sessions that test something else start faster without it."""
REMEMBERING = {
    "ASSISTANT_MEMORY__ENABLED": "true",
    "ASSISTANT_CONTEXT__RESUME_WITHIN_H": "0",
    "ASSISTANT_MEMORY__DEADLINE_MS": "5000",
    "ASSISTANT_LLM__MAX_ANSWER_TOKENS": "24",
}
"""For tests of what is remembered, not of speed; each session begins a new conversation."""


class Talk:
    """`assistant talk --json`, started in `home`; it ends with the block. With `limited`, file
    permissions apply to it even if root runs it. With `fresh`, and if it is limited, it runs in a
    new interpreter; otherwise it is forked, which `tests/support/forked.py` explains."""

    def __init__(
        self,
        home: Path,
        *arguments: str,
        env: dict[str, str] | None = None,
        fresh: bool = False,
        limited: bool = False,
    ) -> None:
        command = ["ui.commands.main", "--home", str(home), "--json", "talk", *arguments]
        environment = {
            **os.environ,
            **UNHURRIED,
            **FORGETFUL,
            **(env or {}),
            "ASSISTANT_MODELS_CACHE": str(models_cache()),
        }
        self.process: subprocess.Popen[str] | Forked
        if fresh or limited:
            self.process = subprocess.Popen(
                [*(OBEYING if limited else ()), sys.executable, "-m", *command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env=environment,
            )
        else:
            self.process = Forked(*command, env=environment)
        self.rows: list[Row] = []
        self._arriving: queue.Queue[Row | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> "Talk":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            sys.stdout.writelines(f"{row}\n" for row in self.rows)  # shown beside the failure
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._reader.join()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._arriving.put(json.loads(line))
        self._arriving.put(None)

    def wait_for(self, event: str, **fields: object) -> Row:
        """The next row of this kind (and with these values). Fails if there is none."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                row = self._arriving.get(timeout=max(0.01, deadline - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"no {event} {fields} was printed, only {self.rows}") from None
            if row is None:
                raise AssertionError(f"ended before {event}: {self.rows} {self._errors()}")
            self.rows.append(row)
            if row["event"] == event and all(row.get(key) == fields[key] for key in fields):
                return row

    def wait_for_reply(self) -> None:
        """Wait for the end of a turn, or for what is said about a command."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            row = self._arriving.get(timeout=PATIENCE_S)
            if row is None:
                raise AssertionError(f"ended without a reply: {self.rows} {self._errors()}")
            self.rows.append(row)
            if row["event"] in ("turn", "remark"):
                return
        raise AssertionError(f"no reply was printed, only {self.rows}")

    def has_come(self, event: str) -> bool:
        """Whether a row of this kind, or the end, is among what no call has waited for yet."""
        return any(row is None or row["event"] == event for row in list(self._arriving.queue))

    def settle(self, seconds: float = 3.0) -> None:
        """Wait until the assistant listens and has printed nothing for `seconds`."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            try:
                row = self._arriving.get(timeout=seconds)
            except queue.Empty:
                phases = self.of("phase")
                if phases and phases[-1]["phase"] == "listening":
                    return
                continue
            if row is None:
                raise AssertionError(f"ended: {self.rows} {self._errors()}")
            self.rows.append(row)
        raise AssertionError(f"the assistant did not settle: {self.rows}")

    def say(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def end_input(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    def interrupt(self) -> None:
        self.process.send_signal(signal.SIGINT)

    def finish(self, timeout: float = PATIENCE_S) -> int:
        """Wait for the end and collect the last rows; returns the exit code."""
        code = self.process.wait(timeout)
        self._reader.join()
        while (row := self._arriving.get()) is not None:
            self.rows.append(row)
        return code

    def of(self, event: str) -> list[Row]:
        return [row for row in self.rows if row["event"] == event]

    def children(self) -> Iterable[psutil.Process]:
        return psutil.Process(self.process.pid).children(recursive=True)

    def _errors(self) -> str:
        assert self.process.stderr is not None
        return self.process.stderr.read()[-2000:]


def typed(home: Path, *lines: str, env: dict[str, str]) -> Talk:
    """The session of the profile `tiny` after these lines were typed, each after the reply to the
    one before."""
    with Talk(home, "--profile", "tiny", "--text", env=env) as talk:
        talk.wait_for("memories")
        for line in lines:
            talk.say(line)
            talk.wait_for_reply()
        talk.end_input()
        assert talk.finish() == 0
    return talk
