"""Keeps libraries off the terminal: their logs go to one file, their output to another.

Logs must not contain words of a conversation. Libraries log such text at DEBUG, which is never
written, and quote it in some errors; so from libraries' messages, everything in quotation marks or
brackets is removed, and so is the message of exceptions that quote the value they refuse.
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
TALKATIVE = ("httpx", "httpcore", "faster_whisper")
"""Libraries that log every request at INFO, even requests to our own worker."""
OWN_PACKAGES = frozenset({"assistant", "models", "ui", "data"})

QUOTED = re.compile(r"\[.*\]|'.*'|\".*\"|\{.*\}", re.DOTALL)
"""Greedy: text that contains quotation marks itself is removed as a whole."""
QUOTING_ERRORS = (ValueError, LookupError, ModelFailed, SettingsError)
"""Exceptions whose message is mostly the refused value: pydantic's and JSON's errors, missing keys,
a model server's comment on a prompt, and a command line that is not understood."""


class DiscreetFormatter(logging.Formatter):
    """Writes time, level, logger, message and any traceback, but no words of a conversation."""

    def format(self, record: logging.LogRecord) -> str:
        message = record.getMessage()
        if record.name.partition(".")[0] not in OWN_PACKAGES:
            message = QUOTED.sub("[…]", message)
        line = f"{self.formatTime(record)} {record.levelname} {record.name}: {message}"
        error = record.exc_info[1] if record.exc_info else None
        return f"{line}\n{_without_words(error)}" if error else line


def _without_words(error: BaseException) -> str:
    """Frames, types and harmless messages of an exception and its causes."""
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    before = f"{_without_words(cause)}\nwhich led to\n" if cause else ""
    message = "…" if isinstance(error, QUOTING_ERRORS) else QUOTED.sub("[…]", str(error))
    frames = "".join(traceback.format_tb(error.__traceback__))
    return f"{before}{frames}{type(error).__qualname__}: {message}"


@contextmanager
def logs_in(home: Home, *, pipecat: bool = True) -> Iterator[None]:
    """Send all logs, including loguru's, to the home's log file.

    Enter this context before importing pipecat, which logs at import.

    Args:
        pipecat: this process will import pipecat; if not, loguru, which pipecat uses, isn't loaded.

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
    # With a plain string, loguru would append the exception's text with values of variables.
    loguru_logger.add(handler, level="INFO", format=lambda _: "{message}")
    try:
        yield
    finally:
        loguru_logger.remove()


@contextmanager
def redirected_output(home: Home) -> Iterator[TextIO]:
    """Point file descriptors 1 and 2 at the home's native log; yields the real standard output.

    Output of Python libraries and child processes ends up in that log too. Until the block ends,
    only the yielded stream reaches the terminal.

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
    """Connect closed streams (`>&-`) to the null device, so that no file of ours becomes
    descriptor 1."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            # This takes the lowest free number; those below are open already.
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
    """Flush Python's and C's buffers; otherwise their contents would end up in the wrong file."""
    sys.stdout.flush()
    sys.stderr.flush()
    if os.name == "posix":
        ctypes.CDLL(None).fflush(None)
