"""Measures what listening to silence costs, and how long starting takes.

Starts the `assistant` command several times on a recording of a quiet room instead of a microphone
(the first start warms the disk cache) and times it until it is ready. After the last start, the
command listens, and the processor time of all its processes is counted.
"""

import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.bench.room import SETTLE_S, of_starts, quiet_room
from scripts.common import program
from scripts.common.assistant_process import Talking, talking
from scripts.common.program import add_number

RESTING = 0.01
"""Share of a core below which the workers, taken together, have nothing to do."""
SETTLES = 20
"""Maximum number of waits until the workers have nothing to do."""


def measured(folder: Path, profile: str, starts: int, seconds: float) -> program.Figures:
    """All figures. Raises Ended: the command did not start."""
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
            assistant.event("memories")
            settle(assistant)
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


def settle(assistant: Talking) -> None:
    """Wait until the workers have nothing to do. Reading the prompt takes them 15 seconds on a busy
    machine."""
    for _ in range(SETTLES):
        before = assistant.cpu_seconds().workers
        time.sleep(SETTLE_S)
        if assistant.cpu_seconds().workers - before < RESTING * SETTLE_S:
            return


def work(options: program.Options) -> program.Figures:
    with tempfile.TemporaryDirectory() as folder:
        found = measured(Path(folder), options.profile, options.starts, options.seconds)
    cpu, ready = found["cpu_percent_of_a_core"], found["ready_s"]
    print(f"listens after  {ready['p50']} s (at most {ready['max']}; cold {ready['first']})")
    print(f"silence costs  {cpu['total']} % of a core (its workers {cpu['workers']})")
    return found


def main(arguments: Sequence[str]) -> int:
    parser = program.parser(__doc__)
    program.add_profile(parser)
    parser.add_argument(
        "--seconds", type=float, default=60, metavar="S", help="seconds of silence to listen to"
    )
    add_number(parser, "--starts", 3, "warm starts")
    return program.run(work, parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
