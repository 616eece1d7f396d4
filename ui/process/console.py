"""Print results and errors, as text for people or as JSON for programs."""

import json
import os
import re
import shlex
import sys
from pathlib import Path
from typing import Any, TextIO

from assistant.errors import AssistantError

UNEXPECTED_EXIT = 70
"""Exit code after an unexpected error (`EX_SOFTWARE` of sysexits.h)."""
INTERRUPTED_EXIT = 130
"""Exit code after Ctrl-C: 128 + SIGINT, as in shells."""
PIPE_CLOSED_EXIT = 141
"""Exit code if the reader of standard output has closed the pipe: 128 + SIGPIPE, as in shells."""
COMMAND_VARIABLE = "ASSISTANT_COMMAND"
"""Environment variable with the command that the user typed to call scripts/run."""
OUR_COMMAND = re.compile(r"(^|: )assistant (?=[a-z-])")


class UnexpectedError(AssistantError):
    """Wraps an exception that no code expected. The log, if any, has its traceback."""

    exit_code = UNEXPECTED_EXIT

    def __init__(self, error: BaseException, log: Path | None) -> None:
        place = f"the details are in {log}" if log else "no log could be written"
        super().__init__(f"Something went wrong unexpectedly ({type(error).__name__}); {place}.")


def print_json(value: dict[str, Any], out: TextIO | None = None) -> None:
    """Print an object as one line of JSON. Default output: standard output."""
    print(json.dumps(value, ensure_ascii=False), file=out, flush=True)


def print_result(
    row: dict[str, Any], *lines: str, as_json: bool, out: TextIO | None = None
) -> None:
    """Print the row as JSON if `as_json`, otherwise the lines."""
    if as_json:
        print_json(row, out)
    else:
        for line in lines:
            print(line, file=out, flush=True)


def runnable_hint(mend: str) -> str:
    """Return the advice, with its `assistant` command in the form that the user can type.

    The command differs if the user started the assistant with scripts/run.
    """
    command = shlex.quote(os.environ.get(COMMAND_VARIABLE, "assistant"))
    return OUR_COMMAND.sub(lambda match: f"{match[1]}{command} ", mend)


def render_error(error: AssistantError, *, as_json: bool) -> None:
    """Print an error's message and advice on standard error.

    With `as_json`, also print the error as a JSON object on standard output.
    """
    print(error, file=sys.stderr)
    if error.mend:
        print(f"→ {runnable_hint(error.mend)}", file=sys.stderr)
    sys.stderr.flush()
    if as_json:
        print_json({"event": "error", "message": str(error), "mend": error.mend})
