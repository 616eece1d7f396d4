"""Measures the screen: how fast it starts, what it costs in silence and during speech, and how many
keystrokes it loses."""

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random

from rapidfuzz.distance import LCSseq

from scripts.bench.room import SETTLE_S, of_starts, quiet_room
from scripts.bench.screen import frames
from scripts.bench.screen.on_terminal import LISTENING, OnTerminal, on_terminal
from scripts.common.program import Figures

ROOM_S = 600
STORY = "Tell me a very long story about a boat on the sea."
READ = " 0 memories"
"""The words that are shown once the memories have been read, which is the last step of a start."""
SPEAKING = "▶ speaking"
TYPING = "Type a turn"
ANSWER_TOKENS = 400
SPOKEN_S = 8.0
"""Seconds for which the screen is measured while an answer is spoken. The smallest models rarely
write an answer that takes longer to speak."""
KEYS = 200
KEY_S = 0.03
"""Time between two keys, shorter than anybody can type."""
WATCHED = ("-m", "scripts.bench.screen.watched")


def measured(folder: Path, profile: str, starts: int, silence_s: float, rows: int) -> Figures:
    """All figures of the screen. Raises Ended: the screen did not start, or did not work."""
    room = quiet_room(folder / "room.wav", ROOM_S)
    flags = ["--profile", profile, "--input", str(room)]
    flags += ["--set", f"llm.max_answer_tokens={ANSWER_TOKENS}", "--set", "llm.temperature=0"]
    found = starting(folder / "home", flags, starts)
    with on_terminal(folder / "home", flags) as screen:
        screen.wait_for(LISTENING)
        screen.wait_for(READ)
        time.sleep(SETTLE_S)
        found["idle"] = over(screen, silence_s)
        found["memory_mb"] = screen.memory_mb().told()
        say(screen, STORY)
        screen.wait_for(SPEAKING)
        found["speaking"] = over(screen, SPOKEN_S)
        found["speaking"]["to_the_end"] = not screen.turns()
        screen.finish()
    found["typing"] = typing(folder, flags)
    if rows:
        found["table"] = frames.measure(rows)
    return found | {"profile": profile}


def starting(home: Path, flags: Sequence[str], starts: int) -> Figures:
    painted: list[float] = []
    listening: list[float] = []
    for number in range(starts + 1):
        with on_terminal(home, flags) as screen:
            painted.append(screen.first_frame() - screen.started)
            listening.append(screen.wait_for(LISTENING) - screen.started)
            told = f"a frame after {painted[-1]:.2f} s, listens after {listening[-1]:.2f} s"
            print(f"start {number}: {told}", file=sys.stderr)
            screen.finish()
    return {"first_frame_s": of_starts(painted), "listening_s": of_starts(listening)}


def over(screen: OnTerminal, length_s: float) -> Figures:
    """What the screen costs in the next `length_s` seconds."""
    began, before, drawn = time.monotonic(), screen.cpu_seconds(), screen.drawn_bytes
    time.sleep(length_s)
    took = time.monotonic() - began
    used = screen.cpu_seconds() - before
    return {
        "cpu_percent_of_a_core": used.told(100 / took, 2),
        "drawn_kb_per_s": round((screen.drawn_bytes - drawn) / took / 1000, 2),
        "seconds": round(took, 1),
    }


def say(screen: OnTerminal, text: str) -> None:
    """Type a turn and send it."""
    screen.press("i")
    screen.wait_for(TYPING)
    screen.press(f"{text}\r")


def typing(folder: Path, flags: Sequence[str]) -> Figures:
    """Type many keys while an answer is written and spoken, and count those that are lost."""
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
        screen.wait_for(TYPING, since=ended)  # the text is sent, and the line is empty again
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
    """Return the number of characters that arrived in the order in which they were sent."""
    return LCSseq.similarity(sent, arrived)
