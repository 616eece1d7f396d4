"""Forgetting at a desk: what a wish means, what goes and changes by it, and having it forgotten.

The same as by voice, and by the same rules; but whoever asks here sees first what would go.
"""

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from assistant.context import Exchange
from assistant.errors import ModelError, SettingsError, StoreError
from assistant.language.stemming import TextAnalyzer
from assistant.memory.curation.merges import Derived, ExchangesById
from assistant.memory.forgetting import selection
from assistant.memory.forgetting.attribution import stems
from assistant.memory.forgetting.cascade import exchanges_of_turns, named_memories, removal
from assistant.memory.forgetting.offline_executor import Hiding
from assistant.memory.forgetting.receipts import Forgotten
from assistant.memory.forgetting.selection import Selection
from assistant.memory.records.hidden import HiddenItems, Veil
from assistant.memory.records.ids import ADDED_BY_USER, resolve_id
from assistant.memory.records.memory import Memory
from assistant.memory.records.memory import said as said_at
from assistant.memory.records.validation import validated_text
from assistant.memory.retrieval.results import RecalledMemory
from assistant.memory.store.maintenance import in_order
from assistant.memory.store.table import MemoryTable
from assistant.memory.transcript import fact_rows
from assistant.memory.transcript.database import Transcript
from assistant.memory.user_memory import UserMemory

FOUND = 20
"""Memories like a topic that are looked at; those that have its words are found anyway."""
LEAST_NAME = 4
"""Characters of the id of something that is being forgotten."""
NOTHING_LEFT = "There is nothing left to bring back."
PENDING = "assistant memory pending"


@dataclass(frozen=True, slots=True)
class ForgetRequest:
    """What somebody wants forgotten: one of these.

    `ids` name memories; `sources` takes the exchanges too that derived ones rest on. `about` is a
    topic, `minutes` a span up to now, `last` the last exchange.
    """

    ids: tuple[str, ...] = ()
    sources: bool = False
    about: str | None = None
    minutes: float | None = None
    last: bool = False
    everything: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """What a wish comes to. Nothing is changed by it.

    `exchanges` and `memories` are ids: what is to be hidden and purged. `going` are the memories
    that are gone by that, newest first; `changing` stay, without what they have of it; `said` are
    the exchanges that go, as far as they are known, newest first. `staying` are exchanges that a
    memory rested on and that stay. `things` is how many things the user would say that they are.
    `by_words_alone` says that what is like the topic, and has none of its words, could not be
    looked for.
    """

    exchanges: tuple[str, ...]
    memories: tuple[str, ...]
    going: tuple[Memory, ...]
    changing: tuple[Memory, ...]
    said: tuple[Exchange, ...]
    staying: tuple[str, ...]
    things: int
    by_words_alone: bool = False

    @property
    def seen(self) -> str:
        """The same as long as the same would go."""
        ids = (*self.exchanges, "", *sorted(each.id for each in self.going))
        return hashlib.sha256(" ".join(ids).encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class _Chosen:
    exchanges: Collection[str]
    memories: Collection[str]
    things: int


class DeskForgetting:
    """One user's; as a desk: every call blocks, and may raise StoreError.

    Args:
        ready: brings up the user's long-term memory; may raise ModelError.
        settle: waits until all that is remembered is in the table.
    """

    def __init__(
        self,
        user_id: str,
        table: MemoryTable,
        open_transcript: Callable[[], Transcript],
        ready: Callable[[], UserMemory],
        hiding: Hiding,
        lexicon: TextAnalyzer,
        settle: Callable[[], None],
    ) -> None:
        self.hiding = hiding
        self._user_id = user_id
        self._table = table
        self._open_transcript = open_transcript
        self._ready = ready
        self._lexicon = lexicon
        self._settle = settle

    def plan(self, wish: ForgetRequest) -> Plan:
        """
        Raises:
            SettingsError: the wish is not as it must be.
            StoreError: there is nothing that it means; or as all others.
        """
        recalled, by_words_alone = self._like(wish.about) if wish.about is not None else ((), False)
        self._settle()
        everything = {each.id: each for each in in_order(self._table, self._user_id)}
        veil = Veil(self.pending())
        visible = {k: each for k, each in everything.items() if not veil.covers(k, each.sources)}
        here = {each.id: each for each in self.hiding.here()}
        if wish.ids:
            chosen = _named(wish, visible)
        else:
            found = self._meant(wish, visible, here, recalled)
            chosen = _Chosen(found.exchanges, found.memories, found.count)
        plan = self._planned(chosen, everything, veil, here)
        return replace(plan, by_words_alone=by_words_alone)

    def hide(self, plan: Plan) -> HiddenItems:
        """Out of sight at once, and gone for good when the grace time is over."""
        return self.hiding.hide(plan.exchanges, plan.memories)

    def remove(self, plan: Plan) -> Forgotten:
        """Gone for good when it returns, and looked for."""
        receipt = self.hiding.remove(plan.exchanges, plan.memories)
        ids = tuple(each.id for each in plan.going)
        return Forgotten(ids, plan.exchanges, plan.staying, receipt)

    def pending(self) -> Sequence[HiddenItems]:
        """What is hidden and not gone yet, oldest first."""
        return self.hiding.pending()

    def undo(self, named: str | None = None) -> HiddenItems:
        """Bring back what was forgotten last, or is named by the beginning of its id.

        Raises:
            StoreError: there is nothing, or it is over.
        """
        now = self.hiding.now()
        left = [each for each in self.pending() if not each.over(now)]
        if named is not None:
            left = [each for each in left if each.id.startswith(named) and len(named) >= LEAST_NAME]
            if len(left) > 1:
                raise StoreError(f"{named[:40]!r} may mean {len(left)} of them.", mend=PENDING)
        back = self.hiding.undo(left[-1].id) if left else None
        if back is None:
            what = NOTHING_LEFT if named is None else f"{named[:40]!r} can't be brought back."
            raise StoreError(what, mend=PENDING)
        return back

    # -- inside ---------------------------------------------------------------------------------

    def _meant(
        self,
        wish: ForgetRequest,
        visible: Mapping[str, Memory],
        here: Mapping[str, Exchange],
        recalled: Iterable[RecalledMemory],
    ) -> Selection:
        if wish.everything:
            kept = self._open_transcript().exchange_ids(self._user_id)
            found = selection.everything(sorted(kept | set(here)), visible, self._lexicon)
            nothing = "There is nothing to forget."
        elif wish.about is not None:
            said = self._said(here)
            found = selection.about(wish.about, visible, said, recalled, self._lexicon)
            nothing = "Nothing is known about that."  # the topic is not for the log
        elif wish.minutes is not None:
            said = self._said(here)
            found = selection.since(said, self.hiding.now(), wish.minutes, visible, self._lexicon)
            nothing = "Nothing was said or written down in that time."
        else:
            last = sorted(self._said(here), key=lambda each: each.started)[-1:]
            found = selection.all_of(last, visible, self._lexicon)
            nothing = "Nothing has been said yet."
        if found is None:
            raise StoreError(nothing, mend="assistant memory list")
        return found

    def _like(self, topic: str) -> tuple[Iterable[RecalledMemory], bool]:
        """What is like a topic, and whether that could not be told."""
        if not stems(validated_text(topic), self._lexicon):
            raise SettingsError(
                f"{topic[:60]!r} names nothing that could be looked for.",
                mend='assistant memory forget --about "my dog"',
            )
        try:
            found = self._ready().find(topic, FOUND)
        except ModelError:
            return (), True
        return found.memories, found.missed

    def _planned(
        self,
        chosen: _Chosen,
        everything: Mapping[str, Memory],
        veil: Veil,
        here: Mapping[str, Exchange],
    ) -> Plan:
        """What is hidden already goes and changes unseen."""
        going = set(chosen.exchanges)
        named = named_memories(everything, chosen.memories, going)
        removed = removal(everything, named, going, self._told, self._facts_of)
        gone = [everything[key] for key in removed.ids]
        sources = {source for memory in named for source in memory.sources} - {ADDED_BY_USER}
        said = {key: each for key, each in here.items() if key in going}
        said |= {key: each for key, (_, each) in self._told(going).items()}
        return Plan(
            tuple(sorted(going)),
            tuple(sorted(chosen.memories)),
            tuple(sorted(_seen(gone, veil), key=said_at, reverse=True)),
            tuple(_seen(removed.changed, veil)),
            tuple(sorted(said.values(), key=lambda each: each.started, reverse=True)),
            tuple(sorted(sources - going)),
            chosen.things,
        )

    def _said(self, here: Mapping[str, Exchange]) -> list[Exchange]:
        ids = self._open_transcript().exchange_ids(self._user_id)
        kept = {key: each for key, (_, each) in self._told(ids).items()}
        return list({**kept, **here}.values())

    def _facts_of(self, exchanges: Collection[str]) -> Derived:
        transcript = self._open_transcript()
        return fact_rows.read(transcript, self._user_id, exchanges) if exchanges else {}

    def _told(self, exchanges: Collection[str]) -> ExchangesById:
        if not exchanges:
            return {}
        found = self._open_transcript().exchanges(self._user_id, set(exchanges))
        return {exchange.id: (conversation, exchange) for conversation, exchange in found}


def _seen(memories: Iterable[Memory], veil: Veil) -> list[Memory]:
    return [each for each in memories if not veil.covers(each.id, each.sources)]


def _named(wish: ForgetRequest, visible: Mapping[str, Memory]) -> _Chosen:
    keys = [key for named in wish.ids for key in resolve_id(visible, named, exchange=True)]
    memories = [visible[key] for key in dict.fromkeys(keys)]
    sources = {source for memory in memories for source in memory.sources} - {ADDED_BY_USER}
    exchanges = sources if wish.sources else exchanges_of_turns(memories)
    return _Chosen(exchanges, [memory.id for memory in memories], len(memories))
