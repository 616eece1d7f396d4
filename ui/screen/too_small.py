"""What is shown where there is too little room for anything else."""

from textual.app import RenderResult
from textual.widget import Widget

LEAST_WIDTH, LEAST_HEIGHT = 50, 14
"""Below these nothing can be read; all is made for 80×24 and more."""
SMALL_CSS = """
.-low TabbedContent, .-slim TabbedContent { display: none; }
.-low TooSmall, .-slim TooSmall { display: block; }
"""
"""Of the whole screen, whose class it goes by."""


class TooSmall(Widget):
    """In place of the tabs; the line of what the assistant is doing stays."""

    DEFAULT_CSS = "TooSmall { display: none; height: 1fr; padding: 0 1; }"

    def render(self) -> RenderResult:
        width, height = self.app.size
        return f"This terminal is {width}×{height}; the screen needs 80×24."
