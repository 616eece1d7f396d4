"""Reads a thread that waits in a system call: memory, stack, libraries."""

import bisect
import contextlib
import os
import platform
from dataclasses import dataclass
from pathlib import Path

STACK_BYTES = 1 << 16
"""Bytes of the stack searched for callers: resolvers keep large buffers on it."""
WORD = 8
LONGEST_CALL = 8
"""Bytes before a return address that are examined."""


@dataclass(frozen=True, slots=True)
class Mapping:
    """A range of addresses with the code of one file."""

    start: int
    end: int
    path: str


def read(thread: int, address: int, count: int) -> bytes:
    """Read at most `count` bytes; fewer at the end of the memory.

    Raises:
        OSError: the thread has ended, or access is denied.
    """
    descriptor = os.open(f"/proc/{thread}/mem", os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.pread(descriptor, count, address)
    finally:
        os.close(descriptor)


def code_mappings(thread: int) -> list[Mapping]:
    """The files whose code the thread can run, by address.

    Raises:
        OSError: as `read`.
    """
    found = []
    for line in Path(f"/proc/{thread}/maps").read_text("utf-8", "replace").splitlines():
        addresses, modes, _, _, _, *path = line.split(maxsplit=5)
        if "x" in modes and path and path[0].startswith("/"):
            start, _, end = addresses.partition("-")
            found.append(Mapping(int(start, 16), int(end, 16), path[0]))
    return found


def callers(thread: int) -> list[str]:
    """Paths of the libraries that led to the system call, innermost first.

    This is no real unwinder: every word on the stack that points behind a call instruction counts
    as a return address, so libraries that have just returned may be included.

    Raises:
        OSError: as `read`.
    """
    mappings = code_mappings(thread)
    starts = [each.start for each in mappings]
    pointer = int(Path(f"/proc/{thread}/syscall").read_text().split()[-2], 16)
    stack = b""
    with contextlib.suppress(OSError):  # near the top of a stack there is less to read
        stack = read(thread, pointer, STACK_BYTES)
    found: list[str] = []
    for offset in range(0, len(stack) - WORD + 1, WORD):
        address = int.from_bytes(stack[offset : offset + WORD], "little")
        index = bisect.bisect_right(starts, address) - 1
        if index < 0 or not starts[index] + LONGEST_CALL <= address < mappings[index].end:
            continue
        path = mappings[index].path
        if (not found or found[-1] != path) and _follows_a_call(thread, address):
            found.append(path)
    return found


def _follows_a_call(thread: int, address: int) -> bool:
    before = read(thread, address - LONGEST_CALL, LONGEST_CALL)
    if platform.machine() == "aarch64":
        word = int.from_bytes(before[-4:], "little")
        return word >> 26 == 0b100101 or word & 0xFFFFFC1F == 0xD63F0000  # BL, BLR
    if before[-5] == 0xE8:  # CALL with a relative address
        return True
    # CALL through a register or memory: FF /2, two to seven bytes long.
    return any(before[-n] == 0xFF and before[-n + 1] >> 3 & 7 == 2 for n in range(2, 8))
