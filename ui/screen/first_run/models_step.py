"""The step that downloads missing models before the first conversation."""

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Sequence

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widgets import Button, Static

from assistant.errors import AssistantError
from models.download import DownloadProgress, PullStopped, Report, size_text
from ui.process.console import runnable_hint
from ui.process.threads import run_on_daemon_thread
from ui.screen.widgets.dialogs import SetupStep
from ui.session.model_downloads import Needed, Progress

logger = logging.getLogger(__name__)

Bring = Callable[[Report, threading.Event], None]
"""Downloads the missing models, reports progress, and stops when the event is set. Blocking; raises
AssistantError if a download fails."""
DRAW_S = 0.25
BAR = 20


class ModelsStep(SetupStep[bool]):
    """Shows the download. The result is true if all models have been downloaded."""

    def __init__(self, models: Sequence[Needed], bring: Bring) -> None:
        super().__init__("First steps: the models")
        self._models = models
        self._bring = bring
        self._progress = Progress(models)
        self._stop: threading.Event | None = None
        """Set this event to stop the running download; None if no download is running."""

    def body(self) -> ComposeResult:
        yield Static(_listed(self._models), id="models", markup=False)
        yield Static("", id="progress", markup=False)
        yield Static("", id="trouble", markup=False)
        go, leave = Button("Download", id="go", variant="primary"), Button("Not now", id="not")
        yield Horizontal(go, leave, id="buttons")

    def on_mount(self) -> None:
        self.set_interval(DRAW_S, self._draw)

    def on_unmount(self) -> None:
        if self._stop is not None:
            self._stop.set()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        if event.button.id == "not":
            self.action_skip()
        elif self._stop is None:
            self.run_worker(self._download())

    def action_skip(self) -> None:
        """Stop the running download, or leave the step if no download is running."""
        if self._stop is None:
            self.dismiss(False)
        else:
            self._stop.set()
            self._say("Stopping…")

    async def _download(self) -> None:
        self._stop = stop = threading.Event()
        self._progress = Progress(self._models)
        self._show(go="Download", off="Stop", busy=True)
        loop = asyncio.get_running_loop()

        def report(step: DownloadProgress) -> None:
            if not stop.is_set():
                loop.call_soon_threadsafe(self._progress.see, step, time.monotonic())

        try:
            await run_on_daemon_thread(self._bring, report, stop)
        except PullStopped:
            self._say("Stopped. What was downloaded is kept, and the download can be resumed.")
        except AssistantError as error:
            logger.error("The download of models failed", exc_info=error)
            mend = f" → {runnable_hint(error.mend)}" if error.mend else ""
            self._say(f"{error}{mend}", "! ")
        else:
            self.dismiss(True)
            return
        finally:
            self._stop = None
        self._show(go="Try again", off="Not now", busy=False)

    def _show(self, *, go: str, off: str, busy: bool) -> None:
        first, second = self.query_one("#go", Button), self.query_one("#not", Button)
        first.label, second.label, first.disabled = go, off, busy
        # `focus` acts later, so keys pressed until then would be lost.
        self.set_focus(second if busy else first)
        if busy:
            self._say("")

    def _say(self, sentence: str, sign: str = "") -> None:
        text = Text.assemble((sign, "bold yellow"), sentence)
        self.query_one("#trouble", Static).update(text)

    def _draw(self) -> None:
        if self._stop is not None:
            self.query_one("#progress", Static).update(_drawn(self._progress))


def _listed(models: Sequence[Needed]) -> Text:
    total = size_text(sum(model.bytes for model in models))
    text = Text(f"These models run only on this machine, and are downloaded once ({total}):\n\n")
    widest = max((len(model.name) for model in models), default=0)
    for model in models:
        text.append(f"  {model.role:<12}{model.name:<{widest}}{size_text(model.bytes):>10}\n")
    text.rstrip()
    return text


def _drawn(progress: Progress) -> Text:
    share = progress.done / progress.total if progress.total else 0.0
    full = round(min(share, 1.0) * BAR)
    text = Text.assemble(("━" * full, "bold green"), ("─" * (BAR - full), "dim"))
    text.append(f" {share:4.0%}  {size_text(progress.done)} of {size_text(progress.total)}")
    if progress.rate is not None:
        text.append(f"  {size_text(round(progress.rate))}/s")
    if progress.left_s is not None:
        text.append(f"  {time_text(progress.left_s)} left")
    step = progress.step
    if step is not None:
        source = f" from {step.source}" if step.source and step.doing == "downloading" else ""
        text.append(f"\n{step.model}: {step.doing}{source}")
    return text


def time_text(seconds: float) -> str:
    """Return a duration as text, e.g. 8 s, 3 min or 2.0 h."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 3600 else f"{seconds / 3600:.1f} h"
