"""Which rows may answer a question: no summaries if it asks for one thing; summaries and the user's
words of the named time if it asks for a recap."""

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime, time, timedelta

import numpy as np

from assistant.language.speakers import USER
from assistant.memory.records.arrays import Rows
from assistant.memory.retrieval.ranking import Features
from assistant.memory.retrieval.recap_question import RecapQuestion, parse_recap_question
from assistant.memory.retrieval.row_metadata import RowMetadata

MOST = 200
"""Newest rows of a time that are considered."""
SUMMARY = 1.0
"""Bonus of a summary in a recap, where nothing else distinguishes the rows."""
NEAR = 0.5
"""Bonus of what belongs to the named time, whatever its words."""
NEWER = 0.2
"""Bonus of the newest row over the oldest."""


def rows_in_scope(
    columns: RowMetadata, rows: Rows, text: str, exclude: Collection[str], now: datetime
) -> tuple[Rows, RecapQuestion | None]:
    """The rows to rank, ascending, out of those that are eligible (`RowMetadata.eligible`); and the
    recap that the question asks for, if any.

    Args:
        rows: found by words and meaning.
    """
    summaries = np.fromiter(sorted(columns.summaries), np.int64, len(columns.summaries))
    if (asked := parse_recap_question(text, now.astimezone().date())) is not None:
        asked = _placed(columns, asked, exclude, now)
        there = summaries if asked.since is None else _then(columns, asked)
        there = there[columns.eligible(there, exclude, now)]
        if len(there):
            return there, asked
    if len(summaries):
        rows = np.setdiff1d(rows, summaries, assume_unique=True)
    return rows[columns.eligible(rows, exclude, now)], None


def with_recap_bonus(
    columns: RowMetadata, rows: Rows, features: Features, asked: RecapQuestion | None
) -> Features:
    """Adds the rows' bonuses for a recap."""
    if asked is None:
        return features
    summary = np.array([row in columns.summaries for row in rows.tolist()], np.bool_)
    age = features.age_days
    newer = 1 - (age - age.min()) / max(1e-9, float(np.ptp(age)))
    return replace(features, lift=np.where(summary, SUMMARY, 0.0) + NEAR + NEWER * newer)


# -- inside -------------------------------------------------------------------------------------


def _then(columns: RowMetadata, asked: RecapQuestion) -> Rows:
    """What the user said at the time asked for, and summaries of it."""
    if asked.since is None or asked.until is None:
        return np.empty(0, np.int64)
    midnight = time()
    start = datetime.combine(asked.since, midnight).astimezone()
    end = datetime.combine(asked.until + timedelta(days=1), midnight).astimezone()
    rows = columns.told_between(start.timestamp(), end.timestamp())[-MOST:]
    return np.array([row for row in rows.tolist() if columns.speakers[row] == USER], np.int64)


def _placed(
    columns: RowMetadata, asked: RecapQuestion, exclude: Collection[str], now: datetime
) -> RecapQuestion:
    """Resolve "the last conversation": the newest day that the prompt doesn't already contain."""
    if not asked.latest or asked.since is not None:
        return asked
    rows = columns.living()[-MOST:]
    rows = rows[columns.eligible(rows, exclude, now)]
    if not len(rows):
        return asked
    day = max(columns.created(row) for row in rows.tolist()).astimezone().date()
    return replace(asked, since=day, until=day)
