"""Describes this machine's memory and cores, and estimates the speed of a language model on it."""

import os
import platform
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psutil
from numpy.typing import NDArray

from assistant.errors import ModelTooLarge
from models.catalogue import Model

PROBE_BYTES = 64 << 20
"""Bytes that each thread reads per pass. A laptop's caches hold less than this."""

TOKENS_PER_PASS = 0.9
"""Number of tokens that llama.cpp generates while the probe reads as many bytes as the model has.
This holds for Q4_K_M on the CPU. It was calibrated on a 2-core Xeon, where one thread read 24 GB/s.
There, the 1.5B model (1.12 GB) generated 31 tokens per second on two threads, and about 0.6 times
as many on one. This rule of thumb is used until the model itself has been measured
(models/selection/benchmark.py)."""

CGROUP_LIMITS = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)
CGROUP_QUOTAS = (
    (Path("/sys/fs/cgroup/cpu.max"),),
    (Path("/sys/fs/cgroup/cpu/cpu.cfs_quota_us"), Path("/sys/fs/cgroup/cpu/cpu.cfs_period_us")),
)
"""Files that hold the processor time allowed per period and the length of the period, in
microseconds. Version 2 of Linux control groups has one file for both values, version 1 has two
files."""


@dataclass(frozen=True, slots=True)
class Hardware:
    """The hardware that this process may use.

    Attributes:
        ram_bytes: size of the memory, in bytes.
        cores: number of physical cores.
        processor: name of the processor.
    """

    ram_bytes: int
    cores: int
    apple_silicon: bool
    processor: str = ""

    @property
    def threads(self) -> int:
        """Number of threads for generation. One core is left free for audio, but machines with only
        two cores use both: nothing else has work until the first clause is written, which takes 100
        ms with two threads and 170 ms with one."""
        return self.cores if self.cores <= 2 else self.cores - 1

    @property
    def listening_threads(self) -> int:
        """Number of threads for the speech recogniser. One core is left free for the turn detector,
        which runs at the same time. More than four threads don't make a short utterance any
        faster."""
        return min(4, max(1, self.cores - 1))

    @property
    def key(self) -> str:
        """A string that distinguishes this machine from others that share the cache of models."""
        return f"{platform.node()}/{self.processor}/{self.cores}/{self.ram_bytes >> 28}"


def usable_cores() -> int:
    """Return the number of logical cores that this process may run on.

    A container or `taskset` may limit this number.
    """
    if sys.platform == "linux":
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    return cores


def processor_quota() -> float | None:
    """Return how much processor time a container may use; None if there is no limit.

    The unit is one processor, e.g. 1.5 for one and a half.
    """
    for files in CGROUP_QUOTAS:
        if all(path.exists() for path in files):
            words = " ".join(path.read_text(encoding="ascii") for path in files).split()
            if len(words) == 2 and all(word.isdigit() for word in words) and int(words[1]):
                return int(words[0]) / int(words[1])
    return None


def detect() -> Hardware:
    ram = psutil.virtual_memory().total
    for path in CGROUP_LIMITS:
        if path.exists() and (text := path.read_text(encoding="ascii").strip()).isdigit():
            ram = min(ram, int(text))
    cores = min(psutil.cpu_count(logical=False) or usable_cores(), usable_cores())
    apple = sys.platform == "darwin" and platform.machine() == "arm64"
    return Hardware(ram, cores, apple, platform.processor() or platform.machine())


def stream_rate(threads: int, rounds: int = 8, seconds: float = 0.06) -> float:
    """Measure how many bytes per second `threads` threads can read; return the best round's rate.

    Generating a token reads the whole model once, so this rate limits the speed of generation. Each
    thread is timed by its own processor time, so that other programs don't affect the result.

    Args:
        rounds: number of rounds.
        seconds: duration of a round.
    """
    arrays = [np.ones(PROBE_BYTES // 4, dtype=np.float32) for _ in range(threads)]

    def read(array: NDArray[np.float32]) -> float:
        passes, began, end = 0, time.thread_time(), time.perf_counter() + seconds
        while not passes or time.perf_counter() < end:
            array.max()
            passes += 1
        return passes * PROBE_BYTES / max(time.thread_time() - began, 1e-4)

    with ThreadPoolExecutor(threads) as pool:
        return max(sum(pool.map(read, arrays)) for _ in range(rounds))


def expected_speed(rate: float, model_bytes: int) -> float:
    """Return the tokens per second that a model of this size is expected to generate.

    Args:
        rate: bytes per second, as measured by `stream_rate`.
    """
    return TOKENS_PER_PASS * rate / model_bytes


def require_ram(model: Model, hardware: Hardware) -> None:
    """Raise ModelTooLarge if the model needs more memory than this machine has."""
    need = model.ram_mb << 20
    if need > hardware.ram_bytes:
        raise ModelTooLarge(
            f"{model.title} needs {need / 1e9:.1f} GB of memory, but this machine has "
            f"only {hardware.ram_bytes / 1e9:.1f} GB.",
            mend="Choose a smaller model: assistant --profile small",
        )


def require_free_memory(name: str, need: int, mend: str) -> None:
    """Raise ModelTooLarge if fewer than `need` bytes of memory are free for a new model."""
    free = psutil.virtual_memory().available
    if need > free:
        raise ModelTooLarge(
            f"{name} needs {need / 1e9:.1f} GB of memory, but only {free / 1e9:.1f} GB is free.",
            mend=mend,
        )
