"""Compares the assistant, clip by clip, with stock pipecat or with another variant of itself.

A comparison takes the clips, the name of a profile, the seed for its intervals and a function that
stores each clip's row. It returns the figures.
"""

import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from assistant.context.prompt import system_prompt
from assistant.paths import Home
from assistant.settings import Settings
from models.download.cache import ModelStore
from models.selection.requested import select_models
from scripts.bench.voice import (
    ablation,
    beside_idle,
    beside_screen,
    report,
    spoken_requests,
    with_form,
    with_memory,
)
from scripts.bench.voice.ablation import Variant
from scripts.bench.voice.labels import Clip
from scripts.bench.voice.listening import Models, Outcome, System
from scripts.bench.voice.ours import Ours, Parts, settings_for
from scripts.bench.voice.report import Pair
from scripts.bench.voice.stock import Stock
from scripts.bench.voice.with_memory import Remembering
from scripts.common.program import Figures
from scripts.common.rows import Keep
from scripts.common.slot_reader import loaded_slot_reader

TEMPERATURE = 0.0
"""At 0, the same words get the same answer, so the length of first sentences adds no noise."""
BETWEEN_S = 0.3


def models_of(settings: Settings, context_tokens: int) -> Models:
    """The profile's model files, for the stock pipeline.

    Raises:
        ModelError: a file is missing.
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


async def against_stock(clips: Sequence[Clip], profile: str, seed: int, keep: Keep) -> Figures:
    """Compare the assistant with stock pipecat."""
    settings = settings_for(profile, TEMPERATURE)
    async with _ours(settings) as (ours, _, stack):
        stock = Stock(models_of(settings, ours.context_tokens))
        stack.push_async_callback(stock.close)
        await stock.load()
        pairs = await paired(clips, (ours, stock), keep)
    return report.figures(pairs, seed)


async def against_forgetful(
    clips: Sequence[Clip], profile: str, seed: int, keep: Keep, *, memories: int
) -> Figures:
    """Compare the assistant with memories and without."""
    settings = settings_for(profile, TEMPERATURE)
    async with _ours(settings) as (ours, home, stack):
        ours.name = "off"
        on = Remembering(ours, home, settings, memories)
        stack.push_async_callback(on.close)
        await on.load()
        pairs = await paired(clips, (ours, on), keep)
        return with_memory.compared(pairs, on, seed)


async def against_unclassified(
    clips: Sequence[Clip], profile: str, seed: int, keep: Keep
) -> Figures:
    """Compare ordinary turns with and without the classifier."""
    async with _ours(settings_for(profile, TEMPERATURE)) as (ours, _, _):
        without, complete = replace(ours.parts, classifier=None), ours.parts
        return await _with_and_without(ours, without, complete, clips, seed, keep)


async def without_partials(clips: Sequence[Clip], profile: str, seed: int, keep: Keep) -> Figures:
    """Compare ordinary turns with and without transcripts made while the user still speaks."""
    async with _ours(settings_for(profile, TEMPERATURE)) as (ours, _, _):
        without = replace(ours.parts, partials=False)
        return await _with_and_without(ours, without, ours.parts, clips, seed, keep)


async def against_formless(clips: Sequence[Clip], profile: str, seed: int, keep: Keep) -> Figures:
    """Compare ordinary turns with a form open and with none."""
    settings = settings_for(profile, TEMPERATURE)
    async with _ours(settings) as (ours, _, _):
        reader = await asyncio.to_thread(loaded_slot_reader, settings)
        opened = replace(ours.parts, reader=reader, left_open=with_form.half_filled)
        return await _with_and_without(ours, ours.parts, opened, clips, seed, keep)


async def of_requests(
    clips: Sequence[Clip], profile: str, seed: int, keep: Keep, *, count: int
) -> Figures:
    """Time how fast skills reply to spoken requests, which alternate with ordinary turns."""
    async with _ours(settings_for(profile, TEMPERATURE)) as (ours, _, _):
        spoken = await asyncio.to_thread(spoken_requests.spoken, ours.voice, count)
        finished = [clip for clip in clips if clip.finished]
        heard = await spoken_requests.alternating(ours, spoken, finished, keep)
    return spoken_requests.figures(heard, seed)


async def against_headless(clips: Sequence[Clip], profile: str, seed: int, keep: Keep) -> Figures:
    """Compare the command with its screen and without."""
    finished = [clip for clip in clips if clip.finished]
    with tempfile.TemporaryDirectory() as place:
        pairs = await asyncio.to_thread(beside_screen.paired, finished, profile, Path(place), keep)
    return beside_screen.figures(pairs, seed)


async def against_idle(clips: Sequence[Clip], profile: str, seed: int, keep: Keep) -> Figures:
    """Compare the command with idle work pending and without."""
    finished = [clip for clip in clips if clip.finished]
    with tempfile.TemporaryDirectory() as place:
        pairs, made = await asyncio.to_thread(
            beside_idle.paired, finished, profile, Path(place), keep
        )
    return beside_idle.figures(pairs, made, seed)


async def _with_and_without(
    ours: Ours, without: Parts, beside: Parts, clips: Sequence[Clip], seed: int, keep: Keep
) -> Figures:
    variants = Variant("without", ours, without), Variant("with", ours, beside)
    return ablation.compared(await paired(clips, variants, keep), seed)


@asynccontextmanager
async def _ours(settings: Settings) -> AsyncIterator[tuple[Ours, Home, AsyncExitStack]]:
    """The loaded assistant, its home, and an exit stack. Whatever is pushed on the stack is closed
    before the assistant is."""
    async with AsyncExitStack() as stack:
        home = Home(Path(stack.enter_context(tempfile.TemporaryDirectory())) / "home").create()
        ours = Ours(home, settings)
        stack.push_async_callback(ours.close)
        await ours.load()
        yield ours, home, stack


async def paired(clips: Sequence[Clip], systems: tuple[System, System], keep: Keep) -> list[Pair]:
    """Play every clip to both systems, which take turns going first. The first clip is also played
    beforehand, to warm both up. In each pair, `ours` is the first system, `stock` the second."""
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
        keep(_row(pair, systems))
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
