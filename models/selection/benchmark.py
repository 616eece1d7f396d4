"""Measures how fast a language model runs on this machine, in a process of its own.

The process of a running conversation can't be used for this, even if it runs the same model. Its
background lane reads a few tokens at a time, so that it can be interrupted. This makes the lane far
slower than the conversation's: on two cores, a 1.5B model reads 28 tokens per second in the
background lane and 65 in the conversation's. Also, a separate process can be killed as soon as
somebody speaks.
"""

import asyncio
import logging
import time
from collections.abc import Mapping
from contextlib import aclosing
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import psutil

from assistant.errors import ModelFailed
from models.download.cache import ModelStore
from models.hardware import Hardware, processor_quota, usable_cores
from models.interfaces import Message, Usage
from models.llm.llama import BATCH_TOKENS
from models.llm.llama_process import LORA, Worker, WorkerConfig, WorkerDied, WorkerRefused
from models.llm.special_tokens import engine_messages
from models.selection.machine_records import Measurement, notes_in
from models.selection.profiles import to_measure

logger = logging.getLogger(__name__)

CONTEXT_TOKENS = 512
WRITTEN_TOKENS = 32
LONGEST_S = 90.0
"""Maximum seconds for loading and measuring together. If they take longer, either the machine is
busy, or it is so slow that the estimate alone rules the model out."""
WARM_UP = "Hello."
"""A short prompt. It brings the weights into memory, and the beginning of the chat template into
the cache."""
PROMPT = (
    "The keeper of the lighthouse climbed the stairs every evening before sunset, carrying a can "
    "of oil and a clean cloth. He wiped the lenses, trimmed the wick, and waited for the first "
    "ships to pass the headland on their way home. Count from one to a hundred."
)
"""A prompt of about `READ_TOKENS` tokens, whose answer is longer than `WRITTEN_TOKENS`."""


class Moment(NamedTuple):
    """A point in time, in seconds.

    Attributes:
        wall: wall-clock time.
        processor: processor time that the model's process has used so far.
    """

    wall: float
    processor: float


class Benchmark:
    """Measures the language model whose speed decides which model the profile `default` uses.

    Args:
        threads: number of threads for writing, as in a conversation; None chooses a number that
            suits the machine.
        log: file for the output of native code; None discards the output.
    """

    def __init__(
        self,
        store: ModelStore,
        hardware: Hardware,
        *,
        threads: int | None = None,
        log: Path | None = None,
    ) -> None:
        self._store = store
        self._hardware = hardware
        self._notes = notes_in(store.cache)
        self._threads = threads or hardware.threads
        self._log = log

    def due(self, now: datetime) -> str | None:
        """Return the catalogue name of the model that should be measured now. Blocking.

        Returns None if no measurement is needed now, or if too little memory is free.

        Args:
            now: in UTC.
        """
        model = to_measure(self._hardware, self._store)
        if model is None or not self._notes.due(self._hardware, model, now):
            return None
        needed = self._store.catalogue.get(model).ram_mb << 20
        if needed > psutil.virtual_memory().available:
            logger.info("%s is not measured: not enough memory is free", model)
            return None
        return model

    async def run(self, model: str) -> bool:
        """Measure a model; return whether the result was stored.

        The result is not stored if the machine was busy, or if measuring took too long. Cancelling
        kills the model's process at once.

        Raises:
            ModelMissing: the model's file is missing.
            ModelCorrupt: the model's file is damaged.
            ModelFailed: the model's process failed.
        """
        weights, answers = self._store.weights(model), self._store.catalogue.get(model).answers
        adapter = answers.path if answers else None
        try:
            measured = await measure(weights, adapter, threads=self._threads, log=self._log)
        except TimeoutError:
            logger.info("measuring %s took longer than %.0f s", model, LONGEST_S)
            return False
        kept = self._notes.keep(self._hardware, model, measured)
        logger.info(
            "%s read %.0f and wrote %.1f tokens a second with %.0f %% of the processor: %s",
            model,
            measured.reading,
            measured.writing,
            100 * measured.share,
            "stored" if kept else "not stored, as the machine was busy",
        )
        return kept


async def measure(
    weights: Path,
    adapter: Path | None = None,
    *,
    threads: int,
    log: Path | None = None,
    longest_s: float = LONGEST_S,
) -> Measurement:
    """Load a GGUF file in a new process, time one prompt and its answer, and end the process.

    Args:
        adapter: the adapter with which the model answers in conversations; None if it has none.
        threads: number of threads for writing. Prompts are read with all cores.
        log: file for the output of native code; None discards the output.
        longest_s: maximum seconds for all of this.

    Raises:
        ModelCorrupt: llama.cpp can't load the file.
        ModelFailed: the process ended, refused the prompt, or wrote too little to be timed.
        TimeoutError: measuring took longer than `longest_s`.
    """
    config = WorkerConfig(
        path=str(weights),
        context_tokens=CONTEXT_TOKENS,
        lanes=1,
        threads=threads,
        batch_threads=usable_cores(),
        batch=BATCH_TOKENS,
        adapter=str(adapter or ""),
    )
    worker = Worker(config, log=log, expendable=True)
    try:
        async with asyncio.timeout(longest_s):
            await worker.start(longest_s)
            lora = LORA if adapter else {}
            await _timed(worker, WARM_UP, 1, lora)
            return _measurement(config, *await _timed(worker, PROMPT, WRITTEN_TOKENS, lora))
    except (WorkerDied, WorkerRefused, psutil.Error) as error:
        raise ModelFailed(f"{weights.stem} could not be measured ({error}).") from error
    finally:
        await worker.stop()


async def _timed(
    worker: Worker, prompt: str, tokens: int, more: Mapping[str, object]
) -> tuple[list[Moment], Usage]:
    """Ask the model for an answer; return three points in time and the token counts. `more` are
    further parameters of the request.

    The times are those of the request, of the first token and of the last one.
    """
    process = psutil.Process(worker.pid)

    def now() -> Moment:
        used = process.cpu_times()
        return Moment(time.perf_counter(), used.user + used.system)

    body = {
        "messages": engine_messages([Message("user", prompt)]),
        "max_tokens": tokens,
        "temperature": 0.0,
        "id_slot": 0,
        "cache_prompt": True,
        "stream": True,
        **more,
    }
    moments, usage = [now()], Usage(0, 0, 0)
    async with aclosing(worker.run(body)) as chunks:
        async for chunk in chunks:
            if chunk.text and len(moments) == 1:
                moments.append(now())
            usage = chunk.usage or usage
    return [*moments, now()], usage


def _measurement(config: WorkerConfig, moments: list[Moment], usage: Usage) -> Measurement:
    if len(moments) < 3 or usage.generated_tokens < 2 or not usage.read_tokens:
        raise ModelFailed(f"{Path(config.path).stem} wrote too little to be timed.")
    asked, first, last = moments
    reading, writing = first.wall - asked.wall, last.wall - first.wall
    quota = processor_quota() or float("inf")
    could_have = reading * min(config.batch_threads, quota) + writing * min(config.threads, quota)
    return Measurement(
        usage.read_tokens / reading,
        (usage.generated_tokens - 1) / writing,
        (last.processor - asked.processor) / could_have,
        datetime.now(UTC),
    )
