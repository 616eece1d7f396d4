"""Reads utterances labelled with the command that they give to the assistant, if any."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assistant.intents.command import PERIODS, CommandKind
from data import located
from scripts.common.rows import InputUnusable, read_rows

TRAINING = "training/intents.jsonl"
EVALUATION = "evaluation/intents.jsonl"
REQUESTS = "evaluation/requests.jsonl"
"""The utterances for evaluation: `EVALUATION` has commands about memory and speech, `REQUESTS` has
requests to skills."""
BY_HAND = "evaluation/spoken_commands.jsonl"
"""The utterances that were used to write the grammar."""
PARTS = ("dev", "dev2", "test", "final", "natural", "fresh")
"""The parts of the evaluation sets."""
DEV = ("dev", "dev2")
"""The parts on which thresholds are chosen, and whose mistakes may be shown."""
ANSWERS = frozenset({"yes", "no"})
"""Labels of answers to the assistant's questions. On its own, an answer is not a command."""
CLAIM = "claim"
"""Label of a sentence in which the assistant claims or promises an act."""
KINDS = tuple(kind for kind in CommandKind if kind not in PERIODS)


@dataclass(frozen=True, slots=True)
class Utterance:
    """An utterance and its label.

    Attributes:
        kind: the kind of command; None if the utterance is not a command.
        words, when, name: the command's arguments, as worded in `said`.
        sure: whether a thoughtful person would understand the command without asking.
        part: the part of the evaluation set; "" for training.
        tag: the sort of utterance, if it is not a command; "" if unknown.
        worded: whether the arguments were labelled; if so, None means that the argument is missing.
        claims: whether this is a sentence in which the assistant claims or promises an act.
        value: the meaning of the arguments, e.g. seconds or a date; None if it was not labelled.
    """

    said: str
    kind: CommandKind | None
    words: str | None = None
    sure: bool = True
    part: str = ""
    tag: str = ""
    worded: bool = True
    when: str | None = None
    name: str | None = None
    value: Any = None
    claims: bool = False

    @property
    def label(self) -> str | None:
        """The class to learn; None for talk."""
        return CLAIM if self.claims else self.kind.value if self.kind else None


def read_utterances(path: Path, part: str | None = None) -> list[Utterance]:
    """The utterances of a file, or those of one part.

    Raises:
        InputUnusable: the file can't be read, a line is malformed, or the part is empty.
    """
    found = []
    for number, row in enumerate(read_rows(path, "said", "kind"), 1):
        if part is not None and row.get("part") != part:
            continue
        try:
            found.append(_utterance(row))
        except (ValueError, TypeError) as error:
            raise InputUnusable(f"Line {number} of {path} is wrong: {error}.") from error
    if not found:
        raise InputUnusable(f"{path} has no utterances{f' of part {part}' if part else ''}.")
    return found


def read_dev() -> list[Utterance]:
    """The parts `dev` and `dev2` of both evaluation sets, on which all choices are made. In the
    first set, requests for acts (tag `act`) are left out, since they may be requests to skills."""
    found = []
    for part in DEV:
        commands = read_utterances(located(EVALUATION), part)
        found += [each for each in commands if each.tag != "act"]
        found += read_utterances(located(REQUESTS), part)
    return found


def _utterance(row: Mapping[str, Any]) -> Utterance:
    said, label = row["said"], row["kind"]
    about = row.get("words", row.get("about"))
    if not isinstance(said, str) or not said.strip():
        raise TypeError("`said` is not text")
    for each in (about, row.get("when"), row.get("name")):
        if each is not None and (not isinstance(each, str) or each not in said):
            raise ValueError("an argument's words are not in `said`")
    kind = CommandKind(label) if label is not None and label not in (*ANSWERS, CLAIM) else None
    # In the grammar's utterances, only the minutes of a period are labelled, not its words.
    worded = kind not in PERIODS
    kind = CommandKind.FORGET_PERIOD if kind in PERIODS else kind
    return Utterance(
        said,
        kind,
        about,
        sure=row.get("sure") is not False,
        part=str(row.get("part", "")),
        tag=str(row.get("tag", "")),
        worded=worded,
        when=row.get("when"),
        name=row.get("name"),
        value=row.get("value"),
        claims=label == CLAIM,
    )
