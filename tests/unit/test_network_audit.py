"""What the audit reads from a system call: its destination, and whose code made it."""

import socket
import struct
import sys
from pathlib import Path

import pytest

from tests.support.traced import ADDRESS
from ui.network_audit.audit import HOOK, Attempt, NetworkAudit
from ui.network_audit.callers import library
from ui.network_audit.seccomp import Call
from ui.network_audit.targets import beyond, destinations


def inet(host: str, port: int) -> bytes:
    return struct.pack("=H", socket.AF_INET) + struct.pack(">H4s8x", port, socket.inet_aton(host))


def inet6(host: str, port: int) -> bytes:
    packed = socket.inet_pton(socket.AF_INET6, host)
    return struct.pack("=H", socket.AF_INET6) + struct.pack(">HI16sI", port, 0, packed, 0)


def unix(path: str) -> bytes:
    return struct.pack("=H", socket.AF_UNIX) + path.encode() + b"\0"


@pytest.mark.parametrize(
    ("address", "target"),
    [
        (inet("127.0.0.1", 80), None),
        (inet("127.0.0.53", 53), "the name server 127.0.0.53"),
        (inet("10.0.0.1", 53), "the name server 10.0.0.1"),
        (inet("10.0.0.1", 443), "10.0.0.1:443"),
        (inet6("::1", 80), None),
        (inet6("::ffff:127.0.0.1", 80), None),
        (inet6("::ffff:10.0.0.1", 80), "10.0.0.1:80"),
        (inet6("2001:db8::1", 443), "[2001:db8::1]:443"),
        (unix("/run/user/0/pulse/native"), None),
        (
            unix("/var/run/avahi-daemon/socket"),
            "the name service /run/avahi-daemon/socket",
        ),
        (struct.pack("=H", socket.AF_NETLINK), None),
        (struct.pack("=H", socket.AF_UNSPEC) + bytes(14), None),
        (b"", None),
    ],
)
def test_only_addresses_outside_the_machine_and_name_services_are_targets(
    address: bytes, target: str | None
) -> None:
    assert beyond(address) == target


def test_every_message_of_a_call_is_examined() -> None:
    """The program's memory holds two headers, each with an address."""
    first, second = inet("10.0.0.1", 1), inet("10.0.0.2", 2)
    headers = struct.pack("=QI4xQQQQI4xI4x", 1000, 16, 0, 0, 0, 0, 0, 0)
    headers += struct.pack("=QI4xQQQQI4xI4x", 2000, 16, 0, 0, 0, 0, 0, 0)
    memory = {1000: first, 2000: second, 5000: headers[:56], 5064: headers[64:120]}
    call = Call(1, 2, "sendmmsg", (3, 5000, 2, 0, 0, 0))

    found = list(destinations(call, lambda at, _count: memory[at]))

    assert [beyond(each) for each in found] == ["10.0.0.1:1", "10.0.0.2:2"]


def test_a_connected_socket_names_no_address() -> None:
    call = Call(1, 2, "sendto", (3, 5000, 10, 0, 0, 0))

    assert list(destinations(call, lambda _at, _count: b"")) == []


PACKAGES = "/home/x/.venv/lib/python3.11/site-packages"
NATIVE = f"{PACKAGES}/onnxruntime/capi/onnxruntime_pybind11_state.so"
INTERPRETER = "/usr/lib/libpython3.11.so.1.0"


@pytest.mark.parametrize(
    ("paths", "name"),
    [
        (["/lib/libc.so.6", "/lib/libresolv.so.2", NATIVE], "onnxruntime"),
        (["/lib/libc.so.6", INTERPRETER, NATIVE], "onnxruntime"),
        (["/lib/libc.so.6", INTERPRETER], "Python"),
        (["/lib/libc.so.6", "/opt/libplanted.so"], "libplanted.so"),
        ([f"{PACKAGES}/six.so"], "six"),
        ([], None),
    ],
)
def test_the_library_is_the_first_on_the_stack_that_is_not_part_of_the_system(
    paths: list[str], name: str | None
) -> None:
    assert library(paths) == name


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (
            "connect(5, {sa_family=AF_INET, sin_port=htons(53), "
            'sin_addr=inet_addr("10.2.3.4")}, 16)',
            [("53", "10.2.3.4")],
        ),
        (
            "connect(5, {sa_family=AF_INET6, sin6_port=htons(80), sin6_flowinfo=htonl(0), "
            'inet_pton(AF_INET6, "::1", &sin6_addr), sin6_scope_id=0}, 28)',
            [("80", "::1")],
        ),
        ('connect(3, {sa_family=AF_UNIX, sun_path="/run/pulse/native"}, 110)', []),
    ],
)
def test_addresses_are_found_in_the_output_of_strace(
    line: str, found: list[tuple[str, str]]
) -> None:
    assert ADDRESS.findall(line) == found


def test_an_attempt_that_python_reported_is_not_counted_twice(tmp_path: Path) -> None:
    audit = NetworkAudit(tmp_path)
    variables = audit.environment({"PYTHONPATH": "/elsewhere"})
    assert variables["PYTHONPATH"].startswith(str(HOOK))
    assert variables["PYTHONPATH"].endswith("/elsewhere")
    Path(variables["NETWORK_AUDIT_LOG"]).write_text(
        '{"target": "a.invalid", "library": "planted", "thread": 7, "at": 10.0}\n'
    )
    Path(audit.watched([sys.executable])[3]).write_text(
        '{"watched": true}\n'
        '{"target": "the name server 10.0.0.1", "library": "Python", "thread": 7, "at": 10.1}\n'
        '{"watched": true}\n'
        '{"target": "the name server 10.0.0.1", "library": "Python", "thread": 8, "at": 10.1}\n'
        '{"target": "10.0.0.2:443", "library": null, "thread": 7, "at": 10.2}\n'
    )
    assert audit.attempts() == [
        Attempt("planted", "a.invalid"),
        Attempt("Python", "the name server 10.0.0.1"),
        Attempt("unknown", "10.0.0.2:443"),
    ]
    assert audit.blind_spot() is None
