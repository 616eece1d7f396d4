"""Reads dialogues in which a form is filled in, and judges the form's values."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from assistant.forms.definition import Form, FormLibrary
from assistant.forms.values import UNKNOWN, Value
from scripts.common.rows import InputUnusable, read_rows

DATA = "evaluation/form_dialogues.jsonl"
PARTS = ("dev", "test", "final", "natural")

Gold = str | float | bool | list[str]


@dataclass(frozen=True, slots=True)
class Turn:
    """What the user says. `assistant` is what the assistant said before; `asked` is the slot that
    it asked for, or empty."""

    user: str
    assistant: str
    asked: str


@dataclass(frozen=True, slots=True)
class Dialogue:
    """A conversation during which a form is filled in.

    `gold` has the right values at the end of the conversation, by the names of the slots. For a
    text, it has a list of words that the text must contain; for a list, the words of each item.
    "a|b" accepts either. All other slots must stay empty.
    """

    form: Form
    part: str
    today: date
    turns: tuple[Turn, ...]
    gold: Mapping[str, Gold]


def read_dialogues(file: Path, library: FormLibrary, part: str | None) -> list[Dialogue]:
    """Read the dialogues of a part, or all.

    Raises:
        InputUnusable: the file can't be read, a line is malformed, or the part is empty.
    """
    found = []
    for number, row in enumerate(read_rows(file, "form", "today", "turns", "slots"), 1):
        if part is not None and row.get("part") != part:
            continue
        try:
            found.append(_dialogue(row, library))
        except (KeyError, TypeError, ValueError) as error:
            raise InputUnusable(f"Line {number} of {file} is wrong: {error}.") from error
    if not found:
        raise InputUnusable(f"{file} has no dialogues{f' of part {part}' if part else ''}.")
    return found


def is_right(value: Value | None, gold: Gold) -> bool:
    """Return whether a slot has the right value. `value` is None if the slot is empty."""
    if value is None:
        return False
    if not isinstance(gold, list):
        same_type = isinstance(value, bool) is isinstance(gold, bool)
        return same_type and value == gold
    if isinstance(value, list):
        named = all(any(_has(item, words) for item in value) for words in gold)
        return named and len(value) <= len(gold)
    return isinstance(value, str) and value != UNKNOWN and all(_has(value, each) for each in gold)


def _has(text: str, words: str) -> bool:
    return any(each.lower() in text.lower() for each in words.split("|"))


def _dialogue(row: Mapping[str, Any], library: FormLibrary) -> Dialogue:
    form = library.get(row["form"])
    if form is None:
        raise ValueError(f"there is no form {row['form']}")
    turns = tuple(
        Turn(str(each["user"]), str(each.get("assistant", "")), str(each.get("asked", "")))
        for each in row["turns"]
    )
    named = [*row["slots"], *(each.asked for each in turns if each.asked)]
    unknown = next((name for name in named if form.slot(name) is None), None)
    if unknown is not None:
        raise ValueError(f"the form has no slot {unknown}")
    return Dialogue(
        form, str(row.get("part", "")), date.fromisoformat(row["today"]), turns, row["slots"]
    )
