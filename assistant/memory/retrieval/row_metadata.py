"""The metadata of each row of a user's index: everything except the full-text index and the
vectors."""

import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from assistant.events import MemoryUsed
from assistant.language.sentences import stated
from assistant.language.speakers import ASSISTANT
from assistant.memory.records.arrays import NONE, Rows, places
from assistant.memory.records.lifetimes import Lifetimes
from assistant.memory.records.memory import Memory, MemoryKind
from assistant.memory.retrieval.ranking import Features
from assistant.memory.retrieval.relation_index import Roles
from assistant.memory.retrieval.time_index import RowTimes
from assistant.memory.retrieval.user_profile import belongs_to_profile, names_first
from assistant.memory.retrieval.vectors.tiers import DAY_S, Marks

CREATED, LAST_USED, IMPORTANCE, CONFIDENCE, USES, FEEDBACK, PINNED, STATEMENT, ASKS = range(9)
"""Columns of the array of numbers. They are used together, so each row's numbers share a cache
line. `CREATED` is when the memory was last said. `LAST_USED` equals `CREATED` if the memory was
never used. Times are seconds since 1970."""


class RowMetadata:
    """The metadata of all rows, by row number. A removed row keeps its number and loses its
    content."""

    def __init__(self, lifetimes: Lifetimes) -> None:
        self.row_of: dict[str, int] = {}
        self.ids: list[str] = []
        self.texts: list[str] = []
        self.kinds: list[MemoryKind] = []
        self.conversations: list[str] = []
        self.all_speakers: frozenset[str] = frozenset()
        """Names of all speakers. The set is replaced as a whole, so it can be read without a
        lock."""
        self.sources: list[tuple[str, ...]] = []
        self.superseded_by: dict[int, str] = {}
        self._refreshed: dict[int, tuple[datetime, datetime]] = {}
        """For each row whose memory was said several times, the first and the last time."""
        self.summaries: set[int] = set()
        self.profile_rows: set[int] = set()
        """Rows that belong to the user's profile."""
        self.speakers = np.empty(0, np.object_)
        self.before: Rows = np.empty(0, np.int64)
        self.after: Rows = np.empty(0, np.int64)
        """`before` and `after`: for each row, the row said just before or after it in the same
        conversation, or `NONE`."""
        self._living = np.empty(0, np.bool_)
        self._never_recalled = np.empty(0, np.bool_)
        self.hidden = np.empty(0, np.bool_)
        """Whether each row is hidden, because its id is hidden or it is based on a hidden
        exchange."""
        self._hidden_exchanges: frozenset[str] = frozenset()
        self._hidden_ids: frozenset[str] = frozenset()
        self._lifetimes = lifetimes
        self._ends = np.empty(0)
        self._numbers = np.empty((0, ASKS + 1))
        self.times = RowTimes()
        self.roles = Roles()
        self._last_of: dict[str, int] = {}
        self._rows_of_source: dict[str, list[int]] = {}

    def add(self, memories: Sequence[Memory]) -> None:
        self._reserve(len(self.ids) + len(memories))
        for memory in memories:
            row = len(self.ids)
            for column in (self.ids, self.texts, self.conversations):
                column.append("")
            self.kinds.append(memory.kind)
            self.sources.append(())
            self.before[row] = self.after[row] = NONE
            if memory.kind is MemoryKind.EXCHANGE and memory.conversation:
                self._link(row, sys.intern(memory.conversation))  # one string for all its rows
            self.write(row, memory)

    def once(self, memories: Sequence[Memory]) -> list[int]:
        """Return the positions of memories that are not in the index yet. If several have the same
        id, return only the first: after a fault, the table may contain an id twice. A second row
        would stay in the index when the memory is forgotten, because rows are found by id."""
        first = {memory.id: at for at, memory in reversed(list(enumerate(memories)))}
        return sorted(at for key, at in first.items() if key not in self.row_of)

    def write(self, row: int, memory: Memory) -> None:
        """Set all metadata of a row from a memory, except the rows before and after it."""
        self.row_of[memory.id] = row
        fresh = self.texts[row] != memory.text
        self._living[row] = True
        self.ids[row], self.texts[row] = memory.id, memory.text
        self.kinds[row], self.speakers[row] = memory.kind, sys.intern(memory.speaker)
        if memory.speaker not in self.all_speakers:
            self.all_speakers |= {memory.speaker}
        self._write_sources(row, memory.sources)
        hidden = memory.id in self._hidden_ids
        self.hidden[row] = hidden or not self._hidden_exchanges.isdisjoint(memory.sources)
        self.superseded_by.pop(row, None)
        self._refreshed.pop(row, None)
        if memory.refreshed is not None:
            self._refreshed[row] = (memory.created, memory.refreshed)
        if memory.superseded_by is not None:
            self.superseded_by[row] = memory.superseded_by
        if memory.kind is MemoryKind.SUMMARY:
            self.summaries.add(row)
        self.profile_rows.discard(row)
        if belongs_to_profile(memory):
            self.profile_rows.add(row)
        created = memory.told.timestamp()
        end = self._lifetimes.end(memory)
        self._ends[row] = np.inf if end is None else end.timestamp()
        self._never_recalled[row] = memory.never_recall
        used = memory.last_used.timestamp() if memory.last_used is not None else created
        known = (memory.importance, memory.confidence, memory.uses, memory.feedback)
        said = (stated(memory.text), "?" in memory.text)
        self._numbers[row] = (created, used, *known, memory.pinned, *said)
        self.times.write(row, memory.text, memory.told)
        if fresh and memory.speaker != ASSISTANT:  # relations come only from people's words
            self.roles.write(row, memory.text)

    def remove(self, rows: Sequence[int]) -> None:
        """Remove rows. The rows before and after a removed row become adjacent."""
        for row in rows:
            before, after = int(self.before[row]), int(self.after[row])
            if before != NONE:
                self.after[before] = after
            if after != NONE:
                self.before[after] = before
            conversation = self.conversations[row]
            if self._last_of.get(conversation) == row:
                self._last_of[conversation] = before
            del self.row_of[self.ids[row]]
            self._living[row] = False
            self._write_sources(row, ())
            self.ids[row] = self.texts[row] = self.speakers[row] = ""
            self.conversations[row] = ""
            self.superseded_by.pop(row, None)
            self._refreshed.pop(row, None)
            self.profile_rows.discard(row)
            self.summaries.discard(row)
            self.before[row] = self.after[row] = NONE
            self._never_recalled[row], self.hidden[row] = True, False
            self._numbers[row], self._ends[row] = 0.0, np.inf
            self.times.clear(row)
            self.roles.clear(row)

    def hide(self, exchanges: Collection[str], ids: Collection[str]) -> None:
        """Hide exactly the memories based on these exchanges and the memories with these ids.
        Memories hidden by an earlier call are shown again."""
        self._hidden_exchanges, self._hidden_ids = frozenset(exchanges), frozenset(ids)
        self.hidden[:] = False
        self.hidden[list(self.based_on(exchanges, ids))] = True

    def forget_speakers(self) -> None:
        self.all_speakers = frozenset(self.speakers[self.living()].tolist())

    def based_on(self, exchanges: Collection[str], ids: Collection[str]) -> set[int]:
        """Return the rows based on these exchanges, and the rows of the memories with these ids."""
        rows = {self.row_of[key] for key in ids if key in self.row_of}
        return rows.union(*(self._rows_of_source.get(source, ()) for source in exchanges))

    def with_versions(self, rows: set[int]) -> set[int]:
        """Return the rows, and all rows that directly or indirectly supersede them or are
        superseded by them."""
        found, new = set(rows), set(rows)
        while new:
            ids = {self.ids[row] for row in new}
            newer = {self.superseded_by[row] for row in new if row in self.superseded_by}
            older = {row for row, key in self.superseded_by.items() if key in ids}
            new = (older | {self.row_of[key] for key in newer if key in self.row_of}) - found
            found |= new
        return found

    def outlines(self, user_id: str, rows: Iterable[int]) -> dict[str, Memory]:
        """Return the memories of these rows by id, with the fields that are in RAM. Removed and
        hidden rows are left out."""
        return {
            self.ids[row]: Memory(
                id=self.ids[row],
                user_id=user_id,
                kind=self.kinds[row],
                text=self.texts[row],
                created=self._refreshed[row][0] if row in self._refreshed else self.created(row),
                speaker=str(self.speakers[row]),
                conversation=self.conversations[row],
                sources=self.sources[row],
                superseded_by=self.superseded_by.get(row),
                **self._marks_of(row),
            )
            for row in rows
            if self._living[row] and not self.hidden[row]
        }

    def _marks_of(self, row: int) -> Mapping[str, Any]:
        numbers = self._numbers[row].tolist()
        used = datetime.fromtimestamp(numbers[LAST_USED], UTC) if numbers[USES] else None
        return {
            "refreshed": self._refreshed[row][1] if row in self._refreshed else None,
            "importance": numbers[IMPORTANCE],
            "confidence": numbers[CONFIDENCE],
            "last_used": used,
            "uses": int(numbers[USES]),
            "feedback": int(numbers[FEEDBACK]),
            "pinned": numbers[PINNED] > 0,
        }

    def living(self) -> Rows:
        """Return all rows that have not been removed, oldest first."""
        return np.flatnonzero(self._living[: len(self.ids)])

    def marks(self, rows: Rows) -> Marks:
        numbers = self._numbers[rows].T
        return Marks(
            created=numbers[CREATED],
            last_used=numbers[LAST_USED],
            uses=numbers[USES],
            importance=numbers[IMPORTANCE],
            pinned=numbers[PINNED] > 0,
        )

    def created(self, row: int) -> datetime:
        return datetime.fromtimestamp(self._numbers[row, CREATED], UTC)

    def stated_between(self, start: float, end: float) -> Rows:
        """Return the rows that state something and were said from `start` until before `end`, in
        seconds since 1970."""
        numbers = self._numbers[: len(self.ids)]
        then = (numbers[:, CREATED] >= start) & (numbers[:, CREATED] < end)
        return np.flatnonzero(self._living[: len(self.ids)] & then & (numbers[:, STATEMENT] > 0))

    def successors(self, rows: Rows) -> Rows:
        known = rows.tolist() if self.superseded_by else []
        newer = [self.superseded_by.get(row, "") for row in known]
        return np.array([self.row_of[key] for key in newer if key in self.row_of], np.int64)

    def states(self, row: int) -> bool:
        """Return whether the row's text states something rather than only asking a question."""
        return bool(self._numbers[row, STATEMENT] > 0)

    def profile(self) -> tuple[MemoryUsed, ...]:
        """Return the notes that are in every prompt, in their order in the prompt."""
        rows = [
            row
            for row in self.profile_rows
            if not (self._never_recalled[row] or row in self.superseded_by or self.hidden[row])
        ]
        rows.sort(key=lambda row: (-self._numbers[row, CREATED], self.ids[row]))
        return names_first(
            MemoryUsed(
                self.ids[row],
                self.texts[row],
                kind=self.kinds[row].value,
                speaker=self.speakers[row],
                said=self.created(row),
            )
            for row in rows
        )

    def eligible(self, rows: Rows, exclude: Collection[str], now: datetime) -> NDArray[np.bool_]:
        """Return for each row whether it may be recalled. Rows that are hidden, expired, marked as
        never to be recalled, or based on an excluded exchange may not."""
        out = self._never_recalled[rows] | self.hidden[rows]
        allowed = ~out & (self._ends[rows] > now.timestamp())
        shown = [row for source in exclude for row in self._rows_of_source.get(source, ())]
        if shown:
            allowed &= ~np.isin(rows, shown)
        return allowed

    def expired(self, now: datetime) -> list[str]:
        rows = np.flatnonzero(self._ends[: len(self.ids)] <= now.timestamp())
        return [self.ids[row] for row in rows]

    def features(self, rows: Rows, now: datetime) -> Features:
        """Return the features of rows for ranking.

        Args:
            rows: in ascending order.
        """
        moment = now.timestamp()
        superseded = np.zeros(len(rows), np.bool_)
        successor = None
        known = rows.tolist() if self.superseded_by else []
        if old := [at for at, row in enumerate(known) if row in self.superseded_by]:
            newer = [self.superseded_by[row] for row in rows[old].tolist()]
            superseded[old] = [bool(key) for key in newer]
            successor = np.full(len(rows), NONE, np.int64)
            successor[old] = places(rows, np.array([self.row_of.get(key, NONE) for key in newer]))
        numbers = np.ascontiguousarray(self._numbers.take(rows, axis=0).T)
        return Features(
            age_days=np.maximum(0.0, moment - numbers[CREATED]) / DAY_S,
            unused_days=np.maximum(0.0, moment - numbers[LAST_USED]) / DAY_S,
            importance=numbers[IMPORTANCE],
            confidence=numbers[CONFIDENCE],
            uses=numbers[USES],
            feedback=numbers[FEEDBACK],
            pinned=numbers[PINNED] > 0,
            superseded=superseded,
            speakers=self.speakers[rows],
            statement=numbers[STATEMENT],
            asks=numbers[ASKS] > 0,
            successor=successor,
        )

    def _link(self, row: int, conversation: str) -> None:
        self.conversations[row] = conversation
        last = self._last_of.get(conversation, NONE)
        self.before[row] = last
        if last != NONE:
            self.after[last] = row
        self._last_of[conversation] = row

    def _write_sources(self, row: int, sources: tuple[str, ...]) -> None:
        for source in self.sources[row]:
            self._rows_of_source[source].remove(row)
        for source in sources:
            self._rows_of_source.setdefault(source, []).append(row)
        self.sources[row] = sources

    def _reserve(self, wanted: int) -> None:
        if wanted <= len(self._numbers):
            return
        room = max(wanted, 2 * len(self._numbers), 1024)
        self.speakers = _grown(self.speakers, room)
        self.before, self.after = _grown(self.before, room), _grown(self.after, room)
        self._living = _grown(self._living, room)
        self._never_recalled = _grown(self._never_recalled, room)
        self._ends = _grown(self._ends, room)
        self.hidden = _grown(self.hidden, room)
        self._numbers = _grown(self._numbers, room)
        self.times.reserve(room)


AnArray = TypeVar("AnArray", bound=NDArray[Any])


def _grown(column: AnArray, room: int) -> AnArray:
    more = np.zeros((room - len(column), *column.shape[1:]), column.dtype)
    return cast("AnArray", np.concatenate([column, more]))
