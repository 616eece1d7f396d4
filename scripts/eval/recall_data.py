"""Reads conversations with questions, and where the answers were said, for measuring recall.

A *pool* is everything that one user's memory would contain: for LoCoMo the sessions of one pair of
speakers, for our own set all facts and distractors together. `gold` holds the row numbers of the
turns with the answer.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

from assistant.language.speakers import ASSISTANT, USER
from assistant.language.stemming import TextAnalyzer
from data import located
from scripts.common.rows import InputUnusable, read_rows, read_text

EVIDENCE = re.compile(r"D\d+:\d+")
"""Matches an id; LoCoMo's evidence strings may contain several, with other characters between."""
SESSION = re.compile(r"session_(\d+)")
ADVERSARIAL = 5
"""LoCoMo's category of questions without an answer, for which nothing can be found."""
SESSION_TIMES = ("%I:%M %p on %d %B, %Y", "%I:%M %p on %d %B %Y")
"""LoCoMo's formats of times ("1:56 pm on 8 May, 2023"); ISO 8601 is read too."""

FIRST_DAY = datetime(2026, 1, 1, 12, tzinfo=UTC)
"""The day before day 1 of our own set."""


DISTRACTORS = {
    "statements-dev": ("statements_distractors",),
    "held-out": ("held_out_distractors", "paraphrase_distractors"),
    "asked-again": ("paraphrase_distractors",),
}
"""The files of distractors, for our own sets that use those of another set."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of one speaker; `when` is the session's time, if known."""

    id: str
    speaker: str
    text: str
    conversation: str = ""
    when: datetime | None = None


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    gold: tuple[int, ...]
    """Rows of the turns that contain the answer, at least one."""
    category: str


@dataclass(frozen=True, slots=True)
class Pool:
    name: str
    turns: Sequence[Turn]
    questions: Sequence[Question]
    asked: datetime | None = None
    """When the questions are asked; default: a day after the last turn."""


def read_locomo(path: Path) -> list[Pool]:
    """All conversations of a file in LoCoMo's format, without adversarial questions and without
    questions that have no evidence among the turns.

    Raises:
        InputUnusable: the file can't be read, or is in another format.
    """
    try:
        samples = json.loads(read_text(path))
        if not isinstance(samples, list):
            raise TypeError("a list of samples")
        return [_pool(sample, str(number)) for number, sample in enumerate(samples, 1)]
    except json.JSONDecodeError as error:
        raise InputUnusable(f"{path} is not JSON: {error}.") from error
    except (KeyError, TypeError) as error:
        raise InputUnusable(f"{path} is not in LoCoMo's format: it lacks {error}.") from error


def _pool(sample: Mapping[str, Any], name: str) -> Pool:
    conversation = sample["conversation"]
    numbers = sorted(int(m[1]) for key in conversation if (m := SESSION.fullmatch(key)))
    turns = []
    for number in numbers:
        when = session_time(str(conversation.get(f"session_{number}_date_time", "")))
        turns += [
            Turn(
                id=row["dia_id"],
                speaker=speaker_role(row["speaker"]),
                text=row["text"],
                conversation=str(number),
                when=when,
            )
            for row in conversation[f"session_{number}"]
        ]
    rows = {turn.id: row for row, turn in enumerate(turns)}
    questions = []
    for asked in sample["qa"]:
        named = EVIDENCE.findall(" ".join(map(str, asked.get("evidence") or [])))
        gold = sorted({rows[each] for each in named if each in rows})
        if gold and asked.get("category") != ADVERSARIAL:
            category = str(asked.get("category", "-"))
            questions.append(Question(str(asked["question"]), tuple(gold), category))
    return Pool(str(sample.get("sample_id", name)), turns, questions)


def own_files(name: str) -> tuple[Path, ...]:
    """The facts and the distractors of one of our own sets."""
    stem = name.replace("-", "_")
    distractors = DISTRACTORS.get(name, (f"{stem}_distractors",))
    return tuple(located(f"evaluation/{each}.jsonl") for each in (f"{stem}_facts", *distractors))


def read_paraphrases(facts: Path, *distractors: Path) -> Pool:
    """One user's days: facts said in passing, each with a question in other words, among
    distractors.

    Everything said on one day is one conversation, in a random order that is always the same. The
    category is "shared" if the question shares a content word with the fact, otherwise "none". If a
    fact was asked for `earlier`, these questions and the assistant's replies are turns, too.
    """
    lexicon = TextAnalyzer("en")
    rows = [row for file in (facts, *distractors) for row in read_rows(file)]
    said = [each for row in rows for each in _said(row)]
    Random(0).shuffle(said)
    said.sort(key=lambda each: int(each[0]["day"]))
    turns, questions = list[Turn](), []
    for row, texts in said:
        day = row["day"]
        if "question" in row:
            apart = set(lexicon.content(row["question"])).isdisjoint(lexicon.content(row["said"]))
            asked = Question(row["question"], (len(turns),), "none" if apart else "shared")
            questions.append(asked)
        turns += [
            Turn(f"{row['id']}{part}", speaker, text, str(day), FIRST_DAY + timedelta(days=day))
            for part, speaker, text in texts
        ]
    return Pool(facts.stem, turns, questions)


def _said(
    row: Mapping[str, Any],
) -> Iterator[tuple[Mapping[str, Any], list[tuple[str, str, str]]]]:
    """Yield a fact or distractor, then each time that a fact was asked for before. Each has its
    day, and what was said: the suffix of the id, the speaker and the text."""
    yield row, [("", USER, row["said"])]
    for number, each in enumerate(row.get("earlier", ()), 1):
        asked = {"id": f"{row['id']}-{number}", "day": each["day"]}
        yield asked, [("q", USER, each["question"]), ("r", ASSISTANT, each["reply"])]


def speaker_role(name: str) -> str:
    """The speaker's role if the name is "user" or "assistant", otherwise the name."""
    return name.lower() if name.lower() in (USER, ASSISTANT) else name


def session_time(text: str) -> datetime | None:
    """Parse a session's time; None if there is none, or if it is in an unknown format.

    >>> session_time("1:56 pm on 8 May, 2023")
    datetime.datetime(2023, 5, 8, 13, 56, tzinfo=datetime.timezone.utc)
    """
    for pattern in SESSION_TIMES:
        try:
            return datetime.strptime(text.strip(), pattern).replace(tzinfo=UTC)
        except ValueError:
            continue
    try:
        read = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    return read if read.tzinfo else read.replace(tzinfo=UTC)
