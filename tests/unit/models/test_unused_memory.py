"""Unused memory is returned to the system, and everything else is kept."""

import platform
import subprocess
import sys

RESIDENT = """
import ctypes
import psutil
from models.unused_memory import release_freed, release_zeros

def resident_mb():
    return psutil.Process().memory_info().rss >> 20
"""

ZEROS = """
memory = ctypes.create_string_buffer(64 << 20)
ctypes.memset(memory, 0, len(memory))
memory[40_000_000:40_000_003] = b"abc"
before = resident_mb()
release_zeros()
print(before - resident_mb())
print(memory.raw.strip(bytes(1)).decode(), memory.raw.find(b"abc"))
memory[1000:1003] = b"def"
print(memory[1000:1003].decode())
"""

FREED = """
blocks = [b"x" * 50_000 for _ in range(1000)]
last = blocks.pop()
blocks.clear()
before = resident_mb()
release_freed()
print(before - resident_mb(), last == b"x" * 50_000)
"""


def output_of(program: str) -> list[str]:
    command = [sys.executable, "-c", RESIDENT + program]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    return done.stdout.split()


def test_zeros_are_returned_and_everything_else_is_kept() -> None:
    released, kept, place, written = output_of(ZEROS)
    assert int(released) >= (55 if sys.platform == "linux" else -8)
    assert (kept, int(place)) == ("abc", 40_000_000)
    assert written == "def"


def test_freed_memory_that_the_allocator_holds_is_returned() -> None:
    released, kept = output_of(FREED)
    assert int(released) >= (40 if platform.libc_ver()[0] == "glibc" else -8)
    assert kept == "True"
