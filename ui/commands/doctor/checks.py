"""The doctor's checks of the machine, the models and their speed.

A check returns a finding. If it raises an exception, the doctor reports the exception as a finding
and continues with the next check.
"""

import asyncio
import shutil
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
import psutil

from assistant.compose import chooses_model, load_models
from assistant.encryption import encryption_status
from assistant.errors import AssistantError
from assistant.event_bus import EventBus
from assistant.memory import store_location
from assistant.paths import Home, models_cache
from assistant.settings import Settings
from assistant.voice.audio import Resampler
from models.download import ModelState
from models.hardware import detect
from models.interfaces import STT_SAMPLE_RATE, Generation, Message, ModelSet, Samples
from models.selection import (
    CLAUSE_TOKENS,
    FIRST_CLAUSE_S,
    SMALL,
    SPEECH_TOKENS_PER_S,
    TINY,
    ModelSelection,
    Profile,
    select_models,
    wanted_models,
)
from ui.commands.encryption import advice, sentence
from ui.commands.requests import ask_memory

SPARE_DISK = 1 << 30
"""Bytes of disk space that are needed besides the models: for transcripts, logs, and preparing a
model."""
SPARE_RAM_MB = 1500
"""Megabytes of memory that are needed besides the models: for the program itself and a desktop."""
SENTENCE = "The quick brown fox jumps over the lazy dog near the quiet river."
QUESTION = "Tell me in two sentences what a lighthouse is for."
SLOW_TTS, SLOW_STT = 0.5, 0.5
"""Highest real-time factors (processing time divided by the duration of the speech) at which
synthesis and recognition are fast enough for a conversation. The required speed of the language
model is in models/selection/machine_records.py."""


class CheckStatus(StrEnum):
    GOOD = "good"
    WARNING = "warning"
    BAD = "bad"
    UNTRIED = "untried"
    """The check could not be tried, e.g. because an earlier check failed and reports the cause."""


class NotTried(AssistantError):
    """A check could not be tried. The message says why."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a check.

    Attributes:
        text: one sentence about what was found.
        mend: a command or advice that fixes the problem; None if there is no problem.
        figures: the measured values by name.
    """

    verdict: CheckStatus
    text: str
    mend: str | None = None
    figures: Mapping[str, float] = field(default_factory=dict)


@dataclass(slots=True)
class CheckContext:
    """The home, the settings and the models that the checks share. The models are loaded only
    once."""

    home: Home
    settings: Settings
    _selection: ModelSelection | None = None
    _models: ModelSet | None = None
    _failure: AssistantError | None = None
    spoken: tuple[Samples, int] | None = None
    """Speech from `check_voice`, and its sample rate in Hz; None before that check."""

    async def selection(self) -> ModelSelection:
        if self._selection is None:
            self._selection = await asyncio.to_thread(select_models, self.settings)
        return self._selection

    async def models(self) -> ModelSet:
        """Return the models; the first call loads them.

        Raises:
            AssistantError: the models can't be loaded. Only the first call raises this.
            NotTried: an earlier call could not load the models.
        """
        if self._failure is not None:
            raise NotTried("Not measured, because the models don't load.")
        if self._models is None:
            try:
                self._models = await load_models(
                    await self.selection(),
                    self.home,
                    self.settings,
                    EventBus(),
                    hears=True,
                    speaks=True,
                )
            except AssistantError as error:
                self._failure = error
                raise
        return self._models

    async def close(self) -> None:
        if self._models is not None:
            await self._models.llm.close()


def good(text: str, **figures: float) -> Finding:
    return Finding(CheckStatus.GOOD, text, figures=figures)


def warning(text: str, mend: str | None, **figures: float) -> Finding:
    return Finding(CheckStatus.WARNING, text, mend, figures)


def bad(text: str, mend: str | None, **figures: float) -> Finding:
    return Finding(CheckStatus.BAD, text, mend, figures)


async def check_python(_: CheckContext) -> Finding:
    version = ".".join(str(part) for part in sys.version_info[:3])
    if not (3, 11) <= sys.version_info[:2] <= (3, 14):
        return warning(f"Python {version} is untested.", "Use Python 3.11 to 3.14.")
    return good(f"Python {version}.")


async def check_encryption(context: CheckContext) -> Finding:
    """Check whether the user's data is encrypted.

    The finding is a warning if the data is not encrypted but could be: a keyring is available, and
    the settings allow encryption.
    """
    found = await asyncio.to_thread(encryption_status, context.home)
    if found.state in ("damaged", "missing"):
        return bad(sentence(found), advice(found))
    could = found.keyring is not None and context.settings.encryption.mode != "off"
    if found.state == "plain" and could:
        return warning(sentence(found), advice(found))
    return good(sentence(found))


async def check_memory(context: CheckContext) -> Finding:
    """Check that the memory is large enough for the profile's models and a desktop.

    The check fails if the total memory is too small. Too little free memory is only a warning.
    """
    selection = await context.selection()
    catalogue = selection.store.catalogue
    names = wanted_models(context.settings, selection)
    need = SPARE_RAM_MB + sum(catalogue.get(name).ram_mb for name in names)
    have = detect().ram_bytes / 1e6
    free = psutil.virtual_memory().available / 1e6
    text = (
        f"{have / 1000:.1f} GB of memory, {free / 1000:.1f} GB free; "
        f"about {need / 1000:.1f} GB needed."
    )
    figures = {"ram_mb": round(have), "free_mb": round(free), "wanted_mb": need}
    if have < need:
        return bad(text, "assistant --profile small", **figures)
    if free < need - SPARE_RAM_MB:
        return warning(text, "Close programs that use a lot of memory.", **figures)
    return good(text, **figures)


async def check_disk(context: CheckContext) -> Finding:
    selection = await context.selection()
    missing = selection.store.missing(wanted_models(context.settings, selection))
    need = SPARE_DISK + sum(selection.store.catalogue.get(name).bytes for name in missing)
    places = {}
    for path in (models_cache(), context.home.root):
        there = next(folder for folder in (path, *path.parents) if folder.exists())
        places[str(path)] = shutil.disk_usage(there).free
    tightest = min(places, key=lambda place: places[place])
    text = f"{places[tightest] / 1e9:.1f} GB free for {tightest}, {need / 1e9:.1f} GB needed."
    if places[tightest] < need:
        return bad(text, "Free some disk space.")
    return good(text, free_bytes=places[tightest])


async def check_models(context: CheckContext) -> Finding:
    """Verify every byte of the models that the settings need."""
    selection = await context.selection()
    names = wanted_models(context.settings, selection)
    missing = selection.store.missing(names)
    if absent := [
        name for name in missing if selection.store.state(name) is not ModelState.CORRUPT
    ]:
        profile = context.settings.general.profile
        return bad(
            f"Not on this machine: {', '.join(absent)}.",
            f"assistant models pull --profile {profile}",
        )
    for name in names:
        await asyncio.to_thread(selection.store.verify, name)
    text = f"{selection.reason} Verified to the last byte: {', '.join(names)}."
    if not chooses_model(context.settings):
        return good(text)
    if selection.choice.worth_trying is not None:
        text = f"{text} {selection.choice.worth_trying}"
    if selection.choice.absent:
        return warning(text, "assistant models pull")
    return good(text)


async def check_store(context: CheckContext) -> Finding:
    """Find out where the memories are stored, and count them to check that they can be read.

    If an assistant is running, it is asked for the number.
    """
    if not context.settings.memory.enabled:
        return good("Nothing is remembered beyond the conversation: memory.enabled is false.")
    place = store_location(context.home, context.settings)

    def count() -> int:
        rows = list(ask_memory(context.home, context.settings, {"act": "stats"}))
        return int(rows[0]["total"])

    total = await asyncio.to_thread(count)
    return good(f"{total:,} memories in {place.uri}.", memories=total)


async def check_loading(context: CheckContext) -> Finding:
    began = time.perf_counter()
    models = await context.models()
    took = time.perf_counter() - began
    names = ", ".join((models.stt.name, models.llm.name, models.tts.name))
    return good(f"Loaded {names} in {took:.1f} s.", seconds=round(took, 2))


async def check_voice(context: CheckContext) -> Finding:
    models = await context.models()

    def speak() -> tuple[Samples, float, float]:
        began, pieces, first = time.perf_counter(), [], 0.0
        for piece in models.tts.synthesize(SENTENCE):
            first = first or time.perf_counter() - began
            pieces.append(piece.samples)
        return np.concatenate(pieces), first, time.perf_counter() - began

    audio, first, took = await asyncio.to_thread(speak)
    seconds = len(audio) / models.tts.sample_rate
    context.spoken = (audio, models.tts.sample_rate)
    text = (
        f"Synthesises {seconds:.1f} s of speech in {took:.2f} s, with the first sound after "
        f"{first:.2f} s."
    )
    figures = {"first_s": round(first, 3), "ratio": round(took / seconds, 3)}
    if took > SLOW_TTS * seconds:
        return warning(text, "Close busy programs, or use a lighter voice.", **figures)
    return good(text, **figures)


async def check_hearing(context: CheckContext) -> Finding:
    """Transcribe the speech from `check_voice`, and check the words and the speed."""
    models = await context.models()
    if context.spoken is None:
        raise NotTried("Not measured, because the voice said nothing.")
    audio, rate = context.spoken
    heard = Resampler(rate, STT_SAMPLE_RATE).process(audio)
    began = time.perf_counter()
    transcription = await asyncio.to_thread(models.stt.transcribe, heard)
    took = time.perf_counter() - began
    seconds = len(heard) / STT_SAMPLE_RATE
    text = f"Transcribes {seconds:.1f} s of speech in {took:.2f} s."
    figures = {"seconds": round(took, 3), "ratio": round(took / seconds, 3)}
    if not set(SENTENCE.lower().strip(".").split()) & set(transcription.text.lower().split()):
        return bad(f'{text} It heard "{transcription.text}".', "assistant models verify", **figures)
    if took > SLOW_STT * seconds:
        return warning(text, "assistant --profile tiny", **figures)
    return good(text, **figures)


async def check_thinking(context: CheckContext) -> Finding:
    models = await context.models()
    request = Generation((Message("user", QUESTION),), max_tokens=48, temperature=0.0)
    began, first, generated = time.perf_counter(), 0.0, 0
    async for chunk in models.llm.stream(request):
        if chunk.text and not first:
            first = time.perf_counter() - began
        if chunk.usage is not None:
            generated = chunk.usage.generated_tokens
    writing = max(time.perf_counter() - began - first, 1e-6)
    speed = max(0, generated - 1) / writing
    text = f"First word after {first:.2f} s, then {speed:.0f} tokens per second."
    figures = {"first_token_s": round(first, 3), "tokens_per_s": round(speed, 1)}
    if not generated:
        return bad("It wrote nothing.", "assistant models verify", **figures)
    # A short answer from a server may come in one piece.
    clause = first + (CLAUSE_TOKENS - 1) / speed if speed else first
    if clause > FIRST_CLAUSE_S or 0 < speed < SPEECH_TOKENS_PER_S:
        selection = await context.selection()
        mend = quicker(context.settings, selection.profile)
        return warning(text, mend, **figures)
    return good(text, **figures)


def quicker(settings: Settings, profile: Profile) -> str:
    """Return advice for a language model that is too slow.

    Args:
        profile: the profile chosen for this machine.
    """
    llm, close = settings.llm, "Close programs that keep the processor busy"
    if llm.endpoint is not None or llm.model is not None or llm.engine == "openai":
        return f"{close}, or choose a smaller model in the settings (llm.model)."
    if profile.llm == TINY.llm:
        return f"{close}."
    smaller = "tiny" if profile.llm == SMALL.llm else "small"
    return f"{close}, or use a smaller model: assistant --profile {smaller}"
