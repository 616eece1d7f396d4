"""An error that nobody foresaw."""

from pathlib import Path

from assistant.errors import AssistantError

UNEXPECTED_EXIT = 70
"""EX_SOFTWARE of sysexits.h."""


class UnexpectedError(AssistantError):
    """What nobody foresaw; the log has the traceback."""

    exit_code = UNEXPECTED_EXIT

    def __init__(self, error: BaseException, log: Path | None) -> None:
        place = f"the details are in {log}" if log else "there is no log, since its folder fails"
        super().__init__(f"Something unforeseen went wrong ({type(error).__name__}); {place}.")
