"""What is shown if the terminal is too small."""

from textual.app import RenderResult
from textual.widget import Widget

LEAST_WIDTH, LEAST_HEIGHT = 50, 14
"""Smaller terminals are unreadable; the layout is made for 80×24 and more."""
SMALL_CSS = """
.-low TabbedContent, .-slim TabbedContent { display: none; }
.-low TooSmall, .-slim TooSmall { display: block; }
"""
"""For the whole screen, whose class it uses."""


class TooSmall(Widget):
    """Replaces the tabs; the status line stays."""

    DEFAULT_CSS = "TooSmall { display: none; height: 1fr; padding: 0 1; }"

    def render(self) -> RenderResult:
        width, height = self.app.size
        return f"This terminal is {width}×{height}; the screen needs 80×24."
