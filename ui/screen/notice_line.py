"""The newest warning or error that has not been dismissed, with advice."""

from rich.text import Text
from textual.app import RenderResult

from assistant.events import Severity
from ui.process.console import runnable_hint
from ui.screen.widgets.pane import Pane
from ui.session.state import ScreenState, ShownNotice


class NoticeLine(Pane):
    """Takes no space if there is nothing to show."""

    DEFAULT_CSS = """
    NoticeLine { height: auto; max-height: 3; padding: 0 1; display: none; }
    NoticeLine.-shown { display: block; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._told: ShownNotice | None = None

    def show(self, state: ScreenState) -> None:
        trouble = state.trouble
        if trouble is not self._told:
            self._told = trouble
            self.set_class(trouble is not None, "-shown")
            self.refresh(layout=True)

    def render(self) -> RenderResult:
        if self._told is None:
            return ""
        notice = self._told.notice
        style = "bold red" if notice.severity is Severity.ERROR else "bold yellow"
        text = Text.assemble(("! ", style), notice.text)
        if notice.mend:
            text.append(f" → {runnable_hint(notice.mend)}", style="bold")
        text.append("  (esc dismisses)", style="dim")
        return text
