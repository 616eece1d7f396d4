"""What a request to forget would delete, as a question."""

from collections.abc import Sequence

from assistant.ipc import Row
from ui.screen.memory.columns import what
from ui.text.forgetting import counted, memories
from ui.text.terminal_safe import plain

SHOWN = 6
"""Memories that are listed."""
LONGEST = 60


def question(preview: Row) -> str:
    return f"Forget {counted(preview['memories'], preview['exchanges'])}?"


def details(rows: Sequence[Row]) -> str:
    """The details below the question.

    Args:
        rows: as answered to the request with `preview`; the last one has the totals.
    """
    *listed, preview = rows
    going = [row for row in listed if row["event"] == "going"]
    lines = [f"· {what(row)}: {_short(row['text'])}" for row in going]
    if (more := preview["memories"] - len(going)) > 0:
        lines.append(f"  … and {memories(more)} more")
    if preview["derived"]:
        lines.append(f"{preview['derived']:,} of them were derived from what you are forgetting.")
    if preview["changing"]:
        lines.append(
            f"{memories(preview['changing'])} would stay, without the parts that came from what you"
            " are forgetting."
        )
    if preview["staying"]:
        lines.append(
            "The exchanges behind some of them stay in the transcript; D forgets those too."
        )
    lines.append(
        "u undoes it, for a while."
        if preview["undoable"]
        else "It is deleted at once, and can't be undone."
    )
    return "\n".join(lines)


def _short(text: str) -> str:
    line = " ".join(plain(text).split())
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}…"
