"""Unexpected errors."""

from pathlib import Path

from assistant.errors import AssistantError

UNEXPECTED_EXIT = 70
"""EX_SOFTWARE of sysexits.h."""


class UnexpectedError(AssistantError):
    """An error that nobody expected; the log has the traceback."""

    exit_code = UNEXPECTED_EXIT

    def __init__(self, error: BaseException, log: Path | None) -> None:
        place = f"the details are in {log}" if log else "no log could be written"
        super().__init__(f"Something went wrong unexpectedly ({type(error).__name__}); {place}.")
