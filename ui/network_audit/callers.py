"""Finds the library that made a system call, by searching the stack of the calling thread."""

import bisect
import contextlib
import os
import platform
from collections.abc import Iterable
from pathlib import Path, PurePath

PYTHON = "Python"
"""Name that stands for the library if a call came from Python code. Only Python itself can say
which library that code belongs to."""
PACKAGES = ("site-packages", "dist-packages")
SYSTEM = (
    *("libc.", "libc-", "libm.", "libm-", "libpthread", "libresolv", "libnss_", "libdl", "librt"),
    *("ld-linux", "libgcc_s"),
)
INTERPRETER = ("python", "libpython", "libffi")
BUILT_IN = "lib-dynload"
"""Folder of the extension modules that come with Python."""
STACK_BYTES = 1 << 16
"""Number of bytes of the stack that are searched for callers. It is large because resolvers keep
large buffers on the stack."""
WORD = 8
LONGEST_CALL = 8
"""Number of bytes before a return address that are searched for a call instruction."""


def library(paths: Iterable[str]) -> str | None:
    """Return the name of the library that made a system call.

    This is the first library that belongs neither to the system nor to Python.

    Args:
        paths: the result of `callers`.

    Returns:
        The library's folder or module in `site-packages`, such as `onnxruntime`; its file name if
        it is installed elsewhere. `PYTHON` if only Python and the system's libraries were found;
        None if Python wasn't found, either.
    """
    python = False
    for path in map(PurePath, paths):
        if path.name.startswith(INTERPRETER) or BUILT_IN in path.parts:
            python = True
        elif not path.name.startswith(SYSTEM):
            for packages in set(PACKAGES).intersection(path.parts):
                after = len(path.parts) - path.parts[::-1].index(packages)
                return path.parts[after].partition(".")[0]
            return path.name
    return PYTHON if python else None


def read(thread: int, address: int, count: int) -> bytes:
    """Read at most `count` bytes of a thread's memory. Fewer are returned at the end of the memory.

    Raises:
        OSError: the thread has ended, or access is denied.
    """
    descriptor = os.open(f"/proc/{thread}/mem", os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.pread(descriptor, count, address)
    finally:
        os.close(descriptor)


def callers(thread: int) -> list[str]:
    """Return the paths of the libraries that led to the system call, innermost first.

    This is not a real unwinder. Every word on the stack counts as a return address if it points
    just behind a call instruction. So libraries whose calls have already returned may be included.

    Raises:
        OSError: the thread has ended, or access is denied.
    """
    starts, ends, paths = _code(thread)
    pointer = int(Path(f"/proc/{thread}/syscall").read_text().split()[-2], 16)
    stack = b""
    with contextlib.suppress(OSError):  # an unreadable stack has no callers
        stack = read(thread, pointer, STACK_BYTES)
    found: list[str] = []
    for offset in range(0, len(stack) - WORD + 1, WORD):
        address = int.from_bytes(stack[offset : offset + WORD], "little")
        index = bisect.bisect_right(starts, address) - 1
        if index < 0 or not starts[index] + LONGEST_CALL <= address < ends[index]:
            continue
        if found[-1:] != [paths[index]] and _follows_a_call(thread, address):
            found.append(paths[index])
    return found


def _code(thread: int) -> tuple[list[int], list[int], list[str]]:
    """Return the memory ranges of the thread's code, sorted by address.

    The result has three lists: start addresses, end addresses and paths of files.
    """
    starts, ends, paths = [], [], []
    for line in Path(f"/proc/{thread}/maps").read_text("utf-8", "replace").splitlines():
        addresses, modes, _, _, _, *path = line.split(maxsplit=5)
        if "x" in modes and path and path[0].startswith("/"):
            start, _, end = addresses.partition("-")
            starts.append(int(start, 16))
            ends.append(int(end, 16))
            paths.append(path[0])
    return starts, ends, paths


def _follows_a_call(thread: int, address: int) -> bool:
    before = read(thread, address - LONGEST_CALL, LONGEST_CALL)
    if platform.machine() == "aarch64":
        word = int.from_bytes(before[-4:], "little")
        return word >> 26 == 0b100101 or word & 0xFFFFFC1F == 0xD63F0000  # BL, BLR
    if before[-5] == 0xE8:  # CALL with a relative address
        return True
    # CALL through a register or memory: FF /2, two to seven bytes long.
    return any(before[-n] == 0xFF and before[-n + 1] >> 3 & 7 == 2 for n in range(2, 8))
