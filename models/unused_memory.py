"""Returns unused memory to the operating system."""

import ctypes
import mmap
import sys
from collections.abc import Iterator
from pathlib import Path

BLOCK = 1 << 20
LEAST = 16 << 20
"""Minimum size, in bytes, of a memory mapping that is searched for zeros. A KV cache is larger than
this, and a thread's stack is smaller."""


def release_freed() -> None:
    """Make the allocator return freed memory to the system. Works with glibc only.

    This takes about 10 ms. Loading a model takes two or three times the memory that it needs
    afterwards. The allocator keeps the freed memory that lies between used blocks: 150 MB once all
    models are loaded.
    """
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(ctypes.c_size_t(0))


def release_zeros() -> None:
    """Give memory that contains only zeros back to the system. Works on Linux only.

    This memory still reads as zeros afterwards. It is allocated again page by page when something
    is written to it. Nothing may write to it during the call.

    llama.cpp fills its KV cache with zeros on creation, which allocates all of it at once. With the
    smallest model, the cache takes 380 MB, of which a conversation of 2,000 tokens needs 50.
    """
    if sys.platform != "linux":
        return
    libc = ctypes.CDLL(None)
    zeros, size = bytes(BLOCK), ctypes.c_size_t(BLOCK)
    for start, end in _large_mappings():
        for address in range(-(-start // BLOCK) * BLOCK, end - BLOCK + 1, BLOCK):
            block = ctypes.c_void_p(address)
            if libc.memcmp(block, zeros, size) == 0:
                libc.madvise(block, size, mmap.MADV_DONTNEED)


def _large_mappings() -> Iterator[tuple[int, int]]:
    """Yield the start and end of each large private anonymous mapping of this process."""
    for line in Path("/proc/self/maps").read_text("utf-8").splitlines():
        place, permissions, _offset, _device, inode, *_name = line.split()
        start, end = (int(number, 16) for number in place.split("-"))
        if permissions == "rw-p" and inode == "0" and end - start >= LEAST:
            yield start, end
