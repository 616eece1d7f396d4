"""Let a supervisor allow or refuse network system calls before the kernel carries them out.

Needs Linux 5.5 or newer, but no privileges. A seccomp filter holds each network call in the kernel.
The supervisor then examines the arguments and answers (man 2 seccomp_unotify). Threads and
processes inherit the filter if they are started after it was installed.
"""

import ctypes
import errno
import fcntl
import os
import platform
import struct
import sys
from dataclasses import dataclass

CALLS: dict[str, dict[str, int]] = {
    "x86_64": {"connect": 42, "sendto": 44, "sendmsg": 46, "sendmmsg": 307, "io_uring_setup": 425},
    "aarch64": {
        "connect": 203,
        "sendto": 206,
        "sendmsg": 211,
        "sendmmsg": 269,
        "io_uring_setup": 425,
    },
}
"""Numbers of the system calls that the supervisor decides on, by architecture.

`io_uring_setup` is always refused, because operations on an io_uring bypass the filter. Libraries
then fall back to ordinary calls.
"""
SECCOMP_CALL = {"x86_64": 317, "aarch64": 277}
AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

PR_SET_NO_NEW_PRIVS = 38
SET_MODE_FILTER, GET_NOTIF_SIZES = 1, 3
FILTER_FLAG_NEW_LISTENER = 1 << 3
RET_ALLOW, RET_USER_NOTIF = 0x7FFF0000, 0x7FC00000
FLAG_CONTINUE = 1
LOAD_WORD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
"""Operation codes of classic BPF: `BPF_LD | BPF_W | BPF_ABS`, `BPF_JMP | BPF_JEQ | BPF_K` and
`BPF_RET`."""
NOTIFICATION = struct.Struct("=QIIiIQ6Q")
"""`struct seccomp_notif`: the id, pid and flags of the notification, followed by `seccomp_data`.

`seccomp_data` has the number of the call, the architecture, the instruction pointer and six
arguments.
"""
RESPONSE = struct.Struct("=QqiI")
"""`struct seccomp_notif_resp`: id, return value, error, flags."""


def _ioctl(number: int, size: int, *, writes: bool = True, reads: bool = True) -> int:
    return (reads << 31) | (writes << 30) | (size << 16) | (ord("!") << 8) | number


RECEIVE = _ioctl(0, NOTIFICATION.size)
SEND = _ioctl(1, RESPONSE.size)
ID_VALID = _ioctl(2, 8, reads=False)


class Unsupported(Exception):
    """Raised if this system can't supervise system calls. The message gives the reason."""


@dataclass(frozen=True, slots=True)
class Call:
    """A system call that the kernel holds until the supervisor answers.

    Attributes:
        thread: the kernel's id of the calling thread, as in /proc.
        arguments: six machine words. Pointers are addresses in the memory of the calling thread.
    """

    id: int
    thread: int
    name: str
    arguments: tuple[int, ...]


def install() -> int:
    """Filter the system calls of this thread, and of all threads and processes it starts later.

    Returns:
        The listener: a file descriptor, closed on exec, from which `receive` reads the calls.

    Raises:
        Unsupported: the system is not Linux, is too old, or refuses the filter.
    """
    machine = platform.machine()
    if sys.platform != "linux" or machine not in CALLS:
        raise Unsupported(f"System calls can't be watched on {sys.platform} ({machine}).")
    libc = ctypes.CDLL(None, use_errno=True)
    sizes = (ctypes.c_uint16 * 3)()
    if libc.syscall(SECCOMP_CALL[machine], GET_NOTIF_SIZES, 0, sizes):
        raise Unsupported(
            "This Linux kernel is older than 5.5, and can't report system calls to another process."
        )
    if (sizes[0], sizes[1]) != (NOTIFICATION.size, RESPONSE.size):
        raise Unsupported("This Linux kernel reports system calls in an unknown format.")
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        raise Unsupported(
            "This system doesn't let a program renounce new privileges (no_new_privs), so no "
            "program can be watched."
        )
    code = _program(AUDIT_ARCH[machine], list(CALLS[machine].values()))
    lines = ctypes.create_string_buffer(code)
    program = struct.pack("=H6xQ", len(code) // 8, ctypes.addressof(lines))
    listener = libc.syscall(
        SECCOMP_CALL[machine],
        SET_MODE_FILTER,
        FILTER_FLAG_NEW_LISTENER,
        ctypes.create_string_buffer(program),
    )
    if listener < 0:
        why = os.strerror(ctypes.get_errno())
        raise Unsupported(f"This system doesn't allow system calls to be watched ({why}).")
    return int(listener)


def receive(listener: int) -> Call | None:
    """Wait for the next system call and return it, or None if the calling thread has ended."""
    buffer = bytearray(NOTIFICATION.size)
    try:
        fcntl.ioctl(listener, RECEIVE, buffer)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.EINTR):
            return None
        raise
    identity, thread, _, number, _, _, *arguments = NOTIFICATION.unpack(buffer)
    names = {each: name for name, each in CALLS[platform.machine()].items()}
    return Call(identity, thread, names[number], tuple(arguments))


def is_valid(listener: int, call: Call) -> bool:
    """Whether the calling thread still waits for an answer.

    If not, another thread may have this id by now, and memory just read may belong to that thread.
    """
    try:
        fcntl.ioctl(listener, ID_VALID, struct.pack("=Q", call.id))
    except OSError as error:
        if error.errno == errno.ENOENT:
            return False
        raise
    return True


def answer(listener: int, call: Call, refusal: int = 0) -> None:
    """Let the call proceed, or make it fail with the error number `refusal` if this isn't 0."""
    flags = 0 if refusal else FLAG_CONTINUE
    try:
        fcntl.ioctl(listener, SEND, RESPONSE.pack(call.id, 0, -refusal, flags))
    except OSError as error:
        if error.errno != errno.ENOENT:  # ENOENT means that the calling thread has ended
            raise


def _program(architecture: int, numbers: list[int]) -> bytes:
    """Return a classic BPF program that notifies the listener of calls with these numbers.

    Other calls proceed.
    """
    instruction = struct.Struct("=HBBI")
    lines = [
        instruction.pack(LOAD_WORD, 0, 0, 4),  # the architecture
        instruction.pack(JUMP_IF_EQUAL, 1, 0, architecture),
        instruction.pack(RETURN, 0, 0, RET_ALLOW),
        instruction.pack(LOAD_WORD, 0, 0, 0),  # the number
    ]
    for index, number in enumerate(numbers):
        lines.append(instruction.pack(JUMP_IF_EQUAL, len(numbers) - index, 0, number))
    lines.append(instruction.pack(RETURN, 0, 0, RET_ALLOW))
    lines.append(instruction.pack(RETURN, 0, 0, RET_USER_NOTIF))
    return b"".join(lines)
