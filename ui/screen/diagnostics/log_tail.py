"""Read new lines of a log file as they are written, even if the file is rotated.

Independent of how lines are drawn. Logs contain no text of a conversation: see `ui.process.logs`.
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path

BEGIN_BYTES = 1 << 18
"""Maximum number of bytes read from the end of an existing log at first; about 2,000 lines."""
ONCE_BYTES = 1 << 20
"""Maximum number of bytes that `LogTail.read` reads per call from a log that is still growing."""
LINE = re.compile(r"^\d{4}-\d\d-\d\d (\d\d:\d\d:\d\d),\d+ ([A-Z]+) ([^:]+): (.*)$")
LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
CONTROL = re.compile(r"\x1b\[[0-9;]*[A-Za-z]|[\x00-\x1f\x7f-\x9f]")
TAB = "    "


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line of a log.

    The lines of a traceback have the level of the log record above them, and an empty `at`.
    """

    level: str
    """The level, e.g. INFO; empty if the log has no levels."""
    at: str
    """The time of day."""
    logger: str
    text: str

    @property
    def grave(self) -> int:
        """The level's index in `LEVELS`, or -1 if the line has no level."""
        return LEVELS.index(self.level) if self.level in LEVELS else -1


class LogTail:
    """Reads each line of a log once.

    The file is opened for each read and then closed, so that the log can be rotated. Blocking.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._inode: int | None = None
        self._place = 0
        self._rest = b""
        """The start of the last line, if its end has not been read yet."""
        self._level = ""

    def read(self) -> list[LogLine]:
        """Return the lines added since the last call, or no lines if the file doesn't exist.

        Raises:
            OSError: the file exists, but can't be read.
        """
        lines = []
        try:
            there = self._file.stat()
        except FileNotFoundError:
            return []
        if self._inode is None:
            self._begin(there)
        elif there.st_ino != self._inode:
            lines = self._rotated()
            self._start(there.st_ino, 0)
        elif there.st_size < self._place:  # the file was truncated
            self._start(there.st_ino, 0)
        return lines + self._parsed(self._more(self._file))

    def _begin(self, there: os.stat_result) -> None:
        self._start(there.st_ino, max(0, there.st_size - BEGIN_BYTES))
        if self._place:
            with self._file.open("rb") as file:
                file.seek(self._place)
                self._place += len(file.readline())  # skip a partial line

    def _start(self, inode: int, place: int) -> None:
        self._inode, self._place, self._rest = inode, place, b""

    def _rotated(self) -> list[LogLine]:
        """Return the unread lines of the previous file, now renamed, if it still exists."""
        old = self._file.with_name(f"{self._file.name}.1")
        try:
            if old.stat().st_ino != self._inode:
                return []
            return self._parsed([*self._more(old, most=-1), self._rest])
        except FileNotFoundError:
            return []

    def _more(self, path: Path, most: int = ONCE_BYTES) -> list[bytes]:
        """Read the next bytes of a file, at most `most`, or all of them if `most` is -1. Return the
        complete lines."""
        with path.open("rb") as file:
            file.seek(self._place)
            block = file.read(most)
        self._place += len(block)
        *lines, self._rest = (self._rest + block).split(b"\n")
        return lines

    def _parsed(self, lines: list[bytes]) -> list[LogLine]:
        return [self._line(line.decode("utf-8", "replace")) for line in lines if line]

    def _line(self, text: str) -> LogLine:
        text = CONTROL.sub("", text.expandtabs(len(TAB)))
        found = LINE.match(text)
        if found is None:
            return LogLine(self._level, "", "", text)
        at, self._level, logger, message = found.groups()
        return LogLine(self._level, at, logger, message)
