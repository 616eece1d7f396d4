"""What listening to silence costs, and how long it takes until it listens.

Starts the `assistant` command on a recording of a quiet room instead of a microphone, several
times, the first to warm the disk's cache, and counts the seconds until it is ready (and for the
last those of the processor); then lets that one listen and counts the processor time of all its
processes.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.bench.room import SETTLE_S, of_starts, quiet_room
from scripts.common import program
from scripts.common.assistant_process import talking


def measured(folder: Path, profile: str, starts: int, seconds: float) -> dict[str, Any]:
    """Raises Ended: the command did not come up."""
    room = quiet_room(folder / "room.wav", seconds + 60)
    ready: list[float] = []
    for number in range(starts + 1):
        arguments = ["--profile", profile, "--input", str(room)]
        with talking(folder / "home", arguments) as assistant:
            assistant.event("ready")
            ready.append(time.monotonic() - assistant.started)
            worked = assistant.cpu_seconds()
            print(f"start {number}: ready after {ready[-1]:.2f} s", file=sys.stderr)
            if number < starts:
                continue
            time.sleep(SETTLE_S)
            began, before = time.monotonic(), assistant.cpu_seconds()
            time.sleep(seconds)
            used, took = assistant.cpu_seconds() - before, time.monotonic() - began
            memory = assistant.memory_mb()
    return {
        "ready_s": of_starts(ready) | {"cpu": round(worked.total, 2)},
        "cpu_percent_of_a_core": used.told(100 / took, 2),
        "memory_mb": memory.told(),
        "listened_s": round(took, 1),
        "profile": profile,
    }


def work(options: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        found = measured(Path(folder), options.profile, options.starts, options.seconds)
    cpu, ready = found["cpu_percent_of_a_core"], found["ready_s"]
    print(f"listens after  {ready['p50']} s (at most {ready['max']}; cold {ready['first']})")
    print(f"silence costs  {cpu['total']} % of a core (its workers {cpu['workers']})")
    return found


def main(arguments: Sequence[str]) -> int:
    parser = program.parser(__doc__)
    program.add_profile(parser)
    parser.add_argument("--seconds", type=float, default=60, help="of listening to silence")
    parser.add_argument("--starts", type=program.at_least(1), default=3, help="warm starts")
    return program.run(work, parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
