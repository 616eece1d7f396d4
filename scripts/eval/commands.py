"""Measures how reliably the grammar tells spoken commands from talk, and finds their arguments."""

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from assistant.intents.command import Command, CommandKind
from assistant.intents.command_text import normalised
from assistant.intents.recogniser import recognise
from data import located
from scripts.common.rows import read_rows

UTTERANCES = "evaluation/spoken_commands.jsonl"
TALK = ("evaluation/paraphrase_facts.jsonl", "evaluation/paraphrase_distractors.jsonl")
NAMES = ("hey Ada", "Ada")
PARTS = "abcde"
NAMING = frozenset({CommandKind.FORGET_ABOUT, CommandKind.FORGET_SPAN, CommandKind.KNOW})


class Judged(NamedTuple):
    """An utterance, the command that it gives, and the command that was recognised."""

    part: str
    said: str
    wanted: Command | None
    got: Command | None

    @property
    def right(self) -> bool:
        return kind_of(self.wanted) == kind_of(self.got)

    @property
    def right_argument(self) -> bool:
        """Whether the words and the span of time are right. Case and punctuation of the words don't
        matter."""
        if self.wanted is None or self.got is None:
            return self.wanted is self.got
        named = normalised(self.wanted.words or "") == normalised(self.got.words or "")
        return named and self.wanted.minutes == self.got.minutes


def kind_of(command: Command | None) -> str | None:
    return command.kind.value if command else None


def read_judged() -> list[Judged]:
    return [
        Judged(row["part"], row["said"], wanted(row), recognise(row["said"], NAMES))
        for row in read_rows(located(UTTERANCES))
    ]


def wanted(row: dict[str, Any]) -> Command | None:
    if row["kind"] is None:
        return None
    return Command(CommandKind(row["kind"]), row.get("about"), row.get("minutes"))


def quality(judged: Sequence[Judged], kind: str | None = None) -> dict[str, float | int | None]:
    """Precision and recall of one kind or of all kinds. Precision is None if nothing was found,
    recall if there was nothing to find. `arguments` is the share of right arguments among the
    correctly recognised commands of the kinds in `NAMING`."""
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
    recognise("warm")  # loads the language's data
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
    """The utterances of ordinary talk that are mistaken for commands."""
    talk = [text for name in TALK for row in read_rows(located(name)) for text in said_in(row)]
    found = [(recognise(text, NAMES), text) for text in talk]
    taken = [f"{command.kind.value}: {text}" for command, text in found if command]
    return {"utterances": len(talk), "taken": taken}


def said_in(row: dict[str, Any]) -> list[str]:
    return [row[key] for key in ("said", "question") if key in row]
