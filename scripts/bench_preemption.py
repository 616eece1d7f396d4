"""How long idle work goes on after somebody has begun to speak.

In a home full of statements the language model judges facts, as it does between utterances. N
times a voice is sensed at a random moment of that. Told is the time until the scheduler takes the
work to have stopped, and until no thread of the assistant or of the model's process uses the
processor any more: looked at every 2 ms, and over when nothing has risen for 150 ms. The machine
must have nothing else to do. Linux.
"""

import argparse
import asyncio
import logging
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from assistant.paths import Home
from scripts.bench.idle_pending import fill
from scripts.bench.preemption import ALLOWED_MS, figures, measured
from scripts.common import program
from scripts.common.rows import Keep

EXCHANGES = 400


def work(options: argparse.Namespace) -> dict[str, Any]:
    logging.disable(logging.WARNING)
    keep = Keep(options.keep)
    with tempfile.TemporaryDirectory() as folder:
        home = Home(Path(folder) / "home").create()
        fill(home, options.profile, EXCHANGES)
        yields = asyncio.run(measured(home, options.profile, options.times, options.seed, keep))
    found = figures(yields)
    for name, meant in (("stopped_ms", "the work had stopped"), ("silent_ms", "all was silent")):
        times_ms = ", ".join(f"{key} {value}" for key, value in found[name].items())
        print(f"until {meant}, ms: {times_ms}")
    print(f"later than {ALLOWED_MS:.0f} ms: {found['later_than_allowed']} of {found['times']}")
    return found | {"profile": options.profile}


def main(arguments: Sequence[str]) -> int:
    parser = program.parser(__doc__)
    program.add_profile(parser)
    parser.add_argument("--times", type=program.at_least(1), default=200, metavar="N")
    parser.add_argument("--seed", type=int, default=1, help="of the moments")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="write each time's row here")
    return program.run(work, parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
