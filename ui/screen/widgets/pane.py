"""A part of the screen that shows the state."""

from textual.widget import Widget

from ui.session.state import ScreenState


class Pane(Widget):
    """Told the state after events, a few times a second at most, and only while it can be seen."""

    def show(self, state: ScreenState) -> None:
        """Draw what has changed; cheap where nothing has."""
        raise NotImplementedError
