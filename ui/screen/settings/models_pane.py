"""The catalogue's models: what is here and in use; download, check, choose, remove."""

import asyncio
import time
from collections.abc import Callable
from itertools import groupby
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.timer import Timer
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from assistant.errors import AssistantError, ModelMissing
from assistant.paths import Home
from assistant.settings import Settings
from models.download import size_text
from ui.screen.settings.model import SettingsModel
from ui.screen.settings.model_jobs import WORDS, Doing, ModelRow, ModelTask, ModelTasks
from ui.screen.settings.settings_pane import SettingsFileChanged
from ui.screen.widgets.dialogs import Confirm
from ui.screen.widgets.listing import Listing
from ui.screen.widgets.messages import ErrorOccurred
from ui.screen.widgets.pane import Pane
from ui.session.state import ScreenState

if TYPE_CHECKING:
    from models.download import ModelStore

EVERY_S = 0.25
BAR = 16
NAME, SIZE, STATE = 30, 9, 9
READING = "Looking at the models of this machine…"
ROLES = {
    "stt": ("Hearing", "speech to text"),
    "llm": ("Thinking", "language model"),
    "tts": ("Speaking", "voice"),
    "encoder": ("Remembering", "sentence encoder; the profile chooses it"),
}
STYLES = {"ready": "green", "partial": "yellow", "corrupt": "bold red"}


class ModelsList(Listing):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "select", "Use", id="models.use")]


class ModelsPane(Pane):
    """Models grouped by role; below them, details of the one under the cursor."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("d", "download", "Download", id="models.download"),
        Binding("c", "cancel", "Stop it", id="models.cancel"),
        Binding("v", "verify", "Check", id="models.verify"),
        Binding("delete", "remove", "Remove", id="models.remove"),
    ]
    DEFAULT_CSS = """
    ModelsPane { layout: vertical; height: 1fr; }
    ModelsPane > ModelsList {
        height: 1fr; padding: 0 1; text-wrap: nowrap; text-overflow: ellipsis;
    }
    ModelsPane > #model { height: auto; min-height: 3; padding: 0 1; border-top: solid $primary; }
    """

    def __init__(
        self,
        book: SettingsModel,
        store: "Callable[[], ModelStore]",
        home: Home,
        reason: Callable[[Settings], str | None],
    ) -> None:
        """Create the pane.

        Args:
            reason: why the profile has its language model, and what a better one would need; None
                if the settings name another. Blocking; raises SettingsError.
        """
        super().__init__(id="models")
        self._book = book
        self._work = ModelTasks(store, home)
        self._find_reason = reason
        self._reason: str | None = None
        self._shown: list[ModelRow] = []
        self._in_use: frozenset[str] = frozenset()
        self._ticking: Timer | None = None

    def compose(self) -> ComposeResult:
        yield ModelsList()
        yield Static(READING, id="model", markup=False)

    def on_mount(self) -> None:
        self._ticking = self.set_interval(EVERY_S, self._tick, pause=True)

    def on_unmount(self) -> None:
        self._work.stop_all()

    def on_show(self) -> None:
        self._look()

    def show(self, state: ScreenState) -> None:
        in_use = frozenset(state.models.values())
        if in_use != self._in_use:
            self._in_use = in_use
            self.renew()

    # -- drawing --------------------------------------------------------------------------------

    def _look(self) -> None:
        self.run_worker(self._read(), exclusive=True, group="look")

    async def _read(self) -> None:
        self._shown = await asyncio.to_thread(self._work.rows)
        self.renew()
        settings = self._book.loaded.settings
        try:
            self._reason = await asyncio.to_thread(self._find_reason, settings)
        except AssistantError as error:
            self.post_message(ErrorOccurred(error))
        self._explain()

    def renew(self) -> None:
        """Redraw what is known; the cursor stays."""
        if not self._shown:
            return
        listing = self.query_one(ModelsList)
        place = listing.highlighted
        options: list[Option] = []
        for role, rows in groupby(sorted(self._shown, key=_by_role), key=lambda each: each.role):
            name, meaning = ROLES[role]
            heading = Text.assemble((name, "bold underline"), (f"  {meaning}", "dim"))
            options.append(Option(heading, disabled=True))
            options += [Option(self._row(row), id=row.name) for row in rows]
        if [option.id for option in options] == [option.id for option in listing.options]:
            for row in self._shown:
                listing.replace_option_prompt(row.name, self._row(row))
        else:
            listing.clear_options()
            listing.add_options(options)
            listing.highlighted = place or 1
        self._explain()

    def _row(self, row: ModelRow) -> Text:
        job = self._work.jobs.get(row.name)
        text = Text(f"  {row.name:<{NAME}}{size_text(row.bytes):>{SIZE}}  ", no_wrap=True)
        text.overflow = "ellipsis"
        if job is not None and not job.over:
            text.append_text(progress(job, time.monotonic()))
            return text
        text.append(f"{WORDS[row.state]:<{STATE}}", style=STYLES.get(row.state, "dim"))
        if self._is_used(row):
            text.append(" in use", style="bold cyan")
        if row.name == self._named(row.role):
            text.append(" chosen", style="bold")
        return text

    def _is_used(self, row: ModelRow) -> bool:
        return row.name in self._in_use or row.stem in self._in_use

    def _named(self, role: str) -> str | None:
        """The model that the settings name for a role."""
        settings = self._book.loaded.settings
        named = {"stt": settings.stt.model, "llm": settings.llm.model, "tts": settings.tts.model}
        return named.get(role)

    def _explain(self) -> None:
        row = self.chosen()
        if row is None:
            return
        languages = "many languages" if row.languages == ("*",) else ", ".join(row.languages)
        facts = f"{row.title}: {languages}; {row.ram_mb:,} MB of memory; {row.licence}"
        text = Text.assemble((row.name, "bold"), f"  {facts}")
        if row.state == "corrupt":
            text.append("\nIts files are damaged; d downloads it again.", style="bold red")
        elif not row.here:
            text.append("\nd downloads it, or resumes a broken download.", style="dim")
        if row.role == "llm" and self._reason is not None:
            text.append(f"\nThe profile uses {self._reason}", style="dim")
        self.query_one("#model", Static).update(text)

    def on_option_list_option_highlighted(self) -> None:
        self._explain()

    def chosen(self) -> ModelRow | None:
        """The model under the cursor."""
        listing = self.query_one(ModelsList)
        place = listing.highlighted
        key = listing.get_option_at_index(place).id if place is not None else None
        return next((each for each in self._shown if each.name == key), None)

    # -- work -----------------------------------------------------------------------------------

    def action_download(self) -> None:
        self._begin("download")

    def action_verify(self) -> None:
        self._begin("check")

    def action_cancel(self) -> None:
        row = self.chosen()
        if row is not None:
            self._work.stop(row.name)

    def _begin(self, doing: Doing) -> None:
        row = self.chosen()
        if row is not None and self._ticking is not None:
            self._work.begin(row.name, doing)
            self._ticking.resume()
            self.renew()

    def _tick(self) -> None:
        ended = [job for job in self._work.jobs.values() if job.over]
        for job in ended:
            del self._work.jobs[job.model]
            self._tell(job)
        if not self._work.busy and self._ticking is not None:
            self._ticking.pause()
        if ended:
            self._look()
        else:
            self.renew()

    def _tell(self, job: ModelTask) -> None:
        if job.failed is not None and not job.stopped:
            self.post_message(ErrorOccurred(job.failed))
        elif job.stopped:
            self.notify(f"{job.model}: stopped. What was downloaded so far is kept.")
        elif job.doing == "check":
            self.notify(f"{job.model}: every byte is correct.")
        else:
            self.notify(f"{job.model} has been downloaded.")

    def action_remove(self) -> None:
        self.run_worker(self._remove(), exclusive=True, group="remove")

    async def _remove(self) -> None:
        row = self.chosen()
        if row is None:
            return
        used = "The assistant is using it, and will need it at its next start."
        question = f"Remove {row.name} from this machine ({size_text(row.bytes)})?"
        details = used if self._is_used(row) else "It can be downloaded again."
        if not await self.app.push_screen_wait(Confirm(question, details, do="Remove")):
            return
        try:
            freed = await asyncio.to_thread(self._work.remove, row.name)
        except AssistantError as error:
            self.post_message(ErrorOccurred(error))
            return
        self.notify(f"Removed {row.name}; {size_text(freed)} freed.")
        self._look()

    # -- choice ---------------------------------------------------------------------------------

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.run_worker(self._use(), exclusive=True, group="use")

    async def _use(self) -> None:
        row = self.chosen()
        if row is None or row.role == "encoder":
            return
        try:
            if not row.here:
                raise ModelMissing(
                    f"{row.name} is not on this machine yet.", mend="Press d to download it first."
                )
            await asyncio.to_thread(self._book.write, f"{row.role}.model", row.name)
        except AssistantError as error:
            self.post_message(ErrorOccurred(error))
            return
        self.post_message(SettingsFileChanged())


def progress(job: ModelTask, now: float) -> Text:
    """A bar with megabytes and the time left; words only if there is nothing to count."""
    step = job.step
    if step is None or not step.total:
        return Text("waiting" if step is not None and step.doing == "waiting" else "beginning")
    full = min(round(BAR * step.done / step.total), BAR)
    words = {"verifying": "checking", "preparing": "preparing"}.get(step.doing, "")
    text = Text.assemble(("█" * full + "░" * (BAR - full), "cyan"), " ")
    if words:
        return text.append(words)
    text.append(f"{size_text(step.done)} of {size_text(step.total)}")
    left = job.left_s(now)
    return text.append(f", {_time(left)} left") if left is not None else text


def _time(seconds: float) -> str:
    whole = round(seconds)
    return f"{whole} s" if whole < 90 else f"{round(whole / 60)} min"


def _by_role(row: ModelRow) -> int:
    return list(ROLES).index(row.role)
