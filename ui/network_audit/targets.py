"""Find out which machines a network system call addresses, by reading its arguments."""

import socket
import struct
from collections.abc import Callable, Iterator
from ipaddress import IPv4Address, IPv6Address

from ui.network_audit.seccomp import Call

Read = Callable[[int, int], bytes]
"""Reads the caller's memory, given an address and a number of bytes."""

NAME_SERVICE_PORT = 53
NAME_SERVICES = (
    "/run/systemd/resolve/io.systemd.Resolve",
    "/run/avahi-daemon/socket",
)
"""Local sockets of services that resolve names for other programs."""
LONGEST_ADDRESS = 128
"""Size of `struct sockaddr_storage` in bytes."""
MESSAGE_HEADER = struct.Struct("=QI4xQQQQI4x")
"""`struct msghdr` on 64-bit systems. Its first fields are a pointer to the destination's
address, and the length of this address."""
MULTIPLE_HEADER = struct.Struct("=QI4xQQQQI4xI4x")
"""`struct mmsghdr` on 64-bit systems."""
MOST_MESSAGES = 64
"""Maximum number of messages examined per `sendmmsg` call."""


def destinations(call: Call, read: Read) -> Iterator[bytes]:
    """Yield the destination addresses of a call, as raw `struct sockaddr` bytes."""
    arguments = call.arguments
    if call.name == "connect":
        yield read(arguments[1], min(arguments[2], LONGEST_ADDRESS))
    elif call.name == "sendto" and arguments[4]:
        yield read(arguments[4], min(arguments[5], LONGEST_ADDRESS))
    elif call.name in ("sendmsg", "sendmmsg"):
        several = call.name == "sendmmsg"
        count = min(arguments[2] & 0xFFFFFFFF, MOST_MESSAGES) if several else 1
        step = MULTIPLE_HEADER.size if several else MESSAGE_HEADER.size
        for index in range(count):
            header = read(arguments[1] + index * step, MESSAGE_HEADER.size)
            pointer, length, *_ = MESSAGE_HEADER.unpack(header)
            if pointer:
                yield read(pointer, min(length, LONGEST_ADDRESS))


def beyond(address: bytes) -> str | None:
    """Return the name of the target, or None if the address is on this machine.

    Name services and name servers always count as targets outside this machine, even with a local
    address, because they ask other machines.
    """
    if len(address) < 2:
        return None
    family = int.from_bytes(address[:2], "little")
    if family == socket.AF_UNIX:
        path = address[2:].split(b"\0", 1)[0].decode("utf-8", "replace")
        path = path.replace("/var/run/", "/run/", 1)
        return f"the name service {path}" if path in NAME_SERVICES else None
    host: IPv4Address | IPv6Address
    if family == socket.AF_INET and len(address) >= 8:
        host = IPv4Address(address[4:8])
    elif family == socket.AF_INET6 and len(address) >= 24:
        host = IPv6Address(address[8:24])
    else:
        return None
    host = getattr(host, "ipv4_mapped", None) or host
    port = int.from_bytes(address[2:4], "big")
    if port == NAME_SERVICE_PORT:
        return f"the name server {host}"
    if host.is_loopback or host.is_unspecified:
        return None
    return f"[{host}]:{port}" if isinstance(host, IPv6Address) else f"{host}:{port}"
