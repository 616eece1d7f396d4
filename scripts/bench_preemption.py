"""Measures how long idle work continues after somebody begins to speak.

In a home full of statements, the language model judges facts as it does between utterances. At a
random moment of this work, the program simulates a user who begins to speak; this is repeated N
times. It measures the time until the scheduler reports that the work has stopped, and the time
until no thread of the assistant or of the model's process uses the processor any more (checked
every 2 ms; the processor time must not rise for 150 ms). The machine must have nothing else to do.
Linux only.
"""

import asyncio
import logging
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from assistant.paths import Home
from scripts.bench.idle_pending import fill
from scripts.bench.preemption import ALLOWED_MS, figures, measured
from scripts.common import program
from scripts.common.program import add_number
from scripts.common.rows import Keep

EXCHANGES = 400


def work(options: program.Options) -> program.Figures:
    logging.disable(logging.WARNING)
    keep = Keep(options.keep)
    with tempfile.TemporaryDirectory() as folder:
        home = Home(Path(folder) / "home").create()
        fill(home, options.profile, EXCHANGES)
        yields = asyncio.run(measured(home, options.profile, options.times, options.seed, keep))
    found = figures(yields)
    for name, meant in (("stopped_ms", "reported as stopped"), ("silent_ms", "no processor used")):
        times_ms = ", ".join(f"{key} {value}" for key, value in found[name].items())
        print(f"until {meant}, ms: {times_ms}")
    print(f"later than {ALLOWED_MS:.0f} ms: {found['later_than_allowed']} of {found['times']}")
    return found | {"profile": options.profile}


def main(arguments: Sequence[str]) -> int:
    parser = program.parser(__doc__)
    program.add_profile(parser)
    add_number(parser, "--times", 200, "interruptions")
    add_number(parser, "--seed", 1, "seed of the random moments", least=0)
    parser.add_argument(
        "--keep", type=Path, metavar="FILE", help="write a row for each interruption to this file"
    )
    return program.run(work, parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
