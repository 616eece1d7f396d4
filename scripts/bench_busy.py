"""Measures how fast the profile's language model reads and writes next to other busy programs.

Reads a page that it hasn't read before, then writes an answer, on an idle machine and next to
`--busy` programs that take all the processor time they can get. The environment variable
`GOMP_SPINCOUNT` says how long the engine's threads wait for each other before they sleep. If it is
set, it replaces the value that the assistant uses.
"""

import asyncio
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from assistant.compose.engines import build_background_model
from assistant.paths import Home
from assistant.settings import Settings
from models.interfaces import Generation, LanguageModel, Message
from scripts.common import program

WORDS = "the old house near the river where people walk and talk about their long day with friends"
PAGE_WORDS = 120
WRITTEN_TOKENS = 25
KEEP_BUSY = "while True: sum(range(10_000))"


def work(options: program.Options) -> program.Figures:
    found = asyncio.run(measured(options.profile, options.busy, options.rounds))
    for name, each in found.items():
        print(f"{name:>5}: reads in {each['read_s']:.2f} s, writes in {each['write_s']:.2f} s")
    return dict(found)


async def measured(profile: str, busy: int, rounds: int) -> dict[str, dict[str, float]]:
    """The median seconds to read a page, and to write an answer, alone and next to busy programs.

    Raises:
        ModelError: the model is missing, or failed.
    """
    settings = Settings.model_validate({"general": {"profile": profile}})
    with TemporaryDirectory() as folder:
        home = Home(Path(folder)).create()
        model = build_background_model(home, settings, print)
        await model.load()
        try:
            await times(model, 0)
            found = {"alone": [await times(model, 1 + each) for each in range(rounds)]}
            with busy_programs(busy):
                found["busy"] = [await times(model, 1001 + each) for each in range(rounds)]
        finally:
            await model.close()
    return {
        name: {
            "read_s": statistics.median(read for read, _ in each),
            "write_s": statistics.median(write for _, write in each),
        }
        for name, each in found.items()
    }


async def times(model: LanguageModel, seed: int) -> tuple[float, float]:
    """The seconds to read a page, and to write an answer to it."""
    chance = Random(seed)
    page = " ".join(chance.choices(WORDS.split(), k=PAGE_WORDS))
    took = []
    for most in (0, WRITTEN_TOKENS):
        began = time.perf_counter()
        async for _ in model.stream(
            Generation([Message("user", page)], max_tokens=most, temperature=0.0)
        ):
            pass
        took.append(time.perf_counter() - began)
    return took[0], took[1]


@contextmanager
def busy_programs(count: int) -> Iterator[None]:
    started = [subprocess.Popen([sys.executable, "-c", KEEP_BUSY]) for _ in range(count)]
    try:
        yield
    finally:
        for each in started:
            each.kill()
            each.wait()


def main(arguments: Sequence[str]) -> int:
    parser = program.parser(__doc__)
    program.add_profile(parser)
    program.add_number(parser, "--busy", 1, "busy programs")
    program.add_number(parser, "--rounds", 3, "pages to read each time")
    return program.run(work, parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
