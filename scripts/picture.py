"""The README's picture: a real conversation, as the terminal shows it, in an SVG.

    python scripts/picture.py [--profile small]

Speaks the recordings that ship with the project to the assistant and draws what it printed.
"""

import argparse
import io
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "conversation.svg"
RECORDINGS = ("book_a_room.flac", "today.flac", "two_people.flac")
WIDTH = 92


def conversation(profile: str) -> list[str]:
    """What a session prints, line by line."""
    arguments = [part for name in RECORDINGS for part in ("--input", f"data/recordings/{name}")]
    with tempfile.TemporaryDirectory() as home:
        command = [sys.executable, "-m", "ui.cli", "--home", home, "--profile", profile]
        sure = ["--set", "llm.temperature=0", "--set", "encryption.mode=off"]
        done = subprocess.run(
            [*command, *sure, "talk", *arguments],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
    return done.stdout.splitlines()


def painted(line: str) -> Text:
    """A line in the colours of who speaks."""
    who, colon, words = line.partition(": ")
    if not colon or line.startswith(("·", "!")):
        return Text(line, style="dim")
    words, bracket, took = words.rpartition("  (")
    text = Text(f"{who}: ", style="bold cyan" if who == "you" else "bold green")
    text.append(words if bracket else took)
    return text.append(f"  ({took}" if bracket else "", style="dim")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--profile", default="small")
    args = parser.parse_args()
    console = Console(record=True, width=WIDTH, file=io.StringIO())
    console.print(Text("$ ./scripts/run", style="bold"))
    for line in conversation(args.profile):
        console.print(painted(line))
    console.save_svg(str(PICTURE), title="assistant")
    print(PICTURE)


if __name__ == "__main__":
    main()
