"""Compares pictures of the screen with the stored ones."""

import re
from difflib import unified_diff
from pathlib import Path

KEPT = Path(__file__).resolve().parents[1] / "ui" / "snapshots"
RANDOM = re.compile(r"terminal-\d+")
"""Names of classes and clips in the SVG. They contain a checksum that need not be compared."""


def normal(svg: str) -> str:
    """A picture as it is stored: without the names that differ between drawings, and with each
    element on its own line, so that differences are readable."""
    return RANDOM.sub("terminal", svg).replace("><", ">\n<").strip() + "\n"


def difference(name: str, svg: str, *, update: bool) -> str:
    """The difference from the picture stored under this name; "" if there is none.

    Args:
        update: whether to store this picture first.
    """
    path, now = KEPT / f"{name}.svg", normal(svg)
    if update:
        path.parent.mkdir(exist_ok=True)
        path.write_text(now, encoding="utf-8")
    if not path.exists():
        return f"there is no {path.name} yet: --snapshot-update creates it"
    before = path.read_text(encoding="utf-8")
    return "\n".join(unified_diff(before.splitlines(), now.splitlines(), lineterm="", n=0))
