"""Measures what is noted down about a task while a user talks about it, without sound.

Each dialogue is talked through with the real `TaskActivity` on a store in RAM. The assistant's
answers are part of the dialogue, so only what is taken from the user's words is measured.
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from assistant.context import Exchange
from assistant.intents import Command, CommandKind
from assistant.language.stemming import TextAnalyzer
from assistant.memory import Transcript
from assistant.skills.activities.task_activity import TaskActivity
from assistant.state import EntryKind, StateStore
from scripts.common.program import Figures
from scripts.common.rows import read_rows

_NEGATIVE = re.compile(
    r"\b(?:no|not|without|never|none|don't|won't|isn't|aren't|can't|skip|avoid)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Dialogue:
    """A dialogue about a task. Each entry of `settled` has the words that one line must contain,
    with alternatives "a|b". Only a negative line may contain one of the words of `unsettled`."""

    task: str
    turns: tuple[tuple[str, str], ...]
    settled: tuple[tuple[str, ...], ...]
    unsettled: tuple[str, ...]


@dataclass(slots=True)
class Tally:
    dialogues: int = 0
    settled: int = 0
    found: int = 0
    lines: int = 0
    right: int = 0
    """Lines that contain the words of something settled."""
    unsettled: int = 0
    wrong: int = 0
    """Words of `unsettled` that a line wrongly contains."""
    longest_block: int = 0
    """In characters."""
    report: list[str] = field(default_factory=list)

    def figures(self) -> Figures:
        return {
            "dialogues": self.dialogues,
            "settled": self.settled,
            "found": round(self.found / max(1, self.settled), 3),
            "lines": self.lines,
            "right": round(self.right / max(1, self.lines), 3),
            "unsettled": self.unsettled,
            "wrong": self.wrong,
            "longest_block": self.longest_block,
        }


def dialogues(file: Path) -> list[Dialogue]:
    """Raises InputUnusable: the file can't be read."""
    return [_dialogue(row) for row in read_rows(file, "task", "turns", "settled")]


def _dialogue(row: Mapping[str, Any]) -> Dialogue:
    return Dialogue(
        str(row["task"]),
        tuple((str(each["user"]), str(each.get("assistant", ""))) for each in row["turns"]),
        tuple(tuple(map(str, each)) for each in row["settled"]),
        tuple(map(str, row.get("not", ()))),
    )


async def measured(every: Sequence[Dialogue]) -> Tally:
    tally = Tally()
    for each in every:
        lines, block = await talked_through(each)
        _count(each, lines, tally)
        tally.longest_block = max(tally.longest_block, len(block))
    return tally


async def talked_through(dialogue: Dialogue) -> tuple[list[str], str]:
    """Return the lines at the end of a dialogue, and what the model is told then."""
    with closing(Transcript.in_ram()) as transcript:
        store = StateStore(transcript, "user")
        activity = TaskActivity(store, TextAnalyzer("en"), lambda: False)
        await activity.open(Command(CommandKind.TASK_OPEN, name=dialogue.task))
        begun = datetime.now(UTC)
        for turn, (user, assistant) in enumerate(dialogue.turns, start=1):
            at = begun + timedelta(seconds=10 * turn)
            await activity.hear(Exchange(str(turn), turn, user, at, assistant, ended=at))
        lines = [str(each.content["text"]) for each in store.entries(EntryKind.LINE)]
        return lines, activity.block()


def _count(dialogue: Dialogue, lines: Sequence[str], tally: Tally) -> None:
    missed = [each for each in dialogue.settled if not any(_has(line, each) for line in lines)]
    right = [line for line in lines if any(_has(line, each) for each in dialogue.settled)]
    wrong = [
        words
        for words in dialogue.unsettled
        if any(_has(line, [words]) and not _NEGATIVE.search(line) for line in lines)
    ]
    tally.dialogues += 1
    tally.settled += len(dialogue.settled)
    tally.found += len(dialogue.settled) - len(missed)
    tally.lines += len(lines)
    tally.right += len(right)
    tally.unsettled += len(dialogue.unsettled)
    tally.wrong += len(wrong)
    tally.report.append(f"{dialogue.task}: {'; '.join(lines)}")
    tally.report += [f"  missed: {' + '.join(each)}" for each in missed]
    tally.report += [f"  wrong: {each}" for each in wrong]
    tally.report += [f"  more: {each}" for each in lines if each not in right]


def _has(line: str, words: Sequence[str]) -> bool:
    plain = _plain(line)
    return all(any(_plain(one) in plain for one in each.split("|")) for each in words)


def _plain(text: str) -> str:
    return f" {re.sub(r'[^a-z0-9]+', ' ', text.lower()).strip()} "
