"""Measures what the screen costs: at the start, during silence, and while the assistant speaks.

Opens `assistant screen` on a pseudo-terminal, with a recording of a quiet room instead of a
microphone. It does so several times (the first start warms the disk cache) and times the first
whole frame and the moment at which the assistant listens. After the last start, the assistant
listens and speaks an answer, while processor time and memory are counted separately for the screen,
the assistant and its workers. In another session, keys are typed during an answer, to see whether
every key arrives and how long the event loop is blocked at most. Last, a table of N memories is
scrolled and searched, and its frames are timed.
"""

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.bench.screen.measuring import measured
from scripts.common import program
from scripts.common.program import add_number


def work(options: program.Options) -> program.Figures:
    with tempfile.TemporaryDirectory() as folder:
        found = measured(
            Path(folder), options.profile, options.starts, options.seconds, options.rows
        )
    print(table(found))
    return found


def table(found: program.Figures) -> str:
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
    lines.append(f"longest gap    {typed['longest_gap_ms']} ms in the screen's event loop")
    for name, frames in found.get("table", {}).get("frames_ms", {}).items():
        lines.append(f"{name:14} frames: p95 {frames['p95']}, at most {frames['max']} ms")
    return "\n".join(lines)


def main(arguments: Sequence[str]) -> int:
    parser = program.parser(__doc__)
    program.add_profile(parser)
    add_number(parser, "--starts", 3, "warm starts")
    parser.add_argument(
        "--seconds", type=float, default=30, metavar="S", help="seconds of silence to listen to"
    )
    add_number(parser, "--rows", 10_000, "memories in the table; 0 leaves it out", least=0)
    return program.run(work, parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
