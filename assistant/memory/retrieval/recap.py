"""Selects memories for a recap: the answer to a question such as "what did we talk about last
week?", which asks what was said but names no topic. English only.

A recap consists of summaries. If the question names a time, the recap has the summaries of that
time and what the user said then. Other questions get no summaries, because the summarised exchanges
answer them better. For example, "What have I told you about the house?" is answered from the
exchanges about the house. In the same space, these say more about the house than summaries, which
are mostly about other things (measured with `scripts/eval_summaries.py`).
"""

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from functools import cache

import numpy as np

from assistant.language.calendar import MONTHS, WEEKDAYS
from assistant.language.normalisation import content_words
from assistant.language.numbers import numbers
from assistant.language.speakers import USER
from assistant.language.time_expressions import find_time_expressions
from assistant.memory.records.arrays import Rows
from assistant.memory.retrieval.ranking import Features
from assistant.memory.retrieval.row_metadata import RowMetadata

MOST = 200
"""Maximum number of rows to consider from the named time; the newest are taken."""
SUMMARY = 1.0
"""Bonus of a summary in a recap."""
NEAR = 0.5
"""Bonus of every row in a recap, whatever its words."""
NEWER = 0.2
"""Bonus of the newest row over the oldest."""

_SAID = (
    r"(?:talk(?:ed|ing)?|sp(?:eak|oke|oken|eaking)|chat(?:ted|ting)?|discuss(?:ed|ing)?|sa(?:y|id)"
    r"|t(?:ell|old)(?:ing)?|mention(?:ed|ing)?|cover(?:ed)?)"
)
_SPOKEN = re.compile(
    rf"\bwhat (?:all )?(?:did|have|had|were|was|do|is it) (?:i|we)"
    rf" (?:\w+ ){{0,2}}?{_SAID}(?: (?:to )?you| me)?(?: so far| lately| recently)?"
    r"(?P<rest> (?:about|on|regarding|of)\b.*|.*)$"
)
"""Matches "what did we say", "what have I told you" and the like. The group `rest` contains the
topic or the time."""
_BROAD = re.compile(
    r"\b(?:sum(?:med|ming)? up|summar(?:y|i[sz]e|i[sz]ing)|recap|overview|run[ -]?down"
    r"|catch me up|bring me up to (?:date|speed)|run me through|go through everything"
    r"|the whole story|everything (?:that )?(?:about|on|i|we|you)"
    r"|all (?:that )?(?:i|we)(?:'ve| have)? (?:said|told)"
    r"|tell me (?:all|what you (?:know|remember)) (?:about|of)"
    r"|what (?:do|can) you (?:know|remember) (?:about|of|from)|what was (?:all )?that about"
    r"|what was all that|(?:last|previous|yesterday's|latest) (?:conversation|chat|talk)"
    r"|what(?:'s| is| has|'s been| has been) (?:been )?(?:going on|happening|new|up)"
    r"|how (?:has|have|had|is|are|'s)\b.* (?:been(?: going| doing)?|going|coming along|getting on)"
    r"|how did (?:it|things) go with|(?:which|who|what) (?:\w+ ){1,5}?have i (?:told|mentioned))\b"
)
_LATEST = re.compile(
    r"\b(?:last|previous|latest) (?:conversation|chat|talk|time)\b|\bwhat were we (?:just )?talking"
    r" about$"
)
_DETAIL = re.compile(
    r"\b(?:is|are|was|were|is called|name|costs?|when|where|who|how (?:many|much|old|long|far))\b"
)
"""Matches words after "what did I say …" that ask for one particular fact."""
_NO_TOPIC = (
    "a about again all am an and any are at been being before bring can catch chat chatted"
    " chatting coming conversation conversations cover covered date day days did discuss"
    " discussed discussing do does doing else everything far for from get getting give go going"
    " had happened happening has have how i i've in is it keep know last lately latest let life"
    " me mention mentioned month months my new of on our over overview past please previous"
    " recap recently regarding remember remind run said say saying so some speak speaking spoke"
    " spoken story sum summarise summarize summary talk talked talking tell telling that the"
    " things this through time to today told up us was we week weeks were what what's which"
    " whole with year yesterday yesterday's you you've ago these those between since ada"
)


@dataclass(frozen=True, slots=True)
class RecapQuestion:
    """A question that a recap answers. `since` and `until` are the first and last day of the named
    time; None if no time is named. `latest`: the question asks about the last conversation."""

    since: date | None = None
    until: date | None = None
    latest: bool = False


@cache
def no_topic() -> frozenset[str]:
    """Return the words that may occur in a question for a recap. Any other word names a topic."""
    days = (name.lower() for name in (*WEEKDAYS, *MONTHS))
    return frozenset(_NO_TOPIC.split()).union(days, numbers())


def parse_recap_question(text: str, today: date) -> RecapQuestion | None:
    """Return the recap that a question asks for; None if it asks for none.

    >>> parse_recap_question("What did we talk about yesterday?", date(2026, 3, 10)).since
    datetime.date(2026, 3, 9)
    """
    plain = " ".join(text.lower().replace("’", "'").split()).rstrip("?!. ")
    spoken = _SPOKEN.search(plain)
    if not _BROAD.search(plain) and (spoken is None or _DETAIL.search(spoken["rest"])):
        return None
    named = find_time_expressions(plain, today)
    if {word for word in content_words(named.rest) if not word.isdigit()} - no_topic():
        return None
    since = min((span.first for span in named.spans), default=None)
    until = max((span.last for span in named.spans), default=None)
    return RecapQuestion(since, until, bool(_LATEST.search(plain)))


def rows_in_scope(
    columns: RowMetadata, rows: Rows, text: str, exclude: Collection[str], now: datetime
) -> tuple[Rows, bool]:
    """Return the rows to rank, ascending, and whether they are for a recap. Only rows that may be
    recalled are included (`RowMetadata.eligible`).

    Args:
        rows: the rows found by words and meaning. They are used if the question doesn't ask for a
            recap, or if there is nothing to recap.
    """
    summaries = np.fromiter(sorted(columns.summaries), np.int64, len(columns.summaries))
    if (asked := parse_recap_question(text, now.astimezone().date())) is not None:
        asked = _placed(columns, asked, exclude, now)
        there = summaries if asked.since is None else _said_in(columns, asked)
        there = there[columns.eligible(there, exclude, now)]
        if len(there):
            return there, True
    if len(summaries):
        rows = np.setdiff1d(rows, summaries, assume_unique=True)
    return rows[columns.eligible(rows, exclude, now)], False


def with_recap_bonus(columns: RowMetadata, rows: Rows, features: Features) -> Features:
    """Return the features with each row's bonus in a recap."""
    summary = np.array([row in columns.summaries for row in rows.tolist()], np.bool_)
    age = features.age_days
    newer = 1 - (age - age.min()) / max(1e-9, float(np.ptp(age)))
    return replace(features, lift=np.where(summary, SUMMARY, 0.0) + NEAR + NEWER * newer)


def _said_in(columns: RowMetadata, asked: RecapQuestion) -> Rows:
    """Return the rows that the user said at the requested time, and the summaries of that time. (A
    summary's speaker is the user.)"""
    if asked.since is None or asked.until is None:
        return np.empty(0, np.int64)
    start = datetime.combine(asked.since, time()).astimezone()
    end = datetime.combine(asked.until + timedelta(days=1), time()).astimezone()
    rows = columns.stated_between(start.timestamp(), end.timestamp())[-MOST:]
    return np.array([row for row in rows.tolist() if columns.speakers[row] == USER], np.int64)


def _placed(
    columns: RowMetadata, asked: RecapQuestion, exclude: Collection[str], now: datetime
) -> RecapQuestion:
    """Set the time of a question that asks about "the last conversation". That time is the newest
    day with memories that the prompt doesn't already contain. Other questions are returned
    unchanged."""
    if not asked.latest or asked.since is not None:
        return asked
    rows = columns.living()[-MOST:]
    rows = rows[columns.eligible(rows, exclude, now)]
    if not len(rows):
        return asked
    day = max(columns.created(row) for row in rows.tolist()).astimezone().date()
    return replace(asked, since=day, until=day)
