"""Runs a tool server, and ends it once the assistant has ended, for whatever reason.

    python -I -S guard.py LIFELINE COMMAND [ARGUMENT…]

starts the command with this process's input and output. LIFELINE is the number of a descriptor on
which nothing ever arrives: it closes when the assistant's process ends, even if that process was
killed. Most servers then end by themselves, because their input closes, too. Servers that don't,
and all processes that they have started, are killed.

Uses only the standard library, and imports nothing from this project, because one such process runs
for each server.
"""

import os
import signal
import subprocess
import sys
import threading
import time

GRACE_S = 1.0
"""Seconds that the server has to end by itself."""


def _follow(lifeline: int) -> None:
    """Kill the whole process group, this process included, once the assistant has ended."""
    while os.read(lifeline, 1):
        continue
    time.sleep(GRACE_S)
    os.killpg(0, signal.SIGKILL)


def main() -> int:
    lifeline, command = int(sys.argv[1]), sys.argv[2:]
    try:
        server = subprocess.Popen(command)
    except OSError as error:
        print(f"{command[0]} can't be started: {error.strerror}", file=sys.stderr)  # noqa: T201
        return 127
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1):  # so that the pipes close when the server closes them
        os.dup2(nothing, number)
    threading.Thread(target=_follow, args=(lifeline,), daemon=True).start()
    code = server.wait()
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main())
