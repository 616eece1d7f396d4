"""Draw a memory as one line of the memory table, in columns that fit the terminal's width."""

from dataclasses import dataclass
from datetime import datetime

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style

from assistant.ipc import Row
from assistant.language.calendar import relative_date
from assistant.language.speakers import ASSISTANT, USER
from ui.text.terminal_safe import plain

ROOMY = 72
"""Minimum width, in cells, at which the column of days has the width WORDS instead of DAY."""
WITH_IDS = 100
"""Minimum width, in cells, at which the ids of memories are shown."""
MARK, SCORE, DAY, WORDS, KIND, NAME = 3, 6, 12, 18, 11, 11
"""Widths of the columns in cells, including one space after each column."""


@dataclass(frozen=True, slots=True)
class Styles:
    """The styles of the parts of a line."""

    line: Style
    dim: Style
    strong: Style


@dataclass(frozen=True, slots=True)
class Layout:
    """Chooses the columns of the memory table for a given width, and draws its lines."""

    width: int
    scored: bool
    """Whether the rows are search results, which have a score."""

    @property
    def named(self) -> bool:
        return self.width >= WITH_IDS

    @property
    def day(self) -> int:
        return WORDS if self.width >= ROOMY else DAY

    def head(self, styles: Styles) -> list[Segment]:
        cells = [" " * MARK]
        if self.scored:
            cells.append(f"{'score':<{SCORE}}")
        if self.named:
            cells.append(f"{'id':<{NAME}}")
        cells += [f"{'when':<{self.day}}", f"{'what':<{KIND}}", "text"]
        return [Segment(set_cell_size("".join(cells), self.width), styles.dim)]

    def line(
        self, row: Row | None, styles: Styles, now: datetime, *, here: bool, chosen: bool
    ) -> list[Segment]:
        """Draw a row as a line of exactly the table's width.

        Args:
            row: None if the row isn't loaded yet.
            here: whether the cursor is on the row.
            chosen: whether the row is selected.
        """
        mark = f"{'›' if here else ' '}{'✓' if chosen else ' '} "
        if row is None:
            return [Segment(set_cell_size(f"{mark}…", self.width), styles.dim)]
        parts = [(mark, styles.strong)]
        if self.scored:
            parts.append((f"{row.get('score', 0.0):<{SCORE}.2f}", styles.strong))
        if self.named:
            parts.append((f"{plain(row['short']):<{NAME}}", styles.dim))
        parts.append((f"{_day(row, now, self.day):<{self.day}}", styles.dim))
        parts.append((set_cell_size(what(row), KIND - 1) + " ", styles.line))
        marks = "".join(f"[{word}] " for word in marks_of(row))
        parts += [(marks, styles.dim), (" ".join(plain(row["text"]).split()), styles.line)]
        return _fitted(parts, self.width)


def what(row: Row) -> str:
    """Return the kind of a memory; for an exchange, return who said its text."""
    if row["kind"] != "exchange":
        return str(row["kind"])
    return {USER: "you said", ASSISTANT: "it said"}.get(row["speaker"], "said")


def marks_of(row: Row) -> list[str]:
    marks = {
        "pinned": row.get("pinned"),
        "never recalled": row.get("never_recall"),
        "superseded": row.get("superseded_by"),
    }
    return [word for word, there in marks.items() if there]


def _day(row: Row, now: datetime, width: int) -> str:
    said = datetime.fromisoformat(row["created"]).astimezone(now.tzinfo)
    if said.date() == now.date():
        return f"today {said:%H:%M}"
    words = relative_date(said, now)
    return words if words and len(words) < width else f"{said:%Y-%m-%d}"


def _fitted(parts: list[tuple[str, Style]], width: int) -> list[Segment]:
    segments: list[Segment] = []
    left = width
    for text, style in parts:
        cells = min(cell_len(text), left)
        if text:
            segments.append(Segment(text if cell_len(text) <= left else _cut(text, left), style))
        left -= cells
        if not left:
            break
    if left:
        segments.append(Segment(" " * left, parts[-1][1]))
    return segments


def _cut(text: str, cells: int) -> str:
    return set_cell_size(text, cells - 1) + "…" if cells > 1 else " " * cells
