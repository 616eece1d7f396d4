"""`assistant memory forget`: forgets memories, and asks for confirmation first if necessary."""

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator

from assistant.errors import SettingsError
from assistant.ipc import Request, Row
from ui.text.forgetting import question

FORMS = {
    "ids": "ID",
    "about": "--about",
    "last": "--last",
    "minutes": "--minutes",
    "everything": "--everything",
}
MEND = "assistant memory forget --help"
NOT_AGREED_EXIT = 1
STANDARD_STREAM = "-"
"""An argument that means standard input or output. It keeps private texts off the command line,
which the shell and the system record."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Forget memories, and the words behind them. They are hidden at once, and deleted for"
        " good after forget.grace_s seconds. Until then, `undo` brings them back."
    )
    parser.add_argument(
        "ids", nargs="*", metavar="ID", help="ids of memories, or their first characters"
    )
    parser.add_argument(
        "--about", metavar="TEXT", help="everything about TEXT; - means standard input"
    )
    parser.add_argument("--last", action="store_true", help="the last exchange")
    parser.add_argument(
        "--minutes", type=float, metavar="N", help="what was said in the last N minutes"
    )
    for name, what in (
        ("everything", "all memories and exchanges"),
        ("preview", "show what would be forgotten, and change nothing"),
        ("now", "delete for good at once, with a receipt"),
        ("yes", "don't ask"),
        ("sources", "also forget the exchanges on which derived memories are based"),
    ):
        parser.add_argument(f"--{name}", action="store_true", help=what)
    parser.add_argument(
        "--limit", type=int, metavar="N", help="with --preview: show at most N; default 20"
    )


def request_of(args: argparse.Namespace) -> Row:
    """Return the request to forget what the arguments name.

    Raises:
        SettingsError: the arguments name nothing to forget, name several things at once, or don't
            fit together.
    """
    given = {name: getattr(args, name) for name in FORMS}
    given = {name: value for name, value in given.items() if value not in (None, False, [])}
    if args.minutes is not None:
        given["minutes"] = args.minutes  # 0 equals False, but gets its own error message
    if args.about == STANDARD_STREAM:
        given["about"] = text_of_stdin()
    if len(given) != 1:
        which = " and ".join(FORMS[name] for name in given)
        raise SettingsError(
            f"{which} can't be combined: forget one after the other."
            if given
            else f"Say what to forget: one of {', '.join(FORMS.values())}.",
            mend=MEND,
        )
    for wrong, sentence in (
        (args.sources and not args.ids, "--sources needs the ID of a memory."),
        (
            args.minutes is not None and not args.minutes > 0,
            "--minutes takes a number greater than 0.",
        ),
        (
            args.preview and (args.now or args.yes),
            "--preview changes nothing: leave out --now and --yes.",
        ),
        (args.limit is not None and not args.preview, "--limit needs --preview."),
    ):
        if wrong:
            raise SettingsError(sentence, mend=MEND)
    flags = {"with_sources": args.sources, "preview": args.preview, "now": args.now}
    return {"act": "forget", **given, **{name: True for name, on in flags.items() if on}}


def forget(
    args: argparse.Namespace,
    request: Row,
    ask: Callable[[Request], Iterator[Row]],
    show: Callable[[Iterable[Row]], None],
) -> int:
    """Send the request, after asking the user if necessary; return the exit code.

    Args:
        ask: sends a request and yields the rows that answer it.
        show: prints such rows.

    Raises:
        SettingsError: the user has to confirm, and there is no terminal to ask on.
    """
    if args.preview or args.yes:
        show(ask(request))
        return 0
    rows = list(ask({**request, "ask": True}))
    last = rows[-1]
    if last["event"] == "preview":
        if args.json or sys.stdin is None or not sys.stdin.isatty():
            what = "everything" if args.everything else f"{last['things']:,} things"
            raise SettingsError(
                f"This would forget {what}. Confirm it with --yes, since there is no terminal to"
                " ask on.",
                mend="assistant memory forget … --preview shows what would be forgotten.",
            )
        show(rows)
        print(f"{question(last)} [y/N] ", end="", file=sys.stderr, flush=True)
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            print("Nothing was forgotten.")
            return NOT_AGREED_EXIT
        rows = list(ask({**request, "seen": last["seen"]}))
    show(rows)
    return 0


def text_of_stdin() -> str:
    return sys.stdin.buffer.read().decode("utf-8", errors="replace")
