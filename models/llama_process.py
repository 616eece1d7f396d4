"""The parent's side of the llama.cpp worker: starts it, talks to it, notices its death.

Why a process of its own: the engine's constructor holds the GIL for the whole load, a crash in
native code must not end the conversation, and its memory goes back to the system at once.
"""

import asyncio
import contextlib
import json
import os
import secrets
import shutil
import sys
import tempfile
from collections.abc import AsyncGenerator, Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import httpx

from assistant.errors import ModelFailed
from models.interfaces import Chunk, Usage

HAS_UNIX_SOCKETS = sys.platform != "win32"
_PROJECT = Path(__file__).resolve().parent.parent
STOP_SECONDS = 1.5
_LINE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class WorkerConfig:
    """What the worker is told at its start.

    Attributes:
        path: of the GGUF file.
        context_tokens: of one lane.
        lanes: slots with a KV cache each.
        threads: for one token at a time; batch_threads: for reading prompts.
        batch: tokens of a prompt read between two looks at whether it was cancelled.
        folder: private folder for the engine's socket; None listens on 127.0.0.1 instead.
        secret: bearer token that the engine's HTTP asks for; needed without a folder.
    """

    path: str
    context_tokens: int
    lanes: int
    threads: int
    batch_threads: int
    batch: int
    folder: str | None = None
    secret: str = ""


class WorkerDied(Exception):  # noqa: N818 - an event for the adapter, not an error of the user's
    """The process ended by itself; `str` says how."""


class WorkerRefused(Exception):  # noqa: N818 - likewise
    """The engine answered a request with an error."""

    def __init__(self, reply: dict[str, Any]) -> None:
        super().__init__(str(reply.get("message", "")))
        self.kind = str(reply.get("type", ""))
        self.prompt_tokens = reply.get("n_prompt_tokens")


class LoadRefused(Exception):  # noqa: N818 - likewise
    """The engine could not load the model."""


class Worker:
    """One running child process. Belongs to the event loop that started it."""

    def __init__(self, process: asyncio.subprocess.Process, config: WorkerConfig) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.pid = process.pid
        self.address = ""
        self.ended = ""
        self._config = config
        self._process = process
        self._in = process.stdin
        self._out = process.stdout
        self._replies: dict[int, asyncio.Queue[dict[str, Any] | None]] = {}
        self._numbers = iter(range(1, sys.maxsize))
        self._reading: asyncio.Task[None] | None = None

    @classmethod
    async def start(
        cls,
        config: WorkerConfig,
        *,
        log: Path | None,
        timeout: float,
        on_end: Callable[[Self], None],
    ) -> Self:
        """Start the process and wait until the model is loaded; `timeout` in seconds.

        `on_end` is called when it ends after that, whether it was asked to or not.

        Raises:
            LoadRefused: the engine could not load the model.
            WorkerDied: it ended while loading.
            TimeoutError: it took too long; the process is gone.
        """
        process = await _spawn(log)
        worker = cls(process, config)
        try:
            async with asyncio.timeout(timeout):
                worker._in.write(json.dumps(asdict(config)).encode() + b"\n")
                line = await worker._out.readline()
                if not line:
                    raise WorkerDied(_how_it_ended(await process.wait()))
        except BaseException:
            await worker.stop()
            raise
        first = json.loads(line)
        if "failed" in first:
            await worker.stop()
            raise LoadRefused(first["failed"])
        worker.address = first["ready"]["address"]
        worker._reading = asyncio.create_task(worker._read(on_end))
        return worker

    async def _read(self, on_end: Callable[[Self], None]) -> None:
        """Hand every reply to the request it belongs to, until the process ends."""
        while line := await self._out.readline():
            reply = json.loads(line)
            queue = self._replies.get(reply["id"])
            if queue is not None:
                queue.put_nowait(reply)
        self.ended = _how_it_ended(await self._process.wait())
        on_end(self)  # before the requests hear of it, so that they find the next process
        for queue in self._replies.values():
            queue.put_nowait(None)
        await self._release()

    async def run(self, body: dict[str, Any]) -> AsyncGenerator[Chunk]:
        """Run one chat request; closing the generator cancels it.

        Raises:
            WorkerDied: the process ended before the answer did.
            WorkerRefused: the engine answered with an error.
        """
        number = next(self._numbers)
        queue = self._replies[number] = asyncio.Queue()
        over = False
        try:
            self._send(number, request=body)
            while True:
                reply = None if self.ended and queue.empty() else await queue.get()
                if reply is None:
                    over = True
                    raise WorkerDied(self.ended)
                if "error" in reply:
                    over = True
                    raise WorkerRefused(reply["error"])
                if "done" in reply:
                    over = True
                    done = reply["done"]
                    yield Chunk("", Usage(done["read"], done["cached"], done["generated"]))
                    return
                yield Chunk(reply["text"])
        finally:
            del self._replies[number]
            if not over:
                self._send(number, cancel=True)

    def _send(self, number: int, **what: Any) -> None:
        """Without waiting: lines are short, and a worker that is gone is noticed by `_read`."""
        if not self._in.is_closing():
            self._in.write(json.dumps({"id": number} | what).encode() + b"\n")

    async def stop(self) -> None:
        """End the process: by closing its input, and by force if that is not heard."""
        self._in.close()
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await self._process.wait()
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
        if self._reading is not None:
            await self._reading
        else:
            await self._out.read()
            await self._release()

    async def _release(self) -> None:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            await self._in.wait_closed() if self._in.is_closing() else None
        self._in.close()
        if self._config.folder:
            await asyncio.to_thread(shutil.rmtree, self._config.folder, True)

    def http(self) -> httpx.Client:
        """A blocking client for the engine's own HTTP interface, for exact tokenization."""
        if self._config.folder:
            path = self.address.removeprefix("unix://")
            return httpx.Client(
                transport=httpx.HTTPTransport(uds=path),
                base_url="http://llama",
                trust_env=False,
            )
        headers = {"Authorization": f"Bearer {self._config.secret}"}
        return httpx.Client(base_url=self.address, headers=headers, trust_env=False)


def listening_place() -> tuple[str | None, str]:
    """Where the engine may listen so that nobody else can talk to it: a folder for its socket,
    or no folder and a secret where there are no such sockets."""
    if HAS_UNIX_SOCKETS:
        return tempfile.mkdtemp(prefix="assistant-"), ""
    return None, secrets.token_urlsafe(32)


async def _spawn(log: Path | None) -> asyncio.subprocess.Process:

    paths = [str(_PROJECT), *filter(None, [os.environ.get("PYTHONPATH")])]
    try:
        with (log or Path(os.devnull)).open("ab") as errors:
            return await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "models.llama_worker"),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=errors,
                env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
                limit=_LINE_BYTES,
                start_new_session=True,  # the terminal's Ctrl-C is the parent's business
            )
    except OSError as error:
        raise ModelFailed(
            f"The language model's process can't be started: {error.strerror}."
        ) from error


def _how_it_ended(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit code {code}"
