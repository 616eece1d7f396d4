"""Prints results and errors, for people and for programs."""

import json
import os
import re
import shlex
import sys
from pathlib import Path
from typing import Any, TextIO

from assistant.errors import AssistantError

UNEXPECTED_EXIT = 70
"""EX_SOFTWARE of sysexits.h."""
INTERRUPTED_EXIT = 130
"""128 + SIGINT, as shells report it."""
PIPE_CLOSED_EXIT = 141
"""128 + SIGPIPE: the reader of our output went away."""
COMMAND_VARIABLE = "ASSISTANT_COMMAND"
"""Environment variable in which scripts/run says how it was called."""
OUR_COMMAND = re.compile(r"(^|: )assistant (?=[a-z-])")


class UnexpectedError(AssistantError):
    """An error that nobody expected; the log has the traceback."""

    exit_code = UNEXPECTED_EXIT

    def __init__(self, error: BaseException, log: Path | None) -> None:
        place = f"the details are in {log}" if log else "no log could be written"
        super().__init__(f"Something went wrong unexpectedly ({type(error).__name__}); {place}.")


def print_json(value: dict[str, Any], out: TextIO | None = None) -> None:
    """Print one object on one line, by default on standard output."""
    print(json.dumps(value, ensure_ascii=False), file=out, flush=True)


def print_result(
    row: dict[str, Any], *lines: str, as_json: bool, out: TextIO | None = None
) -> None:
    """Print the row for programs, or the lines for people."""
    if as_json:
        print_json(row, out)
    else:
        for line in lines:
            print(line, file=out, flush=True)


def runnable_hint(mend: str) -> str:
    """The advice with its command as the user must type it, even if `assistant` is not on the
    PATH."""
    command = shlex.quote(os.environ.get(COMMAND_VARIABLE, "assistant"))
    return OUR_COMMAND.sub(lambda match: f"{match[1]}{command} ", mend)


def render_error(error: AssistantError, *, as_json: bool) -> None:
    """Print the message and the advice on standard error; with `as_json`, also print an object on
    standard output."""
    print(error, file=sys.stderr)
    if error.mend:
        print(f"→ {runnable_hint(error.mend)}", file=sys.stderr)
    sys.stderr.flush()
    if as_json:
        print_json({"event": "error", "message": str(error), "mend": error.mend})
