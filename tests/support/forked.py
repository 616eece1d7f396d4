"""Runs modules as `python -m` does, but in processes forked from one that has already imported what
a session of the assistant imports, which takes more than half of the time of a short session.

Such a process differs from one with a new interpreter in what happens before the module begins: the
libraries are imported already, and so before the logs are set up, and the seed of hashes is the
same in all of them. Standard streams, environment, folder, signals and the end are the same, as
`tests/unit/test_forked.py` checks. Tests of the start itself, of sound devices, and of the threads
or the memory of a process need a new interpreter.
"""

import atexit
import os
import runpy
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from multiprocessing.reduction import recv_handle, send_handle
from pathlib import Path
from typing import Any

from tests.support.patience import PATIENCE_S

ROOT = Path(__file__).resolve().parents[2]
SERVE = f"from {__name__} import serve; serve(int(__import__('sys').argv[1]))"
IMPORTED = (
    "ui.commands.talk",
    "models.encoder.intents",
    "models.encoder.reranker",
    "models.encoder.slots",
    "models.llm.openai_http",
    "models.stt.whisper",
    "models.tts.piper",
)
"""LanceDB is left out: it starts a thread."""
READ_AT_START = ("PYTHON", "LANG", "LC_", "LD_")
"""Prefixes of variables that an interpreter reads before it runs any module."""
READ_LATER = frozenset({"PYTHON_KEYRING_BACKEND"})


@dataclass(frozen=True)
class Start:
    module: str
    arguments: Sequence[str]
    environment: Mapping[str, str]
    folder: str


class Forked:
    """Stands in for `subprocess.Popen` with pipes and text. The process is a child of the server,
    which therefore reports how it ended."""

    def __init__(self, module: str, *arguments: str, env: Mapping[str, str]) -> None:
        for name in {**os.environ, **env}:
            if name.startswith(READ_AT_START) and name not in READ_LATER:
                assert os.environ.get(name) == env.get(name), f"{name} needs a new interpreter"
        self.args = (module, *arguments)
        self.returncode: int | None = None
        pipes = [os.pipe() for _ in range(4)]
        (their_input, our_input), (our_output, their_output), (our_errors, their_errors) = pipes[:3]
        self._ends, ending = pipes[3]  # closed by the end of the process
        theirs = [their_input, their_output, their_errors, ending]
        start = Start(module, arguments, dict(env), str(Path.cwd()))
        self.pid = _server().fork(start, theirs)
        for descriptor in theirs:
            os.close(descriptor)
        self.stdin = os.fdopen(our_input, "w")
        self.stdout = os.fdopen(our_output)
        self.stderr = os.fdopen(our_errors)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end; returns the exit code, or minus the number of the signal.

        Raises:
            subprocess.TimeoutExpired: it takes longer than `timeout` seconds.
        """
        if self.returncode is None:
            if not select.select([self._ends], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(self.args, timeout or 0)
            self.returncode = _server().wait(self.pid)
            os.close(self._ends)
        return self.returncode

    def poll(self) -> int | None:
        try:
            return self.wait(0)
        except subprocess.TimeoutExpired:
            return None

    def communicate(self, typed: str = "") -> tuple[str, str]:
        """Type this, end the input, and wait for the end; returns output and errors. The errors
        must fit into a pipe."""
        with self.stdin, self.stdout, self.stderr:
            self.stdin.write(typed)
            self.stdin.close()
            printed = self.stdout.read(), self.stderr.read()
        self.wait(PATIENCE_S)
        return printed

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class _Server:
    """The process that forks. It ends when the connection is closed, or this process ends."""

    def __init__(self) -> None:
        self._connection, theirs = Pipe()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-c", SERVE, str(theirs.fileno())],
                stdin=subprocess.PIPE,  # pipes, as in the processes that are forked
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                cwd=ROOT,
                pass_fds=[theirs.fileno()],
            )

    def fork(self, start: Start, descriptors: Sequence[int]) -> int:
        """Give the descriptors to a new process; returns its id."""
        self._connection.send(start)
        for each in descriptors:
            send_handle(self._connection, each, self._process.pid)
        return self._answer()

    def wait(self, process: int) -> int:
        self._connection.send(process)
        return self._answer()

    def _answer(self) -> int:
        assert self._connection.poll(PATIENCE_S)
        try:
            return int(self._connection.recv())
        except (EOFError, ConnectionError):
            raise AssertionError(self._process.communicate()[1]) from None

    def close(self) -> None:
        self._connection.close()
        self._process.communicate()


@cache
def _server() -> _Server:
    server = _Server()
    atexit.register(server.close)
    return server


def serve(descriptor: int) -> None:
    """Fork for every request. A forked process runs the module; what it returns or raises then ends
    the interpreter, as in any other process."""
    from ui.process.imports import imports_for_good

    interrupted = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is meant for pytest
    with imports_for_good():
        for name in IMPORTED:
            import_module(name)
    assert threading.active_count() == 1, "a fork copies only one thread, and locks of all"
    with Connection(descriptor) as client:
        start = _next_start(client)
    if start is not None:
        signal.signal(signal.SIGINT, interrupted)
        sys.argv = [start.module, *start.arguments]
        sys.path[0] = start.folder
        os.chdir(start.folder)
        os.environ.clear()
        os.environ.update(start.environment)
        time.tzset()
        runpy.run_module(start.module, run_name="__main__", alter_sys=True)


def _next_start(client: "Connection[Any, Any]") -> Start | None:
    """What a forked process shall run; in the server itself, None once the client has gone."""
    while True:
        try:
            request = client.recv()
        except EOFError:
            return None
        if isinstance(request, int):
            _, status = os.waitpid(request, 0)
            client.send(os.waitstatus_to_exitcode(status))
            continue
        assert isinstance(request, Start)
        theirs = [recv_handle(client) for _ in range(4)]
        process = os.fork()
        if process == 0:
            *streams, ending = theirs
            os.set_inheritable(ending, False)
            for number, stream in enumerate(streams):
                os.dup2(stream, number)
                os.close(stream)
            return request
        for each in theirs:
            os.close(each)
        client.send(process)
