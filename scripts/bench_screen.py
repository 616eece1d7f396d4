"""What the screen costs: until it is there, while nobody speaks, and while the assistant does.

    python scripts/bench_screen.py [--starts N] [--seconds S] [--profile P] [--rows N] [--json]

Opens `assistant screen` on a pseudo-terminal, with a recording of a quiet room instead of a
microphone: several times, the first to warm the disk's cache, and counts the seconds until a whole
frame is painted and until it listens. The last one then listens, and speaks an answer, while the
processor time and memory of the screen's process, of the assistant's and of its workers are
counted apart. Another one is typed to while it answers: whether every key arrives, and for how
long at most its event loop was not free. And frames are timed while a table of N memories is
scrolled and searched (none with `--rows 0`). With `--json` the last line is one JSON object.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

from rapidfuzz.distance import LCSseq

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.bench.screen.on_terminal import LISTENING, OnTerminal, Parts, on_terminal
from scripts.bench_idle import SETTLE_S, quiet_room
from scripts.common.assistant_process import Ended
from scripts.common.last_line import last_line, machine

ROOM_S = 600
STORY = "Tell me a very long story about a boat on the sea."
READ = " 0 memories"
"""They are read: what a start does last."""
SPEAKING = "▶ speaking"
TYPING = "Type a turn"
ANSWER_TOKENS = 400
SPOKEN_S = 8.0
"""Of an answer, at most: the shortest of the models write little more."""
KEYS = 200
KEY_S = 0.03
"""Between two keys: faster than anybody types."""
WATCHED = ("-m", "scripts.bench.screen.watched")

Figures = dict[str, Any]


def measure(folder: Path, options: argparse.Namespace) -> Figures:
    """Raises Ended: the screen did not come up, or did not do as it should."""
    room = quiet_room(folder / "room.wav", ROOM_S)
    flags = ["--profile", options.profile, "--input", str(room)]
    flags += ["--set", f"llm.max_answer_tokens={ANSWER_TOKENS}", "--set", "llm.temperature=0"]
    found = starting(folder / "home", flags, options.starts)
    with on_terminal(folder / "home", flags) as screen:
        screen.wait_for(LISTENING)
        screen.wait_for(READ)
        time.sleep(SETTLE_S)
        found["idle"] = over(screen, options.seconds)
        found["memory_mb"] = screen.memory_mb().told()
        say(screen, STORY)
        screen.wait_for(SPEAKING)
        found["speaking"] = over(screen, SPOKEN_S)
        found["speaking"]["to_the_end"] = not screen.turns()
        screen.finish()
    found["typing"] = typing(folder, flags)
    if options.rows:
        from scripts.bench.screen import frames  # brings Textual

        found["table"] = frames.measure(options.rows)
    return found | {"profile": options.profile}


def starting(home: Path, flags: Sequence[str], starts: int) -> Figures:
    frames: list[float] = []
    listening: list[float] = []
    for number in range(starts + 1):
        with on_terminal(home, flags) as screen:
            frames.append(screen.first_frame() - screen.started)
            listening.append(screen.wait_for(LISTENING) - screen.started)
            told = f"a frame after {frames[-1]:.2f} s, listens after {listening[-1]:.2f} s"
            print(f"start {number}: {told}", file=sys.stderr)
            screen.finish()
    return {"first_frame_s": seconds(frames), "listening_s": seconds(listening)}


def seconds(times: Sequence[float]) -> Figures:
    """The first is the cold one."""
    warm = times[1:]
    return {
        "first": round(times[0], 2),
        "p50": round(statistics.median(warm), 2),
        "max": round(max(warm), 2),
    }


def over(screen: OnTerminal, length_s: float) -> Figures:
    """What the next seconds cost."""
    began, before, drawn = time.monotonic(), screen.cpu_seconds(), screen.drawn_bytes
    time.sleep(length_s)
    took = time.monotonic() - began
    used: Parts = screen.cpu_seconds() - before
    return {
        "cpu_percent_of_a_core": used.told(100 / took, 2),
        "drawn_kb_per_s": round((screen.drawn_bytes - drawn) / took / 1000, 2),
        "seconds": round(took, 1),
    }


def say(screen: OnTerminal, text: str) -> None:
    """A typed turn."""
    screen.press("i")
    screen.wait_for(TYPING)
    screen.press(f"{text}\r")


def typing(folder: Path, flags: Sequence[str]) -> Figures:
    """What arrives of many keys while an answer is written and spoken."""
    text = "".join(Random(1).choices("abcdefghijklmnopqrstuvwxyz", k=KEYS))
    file = folder / "notes.json"
    with on_terminal(folder / "home", flags, (*WATCHED, str(file))) as screen:
        screen.wait_for(LISTENING)
        before = len(screen.turns())
        say(screen, STORY)
        screen.wait_for("◌ thinking")
        began = time.monotonic()
        for number, letter in enumerate(text):
            time.sleep(max(0.0, began + number * KEY_S - time.monotonic()))
            screen.press(letter)
        ended = time.monotonic()
        answering = len(screen.turns()) == before
        screen.press("\r")
        screen.wait_for(TYPING, since=ended)  # it is sent, and the line empty again
        screen.finish()
    notes = json.loads(file.read_text(encoding="utf-8"))
    meanwhile = [late for moment, late in notes["gaps"] if began <= moment <= ended]
    return {
        "keys": KEYS,
        "dropped": KEYS - matching(text, notes["typed"][-1]),
        "answering_to_the_last_key": answering,
        "longest_gap_ms": max(meanwhile, default=0.0),
        "gaps_over_100_ms": sum(late > 100 for late in meanwhile),
    }


def matching(sent: str, arrived: str) -> int:
    """How many characters arrived, in the order in which they were sent."""
    return LCSseq.similarity(sent, arrived)


def table(found: Figures) -> str:
    """For a person."""
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
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--starts", type=int, default=3, help="warm starts; at least 1")
    parser.add_argument("--seconds", type=float, default=30, help="of listening to silence")
    parser.add_argument("--profile", default="tiny", choices=("tiny", "small", "default"))
    parser.add_argument("--rows", type=int, default=10_000, help="memories in the table")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    options.starts = max(1, options.starts)
    where = machine()
    with tempfile.TemporaryDirectory() as folder:
        try:
            found = measure(Path(folder), options)
        except Ended as error:
            print(f"The screen could not be measured: {error}.", file=sys.stderr)
            return 1
    print(table(found))
    if options.json:
        print(last_line(found | {"machine": where}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
