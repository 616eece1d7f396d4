"""The log of recalls: which memories were in the prompt of an exchange, and which nearly were.

The log is a JSON list in the column `memories` of the table `exchange`. It has `[id, score]` for
each memory in the prompt, best first, then `[id, score, reason]` for each memory that was recalled
but left out. Earlier versions of the program stored only the memories in the prompt. The log
contains no words of the user.
"""

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from assistant.events import MemoryUsed
from assistant.memory.transcript.rows import parts, places

if TYPE_CHECKING:
    from assistant.memory.transcript.database import Transcript

DIGITS = 4
"""Number of decimal places of the scores in the log."""
REWRITTEN_AT_ONCE = 100
"""Number of logs changed in one transaction. Meanwhile, no exchange can be stored."""

_ID = re.compile(r'\["([^"]*)"')


@dataclass(frozen=True, slots=True)
class LoggedMemory:
    """A memory in the log. `left_out` is the reason why it was not in the prompt, or None if it was
    in the prompt."""

    id: str
    score: float
    left_out: str | None = None


def logged_memories(
    memories: Sequence[MemoryUsed], near_misses: Sequence[tuple[str, float, str]] = ()
) -> tuple[LoggedMemory, ...]:
    """Return the log of one turn; the arguments are those of `TurnEnded`."""
    used = (LoggedMemory(each.id, each.score) for each in memories)
    return (*used, *(LoggedMemory(*each) for each in near_misses))


def to_json(memories: Sequence[MemoryUsed], near_misses: Sequence[tuple[str, float, str]]) -> str:
    """Return the log of one turn as JSON. The arguments are those of `logged_memories`."""
    return _as_json(logged_memories(memories, near_misses))


def read(
    transcript: "Transcript", user: str, exchanges: Collection[str]
) -> dict[str, tuple[LoggedMemory, ...]]:
    """Return the logs of these exchanges of the user, by exchange id. Exchanges that are not stored
    are left out.

    Raises:
        StoreError: the transcript can't be read.
    """
    found: dict[str, tuple[LoggedMemory, ...]] = {}
    with transcript.reading() as db:
        for part in parts(exchanges):
            query = f"SELECT id, memories FROM exchange WHERE user = ? AND id IN ({places(part)})"
            for key, content in db.execute(query, (user, *part)):
                found[key] = tuple(_entries_of(content))
    return found


def remove(transcript: "Transcript", user: str, gone: Callable[[str], bool]) -> bool:
    """Remove memories from the logs of all exchanges of the user; return whether there were any.
    Copies of the old logs remain in the file until it is rewritten.

    If there is nothing to remove, this takes about 50 ms with ten thousand exchanges.

    Args:
        gone: returns whether to remove the memory with this id.

    Raises:
        StoreError: the transcript can't be changed.
    """
    query = "SELECT id, memories FROM exchange WHERE user = ? AND memories != '[]'"
    with transcript.reading() as db:
        logs = db.execute(query, (user,)).fetchall()
    going = set(filter(gone, {key for _, content in logs for key in _ids(content)}))
    changed = [
        (_as_json(each for each in _entries_of(content) if each.id not in going), key)
        for key, content in (logs if going else ())
        if not going.isdisjoint(_ids(content))
    ]
    for at in range(0, len(changed), REWRITTEN_AT_ONCE):
        with transcript.writing() as db:
            some = changed[at : at + REWRITTEN_AT_ONCE]
            db.executemany("UPDATE exchange SET memories = ? WHERE id = ?", some)
    return bool(changed)


def _ids(content: str) -> list[str]:
    """Return the ids in a log. This is much faster than `_entries_of`."""
    escaped = "\\" in content  # happens only with imported ids
    return [each.id for each in _entries_of(content)] if escaped else _ID.findall(content)


def _as_json(log: Iterable[LoggedMemory]) -> str:
    return json.dumps([_row(each) for each in log])


def _row(entry: LoggedMemory) -> tuple[object, ...]:
    row = (entry.id, round(entry.score, DIGITS))
    return row if entry.left_out is None else (*row, entry.left_out)


def _entries_of(content: str) -> Iterator[LoggedMemory]:
    """Yield the entries of a log. Entries that no version of this program can have written, e.g. in
    a damaged file, are left out."""
    try:
        rows: Any = json.loads(content)
    except ValueError:
        return
    for row in rows if isinstance(rows, list) else ():
        match row:
            case [str(key), int() | float() as score]:
                yield LoggedMemory(key, float(score))
            case [str(key), int() | float() as score, str(why)]:
                yield LoggedMemory(key, float(score), why)
