"""Pictures of the screen, compared with those that are kept."""

import re
from difflib import unified_diff
from pathlib import Path

KEPT = Path(__file__).resolve().parents[1] / "ui" / "snapshots"
RANDOM = re.compile(r"terminal-\d+")
"""Names of classes and clips in the SVG; made of a checksum, which need not be compared."""


def normal(svg: str) -> str:
    """A picture as it is kept: without what differs from one drawing to the next, a line ending at
    every element, so that a difference can be read."""
    return RANDOM.sub("terminal", svg).replace("><", ">\n<").strip() + "\n"


def difference(name: str, svg: str, *, update: bool) -> str:
    """What differs from the picture that is kept under this name; "" where nothing does.

    Args:
        update: keep this one.
    """
    path, now = KEPT / f"{name}.svg", normal(svg)
    if update:
        path.parent.mkdir(exist_ok=True)
        path.write_text(now, encoding="utf-8")
    if not path.exists():
        return f"there is no {path.name} yet: --snapshot-update makes it"
    before = path.read_text(encoding="utf-8")
    return "\n".join(unified_diff(before.splitlines(), now.splitlines(), lineterm="", n=0))
