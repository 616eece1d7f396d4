"""A part of the screen that shows the state."""

from textual.widget import Widget

from ui.state import State


class Pane(Widget):
    """Told the state after events, a few times a second at most, and only while it can be seen."""

    def show(self, state: State) -> None:
        """Draw what has changed; cheap where nothing has."""
        raise NotImplementedError
