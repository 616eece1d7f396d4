"""`scripts/test` runs the tests in two parts, and reports how each part ended."""

import os
import subprocess
from pathlib import Path

import pytest

PARTS = Path(__file__).resolve().parents[2] / "scripts" / "_parts.sh"
PYTEST = """\
#!/bin/sh
echo "$*" >>"$CALLS"
case $* in *"not alone"*) echo "$SHARED"; exit "${SHARED%% *}";; esac
echo "$ALONE"
exit "${ALONE%% *}"
"""
"""Stands in for pytest; its exit code is the number at the start of its last line."""


@pytest.mark.parametrize(
    ("alone", "shared", "code"),
    [
        ("0 failed", "0 failed", 0),
        ("1 failed", "0 failed", 1),
        ("0 failed", "1 failed", 1),
        ("1 failed", "3 failed", 1),
        ("2 interrupted", "", 2),
    ],
)
def test_both_parts_of_the_tests_are_run_and_reported(
    tmp_path: Path, alone: str, shared: str, code: int
) -> None:
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.write_text(PYTEST)
    python.chmod(0o755)
    log = tmp_path / "calls.txt"

    done = subprocess.run(
        ["sh", "-c", f"venv='{tmp_path}'\nmarks='not long'\n. '{PARTS}'\nin_two_parts"],
        env={**os.environ, "CALLS": str(log), "ALONE": alone, "SHARED": shared},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == code, done.stderr
    first, *second = log.read_text().splitlines()
    assert first.endswith("-m (not long) and alone tests/real")
    assert [each.partition("-m (")[2] for each in second] == (
        ["not long) and not alone -n 4 --dist loadfile --no-loadscope-reorder"] if shared else []
    )
    told = [alone, *([shared] if shared else [])]
    ends = [f"alone: {alone}", *([f"shared: {shared}"] if shared else [])]
    assert done.stdout.splitlines() == [*told, *ends]
