"""The process that runs llama.cpp: `python -m models.llm.llama_worker FOLDER`.

FOLDER is empty and accessible only to this user. It holds the engine's socket, and is deleted when
the process ends. The protocol is JSON, one object per line. The first line on standard input is the
configuration (`WorkerConfig` in models/llm/llama_process.py). After it come these messages:

    in   {"id": 7, "request": {…}}        an OpenAI-style chat request; with "pieces": true its
                                             prompt is read a few tokens at a time
         {"id": 7, "cancel": true}
    out  {"ready": {"address": …}}        or {"failed": "why"}
         {"id": 7, "progress": n}             tokens of the prompt read so far
         {"id": 7, "text": "…"}
         {"id": 7, "done": {"read": n, "cached": n, "generated": n}}
         {"id": 7, "error": {"type": …, "message": …}}

Every request, even a cancelled one, ends with one `done` or `error`, which is sent when its slot is
free again. The process ends when its standard input ends, so that it never outlives its parent. It
ignores Ctrl-C, because the parent handles that. The output of native code goes to standard error,
never into the protocol. The parent redirects standard error to a log file.
"""

import contextlib
import ctypes
import json
import os
import re
import shutil
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from models.llm.chunked_prefill import ChunkedPrefill, json_poster
from models.unused_memory import release_zeros

Reply = dict[str, Any]

FAILURES = (ArithmeticError, ImportError, LookupError, OSError, RuntimeError, TypeError, ValueError)
"""Exceptions that the llama.cpp binding may raise. The parent turns them into messages for the
user."""


PROCESSED = re.compile(r"^llamacpp:requests_processing (\d+)", re.MULTILINE)

PR_SET_PDEATHSIG = 1
"""Constant from <sys/prctl.h>."""

BACKGROUND_NICE = 5
"""Nice value of this process. Hearing, recall and speaking need a few milliseconds at a time, by a
deadline, while the model works for seconds. With a value of 5, 4 of 1,250 recalls from 100,000
memories missed the deadline. With 10, fewer recalls would miss it. But next to a program that takes
all the processor time it can get, the model would then get a tenth of the processor instead of a
quarter."""

AUTOGROUP_TRIES = 3
AUTOGROUP_EVERY_S = 0.11


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    wake_when_orphaned()
    lower_priority(BACKGROUND_NICE)
    protocol = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    requests = sys.stdin.buffer
    folder = sys.argv[1]
    config = json.loads(requests.readline() or b"null")
    code = 1
    try:
        if config is not None:
            # Keeps the server alive: shutting it down may hang if it has just started.
            _server = serve(config, folder, requests, protocol)
        code = 0
    finally:
        if code:
            traceback.print_exc()
        shutil.rmtree(folder, ignore_errors=True)
        # Not sys.exit: llama.cpp's threads may be in the middle of a batch; nothing needs saving.
        os._exit(code)


def wake_when_orphaned() -> None:
    """Make sure that this process is resumed if its parent suspends it (SIGSTOP) and then dies."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGCONT)


def lower_priority(nice: int) -> None:
    """Let other programs have the processor first, by raising the nice value of this process."""
    if not hasattr(os, "nice"):
        return
    os.nice(nice)
    if os.getsid(0) == os.getpid():
        # Linux may first divide the processor among sessions. Then `nice` counts only within a
        # session, so the session's own value is set too.
        for _ in range(AUTOGROUP_TRIES):
            try:
                Path("/proc/self/autogroup").write_text(f"{nice}", "ascii")
            except BlockingIOError:  # the system accepts only ten writes a second in all
                time.sleep(AUTOGROUP_EVERY_S)
            except OSError:  # not supported here, or not permitted
                break
            else:
                break


def serve(config: dict[str, Any], folder: str, requests: IO[bytes], protocol: IO[bytes]) -> Any:
    """Load the model and answer requests until the parent closes its end of the pipe. Return the
    server, or None if the model could not be loaded."""
    lock = threading.Lock()

    def send(reply: Reply) -> None:
        line = json.dumps(reply).encode() + b"\n"
        # If the parent has died, `requests` ends too.
        with lock, contextlib.suppress(BrokenPipeError):
            protocol.write(line)
            protocol.flush()

    try:
        server = _load(config, folder)
    except FAILURES as error:
        send({"failed": f"{error}"})
        return None
    release_zeros()
    address = server.listening_address
    send({"ready": {"address": address}})
    post = json_poster(address, config["secret"])
    running: dict[int, threading.Event] = {}
    beside: set[int] = set()
    """Ids of the running requests whose prompts are read in pieces."""

    def busy() -> bool:
        return active_requests(server) > len(running) - len(beside)

    size, most = config["context_tokens"], config["batch"]
    pieces = ChunkedPrefill(server.handle_completions, post, busy, size, most)
    for message in _messages(requests):
        number = message["id"]
        if "cancel" in message:
            cancelled = running.get(number)
            if cancelled is not None:
                cancelled.set()
            continue
        cancelled = running[number] = threading.Event()
        by = pieces if message.get("pieces") else None
        if by is not None:
            beside.add(number)

        def run(
            number: int = number,
            body: dict[str, Any] = message["request"],
            cancelled: threading.Event = cancelled,
            by: ChunkedPrefill | None = by,
        ) -> None:
            def say(reply: Reply) -> None:
                send({"id": number} | reply)

            try:
                last = run_request(server, body, cancelled, say, by)
            finally:
                beside.discard(number)
                del running[number]
            send({"id": number} | last)

        threading.Thread(target=run, daemon=True).start()
    return server


def _messages(requests: IO[bytes]) -> Iterator[dict[str, Any]]:
    """Yield the parent's messages until the parent closes its end of the pipe.

    If the parent dies in the middle of a message, that message is dropped.
    """
    for line in requests:
        if not line.endswith(b"\n"):
            return
        yield json.loads(line)


def active_requests(server: Any) -> int:
    """Return the number of requests that the engine is running; 0 if the engine can't tell.

    If the engine has failed, the next request will report that.
    """
    try:
        return processed(server.handle_metrics())
    except FAILURES:
        return 0


def processed(metrics: str) -> int:
    """Return the number of running requests, as reported in the engine's metrics."""
    found = PROCESSED.search(metrics)
    return int(found[1]) if found else 0


def _load(config: dict[str, Any], folder: str) -> Any:
    import xllamacpp  # here, because standard output must be redirected first

    parameters = xllamacpp.CommonParams()
    parameters.model.path = config["path"]
    if config["adapter"]:
        parameters.lora_adapters = [xllamacpp.CommonAdapterLoraInfo(config["adapter"], 0.0)]
    parameters.n_ctx = config["context_tokens"] * config["lanes"]
    parameters.n_parallel = config["lanes"]
    parameters.n_batch = parameters.n_ubatch = config["batch"]
    parameters.cpuparams.n_threads = config["threads"]
    parameters.cpuparams_batch.n_threads = config["batch_threads"]
    parameters.cache_ram_mib = 0
    parameters.cache_idle_slots = False
    parameters.fit_params = False
    parameters.n_threads_http = 2
    parameters.verbosity = -1
    parameters.ui = False
    parameters.endpoint_metrics = True
    parameters.offline = True
    parameters.reasoning_format = xllamacpp.common_reasoning_format.COMMON_REASONING_FORMAT_NONE
    if config["unix_socket"]:
        parameters.hostnames = [str(Path(folder) / "llama.sock")]
    else:
        parameters.hostnames = ["127.0.0.1"]
        parameters.api_keys = [config["secret"]]
    return xllamacpp.Server(parameters)


def run_request(
    server: Any,
    body: dict[str, Any],
    cancelled: threading.Event,
    send: Callable[[Reply], None],
    pieces: ChunkedPrefill | None = None,
) -> Reply:
    """Run one request: send `progress` and `text`, and return the final `done` or `error`.

    A cancelled request ends at its next step: a token, or a batch of the prompt.

    Args:
        pieces: reads the prompt in smaller steps, once the slot is free. If None, the prompt is
            read in full batches.
    """
    if pieces is not None and not pieces.enter(cancelled):
        return {"done": {"read": 0, "cached": 0, "generated": 0}}
    try:
        read = 0
        if pieces is not None:
            read = pieces.read(body, cancelled, lambda count: send({"progress": count}))
        if cancelled.is_set():
            return {"done": {"read": read, "cached": 0, "generated": 0}}
        return _chat(server, body, cancelled, send, read)
    except FAILURES as error:
        return {"error": {"type": type(error).__name__, "message": str(error)}}
    finally:
        if pieces is not None:
            pieces.leave(in_midst=cancelled.is_set())


def _chat(
    server: Any,
    body: dict[str, Any],
    cancelled: threading.Event,
    send: Callable[[Reply], None],
    ahead: int,
) -> Reply:
    """Run a chat completion; send `progress` and `text`, and return the final `done` or `error`.

    Args:
        ahead: number of tokens of the prompt that have already been read for this request.
    """
    silent = body["max_tokens"] == 0  # only reads the prompt; drop the one token it still generates
    done = {"read": ahead, "cached": 0, "generated": 0}
    errors: list[Reply] = []

    def step(chunk: dict[str, Any]) -> bool:
        if "error" in chunk:
            error = chunk["error"]
            errors.append(error if isinstance(error, dict) else {"message": str(error)})
            return False
        progress, timings = chunk.get("prompt_progress"), chunk.get("timings")
        if progress:
            done["cached"] = max(0, progress["cache"] - ahead)
            done["read"] = progress["processed"] - done["cached"]
            send({"progress": progress["processed"]})
        if timings:
            done["cached"] = max(0, timings["cache_n"] - ahead)
            done["read"] = timings["cache_n"] + timings["prompt_n"] - done["cached"]
            done["generated"] = 0 if silent else timings["predicted_n"]
        choices = chunk.get("choices") or [{}]
        text = choices[0].get("delta", {}).get("content")
        if text and not silent and not cancelled.is_set():
            send({"text": text})
        return cancelled.is_set()

    server.handle_chat_completions(body, step)
    return {"error": errors[0]} if errors and not cancelled.is_set() else {"done": done}


if __name__ == "__main__":
    main()
