"""What the screen costs: until it is there, while nobody speaks, and while the assistant does.

Opens `assistant screen` on a pseudo-terminal, with a recording of a quiet room instead of a
microphone: several times, the first to warm the disk's cache, and counts the seconds until a whole
frame is painted and until it listens. The last one then listens, and speaks an answer, while the
processor time and memory of the screen's process, of the assistant's and of its workers are
counted apart. Another one is typed to while it answers: whether every key arrives, and for how
long at most its event loop was not free. And frames are timed while a table of N memories is
scrolled and searched (none with `--rows 0`).
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.bench.screen.measuring import measured
from scripts.common import program


def work(options: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        found = measured(
            Path(folder), options.profile, options.starts, options.seconds, options.rows
        )
    print(table(found))
    return found


def table(found: dict[str, Any]) -> str:
    frame, listening = found["first_frame_s"], found["listening_s"]
    lines = [
        f"first frame    {frame['p50']} s (at most {frame['max']}; cold {frame['first']})",
        f"listens after  {listening['p50']} s (at most {listening['max']})",
        f"{'% of a core':14}{'screen':>8}{'assistant':>11}{'workers':>9}   drawn",
    ]
    for name in ("idle", "speaking"):
        cpu = found[name]["cpu_percent_of_a_core"]
        cells = f"{cpu['screen']:>8}{cpu['assistant']:>11}{cpu['workers']:>9}"
        lines.append(f"{name:14}{cells}   {found[name]['drawn_kb_per_s']} kB/s")
    memory = found["memory_mb"]
    lines.append(f"{'MB':14}{memory['screen']:>8}{memory['assistant']:>11}{memory['workers']:>9}")
    typed = found["typing"]
    lines.append(f"keys dropped   {typed['dropped']} of {typed['keys']}")
    lines.append(f"longest gap    {typed['longest_gap_ms']} ms of the screen's event loop")
    for name, frames in found.get("table", {}).get("frames_ms", {}).items():
        lines.append(f"{name:14} frames of p95 {frames['p95']}, at most {frames['max']} ms")
    return "\n".join(lines)


def main(arguments: Sequence[str]) -> int:
    parser = program.parser(__doc__)
    program.add_profile(parser)
    parser.add_argument("--starts", type=program.at_least(1), default=3, help="warm starts")
    parser.add_argument("--seconds", type=float, default=30, help="of listening to silence")
    parser.add_argument("--rows", type=int, default=10_000, help="memories in the table")
    return program.run(work, parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
