"""Write logs to one file and the output of libraries to another, instead of to the terminal.

Logs must not contain text of a conversation. Libraries log such text at level DEBUG, and quote it
in some errors. Therefore, DEBUG messages are never written. In messages of libraries, everything in
quotation marks or brackets is removed. Exceptions that quote a rejected value are logged without
their message.
"""

import ctypes
import logging
import os
import re
import sys
import traceback
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext, redirect_stderr, redirect_stdout
from logging.handlers import RotatingFileHandler
from typing import TextIO

from assistant.errors import ModelFailed, SettingsError, StoreError
from assistant.paths import Home

LOG_BYTES = 1_000_000
LOG_FILES_KEPT = 3
TALKATIVE = ("httpx", "httpx2", "httpcore", "faster_whisper", "mcp")
"""Libraries that log every request at level INFO, even requests to this project's own worker. Only
their warnings and errors are logged."""
OWN_PACKAGES = frozenset({"assistant", "models", "ui", "data"})

QUOTED = re.compile(r"\[.*\]|'.*'|\".*\"|\{.*\}", re.DOTALL)
"""Matches quoted or bracketed text. Greedy, so that a quotation with quotation marks inside is
removed as a whole."""
QUOTING_ERRORS = (ValueError, LookupError, ModelFailed, SettingsError)
"""Exceptions whose message consists mostly of the rejected value, e.g. validation errors from
pydantic, missing keys and a model server's error about a prompt."""


class DiscreetFormatter(logging.Formatter):
    """Formats a log record without text of a conversation.

    The result has the time, the level, the logger, the message and the traceback, if any.
    """

    def format(self, record: logging.LogRecord) -> str:
        message = record.getMessage()
        if record.name.partition(".")[0] not in OWN_PACKAGES:
            message = QUOTED.sub("[…]", message)
        line = f"{self.formatTime(record)} {record.levelname} {record.name}: {message}"
        error = record.exc_info[1] if record.exc_info else None
        return f"{line}\n{_without_words(error)}" if error else line


def _without_words(error: BaseException) -> str:
    """Return the tracebacks of an exception and its causes, with quoted text removed."""
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    before = f"{_without_words(cause)}\nwhich led to\n" if cause else ""
    message = "…" if isinstance(error, QUOTING_ERRORS) else QUOTED.sub("[…]", str(error))
    frames = "".join(traceback.format_tb(error.__traceback__))
    return f"{before}{frames}{type(error).__qualname__}: {message}"


@contextmanager
def logs_in(home: Home, *, pipecat: bool = True) -> Iterator[None]:
    """Write all logs, including those of loguru, to the log file of the home.

    Enter this context before importing pipecat, because pipecat logs while it is imported.

    Args:
        pipecat: whether this process will import pipecat. If not, loguru isn't imported, either.

    Raises:
        StoreError: the home can't be written.
    """
    home.create()
    handler = RotatingFileHandler(
        home.log, maxBytes=LOG_BYTES, backupCount=LOG_FILES_KEPT, encoding="utf-8", delay=True
    )
    handler.setFormatter(DiscreetFormatter())
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    for name in TALKATIVE:
        logging.getLogger(name).setLevel(logging.WARNING)
    logging.captureWarnings(True)
    try:
        with _loguru_to(handler) if pipecat else nullcontext():
            yield
    finally:
        logging.captureWarnings(False)
        root.setLevel(level)
        root.removeHandler(handler)
        handler.close()


@contextmanager
def _loguru_to(handler: logging.Handler) -> Iterator[None]:
    from loguru import logger as loguru_logger

    loguru_logger.remove()
    # If the format were a string, loguru would append the traceback with values of variables.
    loguru_logger.add(handler, level="INFO", format=lambda _: "{message}")
    try:
        yield
    finally:
        loguru_logger.remove()


@contextmanager
def redirected_output(home: Home) -> Iterator[TextIO]:
    """Redirect file descriptors 1 and 2 to the native log of the home.

    The output of Python libraries and of child processes is redirected, too. Until the block ends,
    only the yielded stream writes to the original standard output.

    Raises:
        StoreError: the home can't be written.
    """
    home.create()
    _flush()
    with ExitStack() as stack:
        log = _open_native_log(home)
        stack.callback(os.close, log)
        real = {number: os.dup(number) for number in (1, 2)}
        for number, copy in real.items():
            stack.callback(os.close, copy)
            stack.callback(os.dup2, copy, number)
            os.dup2(log, number)
        out = stack.enter_context(_writer(real[1], sys.stdout))
        stack.callback(_flush)
        # Python's own streams may use other descriptors (in an IDE, or a test).
        native = stack.enter_context(_writer(log, sys.stdout))
        stack.enter_context(redirect_stdout(native))
        stack.enter_context(redirect_stderr(native))
        yield out


def ensure_standard_streams() -> None:
    """Open the null device in place of standard streams that are closed (`>&-`).

    Otherwise, the next file that this process opens would become descriptor 0, 1 or 2.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            # `open` takes the lowest free number, which is this one: the numbers below are in use.
            os.open(os.devnull, os.O_RDWR)
    sys.stdout = sys.stdout or os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", encoding="utf-8", closefd=False)


def _open_native_log(home: Home) -> int:
    path = home.native_log
    try:
        if path.exists() and path.stat().st_size > LOG_BYTES:
            path.unlink()
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    except OSError as error:
        raise StoreError(f"The log {path} can't be written: {error.strerror}.") from error


def _writer(descriptor: int, like: TextIO) -> TextIO:
    return open(
        descriptor,
        "w",
        encoding=getattr(like, "encoding", None) or "utf-8",
        errors="replace",
        buffering=1,
        closefd=False,
    )


def _flush() -> None:
    """Flush the output buffers of Python and C.

    Call this before redirecting output; otherwise buffered text would go to the wrong file.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    if os.name == "posix":
        ctypes.CDLL(None).fflush(None)
