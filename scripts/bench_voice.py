"""From the end of the user's speech to the first sound of the answer: ours beside stock pipecat.

    python scripts/bench_voice.py [--clips DIR] [--limit N] [--profile P]
                                  [--memory [N] | --screen | --idle] [--keep FILE] [--json]

DIR holds recordings of speech, and where there is one a `manifest.jsonl`, whose form
scripts/bench/voice/labels.py describes. Each clip is said, at its own pace and with the noise of a
quiet room around it, once to the assistant and once to the stock pipeline, in alternating order;
both have the same models, warm, and a fresh conversation. Times count from an end of speech that
was labelled beforehand. With `--memory` it is the assistant with N memories beside itself without
instead, with `--screen` the assistant with its screen open beside itself headless, with `--idle`
the assistant that always has work between utterances beside itself without any. With `--json` the
last line is one JSON object.
"""

import argparse
import asyncio
import json
import logging
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any, TextIO

os.environ["LOGURU_AUTOINIT"] = "false"  # pipecat greets on standard error when imported
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from assistant.context.prompt import system_prompt
from assistant.errors import AssistantError
from assistant.paths import Home
from assistant.settings import Settings
from models.download.cache import ModelStore
from models.selection.requested import select_models
from scripts.bench.voice import beside_idle, beside_screen, with_memory
from scripts.bench.voice.beside_idle import NothingPending
from scripts.bench.voice.labels import Clip, choose, read_clips, without_commands
from scripts.bench.voice.listening import Models, Outcome, System
from scripts.bench.voice.ours import Ours, settings_for, temporary_home
from scripts.bench.voice.report import Pair, figures, table
from scripts.bench.voice.stock import Stock
from scripts.bench.voice.with_memory import Remembering
from scripts.common.assistant_process import Ended
from scripts.common.last_line import last_line, machine

RECORDINGS = Path(__file__).resolve().parent.parent / "data" / "recordings"
TEMPERATURE = 0.0
"""The same words are answered alike, so that the answers' first sentences don't add noise."""
BETWEEN_S = 0.3
MEMORIES = 300


def models_of(settings: Settings, context_tokens: int) -> Models:
    """The files of the profile, for the stock pipeline.

    Raises:
        ModelError: one is not there.
    """
    shop = select_models(settings)
    return Models(
        recogniser=ModelStore.location(shop.store, shop.profile.stt),
        language_model=ModelStore.weights(shop.store, shop.profile.llm),
        voice=ModelStore.weights(shop.store, shop.profile.tts),
        context_tokens=context_tokens,
        threads=settings.llm.threads or shop.hardware.threads,
        system_prompt=system_prompt(settings.persona),
        max_tokens=settings.llm.max_answer_tokens,
        temperature=settings.llm.temperature,
    )


async def against_stock(
    clips: Sequence[Clip], options: argparse.Namespace, keep: TextIO | None
) -> dict[str, Any]:
    """Ours beside stock pipecat."""
    settings = settings_for(options.profile, TEMPERATURE)
    async with _ours(settings) as (ours, _, stack):
        stock = Stock(models_of(settings, ours.context_tokens))
        stack.push_async_callback(stock.close)
        await stock.load()
        pairs = await paired(clips, (ours, stock), keep)
    return figures(pairs, options.seed)


async def against_forgetful(
    clips: Sequence[Clip], options: argparse.Namespace, keep: TextIO | None
) -> dict[str, Any]:
    """Ours with memories beside ours without."""
    settings = settings_for(options.profile, TEMPERATURE)
    async with _ours(settings) as (ours, home, stack):
        ours.name = "off"
        on = Remembering(ours, home, settings, options.memory)
        stack.push_async_callback(on.close)
        await on.load()
        pairs = await paired(clips, (ours, on), keep)
        return with_memory.compared(pairs, on, options.seed)


async def against_headless(
    clips: Sequence[Clip], options: argparse.Namespace, keep: TextIO | None
) -> dict[str, Any]:
    """The command with its screen beside the one without."""
    finished = [clip for clip in clips if clip.finished]
    with tempfile.TemporaryDirectory() as folder:
        found = await asyncio.to_thread(
            beside_screen.paired, finished, options.profile, Path(folder), keep
        )
    return beside_screen.figures(found, options.seed)


async def against_idle(
    clips: Sequence[Clip], options: argparse.Namespace, keep: TextIO | None
) -> dict[str, Any]:
    """The command with idle work pending beside the one without."""
    finished = [clip for clip in clips if clip.finished]
    with tempfile.TemporaryDirectory() as folder:
        found, made = await asyncio.to_thread(
            beside_idle.paired, finished, options.profile, Path(folder), keep
        )
    return beside_idle.figures(found, made, options.seed)


@asynccontextmanager
async def _ours(settings: Settings) -> AsyncIterator[tuple[Ours, Home, AsyncExitStack]]:
    """Loaded, and its home; what is pushed on the stack ends before it."""
    async with AsyncExitStack() as stack:
        home = temporary_home(Path(stack.enter_context(tempfile.TemporaryDirectory())))
        ours = Ours(home, settings)
        stack.push_async_callback(ours.close)
        await ours.load()
        yield ours, home, stack


async def paired(
    clips: Sequence[Clip], systems: tuple[System, System], keep: TextIO | None
) -> list[Pair]:
    """Say every clip to both, to the first one first on every other one. The first clip warms both
    up. The first is `ours` of each pair, the second what it is compared with."""
    for system in systems:
        await system.hear(clips[0])
    pairs = []
    for number, clip in enumerate(clips, 1):
        found: dict[str, Outcome] = {}
        for system in systems if number % 2 else systems[::-1]:
            await asyncio.sleep(BETWEEN_S)
            found[system.name] = await system.hear(clip)
        pair = Pair(clip, *(found[system.name] for system in systems))
        pairs.append(pair)
        told = "  ".join(f"{system.name} {_told(found[system.name])}" for system in systems)
        print(f"{number:4}/{len(clips)}  {clip.name:50.50}  {told}", file=sys.stderr, flush=True)
        if keep is not None:
            keep.write(json.dumps(_row(pair, systems)) + "\n")
            keep.flush()
    return pairs


def _told(outcome: Outcome) -> str:
    first = outcome.first_audio_ms
    marks = "/" if outcome.split else ""
    return f"{'-' if first is None else f'{first:.0f}'}{marks}".rjust(7)


def _row(pair: Pair, systems: tuple[System, System]) -> dict[str, Any]:
    clip = pair.clip
    return {
        "file": clip.name,
        "text": clip.text,
        "finished": clip.finished,
        "speech_end_s": clip.speech_end_s,
        systems[0].name: asdict(pair.ours),
        systems[1].name: asdict(pair.stock),
    }


def options_from(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clips", type=Path, default=RECORDINGS, help="folder of recordings")
    parser.add_argument("--limit", type=int, help="take so many of them, at random")
    parser.add_argument("--profile", default="tiny", choices=("tiny", "small", "default"))
    beside = parser.add_mutually_exclusive_group()
    beside.add_argument(
        "--memory",
        type=int,
        nargs="?",
        const=MEMORIES,
        metavar="N",
        help=f"compare with and without a memory of N (default {MEMORIES}) things",
    )
    beside.add_argument("--screen", action="store_true", help="compare with and without a screen")
    beside.add_argument("--idle", action="store_true", help="compare with and without idle work")
    parser.add_argument("--seed", type=int, default=1, help="of the choice, order and intervals")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="write each clip's row here")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> int:
    options = options_from(arguments)
    logging.disable(logging.WARNING)
    compare, told = against_stock, table
    if options.screen:
        compare, told = against_headless, beside_screen.table
    elif options.idle:
        compare, told = against_idle, beside_idle.table
    elif options.memory is not None:
        compare, told = against_forgetful, with_memory.table
    try:
        clips = choose(without_commands(read_clips(options.clips)), options.limit, options.seed)
        with options.keep.open("w") if options.keep else nullcontext() as keep:
            where = machine()
            found = asyncio.run(compare(clips, options, keep))
    except (AssistantError, Ended, NothingPending, FileNotFoundError) as error:
        print(error, file=sys.stderr)
        return 1
    found |= {"profile": options.profile, "machine": where}
    print(told(found))
    if options.json:
        print(last_line(found))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
