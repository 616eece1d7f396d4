"""`assistant idle`: shows, runs or pauses the work done while nobody speaks.

Asks a running assistant; if none runs, the command does the work itself.
"""

import argparse
import asyncio
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from assistant.encryption import Vault
from assistant.errors import SettingsError, StoreError, StoreInUse
from assistant.events import Event, IdleWork, Notice
from assistant.ipc import Request, Row, send_request
from assistant.paths import Home
from assistant.settings import Settings
from ui.commands.passphrase import unlock
from ui.process.console import print_json, runnable_hint

if TYPE_CHECKING:
    from assistant.memory import JobQueue

Show = Callable[[Row], None]

SUMMARY = "work done while nobody speaks: show, run now, pause"
STARTING_S = 10.0
"""Seconds for which another process may have the memories open without accepting requests yet."""
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
"""The status of a home in which nothing has been said yet."""


def add_parser(commands: "argparse._SubParsersAction[Any]") -> None:
    parser = commands.add_parser("idle", help=SUMMARY, description=SUMMARY)
    parser.set_defaults(show_help=parser.print_help)
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    actions.add_parser("status", help="what is waiting, running, or was given up")
    running = actions.add_parser("run", help="do one batch of due work now")
    running.add_argument(
        "--until-empty", action="store_true", help="batch after batch, until nothing is due"
    )
    actions.add_parser("pause", help="stop until `resume`")
    actions.add_parser("resume", help="continue while nobody speaks")
    retrying = actions.add_parser("retry", help="retry what was given up")
    for action in (running, retrying):
        action.add_argument("--kind", metavar="K", help="only this kind of work, as in `status`")


def run(args: argparse.Namespace, home: Home, settings: Settings) -> int:
    """Carry out the command; returns the exit code. Raises AssistantError."""
    if args.action is None:
        args.show_help()
        return 0
    request: Row = {"act": "idle", "do": args.action, "user": settings.general.user}
    if getattr(args, "kind", None) is not None:
        request["kind"] = args.kind
    show = partial(_show, as_json=args.json)
    if args.action == "run":
        request["until_empty"] = args.until_empty
        _run(home, settings, request, show)
    else:
        for row in _answers(home, settings, request):
            show(row)
    return 0


def _show(row: Row, *, as_json: bool) -> None:
    if as_json:
        print_json(row, sys.stdout)
    else:
        for line in _lines(row):
            print(line, flush=True)


# -- a running assistant, or the file -----------------------------------------------------------


def _answers(home: Home, settings: Settings, request: Request) -> Iterator[Row]:
    answered = send_request(home.door, request)
    if answered is not None:
        yield from answered
        return
    if not home.transcript.exists():
        if request["do"] == "pause":
            raise StoreError("Nothing has been said yet, so there is nothing to pause.")
        yield NOTHING
        return
    # These imports take a second; asking a running assistant doesn't need them.
    from assistant.compose import open_idle_admin

    with (
        closing(unlock(home, settings)) as vault,
        open_idle_admin(home, settings, vault) as admin,
    ):
        yield from admin.carry_out(request)


def _run(home: Home, settings: Settings, request: Request, show: Show) -> None:
    until = time.monotonic() + STARTING_S
    while True:
        answered = send_request(home.door, request)
        if answered is not None:
            list(answered)
            _follow(home, request, show)
            return
        if not home.transcript.exists():
            show(_done(0, NOTHING))
            return
        try:
            with closing(unlock(home, settings)) as vault:
                asyncio.run(_work(home, settings, vault, request, show))
            return
        except StoreInUse:
            if time.monotonic() > until:
                raise
            time.sleep(0.2)


def _follow(home: Home, request: Request, show: Show) -> None:
    """Wait until the running assistant has done it, which may be interrupted by speech.

    Raises:
        StoreError: it failed, or the assistant has ended.
    """
    told: Row = {}
    while True:
        answered = send_request(home.door, {**request, "do": "status"})
        if answered is None:
            raise StoreError("The assistant has ended; the rest waits for the next time.")
        row = next(each for each in answered if each["event"] == "idle")
        asked = row["asked"]
        if not asked["goes_on"]:
            if asked["failed"] is not None:
                raise StoreError(asked["failed"]["message"], mend=asked["failed"]["mend"])
            show(_done(asked["done"], row))
            return
        working = {"event": "working", "kind": row["running"], "waiting": row["waiting"]}
        if row["running"] is not None and working != told:
            show(working)
            told = working
        time.sleep(ASKED_EVERY_S)


async def _work(home: Home, settings: Settings, vault: Vault, request: Request, show: Show) -> None:
    """Do the work here, because no assistant is running."""
    from assistant.compose import open_idle_scheduler

    def hear(event: Event) -> None:
        if isinstance(event, IdleWork) and event.kind is not None:
            show({"event": "working", "kind": event.kind, "waiting": event.waiting})
        elif isinstance(event, Notice):
            print(event.text, file=sys.stderr)

    async with open_idle_scheduler(home, settings, vault, hear) as scheduler:
        kinds, kind = scheduler.backlog.kinds, request.get("kind")
        if kind is not None and kind not in kinds:
            raise SettingsError(
                f"There is no idle work of kind {kind!r}. Kinds: {', '.join(kinds)}.",
                mend="assistant idle --help",
            )
        most = None if request["until_empty"] else 1
        done = await scheduler.run_until_empty(kind, most)
        show(_done(done, await asyncio.to_thread(_left, scheduler.queue)))


def _left(queue: "JobQueue") -> Row:
    counts = queue.counts()
    given_up = sum(each.count for each in counts if each.state == "dead")
    return {"waiting": sum(each.count for each in counts) - given_up, "given_up": given_up}


def _done(count: int, left: Row) -> Row:
    return {
        "event": "done",
        "count": count,
        "waiting": left["waiting"],
        "given_up": left["given_up"],
    }


# -- for people ---------------------------------------------------------------------------------


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
        yield f"The work is done {when}, or now with:"
        yield f"→ {runnable_hint('assistant idle run --until-empty')}"
    for each in row["kinds"]:
        rests = " (rests after failures)" if each["kind"] in row["resting"] else ""
        yield f"  {each['kind']:<12}{each['waiting']:>8,} waiting{_given_up(each)}{rests}"
    if row["given_up"]:
        yield f"→ {runnable_hint('assistant idle retry')}"


def _given_up(row: Row) -> str:
    return f", {row['given_up']:,} given up" if row["given_up"] else ""
