"""Which rows of an index a question is answered from: no summary for what asks after one thing;
summaries, and what the user said at the time that is named, for what only asks what was said."""

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
"""Rows of a time that are looked at: the newest."""
SUMMARY = 1.0
"""What a summary counts more where nothing else tells what is asked for from the rest."""
NEAR = 0.5
"""What is of the time that is named is near, whatever its words."""
NEWER = 0.2
"""For what is newest of it, against what is oldest."""


def rows_in_scope(
    columns: RowMetadata, rows: Rows, text: str, exclude: Collection[str], now: datetime
) -> tuple[Rows, RecapQuestion | None]:
    """The rows to be ranked, ascending, of those that may come up (`RowMetadata.eligible`); and
    what the question is if it is broad.

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
    """With what each of these counts more for a broad question."""
    if asked is None:
        return features
    summary = np.array([row in columns.summaries for row in rows.tolist()], np.bool_)
    age = features.age_days
    newer = 1 - (age - age.min()) / max(1e-9, float(np.ptp(age)))
    return replace(features, lift=np.where(summary, SUMMARY, 0.0) + NEAR + NEWER * newer)


# -- inside -------------------------------------------------------------------------------------


def _then(columns: RowMetadata, asked: RecapQuestion) -> Rows:
    """What the user told at the time that is asked for, and summaries of it."""
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
    """The last conversation is that of the newest day of which the prompt holds nothing anyway."""
    if not asked.latest or asked.since is not None:
        return asked
    rows = columns.living()[-MOST:]
    rows = rows[columns.eligible(rows, exclude, now)]
    if not len(rows):
        return asked
    day = max(columns.created(row) for row in rows.tolist()).astimezone().date()
    return replace(asked, since=day, until=day)
