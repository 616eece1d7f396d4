"""How surely spoken commands are told from talk, and what they are about.

    python -m scripts.eval_commands [--json]
    python -m scripts.eval_commands --talk [--json]

On the project's own utterances (`data/evaluation/spoken_commands.jsonl`): precision and recall by
part and kind, and how many of those rightly recognised have the right name or span of time. A
command taken for another one is wrong in both. Part `a` is what the grammar was first written on;
each later part was written after the recogniser had been frozen, measured, and then used to go on,
except the last, `e`, after which nothing was changed. `--talk` takes the project's 6,000
utterances of one user instead and prints what is taken for a command: to be read. With `--json`
the last line is one JSON object.
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from assistant.intents.command import Command, CommandKind
from assistant.intents.normalisation import normalised
from assistant.intents.recogniser import recognise
from data import located
from scripts.common.last_line import last_line

UTTERANCES = "evaluation/spoken_commands.jsonl"
TALK = ("evaluation/paraphrase_facts.jsonl", "evaluation/paraphrase_distractors.jsonl")
NAMES = ("hey Ada", "Ada")
PARTS = "abcde"
NAMING = frozenset({CommandKind.FORGET_ABOUT, CommandKind.FORGET_SPAN, CommandKind.KNOW})


class Judged(NamedTuple):
    """An utterance, what it is, and what it was taken for."""

    part: str
    said: str
    wanted: Command | None
    got: Command | None

    @property
    def right(self) -> bool:
        return kind_of(self.wanted) == kind_of(self.got)

    @property
    def right_argument(self) -> bool:
        """Names are compared without case and punctuation."""
        if self.wanted is None or self.got is None:
            return self.wanted is self.got
        named = normalised(self.wanted.about or "") == normalised(self.got.about or "")
        return named and self.wanted.minutes == self.got.minutes


def kind_of(command: Command | None) -> str | None:
    return command.kind.value if command else None


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in located(name).read_text("utf-8").splitlines()]


def read_judged() -> list[Judged]:
    return [
        Judged(row["part"], row["said"], wanted(row), recognise(row["said"], NAMES))
        for row in rows(UTTERANCES)
    ]


def wanted(row: dict[str, Any]) -> Command | None:
    if row["kind"] is None:
        return None
    return Command(CommandKind(row["kind"]), row.get("about"), row.get("minutes"))


def quality(judged: Sequence[Judged], kind: str | None = None) -> dict[str, float | int | None]:
    """Precision and recall of one kind or of all, None where nothing was or could be found; and of
    the commands rightly recognised, the share with the right name or span of time."""
    got = [each for each in judged if each.got and kind in (None, kind_of(each.got))]
    meant = [each for each in judged if each.wanted and kind in (None, kind_of(each.wanted))]
    right = [each for each in got if each.right]
    named = [each for each in right if kind_of(each.got) in NAMING]
    return {
        "commands": len(meant),
        "others": sum(each.wanted is None for each in judged),
        "precision": share(len(right), len(got)),
        "recall": share(len(right), len(meant)),
        "arguments": share(sum(each.right_argument for each in named), len(named)),
        "named": len(named),
    }


def share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None


def on_utterances() -> dict[str, Any]:
    recognise("warm")  # reads the language
    began = time.process_time()
    judged = read_judged()
    took_ms = (time.process_time() - began) * 1000 / len(judged)
    kinds = sorted({kind_of(each.wanted) or "" for each in judged} - {""})
    return {
        "utterances": len(judged),
        "overall": quality(judged),
        "parts": {part: quality([each for each in judged if each.part == part]) for part in PARTS},
        "kinds": {kind: quality(judged, kind) for kind in kinds},
        "wrong": [
            f"{each.part}: {kind_of(each.wanted)} taken as {kind_of(each.got)}: {each.said}"
            for each in judged
            if not each.right or not each.right_argument
        ],
        "processor_ms": round(took_ms, 3),
    }


def on_talk() -> dict[str, Any]:
    """What of talk is taken for a command."""
    talk = [text for name in TALK for row in rows(name) for text in said_in(row)]
    found = [(recognise(text, NAMES), text) for text in talk]
    taken = [f"{command.kind.value}: {text}" for command, text in found if command]
    return {"utterances": len(talk), "taken": taken}


def said_in(row: dict[str, Any]) -> list[str]:
    return [row[key] for key in ("said", "question") if key in row]


def line_of(name: str, figures: dict[str, float | int | None]) -> str:
    values = (figures["commands"], figures["precision"], figures["recall"], figures["arguments"])
    shown = [f"{value:>10}" if value is not None else " " * 9 + "-" for value in values]
    return f"{name:<20}{''.join(shown)}\n"


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--talk", action="store_true", help="the 6,000 utterances instead")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    found = on_talk() if options.talk else on_utterances()
    for line in found["taken" if options.talk else "wrong"]:
        sys.stdout.write(f"{line}\n")
    if options.talk:
        sys.stdout.write(f"{len(found['taken'])} of {found['utterances']:,} taken for commands\n")
    else:
        heads = ("commands", "precision", "recall", "arguments")
        sys.stdout.write(" " * 20 + "".join(f"{head:>10}" for head in heads) + "\n")
        for name, figures in found["kinds"].items():
            sys.stdout.write(line_of(name, figures))
        for part, figures in found["parts"].items():
            sys.stdout.write(line_of(f"part {part}", figures))
        sys.stdout.write(line_of("all", found["overall"]))
    if options.json:
        sys.stdout.write(last_line(found) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
