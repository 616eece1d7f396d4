"""A part of the screen that shows the state."""

from textual.widget import Widget

from ui.session.state import ScreenState


class Pane(Widget):
    """Gets the state after events, at most a few times a second, and only while visible."""

    def show(self, state: ScreenState) -> None:
        """Draw what has changed; cheap if nothing has."""
        raise NotImplementedError
