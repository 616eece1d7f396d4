"""Where the time of every turn went."""

from ui.screen.pane import Pane
from ui.state import State


class LatencyTab(Pane):
    def show(self, state: State) -> None:
        del state
