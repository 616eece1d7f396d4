"""Runs a program under strace in a network namespace of its own; tells what it tried to reach."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CALLS = "connect,sendto,sendmsg,sendmmsg,io_uring_setup"
ADDRESS = re.compile(
    r"sin6?_port=htons\((\d+)\).*?(?:inet_addr\(|inet_pton\(AF_INET6, )\"([^\"]+)\""
)
NAME_SERVICES = re.compile(r"sun_path=\"[^\"]*(resolve|avahi)[^\"]*\"")
LOOPBACK_UP = """
import fcntl, os, socket, struct, sys
SIOCSIFFLAGS, IFF_UP = 0x8914, 1
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
    fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))
os.execv(sys.argv[1], sys.argv[1:])
"""


@dataclass(frozen=True)
class Traced:
    """How the program ended, and the addresses in its network calls, in order."""

    code: int
    output: str
    addresses: list[tuple[str, int]]
    name_services: int
    """Number of calls to a local service that resolves names."""
    calls: int

    @property
    def outside(self) -> list[tuple[str, int]]:
        """Addresses beyond this machine, and name servers wherever they are."""
        return [
            (host, port)
            for host, port in self.addresses
            if port == 53 or not (ip_address(host).is_loopback or ip_address(host).is_unspecified)
        ]

    @property
    def ports(self) -> set[int]:
        """Loopback ports that the program connected to."""
        return {port for host, port in self.addresses if ip_address(host).is_loopback}


def trace(
    command: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    *,
    own_network: bool = True,
) -> Traced:
    """Run the command to its end, by default in a network that has only loopback.

    Args:
        own_network: False runs it in this machine's network, where it reaches the test's servers.
    """
    log = folder / "strace.log"
    traced = ["strace", "-f", "-qq", "--seccomp-bpf", "-e", f"trace={CALLS}", "-s", "300"]
    traced += ["-o", str(log), "--", *command]
    if own_network:
        as_root = [] if os.geteuid() == 0 else ["--map-root-user"]
        apart = ["unshare", "--net", *as_root, "--", sys.executable, "-I", "-c", LOOPBACK_UP]
        traced = [*apart, _path_of("strace"), *traced[1:]]
    done = subprocess.run(
        traced,
        cwd=ROOT,
        env={**environment, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert log.exists(), f"A network namespace and strace are needed here: {done.stdout}"
    lines = log.read_text("utf-8", "replace").splitlines()
    found = [(host, int(port)) for line in lines for port, host in ADDRESS.findall(line)]
    services = sum(bool(NAME_SERVICES.search(line)) for line in lines)
    return Traced(done.returncode, done.stdout, found, services, len(lines))


def _path_of(program: str) -> str:
    found = shutil.which(program)
    assert found is not None, f"{program} is not installed"
    return found
