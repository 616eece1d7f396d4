"""What this machine can run: its memory and cores, and a language model's expected speed."""

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
"""Bytes read by each thread per pass; more than a laptop's caches hold."""

TOKENS_PER_PASS = 0.9
"""Tokens that llama.cpp generates (Q4_K_M, on the CPU) in the time that the probe takes to read as
many bytes as the model has. Calibrated on a 2-core Xeon: one thread read 24 GB/s, and the 1.5B
model (1.12 GB) generated 31 tokens per second on two threads, about 0.6 times that on one. A rule
of thumb, used until the model itself has been measured (models/selection/benchmark.py)."""

CGROUP_LIMITS = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)
CGROUP_QUOTAS = (
    (Path("/sys/fs/cgroup/cpu.max"),),
    (Path("/sys/fs/cgroup/cpu/cpu.cfs_quota_us"), Path("/sys/fs/cgroup/cpu/cpu.cfs_period_us")),
)
"""Files with the processor time allowed per period, and the period, in microseconds: one file in
version 2 of control groups, two in version 1."""


@dataclass(frozen=True, slots=True)
class Hardware:
    """`ram_bytes` that this process may use; `cores` (physical) that it may run on."""

    ram_bytes: int
    cores: int
    apple_silicon: bool
    processor: str = ""

    @property
    def threads(self) -> int:
        """Threads for generation. One core is left free for audio, unless there are only two: until
        the first clause is written, nothing else has work, and writing it takes 100 ms, not 170."""
        return self.cores if self.cores <= 2 else self.cores - 1

    @property
    def listening_threads(self) -> int:
        """Threads for the recogniser. One core is left free for the turn detector, which runs at
        the same time. More than four don't make a short utterance any faster."""
        return min(4, max(1, self.cores - 1))

    @property
    def key(self) -> str:
        """Distinguishes machines that share a cache."""
        return f"{platform.node()}/{self.processor}/{self.cores}/{self.ram_bytes >> 28}"


def usable_cores() -> int:
    """Logical cores that this process may run on; a container or `taskset` may limit them."""
    if sys.platform == "linux":
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    return cores


def processor_quota() -> float | None:
    """The processor time that a container may use, in processors; None if unlimited."""
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
    """Bytes per second that `threads` cores read and compare; the best of some rounds.

    Generating a token reads the whole model once, so this limits the speed. Each thread is timed by
    its own processor time, so that other programs don't affect the result.
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
    """Tokens per second that a model of this size will generate, from `stream_rate`."""
    return TOKENS_PER_PASS * rate / model_bytes


def require_ram(model: Model, hardware: Hardware) -> None:
    """Raises ModelTooLarge if the machine can't hold the model."""
    need = model.ram_mb << 20
    if need > hardware.ram_bytes:
        raise ModelTooLarge(
            f"{model.title} needs {need / 1e9:.1f} GB of memory, but this machine has "
            f"only {hardware.ram_bytes / 1e9:.1f} GB.",
            mend="Choose a smaller model: assistant --profile small",
        )


def require_free_memory(name: str, need: int, mend: str) -> None:
    """Raises ModelTooLarge if fewer than `need` bytes are available to a new model."""
    free = psutil.virtual_memory().available
    if need > free:
        raise ModelTooLarge(
            f"{name} needs {need / 1e9:.1f} GB of memory, but only {free / 1e9:.1f} GB are free.",
            mend=mend,
        )
