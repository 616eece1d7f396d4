"""`assistant models`: lists, downloads, verifies or removes models."""

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TextIO

from assistant.compose import chooses_model
from assistant.errors import ModelError, ModelMissing, StoreError
from assistant.paths import Home, models_cache
from assistant.settings import Settings
from models import catalogue
from models.download import (
    DownloadProgress,
    ModelState,
    ModelStore,
    PullResult,
    Report,
    folder_bytes,
    size_text,
)
from models.hardware import Hardware, detect
from models.selection import choose_profile, pull_choice, select_models, wanted_models
from ui.commands import ReadSettings
from ui.process.console import print_json

if TYPE_CHECKING:  # slow to import, and not needed if no model is missing
    from rich.console import Console
    from rich.progress import Progress, TaskID

PLAIN_EVERY_S = 5.0
"""Seconds between two lines of progress if the output is not a terminal."""
UNTRIED = '"Not tried yet": nobody has run this model with this assistant.'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    actions.add_parser("list", help="all models, and which are on this machine")
    pull = actions.add_parser("pull", help="download models; resumes an interrupted download")
    pull.add_argument("names", nargs="*", metavar="NAME", help="default: the profile's models")
    verify = actions.add_parser("verify", help="check every byte of models")
    verify.add_argument("names", nargs="*", metavar="NAME", help="default: all on this machine")
    remove = actions.add_parser("remove", help="delete a model")
    remove.add_argument("name", metavar="NAME")


@dataclass(slots=True)
class Output:
    """The output of the command: a terminal, a plain stream, or JSON lines."""

    stream: TextIO
    as_json: bool = False
    live: "Console | None" = None
    """The terminal, while a progress bar is drawn on it. Lines must be printed above the bar."""

    @property
    def terminal(self) -> bool:
        return not self.as_json and self.stream.isatty()

    def say(self, sentence: str, **facts: Any) -> None:
        """Print one line: the sentence or, with `--json`, the facts."""
        if self.live:
            self.live.print(sentence, markup=False, soft_wrap=True)
        elif self.as_json:
            print_json(facts, self.stream)
        else:
            print(sentence, file=self.stream, flush=True)


def run(args: argparse.Namespace, _home: Home, settings: ReadSettings) -> int:
    current = settings().settings
    out = Output(sys.stdout, args.json)
    store = ModelStore(models_cache(), catalogue.read())
    match args.action:
        case "list":
            _list(store, out, current)
        case "verify":
            return _verify(store, args.names, out)
        case "remove":
            freed = store.remove(args.name)
            out.say(
                f"Removed {args.name}; {size_text(freed)} freed.",
                event="removed",
                model=args.name,
                bytes=freed,
            )
        case _:
            pull(store, detect(), args.names, current, out)
    return 0


def _list(store: ModelStore, out: Output, settings: Settings) -> None:
    from rich.console import Console
    from rich.table import Table

    rows = [_row(store, model) for model in store.catalogue.models.values()]
    if out.as_json:
        for row in rows:
            print_json(row, out.stream)
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("NAME", "ROLE", "SIZE", "MEMORY", "LANGUAGES", "LICENCE", "STATE"):
        table.add_column(heading, no_wrap=True, justify="right" if heading == "MEMORY" else "left")
    for row in rows:
        table.add_row(
            row["name"],
            row["role"],
            size_text(row["bytes"]),
            f"{row['ram_mb']} MB",
            "many" if row["languages"] == ["*"] else ", ".join(row["languages"]),
            row["licence"],
            _state_text(row),
        )
    console = Console(file=out.stream, highlight=False)
    if not out.terminal:
        console.width = 200
    console.print(table)
    console.print(UNTRIED, soft_wrap=True)
    if chooses_model(settings):
        choice = choose_profile(settings.general.profile, detect(), store)
        if choice.worth_trying is not None:
            console.print(choice.worth_trying, soft_wrap=True, markup=False)
    console.print(f"Cache: {store.cache}", soft_wrap=True)


def _row(store: ModelStore, model: catalogue.Model) -> dict[str, Any]:
    state = store.state(model.name)
    return {
        "name": model.name,
        "role": model.role.value,
        "title": model.title,
        "bytes": model.bytes,
        "ram_mb": model.ram_mb,
        "languages": list(model.languages),
        "licence": model.licence,
        "tried": model.tried,
        "state": state.value,
        "source": store.source(model.name) if state is ModelState.READY else None,
        "bytes_here": folder_bytes(store.cache / ".partial" / model.name)
        if state is ModelState.PARTIAL
        else folder_bytes(store.folder(model.name)),
    }


def _state_text(row: dict[str, Any]) -> str:
    match row["state"]:
        case ModelState.READY:
            state = f"ready, from {row['source']}"
        case ModelState.PARTIAL:
            state = f"{size_text(row['bytes_here'])} downloaded"
        case ModelState.CORRUPT:
            state = "damaged"
        case _:
            return "-" if row["tried"] else "not tried yet"
    return state if row["tried"] else f"{state}, not tried yet"


def _verify(store: ModelStore, names: Sequence[str], out: Output) -> int:
    """Check every byte of some models, and print the results.

    Returns the exit code of the last failure, or 0.

    Raises:
        ModelMissing: no names are given, and there are no models on this machine.
    """
    code = 0
    chosen = names or [n for n in store.catalogue.models if store.folder(n).exists()]
    if not chosen:
        raise ModelMissing("There are no models on this machine yet.", mend="assistant models pull")
    for name in chosen:
        try:
            with _progress(out) as report:
                store.verify(name, report)
        except ModelError as error:
            code = error.exit_code
            out.say(
                f"{name}: {error} To fix it: {error.mend}",
                event="verified",
                model=name,
                ok=False,
                message=str(error),
                mend=error.mend,
            )
        else:
            out.say(f"{name}: intact.", event="verified", model=name, ok=True)
    return code


def pull(
    store: ModelStore, hardware: Hardware, names: Sequence[str], settings: Settings, out: Output
) -> None:
    """Download the named models or, if no names are given, those of the profile in the settings.

    Raises:
        ModelError: a model could not be downloaded or prepared.
        StoreError: the disk is full or the cache can't be written.
    """

    def arrived(one: PullResult) -> None:
        sentence = f"{one.name}: already here and intact."
        if one.source is not None:
            size = size_text(one.bytes)
            sentence = f"{one.name}: {size} from {one.source} in {one.seconds:.0f} s."
        out.say(
            sentence,
            event="pulled",
            model=one.name,
            source=one.source,
            bytes=one.bytes,
            seconds=round(one.seconds, 2),
        )

    with _progress(out) as report:
        if names:
            store.pull(names, report, arrived=arrived)
            return
        profile = settings.general.profile
        choice = choose_profile(profile, hardware, store, anew=True)
        choice = pull_choice(store, choice, hardware, report, arrived=arrived)
    reason = choice.reason_and_advice if chooses_model(settings) else choice.reason
    out.say(
        f"Profile {profile}. {reason}",
        event="profile",
        profile=profile,
        models=list(choice.profile.models),
        reason=reason,
    )


def pull_missing(settings: Settings, stream: TextIO) -> None:
    """Download missing models before the assistant starts, and show the progress on `stream`.

    If the profile uses a language model that doesn't suit this machine, the best suitable one is
    downloaded, too. If only that download fails, the assistant starts anyway, and the download is
    not tried again on the same day. The call is quick if there is nothing to download.

    Raises:
        SettingsError: there is no such profile.
        ModelError: a model could not be downloaded or prepared.
        StoreError: the disk is full or the cache can't be written.
    """
    selection = select_models(settings)
    store, hardware, notes = selection.store, selection.hardware, selection.notes
    llm = selection.profile.llm
    wanted = wanted_models(settings, selection)
    missing = store.missing(wanted)
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    refused = notes.of(hardware).get("refused") == today
    absent = selection.choice.absent if chooses_model(settings) and not refused else None
    if not missing and absent is None:
        return
    out = Output(stream)
    # Pull the whole profile: its language model depends on which models can be downloaded.
    names = [] if absent or llm in missing else missing
    try:
        pull(store, hardware, names, settings, out)
    except (ModelError, StoreError) as error:
        if absent is None or store.missing(wanted):
            raise
        notes.add(hardware, refused=today)
        print(f"{error} Continuing with {llm}.", file=stream)
    if rest := store.missing([name for name in wanted if name != llm]):
        pull(store, hardware, rest, settings, out)


@contextmanager
def _progress(out: Output) -> Iterator[Report]:
    """Provide a function that shows progress.

    It draws a bar on a terminal, prints occasional lines elsewhere, and does nothing with `--json`.
    """
    if out.as_json:
        yield lambda _: None
    elif not out.terminal:
        yield _lines(out)
    else:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            DownloadColumn,
            Progress,
            TextColumn,
            TransferSpeedColumn,
        )

        text = TextColumn("{task.description}")
        columns = (text, BarColumn(), DownloadColumn(), TransferSpeedColumn())
        console = Console(file=out.stream, highlight=False)
        with Progress(*columns, console=console, transient=True) as bars:
            out.live = bars.console
            try:
                yield _bars(bars)
            finally:
                out.live = None


def _bars(bars: "Progress") -> Report:
    """Return a function that draws a progress bar for each model and kind of work."""
    tasks: dict[tuple[str, str], TaskID] = {}

    def report(step: DownloadProgress) -> None:
        key = (step.model, step.doing)
        if key not in tasks:
            for task in tasks.values():
                bars.update(task, visible=False)
            tasks[key] = bars.add_task(step.model)
        bars.update(
            tasks[key], description=_what(step), completed=step.done, total=step.total or None
        )

    return report


def _lines(out: Output) -> Report:
    """Return a function that prints progress in lines.

    It prints a line every few seconds, and when the model, the work or the source changes. It
    prints nothing for checks, because they are quick.
    """
    last: tuple[str, str, str] | None = None
    last_at = 0.0

    def report(step: DownloadProgress) -> None:
        nonlocal last, last_at
        key, now = (step.model, step.doing, step.source), time.monotonic()
        if step.doing == "verifying" or (key == last and now - last_at < PLAIN_EVERY_S):
            return
        last, last_at = key, now
        share = f", {100 * step.done // step.total} %" if step.total else ""
        out.say(f"{_what(step)}{share}")

    return report


def _what(step: DownloadProgress) -> str:
    match step.doing:
        case "downloading":
            return f"{step.model} from {step.source}"
        case "verifying":
            return f"{step.model}: checking"
        case "preparing":
            return f"{step.model}: preparing"
        case _:
            return f"{step.model}: waiting for another download to end"
