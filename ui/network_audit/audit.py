"""Runs a program under observation, and collects its attempts to reach other machines."""

import json
import os
import platform
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ui.network_audit.callers import PYTHON

ROOT = Path(__file__).resolve().parents[2]
HOOK = Path(__file__).resolve().parent / "python_hook"
HIDES = ("CI", "GITHUB_ACTIONS", "GITLAB_CI", "TF_BUILD")
CLAIMED_S = 20.0
"""Maximum seconds between an attempt that Python reports and the system calls that belong to it.
The system calls may come late, because a resolver repeats its query after pauses."""
SANDBOX = """
(version 1)
(allow default)
(deny network-outbound (remote ip))
(allow network-outbound (remote ip "localhost:*"))
"""
"""Profile for macOS's sandbox-exec. It allows connections to this machine only."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """An attempt to reach another machine.

    Attributes:
        library: the library that made the attempt.
        target: a name, an address with its port, or `the name server …`.
        times: how often the attempt was made.
    """

    library: str
    target: str
    times: int = 1


class NetworkAudit:
    """Observes a program that must not connect to any other machine.

    On Linux, every attempt to connect is refused and observed, no matter which code makes it. On
    macOS, `sandbox-exec` refuses all attempts, but only those made in Python are observed. On other
    systems, attempts made in Python are observed, and nothing is refused.

    Args:
        folder: where the observations of one or several runs are stored.
    """

    def __init__(self, folder: Path) -> None:
        self._report = folder / "calls.jsonl"
        self._log = folder / "python.jsonl"

    def watched(self, command: Sequence[str]) -> list[str]:
        """Return the command line that runs `command` under observation."""
        if platform.system() == "Linux":
            supervisor = (sys.executable, "-m", "ui.network_audit.supervisor")
            return [*supervisor, str(self._report), *command]
        if platform.system() == "Darwin":
            return ["/usr/bin/sandbox-exec", "-p", SANDBOX, *command]
        return list(command)

    def environment(self, base: Mapping[str, str]) -> dict[str, str]:
        """Return `base` with variables that make every Python process report its attempts to
        connect.

        Variables that reveal a CI environment are removed, because some libraries send no usage
        reports from CI.
        """
        paths = [str(HOOK), str(ROOT), *filter(None, [base.get("PYTHONPATH")])]
        more = {"PYTHONPATH": os.pathsep.join(paths), "NETWORK_AUDIT_LOG": str(self._log)}
        return {name: value for name, value in base.items() if name not in HIDES} | more

    def blind_spot(self) -> str | None:
        """Return a sentence about attempts that could not be observed; None if all could be.

        Call this after the run.
        """
        if platform.system() == "Linux":
            first = next(iter(_rows(self._report)), {})
            if first.get("watched"):
                return None
            return str(
                first.get("unsupported", "The program could not be started under observation.")
            )
        if platform.system() == "Darwin":
            return (
                "macOS's sandbox refused all connections, but only attempts made in Python could "
                "be seen; this check is untested on macOS."
            )
        return "Only attempts made in Python could be seen on this system."

    def attempts(self) -> list[Attempt]:
        """Return the observed attempts, most frequent first."""
        python = _rows(self._log)
        calls = [row for row in _rows(self._report) if "target" in row]
        seen = [*python, *(row for row in calls if not _claimed(row, python))]
        counted = Counter((row["library"] or "unknown", row["target"]) for row in seen)
        return [Attempt(*what, times) for what, times in counted.most_common()]


def _claimed(call: Mapping[str, Any], python: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether Python has reported the attempt that `call` belongs to.

    Python's report is preferred, because it also names the library.
    """
    return call["library"] == PYTHON and any(
        row["thread"] == call["thread"] and 0 <= call["at"] - row["at"] <= CLAIMED_S
        for row in python
    )


def _rows(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]
