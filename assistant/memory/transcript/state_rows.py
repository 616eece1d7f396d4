"""Finds entries of the user's state, so that a purge can count them. The package `assistant.state`
owns these rows."""

import json
from collections.abc import Collection

from assistant.memory.transcript.database import Transcript


def held(transcript: Transcript, user: str, ids: Collection[str]) -> tuple[str, ...]:
    """Return which of the given ids belong to entries of the user. Raises StoreError."""
    query = "SELECT id FROM state WHERE user = ? AND id IN (SELECT value FROM json_each(?))"
    with transcript.reading() as db:
        found = db.execute(query, (user, json.dumps(list(ids)))).fetchall()
    return tuple(key for (key,) in found)
