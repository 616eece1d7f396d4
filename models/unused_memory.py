"""Memory that was taken and holds nothing, given back to the system."""

import ctypes
import mmap
import sys
from collections.abc import Iterator
from pathlib import Path

BLOCK = 1 << 20
LEAST = 16 << 20
"""Bytes of a mapping that is looked through: a KV cache has more, a thread's stack has less."""


def release_freed() -> None:
    """Give back what the allocator keeps of what was freed. Takes some 10 ms. With glibc alone.

    To load a model takes two or three times the memory that it has in the end; of that the
    allocator keeps what lies between blocks in use, 150 MB after all models are loaded.
    """
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(ctypes.c_size_t(0))


def release_zeros() -> None:
    """Give back what holds nothing but zeros. It still reads as zeros, and what is written to is
    taken again page by page. Nobody may write to it meanwhile. On Linux alone.

    llama.cpp fills its KV cache with zeros when it makes it, and so takes all of it at once: 380 MB
    with the smallest model, of which a conversation of 2,000 tokens needs 50.
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
    """Beginnings and ends of those that are this process's own, with no file behind them."""
    for line in Path("/proc/self/maps").read_text("utf-8").splitlines():
        place, permissions, _offset, _device, inode, *_name = line.split()
        start, end = (int(number, 16) for number in place.split("-"))
        if permissions == "rw-p" and inode == "0" and end - start >= LEAST:
            yield start, end
