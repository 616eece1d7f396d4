"""Recorded conversations, and redactions that remove parts of them."""

import json
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from pathlib import Path

from assistant.events import AnswerHeard, AnswerText, Event, Latency, TurnEnded, TurnHeard
from assistant.ipc import Row, event_json
from assistant.memory.forgetting.pattern_search import SearchPatterns
from assistant.memory.forgetting.redaction import Redaction
from assistant.memory.transcript.conversation_recordings import Recordings

AT = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)
SECRET = "The silver parrot sleeps under the third brick of the cellar."
ANSWER = "I see, a parrot below a brick."
OTHER = "On Fridays I play the cello with three dentists."
NICE = "How very nice of them."


def rows(events: Sequence[Event]) -> list[Row]:
    return [{"at": AT.isoformat(), "event": event_json.event_to_json(event)} for event in events]


def turn(number: int, said: str, answer: str, exchange: str) -> list[Event]:
    """The events of one turn, in the order in which they happen."""
    pieces = answer.split(" ")
    return [
        TurnHeard(number, said),
        *(AnswerText(number, f"{piece} ") for piece in pieces),
        *(AnswerHeard(number, " ".join(pieces[: n + 1])) for n in range(len(pieces))),
        TurnEnded(number, said, answer, False, Latency(), exchange=exchange),
    ]


def told(recordings: Recordings, path: Path) -> str:
    """All events of the recording, as JSON."""
    return json.dumps([row["event"] for row in recordings.read(path).rows])


def gone(
    texts: Sequence[str],
    exchanges: Collection[str] = (),
    memories: Collection[str] = (),
    turns: dict[str, frozenset[int]] | None = None,
    kept: Sequence[str] = (),
) -> Redaction:
    needles = SearchPatterns.of(texts, kept=kept)
    return Redaction("me", frozenset(exchanges), frozenset(memories), turns or {}, needles)
