"""The part of the settings tab that lists the models of the catalogue.

The user can download, check, choose and remove models.
"""

import asyncio
import time
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.timer import Timer
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from assistant.errors import ModelMissing
from assistant.paths import Home
from assistant.settings import Settings
from models.download import size_text
from ui.screen.settings.model import SettingsModel
from ui.screen.settings.model_jobs import Doing, ModelRow, ModelTask, ModelTasks
from ui.screen.settings.part import SettingsPart
from ui.screen.widgets.dialogs import Confirm
from ui.screen.widgets.keys import keys_of
from ui.screen.widgets.lists import Rows
from ui.screen.widgets.pane import ErrorOccurred, Pane, reporting
from ui.session.state import ScreenState

if TYPE_CHECKING:
    from models.download import ModelStore

EVERY_S = 0.25
BAR = 16
NAME, SIZE, STATE = 30, 9, 9
READING = "Looking for the models on this machine…"
ROLES = {
    "stt": ("Hearing", "speech to text"),
    "llm": ("Thinking", "language model"),
    "tts": ("Speaking", "voice"),
    "encoder": ("Remembering", "sentence encoder; chosen by the profile, or by memory.encoder"),
}
STATES = {
    "ready": ("here", "green"),
    "missing": ("missing", "dim"),
    "partial": ("partial", "yellow"),
    "corrupt": ("damaged", "bold red"),
}
"""The word and the style that show each `models.download.cache.ModelState`."""


class ModelsList(Rows):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "select", "Use", id="models.use")]


class ModelsPane(SettingsPart, Pane):
    """Lists the models by role and, below the list, details of the model under the cursor.

    Args:
        reason: returns why the profile uses its language model, or None if the settings name a
            language model themselves. Blocking; raises SettingsError if the profile doesn't exist.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("d", "begin('download')", "Download", id="models.download"),
        Binding("c", "cancel", "Stop", id="models.cancel"),
        Binding("v", "begin('check')", "Check", id="models.verify"),
        Binding("delete", "remove", "Remove", id="models.remove"),
    ]
    DEFAULT_CSS = "ModelsPane > #details { height: auto; min-height: 3; }"

    def __init__(
        self,
        settings: SettingsModel,
        store: "Callable[[], ModelStore]",
        home: Home,
        reason: Callable[[Settings], str | None],
    ) -> None:
        super().__init__(id="models")
        self._settings = settings
        self._work = ModelTasks(store, home)
        self._find_reason = reason
        self._reason: str | None = None
        self._shown: list[ModelRow] = []
        self._in_use: frozenset[str] = frozenset()
        self._ticking: Timer

    def compose(self) -> ComposeResult:
        yield ModelsList()
        yield Static(READING, id="details", markup=False)

    def on_mount(self) -> None:
        self._ticking = self.set_interval(EVERY_S, self._tick, pause=True)

    def on_unmount(self) -> None:
        self._work.stop(*self._work.jobs)

    def on_show(self) -> None:
        self._look()

    def show(self, state: ScreenState) -> None:
        in_use = frozenset(state.models.values())
        if in_use != self._in_use:
            self._in_use = in_use
            self.renew()

    # -- drawing --------------------------------------------------------------------------------

    @work(exclusive=True, group="look")
    async def _look(self) -> None:
        self._shown = await asyncio.to_thread(self._work.rows)
        self.renew()
        with reporting(self):
            settings = self._settings.loaded.settings
            self._reason = await asyncio.to_thread(self._find_reason, settings)
        self.explain()

    def renew(self) -> None:
        if self._shown:
            self.query_one(ModelsList).refill(self._options())
            self.explain()

    def _options(self) -> Iterator[Option]:
        for role, rows in groupby(sorted(self._shown, key=_by_role), key=lambda each: each.role):
            name, meaning = ROLES[role]
            heading = Text.assemble((name, "bold underline"), (f"  {meaning}", "dim"))
            yield Option(heading, disabled=True)
            yield from (Option(self._row(row), id=row.name) for row in rows)

    def _row(self, row: ModelRow) -> Text:
        job = self._work.jobs.get(row.name)
        text = Text(f"  {row.name:<{NAME}}{size_text(row.model.bytes):>{SIZE}}  ", no_wrap=True)
        text.overflow = "ellipsis"
        if job is not None and not job.over:
            return text.append_text(progress(job, time.monotonic()))
        word, style = STATES[row.state]
        text.append(f"{word:<{STATE}}", style=style)
        if self._is_used(row):
            text.append(" in use", style="bold cyan")
        if row.name == self._named(row.role):
            text.append(" chosen", style="bold")
        return text

    def _is_used(self, row: ModelRow) -> bool:
        return row.name in self._in_use or row.stem in self._in_use

    def _named(self, role: str) -> str | None:
        """Return the name of the model that the settings choose for a role, if any."""
        settings = self._settings.loaded.settings
        if role == "encoder":
            return settings.memory.encoder
        named = {"stt": settings.stt.model, "llm": settings.llm.model, "tts": settings.tts.model}
        return named.get(role)

    def details(self) -> Text:
        row = self.chosen()
        if row is None:
            return Text(READING)
        model = row.model
        languages = "many languages" if model.languages == ("*",) else ", ".join(model.languages)
        facts = f"{model.title}: {languages}; {model.ram_mb:,} MB of memory; {model.licence}"
        if not model.tried:
            facts += "; not tried with this assistant yet"
        text = Text.assemble((row.name, "bold"), f"  {facts}")
        key = keys_of(self)["models.download"]
        if row.state == "corrupt":
            text.append(f"\nIts files are damaged; {key} downloads it again.", style="bold red")
        elif not row.here:
            text.append(f"\n{key} downloads it, or resumes an interrupted download.", style="dim")
        if row.role == "llm" and self._reason is not None:
            text.append(f"\nThe profile uses {self._reason}", style="dim")
        return text

    def chosen(self) -> ModelRow | None:
        """Return the model under the cursor; None while the list is empty."""
        here = self.query_one(ModelsList).here
        return next((each for each in self._shown if each.name == here), None)

    # -- work -----------------------------------------------------------------------------------

    def action_cancel(self) -> None:
        row = self.chosen()
        if row is not None:
            self._work.stop(row.name)

    def action_begin(self, doing: Doing) -> None:
        row = self.chosen()
        if row is not None:
            self._work.begin(row.name, doing)
            self._ticking.resume()
            self.renew()

    def _tick(self) -> None:
        ended = [job for job in self._work.jobs.values() if job.over]
        for job in ended:
            del self._work.jobs[job.model]
            self._report(job)
        if not self._work.busy:
            self._ticking.pause()
        if ended:
            self._look()
        else:
            self.renew()

    def _report(self, job: ModelTask) -> None:
        if job.failed is not None and not job.stopped:
            self.post_message(ErrorOccurred(job.failed))
        elif job.stopped:
            self.notify(f"{job.model}: stopped. What was downloaded so far is kept.")
        elif job.doing == "check":
            self.notify(f"{job.model}: every byte is correct.")
        else:
            self.notify(f"{job.model} has been downloaded.")

    @work(exclusive=True, group="remove")
    async def action_remove(self) -> None:
        row = self.chosen()
        if row is None:
            return
        used = "The assistant is using it, and will need it at its next start."
        question = f"Remove {row.name} from this machine ({size_text(row.model.bytes)})?"
        details = used if self._is_used(row) else "It can be downloaded again."
        if not await self.app.push_screen_wait(Confirm(question, details, do="Remove")):
            return
        with reporting(self):
            freed = await asyncio.to_thread(lambda: self._work.store().remove(row.name))
            self.notify(f"Removed {row.name}; {size_text(freed)} freed.")
            self._look()

    # -- choice ---------------------------------------------------------------------------------

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self._use()

    @work(exclusive=True, group="use")
    async def _use(self) -> None:
        row = self.chosen()
        if row is None or row.role == "encoder":
            return
        if row.here:
            await self.save(self._settings.write, f"{row.role}.model", row.name)
            return
        sentence = f"{row.name} is not on this machine yet."
        key = keys_of(self)["models.download"]
        missing = ModelMissing(sentence, mend=f"Press {key} to download it first.")
        self.post_message(ErrorOccurred(missing))


def progress(job: ModelTask, now: float) -> Text:
    """Draw a progress bar with the bytes done and the time left, or a word if these are unknown."""
    step = job.step
    if step is None or not step.total:
        return Text("waiting" if step is not None and step.doing == "waiting" else "starting")
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
