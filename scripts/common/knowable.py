"""Reads utterances labelled by whether the assistant can know the answer."""

from pathlib import Path
from typing import NamedTuple

from models.encoder.intents import KNOWABLE
from scripts.common.rows import InputUnusable, read_rows

TRAINING = "training/knowable.jsonl"
EVALUATION = "evaluation/knowable.jsonl"
PARTS = ("dev", "test")
"""The parts of the evaluation set. The threshold and the temperature are chosen on the first part
only."""
KNOWN = KNOWABLE[0]


class Labelled(NamedTuple):
    """An utterance, and its class, one of `KNOWABLE`."""

    said: str
    label: str

    @property
    def unknowable(self) -> bool:
        return self.label != KNOWN


def read_labelled(path: Path, part: str | None = None) -> list[Labelled]:
    """The utterances of a file, or those of one part.

    Raises:
        InputUnusable: the file can't be read, a line is malformed, or the part is empty.
    """
    found = []
    for number, row in enumerate(read_rows(path, "said", "label"), 1):
        said, label = row["said"], row["label"]
        if label not in KNOWABLE or not isinstance(said, str) or not said.strip():
            raise InputUnusable(f"Line {number} of {path} is wrong: {label}, {said}.")
        if part is None or row.get("part") == part:
            found.append(Labelled(said, label))
    if not found:
        raise InputUnusable(f"{path} has no utterances{f' of part {part}' if part else ''}.")
    return found
