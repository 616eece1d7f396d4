"""`assistant idle`: shows, runs or pauses the work that is done while nobody speaks.

The command asks the running assistant to do this. If none is running, the command does it itself.
"""

import argparse
import asyncio
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import datetime

from assistant.encryption import Vault
from assistant.errors import SettingsError, StoreError
from assistant.events import Event, IdleWork, Notice
from assistant.ipc import Request, Row, send_request
from assistant.paths import Home
from assistant.settings import Settings
from ui.commands import ReadSettings
from ui.commands.passphrase import unlock
from ui.commands.requests import ask
from ui.process.console import print_result, runnable_hint

Show = Callable[[Row], None]

ASKED_EVERY_S = 0.5
NOTHING: Row = {
    "event": "idle",
    "waiting": 0,
    "given_up": 0,
    "kinds": [],
    "paused": None,
    "running": None,
    "resting": [],
    "trouble": None,
    "asked": None,
    "attended": False,
}
"""Status of the idle work before the user has said anything."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    actions.add_parser("status", help="show the work that is waiting, running or given up")
    running = actions.add_parser("run", help="do one batch of due work now")
    running.add_argument(
        "--until-empty", action="store_true", help="do batch after batch until nothing is due"
    )
    actions.add_parser("pause", help="do no idle work until `resume`")
    actions.add_parser("resume", help="do idle work again while nobody speaks")
    retrying = actions.add_parser("retry", help="retry the work that was given up")
    for action in (running, retrying):
        action.add_argument("--kind", metavar="K", help="only this kind of work, as in `status`")


def run(args: argparse.Namespace, home: Home, settings: ReadSettings) -> int:
    read = settings().settings
    request: Row = {"act": "idle", "do": args.action, "user": read.general.user}
    request |= {name: getattr(args, name) for name in ("kind", "until_empty") if name in args}

    def show(row: Row) -> None:
        print_result(row, *_lines(row), as_json=args.json)

    def answer() -> Iterator[Row]:
        if not home.transcript.exists():
            yield from _without_words(args.action)
            return
        with closing(unlock(home, read)) as vault:
            if args.action == "run":
                yield asyncio.run(_work(home, read, vault, request, show))
                return
            # This import takes a second, and is only needed if no assistant is running.
            from assistant.compose import open_idle_admin

            with open_idle_admin(home, read, vault) as admin:
                yield from admin.carry_out(request)

    for row in ask(home, request, answer):
        if row["event"] == "begun":
            _follow(home, request, show)
        else:
            show(row)
    return 0


def _without_words(action: str) -> Iterator[Row]:
    """Yield the answer to a command that is given before the user has said anything.

    Raises:
        StoreError: the command is `pause`, and there is nothing to pause.
    """
    if action == "pause":
        raise StoreError("Nothing has been said yet, so there is nothing to pause.")
    yield NOTHING if action != "run" else _done(0, NOTHING)


def _follow(home: Home, request: Request, show: Show) -> None:
    """Wait until the running assistant has done the work, and show its progress.

    Speech may interrupt the work, which then continues later.

    Raises:
        StoreError: the work failed, or the assistant has ended.
    """
    shown: Row = {}
    while True:
        answered = send_request(home.door, {**request, "do": "status"})
        if answered is None:
            raise StoreError("The assistant has ended; the rest will be done when it runs again.")
        row = next(each for each in answered if each["event"] == "idle")
        asked = row["asked"]
        if not asked["goes_on"]:
            if asked["failed"] is not None:
                raise StoreError(asked["failed"]["message"], mend=asked["failed"]["mend"])
            show(_done(asked["done"], row))
            return
        working = {"event": "working", "kind": row["running"], "waiting": row["waiting"]}
        if row["running"] is not None and working != shown:
            show(working)
            shown = working
        time.sleep(ASKED_EVERY_S)


async def _work(home: Home, settings: Settings, vault: Vault, request: Request, show: Show) -> Row:
    """Do the work in this process, because no assistant is running; return the final row."""
    from assistant.compose import open_idle_scheduler

    def hear(event: Event) -> None:
        if isinstance(event, IdleWork) and event.kind is not None:
            show({"event": "working", "kind": event.kind, "waiting": event.waiting})
        elif isinstance(event, Notice):
            print(event.text, file=sys.stderr)

    async with open_idle_scheduler(home, settings, vault, hear) as scheduler:
        kinds, kind = scheduler.backlog.kinds, request["kind"]
        if kind is not None and kind not in kinds:
            raise SettingsError(
                f"There is no idle work of kind {kind!r}. Kinds: {', '.join(kinds)}.",
                mend="assistant idle --help",
            )
        most = None if request["until_empty"] else 1
        done = await scheduler.run_until_empty(kind, most)
        counts = await asyncio.to_thread(scheduler.queue.counts)
        given_up = sum(each.count for each in counts if each.state == "dead")
        waiting = sum(each.count for each in counts) - given_up
        return _done(done, {"waiting": waiting, "given_up": given_up})


def _done(count: int, left: Row) -> Row:
    left = {name: left[name] for name in ("waiting", "given_up")}
    return {"event": "done", "count": count, **left}


# -- plain text ---------------------------------------------------------------------------------


def _lines(row: Row) -> Iterator[str]:
    match row["event"]:
        case "idle":
            yield from _status(row)
        case "given-up":
            yield f"  given up: {row['kind']} {row['subject'][:8]} ({row['error']})"
        case "working":
            yield f"{row['kind']} … {row['waiting']:,} waiting"
        case "done":
            yield f"{row['count']:,} done, {row['waiting']:,} waiting{_given_up(row)}."
        case "retried":
            yield f"{row['count']:,} will be retried."


def _status(row: Row) -> Iterator[str]:
    if row["paused"] is not None:
        since = datetime.fromisoformat(row["paused"]).astimezone()
        yield f"Paused since {since:%Y-%m-%d %H:%M}."
        yield f"→ {runnable_hint('assistant idle resume')}"
    elif row["running"] is not None:
        yield f"Working: {row['running']}."
    elif row["trouble"] is not None:
        yield f"Resting: {row['trouble']}"
    elif not row["waiting"]:
        yield f"Nothing is waiting{_given_up(row)}."
    else:
        when = "while nobody speaks" if row["attended"] else "while an assistant is running"
        yield f"This work runs {when}. To run it now:"
        yield f"→ {runnable_hint('assistant idle run --until-empty')}"
    for each in row["kinds"]:
        rests = " (paused after failures)" if each["kind"] in row["resting"] else ""
        yield f"  {each['kind']:<12}{each['waiting']:>8,} waiting{_given_up(each)}{rests}"
    if row["given_up"]:
        yield f"→ {runnable_hint('assistant idle retry')}"


def _given_up(row: Row) -> str:
    return f", {row['given_up']:,} given up" if row["given_up"] else ""
