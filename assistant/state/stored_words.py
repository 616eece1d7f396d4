"""Finds and deletes forgotten words in the states of all users."""

import json
from collections.abc import Collection, Iterable

from assistant.events import Searched
from assistant.memory import FindsWords, RemovesWords, Transcript, mark_of
from assistant.state.entries import content_of, texts_in


class StoredWords:
    """Finds and deletes forgotten words in the states that a transcript contains. It implements
    `DataLocation`: the ids of memories that it is given may be ids of entries.

    All methods block, and may raise StoreError.
    """

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript

    def words(
        self, user: str, exchanges: Collection[str], memories: Collection[str]
    ) -> tuple[list[str], list[str]]:
        """Return the texts that `purge` would delete with these exchanges and memories, and the
        texts that would remain. Both include texts from earlier contents."""
        going: list[str] = []
        staying: list[str] = []
        with self._transcript.reading() as db:
            found = db.execute(
                "SELECT id, parent, 0, content FROM state WHERE user = ?1 UNION ALL"
                " SELECT s.id, s.parent, 1, c.content FROM state_change c JOIN state s"
                " ON s.id = c.entry WHERE s.user = ?1",
                (user,),
            ).fetchall()
        for key, parent, earlier, text in found:
            content = content_of(text)
            said_there = earlier and content.get("exchange", "") in exchanges
            gone = said_there or key in memories or parent in memories
            (going if gone else staying).extend(texts_in(content))
        return going, staying

    def purge(self, gone: RemovesWords) -> int:
        """Delete the entries whose ids are in `gone.memories`, their parts, and earlier contents
        that come from `gone.exchanges`. Return how many were deleted. Marks of the deleted entries
        are kept, so that no import brings the entries back."""
        delete = "DELETE FROM state WHERE user = ? AND (id = ? OR parent = ?) RETURNING id"
        with self._transcript.writing() as db:
            ids = [
                each
                for key in gone.memories
                for (each,) in db.execute(delete, (gone.user, key, key)).fetchall()
            ]
            db.executemany(
                "INSERT OR IGNORE INTO forgotten_state VALUES (?, ?)",
                [(gone.user, mark_of(each)) for each in ids],
            )
            earlier = db.execute(
                "DELETE FROM state_change WHERE entry IN (SELECT id FROM state WHERE user = ?)"
                " AND CASE WHEN json_valid(content) THEN json_extract(content, '$.exchange') END"
                " IN (SELECT value FROM json_each(?))",
                (gone.user, json.dumps(list(gone.exchanges))),
            )
        deleted = len(ids) + earlier.rowcount
        if deleted:
            self._transcript.rewrite()
        return deleted

    def search(self, patterns: FindsWords) -> Iterable[Searched]:
        """Return nothing: the search of the transcript covers its tables."""
        del patterns
        return ()

    def limits(self) -> Iterable[str]:
        return ()
