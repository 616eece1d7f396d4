"""Lets user interfaces browse, change and forget one user's memories."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from assistant.errors import SettingsError
from assistant.ipc import Row
from assistant.language.stemming import TextAnalyzer
from assistant.memory.browse import MemoryBrowser
from assistant.memory.curation.facts import same_words
from assistant.memory.curation.merges import ExchangesById, split_tellings, unlinked
from assistant.memory.forgetting import receipts
from assistant.memory.forgetting.audit import AuditReport, audit
from assistant.memory.forgetting.executor import ForgettingExecutor, HidesItems
from assistant.memory.forgetting.memory_access import MemoryAccess
from assistant.memory.forgetting.resolver import Resolver
from assistant.memory.json_rows import exchange_row, row
from assistant.memory.records import serialization
from assistant.memory.records.hidden import HiddenSet
from assistant.memory.records.ids import ADDED_BY_USER, no_such_memory, repeated, resolve_id, short
from assistant.memory.records.lifetimes import Lifetimes
from assistant.memory.records.memory import Memory, MemoryKind, new_id, said
from assistant.memory.records.validation import memory_from_import, validated_text
from assistant.memory.retrieval.results import Recalled
from assistant.memory.store.maintenance import in_order
from assistant.memory.store.table import MemoryTable
from assistant.memory.transcript import fact_rows
from assistant.memory.transcript.database import Transcript
from assistant.memory.user_memory import UserMemory
from models.download import folder_bytes


class MemoryAdmin:
    """Gives the command line and the screen access to one user's memories.

    All methods block, some for seconds, so they must not be called on the event loop. Not
    thread-safe.

    Args:
        open_memory: loads the user's long-term memory. Called when a method needs indexes or
            vectors.
        memory: the user's long-term memory, if it is already loaded. Changes then update RAM and
            disk together.
        lifetimes: when memories expire. By default, a memory expires only if it has an expiry date
            of its own.
        folder: the folder that contains the table; None if the table is not in a local folder.
        lexicon: English by default.
        forgetting: the executor of the session that is running for this user, if any. By default,
            deletions are recorded on disk and take effect after `grace_s` seconds.
        state: see `MemoryAccess`.

    Raises:
        StoreError: a store failed, or no memory has the given id. Any method may raise this error.
    """

    def __init__(
        self,
        user_id: str,
        table: MemoryTable,
        open_transcript: Callable[[], Transcript],
        open_memory: Callable[[], UserMemory],
        *,
        memory: UserMemory | None = None,
        lifetimes: Lifetimes | None = None,
        folder: Path | None = None,
        lexicon: TextAnalyzer | None = None,
        forgetting: ForgettingExecutor | None = None,
        grace_s: float = 0.0,
        state: Callable[[], Mapping[str, Memory]] = dict,
    ) -> None:
        self.user_id = user_id
        self._table = table
        self._open_transcript = open_transcript
        self._open_memory = open_memory
        self._memory = memory
        self._lifetimes = lifetimes or Lifetimes()
        self._folder = folder
        self.browsing = MemoryBrowser(user_id, table, open_transcript)
        self._lexicon = lexicon or TextAnalyzer("en")
        opened = table if memory is None else None
        self._memories = MemoryAccess(user_id, memory, opened, self._ready, state=state)
        self._hides: list[HidesItems] = [] if memory is None else [memory]
        transcript = open_transcript()
        self.forgetting = forgetting or ForgettingExecutor(
            transcript, self._memories, self._hides, grace_s=grace_s
        )
        self.resolver = Resolver(transcript, self._memories, self._lexicon)

    # -- looking --------------------------------------------------------------------------------

    def memories(self, ids: Sequence[str]) -> list[Memory]:
        """Return the memories with these ids, in the same order. Missing ones are left out."""
        return self._table.get(self.user_id, ids)

    def search(self, text: str, limit: int) -> Recalled:
        """Return the memories that the assistant would recall for `text` if it had unlimited time.

        Raises:
            SettingsError: `text` is empty or too long.
            ModelError: no encoder is available.
        """
        return self._ready().find(validated_text(text), limit, both=True)

    def show(self, named: str) -> Row:
        """Return a memory with its details.

        The details are the exchanges it is based on, its neighbours in the same conversation, the
        memories that it superseded or that superseded it, its tier and its expiry date.
        """
        memory = self._named(named)
        transcript, sources = self._open_transcript(), set(memory.sources) - {ADDED_BY_USER}
        exchanges = transcript.exchanges(self.user_id, sources) if sources else ()
        before, after = self._neighbours(memory)
        by = self._get([memory.superseded_by] if memory.superseded_by else [])
        end = self._lifetimes.end(memory)
        return row(
            memory,
            event="memory",
            exchanges=[exchange_row(each) for _, each in exchanges],
            before=row(before) if before else None,
            after=row(after) if after else None,
            replaced=[row(each) for each in self._get(memory.supersedes)],
            replaced_by=row(by[0]) if by else None,
            tier=self._memory.index.tier(memory.id) if self._memory is not None else None,
            lasts_until=end.isoformat() if end else None,
        )

    def stats(self) -> Row:
        """Return statistics about the user's memories.

        `without_vector` is counted per encoder. `by_tier` is None unless the long-term memory is
        loaded, because tiers exist only in RAM. `bytes_on_disk` covers the memories of all users;
        None if unknown.
        """
        hidden, rows = self._hidden(), list(self._shown("kind", "pinned", "never_recall"))
        everything = max(self._table.count(self.user_id), 1)
        without = {
            encoder: sum(
                not hidden.covers(each.id, each.sources)
                for each in self._table.without_vectors(self.user_id, encoder, everything)
            )
            for encoder in self._table.encoders()
        }
        return {
            "event": "stats",
            "total": len(rows),
            "by_kind": dict(Counter(kind.value for kind, _, _ in rows).most_common()),
            "pinned": sum(pinned for _, pinned, _ in rows),
            "never_recalled": sum(never for _, _, never in rows),
            "without_vector": without,
            "by_tier": self._memory.index.tier_counts() if self._memory is not None else None,
            "exchanges": len(self._open_transcript().exchange_ids(self.user_id)),
            "bytes_on_disk": folder_bytes(self._folder) if self._folder is not None else None,
            "store": self._table.uri,
        }

    def users(self) -> list[tuple[str, int]]:
        """Return the users who have memories in this store, each with the number of memories."""
        return [(user, self._table.count(user)) for user in self._table.users()]

    def receipts(self) -> list[Row]:
        """Return the receipts of all purges in this home, oldest first."""
        return receipts.read(self._open_transcript().path.parent)

    def export(self) -> Iterator[dict[str, Any]]:
        """Yield all memories, oldest first, in the format that `import_` reads."""
        hidden = self._hidden()
        shown = (
            m for m in in_order(self._table, self.user_id) if not hidden.covers(m.id, m.sources)
        )
        return map(serialization.to_json, shown)

    # -- changing -------------------------------------------------------------------------------

    def add(self, text: str, kind: MemoryKind = MemoryKind.FACT) -> Memory:
        """Store a text that the user wrote, and return the new memory.

        If an existing memory says the same thing, that memory is returned instead.

        Raises:
            SettingsError: the text is empty or can't be stored.
            ModelError: no encoder is available.
        """
        memory = Memory(
            id=new_id(),
            user_id=self.user_id,
            kind=kind,
            text=validated_text(text),
            created=datetime.now(UTC),
            sources=(ADDED_BY_USER,),
        )
        (key,) = self._ready().put([memory], told=True)
        return next(iter(self._table.get(self.user_id, [key])), memory)

    def edit(self, named: str, text: str) -> Memory:
        """Replace the text of a memory.

        Raises:
            SettingsError: the text is empty or can't be stored, or the memory is a verbatim
                exchange.
            ModelError: no encoder is available.
        """
        new, memory = validated_text(text), self._named(named)
        if memory.kind is MemoryKind.EXCHANGE:
            raise SettingsError(
                "What was said is kept word for word and can't be edited. Forget it, and add the"
                " correct text.",
                mend=f"assistant memory forget {short(memory.id)}; assistant memory add TEXT",
            )

        def how(old: Memory) -> Memory:
            # The context explained the old words.
            return replace(old, text=new, context="", confidence=1.0)

        fact_rows.suppress(self._open_transcript(), self.user_id, [memory], self._same_facts)
        return self._changed(self._ready(), memory, how)

    def mark(
        self,
        named: str,
        *,
        pinned: bool | None = None,
        never_recall: bool | None = None,
        feedback: int = 0,
    ) -> Memory:
        """Pin or unpin a memory, exclude it from recall or include it again, or rate whether it was
        rightly recalled.

        Args:
            feedback: +1 if the memory was rightly recalled, -1 if wrongly.
        """

        def how(old: Memory) -> Memory:
            return replace(
                old,
                pinned=old.pinned if pinned is None else pinned,
                never_recall=old.never_recall if never_recall is None else never_recall,
                feedback=old.feedback + feedback,
            )

        return self._changed(self._memory, self._named(named), how)

    def import_(self, rows: Iterable[Mapping[str, Any]]) -> int:
        """Import memories from an `export`; return the number imported.

        An imported memory replaces an existing one with the same id. Memories that have been
        forgotten since the export are skipped. In an encrypted home, ids not created by this
        program are hashed.

        Raises:
            SettingsError: a row is invalid. Nothing was imported.
            ModelError: no encoder is available.
        """
        memories = [
            memory_from_import(row, number, self.user_id)
            for number, row in enumerate(rows, start=1)
        ]
        distinct = {memory.id: memory for memory in memories}  # the last row with each id
        came = self._table.forgotten.kept(distinct.values())
        named = dict(zip((each.id for each in came), self._table.named(came), strict=True))
        others = [each for each in came if named[each.id] != each]
        hidden = self._hidden() if others else HiddenSet(())
        for each in others:  # a hidden memory would reappear under its new id
            if hidden.covers(each.id, each.sources):
                del named[each.id]
        kept = self._table.forgotten.kept({each.id: each for each in named.values()}.values())
        if kept:
            self._ready().put(sorted(kept, key=said))
        self._drop_renamed(named, {each.id for each in kept})
        return len(kept)

    def rebuild(self) -> int:
        """Derive all memories, vectors and indexes from the transcript again; return the number of
        memories.

        Raises:
            ModelError: no encoder is available.
        """
        return self._ready().rebuild(self._open_transcript())

    def split(self, named: str) -> tuple[Memory, ...]:
        """Permanently separate a memory from those merged into it, from those that it supersedes,
        and from the one that supersedes it.

        Returns the separated memories, this one first.

        Raises:
            SettingsError: there is nothing to undo.
            ModelError: no encoder is available.
        """
        memory = self._named(named)
        repeats = self._exchanges(repeated(memory))
        linked = (*memory.supersedes, *([memory.superseded_by] if memory.superseded_by else []))
        if not repeats and not linked:
            raise SettingsError(
                f"Nothing was merged into {short(memory.id)}, and nothing supersedes it.",
                mend=f"assistant memory show {short(memory.id)}",
            )
        others = self._table.get(self.user_id, linked)
        freed = [unlinked(each, {memory.id}) for each in others]
        first, *restored = split_tellings(unlinked(memory, set(linked)), repeats)
        self._ready().put([first, *restored, *freed])
        return (first, *restored, *freed)

    def verify_forgotten(self, texts: Sequence[str] = (), *, clean: bool = False) -> AuditReport:
        """Search the stores for traces of anything that was forgotten, as described in
        `forgetting.audit`.
        """
        return audit(self._table, self._open_transcript(), texts, clean=clean)

    # -- inside ---------------------------------------------------------------------------------

    def _shown(self, *columns: str) -> Iterator[tuple[Any, ...]]:
        """Yield the values of these columns for every memory that is not hidden."""
        hidden, read = self._hidden(), ("id", "sources", *columns)
        for batch in self._table.scan(self.user_id, tuple(dict.fromkeys(read))):
            for key, sources, *wanted in zip(*map(batch.values, read), strict=True):
                if not hidden.covers(key, sources):
                    yield tuple(wanted)

    def _get(self, ids: Sequence[str]) -> list[Memory]:
        """Return the memories with these ids, except hidden ones."""
        hidden = self._hidden()
        found = self._table.get(self.user_id, ids)
        return [each for each in found if not hidden.covers(each.id, each.sources)]

    def _hidden(self) -> HiddenSet:
        return HiddenSet(self._open_transcript().hidden(self.user_id))

    def _same_facts(self, one: str, two: str) -> bool:
        return one == two or same_words(one, two, self._lexicon)

    def _exchanges(self, exchanges: Collection[str]) -> ExchangesById:
        found = self._open_transcript().exchanges(self.user_id, set(exchanges))
        return {exchange.id: (conversation, exchange) for conversation, exchange in found}

    def _ready(self) -> UserMemory:
        if self._memory is None:
            self._memory = self._memories.memory = self._open_memory()
            self._hides.append(self._memory)
        return self._memory

    def _named(self, named: str) -> Memory:
        ids = [key for (key,) in self._shown("id")]
        found = self._table.get(self.user_id, resolve_id(ids, named))
        if not found:
            raise no_such_memory(named)
        return found[0]

    def _changed(
        self, memory: UserMemory | None, which: Memory, how: Callable[[Memory], Memory]
    ) -> Memory:
        if memory is not None:
            changed = memory.change([which.id], how)
        else:
            changed = [how(which)]
            self._table.update(changed)
        if not changed:
            raise no_such_memory(which.id)
        return changed[0]

    def _drop_renamed(self, named: Mapping[str, Memory], kept: Collection[str]) -> None:
        """Delete copies that an earlier import stored under old ids."""
        old = [key for key, new in named.items() if new.id != key and new.id in kept]
        if before := self._table.get(self.user_id, old):
            self._ready().delete(before)

    def _neighbours(self, memory: Memory) -> tuple[Memory | None, Memory | None]:
        if memory.kind is not MemoryKind.EXCHANGE or not memory.conversation:
            return None, None
        ids = [
            key
            for key, conversation, kind in self._shown("id", "conversation", "kind")
            if conversation == memory.conversation and kind is MemoryKind.EXCHANGE
        ]
        around = sorted(self._table.get(self.user_id, ids), key=said)
        at = next((at for at, each in enumerate(around) if each.id == memory.id), None)
        if at is None:
            return None, None
        return (around[at - 1] if at else None), (around[at + 1] if at + 1 < len(around) else None)
