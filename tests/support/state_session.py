"""A running session that answers requests about the user's state."""

import json
from datetime import UTC, datetime
from typing import Any

from assistant.events import Event
from assistant.memory import microseconds
from assistant.memory.transcript.database import Transcript
from assistant.state import EntryKind, StateRequests, StateStore

NOW = datetime(2026, 11, 18, 10, 20, tzinfo=UTC)


class Session:
    """A running session of the user "me"."""

    def __init__(self, transcript: Transcript) -> None:
        self.transcript = transcript
        self.events: list[Event] = []
        self.store = StateStore(transcript, "me", self.events.append)
        self.off_record = False
        self.requests = StateRequests(transcript, self.store, "me", lambda: self.off_record)

    def ask(self, act: str, user: str = "me", **more: Any) -> list[dict[str, Any]]:
        rows = list(self.requests.answer({"act": f"state.{act}", "user": user, **more}))
        json.dumps(rows)
        return rows

    def imported(self, rows: list[dict[str, Any]], user: str = "me") -> int:
        [row] = self.ask("import", user, rows=rows)
        assert row == {"event": "imported", "count": row["count"], "forgotten": 0}
        return int(row["count"])

    def contents(self, kind: str, user: str = "me") -> list[dict[str, Any]]:
        return [row["content"] for row in self.ask("list", user, kind=kind)[:-1]]


def filled_in(session: Session) -> tuple[str, str]:
    """Fill in a form. Return the ids of the form and of its first slot."""
    form = {"form": "appointment", "title": "Appointment", "opened": microseconds(NOW)}
    [entry] = session.store.add(EntryKind.FORM, [form])
    day = {"slot": "day", "label": "day", "value": "2026-11-20", "said": "Friday", "exchange": "x"}
    bring = {"slot": "bring", "label": "to bring", "value": ["a pen"]}
    slots = session.store.add(EntryKind.SLOT, [day, bring], entry.id)
    session.store.change(slots[0].id, {**day, "value": "2026-11-23"}, "y", logged=True)
    return entry.id, slots[0].id
