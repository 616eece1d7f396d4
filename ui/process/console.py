"""Prints errors for people, and JSON for programs."""

import json
import os
import re
import shlex
from typing import Any, TextIO

from assistant.errors import AssistantError

INTERRUPTED_EXIT = 130
"""128 + SIGINT, as shells report it."""
PIPE_CLOSED_EXIT = 141
"""128 + SIGPIPE: the reader of our output went away."""


COMMAND_VARIABLE = "ASSISTANT_COMMAND"
"""Set by scripts/run to how it was called."""
OUR_COMMAND = re.compile(r"(^|: )assistant (?=[a-z-])")


def print_json(value: dict[str, Any], out: TextIO) -> None:
    """One object, one line."""
    print(json.dumps(value, ensure_ascii=False), file=out, flush=True)


def runnable_hint(mend: str) -> str:
    """The advice with its command as the user must type it, even if `assistant` is not on the
    PATH."""
    command = shlex.quote(os.environ.get(COMMAND_VARIABLE, "assistant"))
    return OUR_COMMAND.sub(lambda match: f"{match[1]}{command} ", mend)


def render_error(error: AssistantError, *, as_json: bool, out: TextIO, err: TextIO) -> None:
    """Print the message and the advice on standard error; with `as_json`, an object on `out`
    too."""
    print(error, file=err)
    if error.mend:
        print(f"→ {runnable_hint(error.mend)}", file=err)
    err.flush()
    if as_json:
        print_json({"event": "error", "message": str(error), "mend": error.mend}, out)
