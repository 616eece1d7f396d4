"""What listening to silence costs, and how long it takes until it listens.

    python scripts/bench_idle.py [--seconds N] [--starts N] [--profile P] [--json]

Starts the `assistant` command on a recording of a quiet room instead of a microphone, several
times, the first to warm the disk's cache, and counts the seconds until it is ready (and for the
last those of the processor); then lets that one listen and counts the processor time of all its
processes. With `--json` the last line is one JSON object.
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import soundfile

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from models.interfaces import STT_SAMPLE_RATE
from scripts.common.assistant_process import Ended, talking
from scripts.common.last_line import last_line, machine

ROOM_DBFS = -65.0
"""A quiet room through a laptop's microphone."""
SETTLE_S = 3.0
"""After it is ready: what starting has left to do is not listening."""


def quiet_room(path: Path, seconds: float) -> Path:
    """Noise that falls with frequency, as that of rooms does."""
    steps = np.random.default_rng(0).standard_normal(int(seconds * STT_SAMPLE_RATE))
    sound = np.convolve(steps, 0.9 ** np.arange(64), mode="same")
    sound *= 10 ** (ROOM_DBFS / 20) / np.sqrt(np.mean(sound**2))
    soundfile.write(path, sound.astype(np.float32), STT_SAMPLE_RATE)
    return path


def measure(folder: Path, profile: str, starts: int, seconds: float) -> dict[str, Any]:
    """
    Raises:
        Ended: the command did not come up.
    """
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
            after, took = assistant.cpu_seconds(), time.monotonic() - began
            memory = assistant.memory_mb()
    own = (after.assistant - before.assistant) / took
    workers = (after.workers - before.workers) / took
    return {
        "ready_s": {
            "first": round(ready[0], 2),
            "p50": round(statistics.median(ready[1:]), 2),
            "max": round(max(ready[1:]), 2),
            "cpu": round(worked.total, 2),
        },
        "cpu_percent_of_a_core": {
            "assistant": round(100 * own, 2),
            "workers": round(100 * workers, 2),
            "total": round(100 * (own + workers), 2),
        },
        "memory_mb": {
            "assistant": round(memory.assistant, 1),
            "workers": round(memory.workers, 1),
        },
        "listened_s": round(took, 1),
        "profile": profile,
    }


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60, help="of listening to silence")
    parser.add_argument("--starts", type=int, default=3, help="warm starts; at least 1")
    parser.add_argument("--profile", default="tiny", choices=("tiny", "small", "default"))
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    where = machine()
    with tempfile.TemporaryDirectory() as folder:
        try:
            found = measure(Path(folder), options.profile, max(1, options.starts), options.seconds)
        except Ended as error:
            print(f"The assistant did not come up: {error}.", file=sys.stderr)
            return 1
    cpu, ready = found["cpu_percent_of_a_core"], found["ready_s"]
    print(f"listens after  {ready['p50']} s (at most {ready['max']}; cold {ready['first']})")
    print(f"silence costs  {cpu['total']} % of a core (its workers {cpu['workers']})")
    if options.json:
        print(last_line(found | {"machine": where}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
