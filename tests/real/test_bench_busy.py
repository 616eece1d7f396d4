"""Measuring the language model next to busy programs."""

import psutil
import pytest

from scripts import bench_busy

pytestmark = [pytest.mark.real, pytest.mark.long]  # bound to one core, it would take minutes


def test_both_speeds_are_printed_and_no_busy_program_is_left(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert bench_busy.main(["--rounds", "1"]) == 0
    alone, busy = capsys.readouterr().out.splitlines()
    assert alone.startswith("alone: reads in ")
    assert busy.startswith(" busy: reads in ")
    assert [
        each for each in psutil.Process().children() if bench_busy.KEEP_BUSY in each.cmdline()
    ] == []
