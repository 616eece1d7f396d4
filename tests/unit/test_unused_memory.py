"""What holds zeros alone goes back to the system; all else stays as it is."""

import subprocess
import sys

PROGRAM = """
import ctypes
import psutil
from models.unused_memory import release_zeros

def resident_mb():
    return psutil.Process().memory_info().rss >> 20

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


def test_zeros_are_given_back_and_all_else_is_kept() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, timeout=60
    )
    released, kept, place, written = done.stdout.split()
    assert int(released) >= (55 if sys.platform == "linux" else -8)
    assert (kept, int(place)) == ("abc", 40_000_000)
    assert written == "def"
