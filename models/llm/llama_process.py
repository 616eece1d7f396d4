"""Starts llama.cpp's worker process, talks to it, and notices its death.

The worker is a separate process for three reasons. The engine's constructor holds the GIL while it
loads the model. A crash in native code must not end the conversation. And when a process ends, it
returns its memory to the system at once.
"""

import asyncio
import contextlib
import itertools
import json
import os
import queue
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any

import httpx

from assistant.errors import ModelCorrupt
from models.interfaces import Chunk, Usage

HAS_UNIX_SOCKETS = sys.platform != "win32"
Reply = dict[str, Any]

_PROJECT = Path(__file__).resolve().parents[2]
STOP_SECONDS = 1.5
FREE_S = 0.5
"""Maximum seconds to wait until a cancelled background request has ended. In this time, the engine
does about ten steps of such a request."""


@dataclass(frozen=True, slots=True)
class WorkerConfig:
    """The worker's configuration.

    Attributes:
        path: the GGUF file.
        context_tokens: size of one lane's window.
        lanes: number of slots, each with its own KV cache.
        threads: number of threads for generating tokens.
        batch_threads: number of threads for reading prompts.
        batch: number of prompt tokens read between two checks for cancellation.
        adapter: a GGUF file with a low-rank adapter of the model, which only requests with the
            parameter `lora` use; "" if there is none.
        unix_socket: whether the engine's HTTP server listens on a Unix socket, in a folder that
            only this user can open. If not (on Windows), the server listens on 127.0.0.1, and
            requires `secret` as a bearer token.
    """

    path: str
    context_tokens: int
    lanes: int
    threads: int
    batch_threads: int
    batch: int
    adapter: str = ""
    unix_socket: bool = HAS_UNIX_SOCKETS
    secret: str = field(default_factory=lambda: secrets.token_urlsafe(32))


class WorkerDied(Exception):
    """The worker process ended while it was still needed. The message says how it ended."""


class WorkerRefused(Exception):
    """The engine answered a request with an error."""

    def __init__(self, reply: dict[str, Any]) -> None:
        super().__init__(str(reply.get("message", "")))
        self.kind = str(reply.get("type", ""))
        self.prompt_tokens = reply.get("n_prompt_tokens")


class Worker:
    """A child process that runs llama.cpp. It belongs to the event loop in which it is created.

    Two threads serve its pipes, because asyncio's own subprocesses hang for good on Python 3.11 if
    a start is cancelled midway, and some event loops don't support subprocesses. The reading thread
    owns the process from start to end. So no process is left over, even if a caller stops waiting.
    """

    def __init__(
        self,
        config: WorkerConfig,
        *,
        log: Path | None = None,
        on_end: Callable[["Worker"], None] = lambda _worker: None,
        expendable: bool = False,
    ) -> None:
        """Prepare a worker; `start` starts it.

        Args:
            log: file for the output of native code; None discards the output.
            on_end: called when the process ends, unless it ended before it reported whether it
                could load the model.
            expendable: `stop` kills the process at once, even while it is loading the model, and
                doesn't wait. The system may then take 0.1 to 0.2 s per gigabyte to reclaim the
                memory.
        """
        self.address = ""
        self.ended = ""
        self._config = config
        self._log = log
        self._on_end = on_end
        self._expendable = expendable
        self._killed = False
        self._loop = asyncio.get_running_loop()
        self._process: subprocess.Popen[bytes] | None = None
        self._outbox: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._replies: dict[int, asyncio.Queue[Reply | None]] = {}
        self._numbers = itertools.count(1)
        self._first: asyncio.Future[Reply] = self._loop.create_future()
        self._over = asyncio.Event()
        self._begun = False

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Suspend the process during the block. Running requests continue afterwards."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)

    async def start(self, timeout: float) -> None:
        """Start the process and wait until the model is loaded.

        If the process ends later, `on_end` is called, even if `stop` ended it.

        Args:
            timeout: maximum seconds to wait.

        Raises:
            ModelCorrupt: llama.cpp can't load the model.
            WorkerDied: the process ended while loading the model.
            TimeoutError: loading took longer than `timeout`.
        """
        self._begun = True
        self._put(asdict(self._config))
        threading.Thread(target=self._live, name="llama-worker", daemon=True).start()
        try:
            async with asyncio.timeout(timeout):
                first = await self._first
            if "failed" in first:
                files = " with the adapter ".join(
                    filter(None, (self._config.path, self._config.adapter))
                )
                raise ModelCorrupt(
                    f"llama.cpp can't load {files}: the file is damaged, incomplete or "
                    "of an unknown kind.",
                    mend="assistant models verify",
                ) from RuntimeError(first["failed"])
        except BaseException:
            await self.stop()
            raise
        self.address = first["ready"]["address"]

    async def run(self, body: dict[str, Any], *, in_pieces: bool = False) -> AsyncGenerator[Chunk]:
        """Run one chat request and yield its answer. Closing the generator cancels the request.

        Args:
            in_pieces: read the prompt a few tokens at a time. Closing the generator then waits
                until the engine has stopped, for at most `FREE_S`.

        Raises:
            WorkerDied: the process ended before the answer was complete.
            WorkerRefused: the engine answered with an error.
        """
        number = next(self._numbers)
        replies = self._replies[number] = asyncio.Queue()
        over = False
        try:
            self._put({"id": number, "request": body, "pieces": in_pieces})
            while True:
                reply = None if self.ended and replies.empty() else await replies.get()
                over = reply is None or "done" in reply or "error" in reply
                if reply is None:
                    raise WorkerDied(self.ended)
                if "error" in reply:
                    raise WorkerRefused(reply["error"])
                if "done" in reply:
                    done = reply["done"]
                    yield Chunk("", Usage(done["read"], done["cached"], done["generated"]))
                    return
                if "text" in reply:
                    yield Chunk(reply["text"])
        finally:
            try:
                if not over:
                    self._put({"id": number, "cancel": True})
                    if in_pieces:
                        await self._freed(replies)
            finally:
                del self._replies[number]

    async def _freed(self, replies: "asyncio.Queue[Reply | None]") -> None:
        """Wait until a cancelled request has ended.

        This waits for at most `FREE_S`, because the process may be paused.
        """
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(FREE_S):
                while not (self.ended and replies.empty()):
                    reply = await replies.get()
                    if reply is None or "done" in reply or "error" in reply:
                        return

    async def stop(self) -> None:
        """End the process by closing its input; kill it if it does not react."""
        if not self._begun:
            return
        self._outbox.put(None)
        if self._expendable:
            self._kill()
            return
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await self._over.wait()
        except TimeoutError:
            self._kill()
            await self._over.wait()

    def _kill(self) -> None:
        self._killed = True  # in case the process is just being started
        if self._process is not None:
            self._process.kill()

    def _put(self, message: dict[str, Any]) -> None:
        self._outbox.put(json.dumps(message).encode() + b"\n")

    def _live(self) -> None:
        """Start the process and follow it until it ends. This is the main function of the reading
        thread."""
        how = "its pipe broke"
        folder = tempfile.mkdtemp(prefix="assistant-")  # mkdtemp guarantees mode 0700
        try:
            code = self._follow(
                _spawn(folder, self._log, MEASURED if self._expendable else PATIENT)
            )
            how = f"signal {-code}" if code < 0 else f"exit code {code}"
        except OSError as error:
            how = f"it can't be started: {error.strerror}"
        finally:
            shutil.rmtree(folder, ignore_errors=True)  # the folder remains if we are killed
            self._tell(self._finish, how)

    def _follow(self, process: subprocess.Popen[bytes]) -> int:
        """Deliver the process's replies until it ends; return its exit code."""
        self._process = process
        if self._killed:
            process.kill()
        writer = threading.Thread(target=self._write, args=(process.stdin,), daemon=True)
        writer.start()
        with process:
            assert process.stdout is not None
            try:
                for line in process.stdout:
                    self._tell(self._deliver, json.loads(line))
            finally:
                self._outbox.put(None)
                writer.join()
        return process.returncode

    def _write(self, requests: IO[bytes]) -> None:
        """Send the queued messages to the process. This is the main function of the writing thread.

        Errors are ignored here: if the process has ended, the reading thread deals with that.
        """
        with contextlib.suppress(OSError), requests:
            while (line := self._outbox.get()) is not None:
                requests.write(line)
                requests.flush()

    def _tell(self, function: Callable[..., None], argument: Any) -> None:
        """Call `function` on the event loop, from another thread.

        If the loop has ended, the process is no longer needed, so its input is closed.
        """
        try:
            self._loop.call_soon_threadsafe(function, argument)
        except RuntimeError:
            self._outbox.put(None)

    def _deliver(self, reply: Reply) -> None:
        if "id" in reply:
            replies = self._replies.get(reply["id"])
            if replies is not None:
                replies.put_nowait(reply)
        elif not self._first.done():
            self._first.set_result(reply)

    def _finish(self, how: str) -> None:
        self.ended = how
        self._over.set()
        if not self._first.done():
            self._first.set_exception(WorkerDied(how))
            return
        self._on_end(self)  # before the requests fail, so that their retries find the next process
        for replies in self._replies.values():
            replies.put_nowait(None)

    def http(self) -> httpx.Client:
        """Return a blocking client for the engine's own HTTP interface, which tokenizes text
        exactly."""
        # `verify=False` spares loading the certificates for TLS, which is not used here.
        if self._config.unix_socket:
            socket = self.address.removeprefix("unix://")
            return httpx.Client(
                transport=httpx.HTTPTransport(uds=socket, verify=False),
                base_url="http://llama",
                trust_env=False,
            )
        headers = {"Authorization": f"Bearer {self._config.secret}"}
        return httpx.Client(base_url=self.address, headers=headers, trust_env=False, verify=False)


LORA = {"lora": [{"id": 0, "scale": 1.0}]}
"""Parameter of a request that uses the worker's adapter."""
PATIENT = {"GOMP_SPINCOUNT": "1000"}
"""Environment variable for the worker's threads. With it, threads that have finished their part of
a step spin for some microseconds, then sleep. By default they keep spinning, and on a busy machine
they use up the processor time that the other threads need. `scripts/bench_busy.py` measured, with
this value and with 30,000: on an idle machine with two cores, 25 tokens in 0.4 and 0.5 s; next to a
busy program, 1.1 and 11 s. A value in the user's environment takes precedence."""
MEASURED = {"GOMP_SPINCOUNT": "30000"}
"""The same for a worker whose speed is measured: a waiting thread then counts as busy, so that the
share of the processor time tells whether other programs took some of it
(`models.selection.machine_records.CALM_SHARE`)."""


def _spawn(folder: str, log: Path | None, spinning: Mapping[str, str]) -> subprocess.Popen[bytes]:
    paths = [str(_PROJECT), *filter(None, [os.environ.get("PYTHONPATH")])]
    with (log or Path(os.devnull)).open("ab") as errors:
        return subprocess.Popen(
            [sys.executable, "-m", "models.llm.llama_worker", folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env={**spinning} | os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
            start_new_session=True,  # the terminal's Ctrl-C is for the parent
        )
