"""Replace control characters, so that text can be shown safely on a terminal."""

import re

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Characters that control the terminal or change the direction of text."""


def plain(text: str) -> str:
    """Return the text with each character that matches CONTROL replaced by U+FFFD."""
    return CONTROL.sub("\ufffd", text.encode("utf-8", "replace").decode("utf-8"))
