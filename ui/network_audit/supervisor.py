"""Run a command, and refuse and report each of its attempts to reach another machine.

    python -m ui.network_audit.supervisor REPORT COMMAND...

Appends JSON lines to REPORT. The first line is `{"watched": true}`. If this system can't watch the
command, the only line is `{"unsupported": "why"}`, and the command is not run. Each attempt adds
`{"target": …, "library": …, "thread": …, "at": …}`. Loopback addresses and local sockets are
allowed, except those of services that resolve names. The exit code is the command's.
"""

import contextlib
import ctypes
import errno
import json
import os
import select
import signal
import sys
import time
from pathlib import Path
from typing import TextIO

from ui.network_audit import seccomp
from ui.network_audit.callers import callers, library, read
from ui.network_audit.targets import beyond, destinations

PR_SET_CHILD_SUBREAPER = 36
LOOK_EVERY_S = 0.1
ORPHANS_S = 5.0
"""Seconds from the command's end until its remaining processes are killed."""
UNSUPPORTED_EXIT = 69
"""Exit code if this system can't watch a command (`EX_UNAVAILABLE` of sysexits.h)."""


def main(arguments: list[str]) -> int:
    """Run the command, write the report and return the exit code."""
    report, *command = arguments
    with Path(report).open("a", encoding="utf-8", buffering=1) as out:
        try:
            listener = seccomp.install()
        except seccomp.Unsupported as error:
            _write(out, {"unsupported": str(error)})
            return UNSUPPORTED_EXIT
        _write(out, {"watched": True})
        # Become the parent of processes whose own parent has ended, in order to notice their end.
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        child = os.fork()
        if child == 0:
            try:
                os.execvp(command[0], command)
            finally:
                os._exit(127)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda received, _frame: _pass_on(child, received))
        # If this process kept its standard input and output open, the other end of a pipe would
        # not notice that the command has closed the pipe.
        for descriptor in (0, 1):
            os.close(descriptor)
        return _supervise(listener, child, out)


def _pass_on(child: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):  # the child has just ended
        os.kill(child, number)


def _supervise(listener: int, child: int, out: TextIO) -> int:
    """Answer system calls until the command and all processes it started have ended.

    Returns:
        The exit code of the command.
    """
    poll = select.poll()
    poll.register(listener, select.POLLIN)
    code: int | None = None
    until = float("inf")
    while True:
        if any(event & select.POLLIN for _, event in poll.poll(LOOK_EVERY_S * 1000)):
            _answer_one(listener, out)
        try:
            ended, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return 0 if code is None else code
        if ended == child:
            code = os.waitstatus_to_exitcode(status)
            until = time.monotonic() + ORPHANS_S
        if time.monotonic() > until:
            _kill_children()


def _answer_one(listener: int, out: TextIO) -> None:
    call = seccomp.receive(listener)
    if call is None:
        return
    if call.name == "io_uring_setup":
        seccomp.answer(listener, call, errno.ENOSYS)
        return
    try:
        addresses = list(destinations(call, lambda at, count: read(call.thread, at, count)))
        targets = [target for each in addresses if (target := beyond(each)) is not None]
        caller = library(callers(call.thread)) if targets else None
    except OSError as error:
        if not seccomp.is_valid(listener, call):
            return
        targets, caller = [f"unreadable ({error.strerror})"], None
    if not seccomp.is_valid(listener, call):
        return
    for target in targets:
        row = {"target": target, "library": caller, "thread": call.thread}
        _write(out, row | {"at": time.monotonic()})
    seccomp.answer(listener, call, errno.ENETUNREACH if targets else 0)


def _kill_children() -> None:
    for path in Path(f"/proc/{os.getpid()}/task/{os.getpid()}").glob("children"):
        for child in path.read_text().split():
            with contextlib.suppress(ProcessLookupError):  # the child has just ended
                os.kill(int(child), signal.SIGKILL)


def _write(out: TextIO, row: dict[str, object]) -> None:
    out.write(f"{json.dumps(row)}\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
