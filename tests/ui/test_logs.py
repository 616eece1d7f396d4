"""Libraries don't write to the terminal, and no words of a conversation are logged."""

import ctypes
import logging
import os
import subprocess
import sys
import warnings

import pytest
from loguru import logger as loguru_logger
from pydantic import BaseModel

from assistant.paths import Home
from ui.process.logs import logs_in, redirected_output

SECRET = "my sister's name is Dora"


def test_only_intended_output_reaches_the_terminal(
    home: Home, capfd: pytest.CaptureFixture[str]
) -> None:
    with redirected_output(home) as out:
        sys.stdout.write("from a Python library\n")
        ctypes.CDLL(None).printf(b"from C, buffered\n")
        os.write(2, b"from a native library\n")
        subprocess.run([sys.executable, "-c", "print('from a child')"], check=True)
        out.write("said on purpose: äöü\n")
    sys.stdout.write("after\n")

    assert capfd.readouterr() == ("said on purpose: äöü\nafter\n", "")
    log = home.native_log.read_text("utf-8")
    for source in ("a Python library", "C, buffered", "a native library", "a child"):
        assert f"from {source}\n" in log


def test_output_goes_to_the_terminal_again_after_a_failure(
    home: Home, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(RuntimeError), redirected_output(home):
        raise RuntimeError

    os.write(1, b"here\n")
    assert capfd.readouterr().out == "here\n"


def test_children_do_not_inherit_the_terminal(home: Home) -> None:
    """A worker that outlives this process must not hold its pipes open."""
    with redirected_output(home) as out:
        assert not os.get_inheritable(out.fileno())


def test_a_too_long_native_log_is_started_anew(home: Home) -> None:
    home.native_log.write_bytes(b"x" * 2_000_000)
    with redirected_output(home):
        os.write(1, b"new\n")

    assert home.native_log.read_bytes() == b"new\n"


def test_all_loggers_and_warnings_write_to_one_file(
    home: Home, capfd: pytest.CaptureFixture[str]
) -> None:
    with warnings.catch_warnings(), logs_in(home):
        warnings.simplefilter("default")
        logging.getLogger("assistant.voice").info("ours %s", "fine")
        logging.getLogger("some.library").warning("theirs")
        loguru_logger.info("loguru's")
        loguru_logger.debug("too detailed")
        warnings.warn("old way", stacklevel=1)

    log = home.log.read_text("utf-8")
    assert "INFO assistant.voice: ours fine" in log
    assert "WARNING some.library: theirs" in log
    assert "loguru's" in log
    assert "old way" in log
    assert "too detailed" not in log
    assert capfd.readouterr() == ("", "")


class Turn(BaseModel):
    seconds: float


def fail_with_words() -> None:
    words = SECRET
    try:
        Turn.model_validate({"seconds": words})
    except ValueError as error:
        raise KeyError(words) from error


def test_no_words_of_a_conversation_are_logged(home: Home) -> None:
    frame = f"TranscriptionFrame#1(user: me, text: [{SECRET} [sic]])"
    with logs_in(home):
        loguru_logger.error(f"exception processing {frame}: bad")
        loguru_logger.warning(f"could not say {SECRET!r} aloud")
        logging.getLogger("library").error('request {"content": "%s"} refused', SECRET)
        try:
            fail_with_words()
        except KeyError as error:
            logging.getLogger("assistant").error("A turn failed", exc_info=error)
            loguru_logger.opt(exception=error).error("Uncaught")

    log = home.log.read_text("utf-8")
    assert "Dora" not in log
    assert "exception processing TranscriptionFrame#1(user: me, text: […]): bad" in log
    assert log.count("KeyError: …") == 2
    assert log.count("ValidationError: …") == 2
    assert log.count("in fail_with_words") >= 2


def test_logging_is_restored_afterwards(home: Home) -> None:
    handlers, level = list(logging.getLogger().handlers), logging.getLogger().level
    with logs_in(home):
        assert logging.getLogger().level == logging.INFO

    assert logging.getLogger().handlers == handlers
    assert logging.getLogger().level == level
    logging.getLogger("assistant").info("after")
    assert not home.log.exists() or "after" not in home.log.read_text("utf-8")
