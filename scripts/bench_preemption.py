"""How long idle work goes on after somebody has begun to speak.

    python scripts/bench_preemption.py [--times N] [--profile P] [--seed N] [--keep FILE] [--json]

In a home full of statements the language model judges facts, as it does between utterances. N
times a voice is sensed at a random moment of that. Told is the time until the scheduler takes the
work to have stopped, and until no thread of the assistant or of the model's process uses the
processor any more: looked at every 2 ms, and over when nothing has risen for 150 ms. The machine
must have nothing else to do. Linux. With `--json` the last line is one JSON object.
"""

import argparse
import asyncio
import json
import logging
import sys
import tempfile
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from random import Random
from typing import Any, TextIO

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from assistant.errors import AssistantError
from assistant.paths import Home
from scripts.bench.idle_pending import fill
from scripts.bench.preemption import Yield, told, working
from scripts.common.last_line import last_line, machine
from scripts.common.statistics import percentile

EXCHANGES = 400
ALLOWED_MS = 50.0


async def measured(
    home: Home, profile: str, times: int, seed: int, keep: TextIO | None
) -> list[Yield]:
    """The first is not counted: the model has nothing in its cache then."""
    chance, found = Random(seed), list[Yield]()
    async with working(home, profile, lambda _: None) as idle:
        await idle.interrupted(chance)
        for number in range(1, times + 1):
            found.append(await idle.interrupted(chance))
            row = told(found[-1:])[0]
            print(f"{number:4}/{times}  {row}", file=sys.stderr, flush=True)
            if keep is not None:
                keep.write(json.dumps(row) + "\n")
                keep.flush()
    return found


def figures(found: Sequence[Yield]) -> dict[str, Any]:
    def of(seconds: Sequence[float]) -> dict[str, float]:
        ms = [1000 * each for each in seconds]
        some = {f"p{q}": percentile(ms, q) for q in (50, 90, 99)} | {"max": max(ms, default=None)}
        return {name: round(value, 1) for name, value in some.items() if value is not None}

    return {
        "stopped_ms": of([each.stopped_s for each in found]),
        "silent_ms": of([each.silent_s for each in found]),
        "worker_cpu_ms": of([each.worker_s for each in found]),
        "times": len(found),
        "later_than_allowed": sum(1000 * each.silent_s > ALLOWED_MS for each in found),
        "allowed_ms": ALLOWED_MS,
    }


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=200)
    parser.add_argument("--profile", default="tiny", choices=("tiny", "small", "default"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, metavar="FILE", help="write each time's row here")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    logging.disable(logging.WARNING)
    where = machine()
    try:
        with (
            tempfile.TemporaryDirectory() as folder,
            options.keep.open("w") if options.keep else nullcontext() as keep,
        ):
            home = Home(Path(folder) / "home").create()
            fill(home, options.profile, EXCHANGES)
            times = max(1, options.times)
            found = asyncio.run(measured(home, options.profile, times, options.seed, keep))
    except AssistantError as error:
        print(error, file=sys.stderr)
        return 1
    result = figures(found) | {"profile": options.profile, "machine": where}
    for name, meant in (("stopped_ms", "the work had stopped"), ("silent_ms", "all was silent")):
        times_ms = ", ".join(f"{key} {value}" for key, value in result[name].items())
        print(f"until {meant}, ms: {times_ms}")
    print(f"later than {ALLOWED_MS:.0f} ms: {result['later_than_allowed']} of {result['times']}")
    if options.json:
        print(last_line(result))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
