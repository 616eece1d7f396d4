"""`assistant models list | pull [NAME...] | verify [NAME...] | remove NAME`."""

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TextIO

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn
from rich.table import Table

from assistant.errors import ModelError, ModelMissing
from assistant.paths import models_cache
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
from models.selection import choose_profile, pull_choice

PLAIN_EVERY_S = 5.0
"""Seconds between progress lines without a terminal."""


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add `models` and its actions."""
    parser = subparsers.add_parser("models", help="list, download, check and remove models")
    actions = parser.add_subparsers(dest="models_action", metavar="ACTION", required=True)
    actions.add_parser("list", help="all models, and which are on this machine")
    pull = actions.add_parser("pull", help="download models; resumes a broken download")
    pull.add_argument("names", nargs="*", metavar="NAME", help="default: those of the profile")
    verify = actions.add_parser("verify", help="check every byte of models")
    verify.add_argument("names", nargs="*", metavar="NAME", help="default: all on this machine")
    remove = actions.add_parser("remove", help="delete a model")
    remove.add_argument("name", metavar="NAME")


@dataclass(slots=True)
class Output:
    """Where the command writes: a terminal, a plain stream, or JSON lines."""

    stream: TextIO = field(default_factory=lambda: sys.stdout)
    as_json: bool = False
    live: Console | None = None
    """The terminal while a bar is drawn on it; lines must go above the bar."""

    @property
    def terminal(self) -> bool:
        return not self.as_json and self.stream.isatty()

    def console(self) -> Console:
        return Console(file=self.stream, highlight=False)

    def say(self, sentence: str, **facts: Any) -> None:
        """Print one line: the sentence, or with `--json` the facts."""
        if self.live:
            self.live.print(sentence, markup=False, soft_wrap=True)
        else:
            print(json.dumps(facts) if self.as_json else sentence, file=self.stream, flush=True)


def run(
    args: argparse.Namespace,
    *,
    profile: str | None = None,
    store: ModelStore | None = None,
    hardware: Hardware | None = None,
    stream: TextIO | None = None,
) -> int:
    """Carry out the command; returns the exit code.

    Args:
        args: as parsed; `args.profile` and `args.json` are the global flags.
        profile: the settings' profile, used if there is no flag.
        store, hardware, stream: default: the user's cache, this machine, standard output.

    Raises:
        AssistantError: for the command line to show.
    """
    out = Output(stream or sys.stdout, bool(args.json))
    store = store or ModelStore(models_cache(), catalogue.read())
    hardware = hardware or detect()
    match args.models_action:
        case "list":
            return _list(store, out)
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
            return 0
        case _:
            name = args.profile or profile or "default"
            return _pull(store, hardware, args.names, name, out)


def _list(store: ModelStore, out: Output) -> int:
    rows = [_row(store, model) for model in store.catalogue.models.values()]
    if out.as_json:
        for row in rows:
            out.say("", **row)
        return 0
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("NAME", "ROLE", "SIZE", "MEMORY", "LANGUAGES", "LICENCE", "STATE"):
        table.add_column(heading, no_wrap=True, justify="right" if "M" in heading[:1] else "left")
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
    console = out.console()
    if not out.terminal:
        console.width = 200
    console.print(table)
    console.print(f"Cache: {store.cache}", soft_wrap=True)
    return 0


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
        "state": state.value,
        "source": store.source(model.name) if state is ModelState.READY else None,
        "bytes_here": folder_bytes(store.cache / ".partial" / model.name)
        if state is ModelState.PARTIAL
        else folder_bytes(store.folder(model.name)),
    }


def _state_text(row: dict[str, Any]) -> str:
    if row["state"] == ModelState.READY:
        return f"ready, from {row['source']}"
    if row["state"] == ModelState.PARTIAL:
        return f"{size_text(row['bytes_here'])} downloaded"
    return "damaged" if row["state"] == ModelState.CORRUPT else "-"


def _verify(store: ModelStore, names: Sequence[str], out: Output) -> int:
    """Check models; returns the exit code of the worst."""
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


def _pull(
    store: ModelStore, hardware: Hardware, names: Sequence[str], profile: str, out: Output
) -> int:
    with _progress(out) as report:
        if names:
            store.pull(names, report, arrived=lambda one: _tell(one, out))
            return 0
        choice = choose_profile(profile, hardware, store, anew=True)
        choice = pull_choice(store, choice, hardware, report, arrived=lambda one: _tell(one, out))
    out.say(
        f"Profile {profile}. {choice.reason}",
        event="profile",
        profile=profile,
        models=list(choice.profile.models),
        reason=choice.reason,
    )
    return 0


def _tell(one: PullResult, out: Output) -> None:
    if one.source is None:
        sentence = f"{one.name}: already here and intact."
    else:
        sentence = f"{one.name}: {size_text(one.bytes)} from {one.source} in {one.seconds:.0f} s."
    out.say(
        sentence,
        event="pulled",
        model=one.name,
        source=one.source,
        bytes=one.bytes,
        seconds=round(one.seconds, 2),
    )


@contextmanager
def _progress(out: Output) -> Iterator[Report]:
    """Shows progress: a bar on a terminal, occasional lines elsewhere, nothing in JSON."""
    if not out.terminal:
        yield _Plain(out)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
    )
    with Progress(*columns, console=out.console(), transient=True) as bars:
        out.live = bars.console
        try:
            yield _Bars(bars)
        finally:
            out.live = None


@dataclass(slots=True)
class _Bars:
    """One bar per model and kind of work."""

    bars: Progress
    tasks: dict[tuple[str, str], Any] = field(default_factory=dict)

    def __call__(self, step: DownloadProgress) -> None:
        key = (step.model, step.doing)
        if key not in self.tasks:
            for task in self.tasks.values():
                self.bars.update(task, visible=False)
            self.tasks[key] = self.bars.add_task(step.model)
        text = _what(step)
        self.bars.update(
            self.tasks[key], description=text, completed=step.done, total=step.total or None
        )


@dataclass(slots=True)
class _Plain:
    """A line when the work changes, and every few seconds; checking is quick and silent."""

    out: Output
    last: tuple[str, str, str] | None = None
    told: float = 0.0

    def __call__(self, step: DownloadProgress) -> None:
        key = (step.model, step.doing, step.source)
        now = time.monotonic()
        if (
            self.out.as_json
            or step.doing == "verifying"
            or (key == self.last and now - self.told < PLAIN_EVERY_S)
        ):
            return
        self.last, self.told = key, now
        share = f", {100 * step.done // step.total} %" if step.total else ""
        self.out.say(f"{_what(step)}{share}")


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
