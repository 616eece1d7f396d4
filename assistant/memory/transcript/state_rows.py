"""The rows of the user's state, as far as a purge counts them. `assistant.state` owns them."""

import json
from collections.abc import Collection

from assistant.memory.transcript.database import Transcript


def held(transcript: Transcript, user: str, ids: Collection[str]) -> tuple[str, ...]:
    """Return those of these ids that are ids of the user's entries. Raises StoreError."""
    query = "SELECT id FROM state WHERE user = ? AND id IN (SELECT value FROM json_each(?))"
    with transcript.reading() as db:
        found = db.execute(query, (user, json.dumps(list(ids)))).fetchall()
    return tuple(key for (key,) in found)
