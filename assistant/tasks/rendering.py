"""Renders a task for the model, for reading aloud, and as a memory."""

import re
from collections.abc import Sequence
from datetime import date

from assistant.context import sanitised
from assistant.language.calendar import MONTHS, WEEKDAYS
from assistant.language.enumerations import joined
from assistant.language.second_person import spoken_topic
from assistant.language.spoken_times import ordinal_words_of
from assistant.tasks.subjects import subjects
from assistant.tasks.task import Line, Task
from assistant.tasks.titles import topic

MOST = 12
"""Maximum number of lines in the block."""
MOST_TOKENS = 120
"""Maximum number of tokens of the block, by an estimate that tends to be too high."""
LONGEST_NAME = 80
LONGEST_LINE = 80
READ = 8
"""Maximum number of lines that are read aloud."""
_MARKS = re.compile(r"[()\[\]{}<>|]")
_DATE = re.compile(
    rf"(?:on )?(?P<weekday>{'|'.join(WEEKDAYS)}) (?P<day>\d{{1,2}}) (?P<month>{'|'.join(MONTHS)})"
    r" \d{4}"
)


def block(task: Task) -> str:
    """Return the text that tells the model about a task. New lines come last, so that the text
    before them doesn't change and stays in the model's cache.

    If there isn't room for all lines, the oldest are left out. Lines that name a day, an amount or
    another common subject are left out last.
    """
    head = f"You are working on a task with the user: {_cut(task.name, LONGEST_NAME)}."
    texts = [_cut(each.shown, LONGEST_LINE) for each in task.lines]
    if not texts:
        return f"{head} Nothing is settled yet."
    weights = [bool(subjects(each.text)) for each in task.lines]
    kept = list(range(len(texts)))
    room = MOST_TOKENS - tokens(f"{head} Settled so far: .")
    while len(kept) > MOST or sum(tokens(f"{texts[at]}; ") for at in kept) > room:
        kept.remove(min(kept, key=lambda at: (weights[at], at)))
    return f"{head} Settled so far: {'; '.join(texts[at] for at in kept)}."


def tokens(text: str) -> float:
    """Estimate the number of tokens of a text for a model. The estimate tends to be too high: one
    for every three ASCII letters or spaces, and one for each remaining character."""
    plain = sum(each == " " or (each.isascii() and each.isalpha()) for each in text)
    return plain / 3 + (len(text) - plain)


def read_aloud(lines: Sequence[Line], today: date, *, english: bool = True) -> str:
    """Return lines as part of a spoken sentence, in the second person. If there are many, the last
    ones are only counted."""
    return joined([_spoken(each, today, english=english) for each in lines], most=READ)


def memory_text(task: Task) -> str:
    """Return the sentence that is remembered about a task, in the user's words."""
    return (
        f"For {topic(task.name)}, we settled this: {'; '.join(each.shown for each in task.lines)}."
    )


def _spoken(line: Line, today: date, *, english: bool) -> str:
    text = line.text if line.day == today else _DATE.sub(_spoken_date, line.shown)
    return spoken_topic(text, english=english)


def _spoken_date(found: re.Match[str]) -> str:
    return f"on {found['weekday']} the {ordinal_words_of(int(found['day']))} of {found['month']}"


def _cut(text: str, longest: int) -> str:
    """Return a text as it is shown to the model: without brackets and the like, and cut at a word,
    with an ellipsis if something is missing."""
    text = " ".join(_MARKS.sub(" ", sanitised(text)).split())
    if len(text) <= longest:
        return text
    return f"{text[: longest - 1].rpartition(' ')[0] or text[: longest - 1]}…"
