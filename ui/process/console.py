"""How the command line says that something went wrong, or prints what a program reads."""

import json
import os
import re
import shlex
from typing import Any, TextIO

from assistant.errors import AssistantError

INTERRUPTED_EXIT = 130
"""128 + SIGINT, as shells report it."""
PIPE_CLOSED_EXIT = 141
"""128 + SIGPIPE: whoever read our output went away."""


COMMAND_VARIABLE = "ASSISTANT_COMMAND"
"""Set by scripts/run to how it was called."""
OUR_COMMAND = re.compile(r"(^|: )assistant (?=[a-z-])")


def print_json(value: dict[str, Any], out: TextIO) -> None:
    """One object, one line."""
    print(json.dumps(value, ensure_ascii=False), file=out, flush=True)


def runnable_hint(mend: str) -> str:
    """A mend whose command can be typed as it stands, also where `assistant` is not on the PATH."""
    command = shlex.quote(os.environ.get(COMMAND_VARIABLE, "assistant"))
    return OUR_COMMAND.sub(lambda match: f"{match[1]}{command} ", mend)


def render_error(error: AssistantError, *, as_json: bool, out: TextIO, err: TextIO) -> None:
    """One sentence on standard error and the mend below it; an object on standard output too."""
    print(error, file=err)
    if error.mend:
        print(f"→ {runnable_hint(error.mend)}", file=err)
    err.flush()
    if as_json:
        print_json({"event": "error", "message": str(error), "mend": error.mend}, out)
