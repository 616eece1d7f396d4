"""Stores what the user asks the assistant to remember, and the user's corrections. Both can be
undone.

Statements that the user asks the assistant to remember never expire, and no model's proposal
changes them. A correction supersedes what it corrects, but deletes nothing.
"""

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from assistant.events import MemoryUsed
from assistant.language.dialogue_acts import is_question
from assistant.language.sentences import as_sentence
from assistant.language.speakers import ASSISTANT, USER
from assistant.language.stemming import TextAnalyzer
from assistant.memory.curation.conflicts import supersedes
from assistant.memory.curation.correction_statements import stands_alone
from assistant.memory.curation.correction_values import Corrected, is_made_of, may_be_value
from assistant.memory.curation.corrections import Correction, correction_of, possible, withdraws
from assistant.memory.curation.materialize import TOLD, memories_of_words
from assistant.memory.curation.reconcile import superseded
from assistant.memory.forgetting import spoken_replies
from assistant.memory.forgetting.answer_origins import AnsweredTurn, Things
from assistant.memory.forgetting.answered_turns import AnsweredTurns
from assistant.memory.forgetting.executor import ForgettingExecutor
from assistant.memory.forgetting.resolver import Resolver
from assistant.memory.records.ids import ADDED_BY_USER
from assistant.memory.records.memory import Memory, MemoryKind
from assistant.memory.records.validation import validated_text
from assistant.memory.user_memory import UserMemory

NEAR = 20
"""Number of similar memories that are checked for contradictions with a correction."""
_NOW = datetime.min.replace(tzinfo=UTC)
"""The time given to both statements in a comparison, so that their real times don't count."""


@dataclass(frozen=True, slots=True)
class StoredStatement:
    """What a command stored.

    `memories` are the ids of the memories that now contain the statement. `new` are the ids of
    those that did not exist before. `before` are the existing memories that the command changed, in
    their earlier state.
    """

    memories: tuple[str, ...]
    new: tuple[str, ...] = ()
    before: tuple[Memory, ...] = ()


class UserStatements:
    """One user's own statements, in a running session. Use it only on the event loop; the stores
    are written on threads.

    Every method may raise StoreError. In that case nothing was changed, unless stated otherwise.

    Args:
        turns: notified of what was stored, so that "that" can refer to it.
    """

    def __init__(
        self,
        memory: UserMemory,
        forgetting: ForgettingExecutor,
        resolver: Resolver,
        lexicon: TextAnalyzer,
        turns: AnsweredTurns,
    ) -> None:
        self._memory = memory
        self._forgetting = forgetting
        self._resolver = resolver
        self._lexicon = lexicon
        self._turns = turns

    # -- remembering ----------------------------------------------------------------------------

    async def remember(self, words: str, *, for_good: bool = False) -> StoredStatement:
        """Store a sentence that the user asked the assistant to remember. If it is stored already,
        it counts as said again.

        Args:
            for_good: whether every prompt is to contain the sentence.

        Raises:
            SettingsError: the words can't be stored.
        """
        return await self._stored(self._remember, validated_text(words), for_good)

    async def keep(self, statements: Things, *, for_good: bool = False) -> StoredStatement:
        """Keep these statements as if the user had asked the assistant to remember them."""
        memories = [key for ids in statements for key in ids]
        stored = await asyncio.to_thread(self._keep, memories, for_good)
        self._turns.spoke_of(statements)
        return stored

    async def text_of(self, memories: Collection[str]) -> str:
        """Return the text of the first of these memories that exists; empty if none does."""
        found = await asyncio.to_thread(self._memory.index.outlines, (), memories)
        return next((found[key].text for key in memories if key in found), "")

    async def named(self) -> list[list[Memory]]:
        """Return the user's statements that the assistant has just named. Statements that say the
        same thing are in one list."""
        return await asyncio.to_thread(self._named, self._turns.named)

    async def said_in(self, exchange: str) -> list[Memory]:
        """Return a list with the memory of the user's words in an exchange; empty if there is
        none."""
        found = await asyncio.to_thread(self._memory.index.outlines, {exchange})
        return [
            each
            for each in found.values()
            if each.kind is MemoryKind.EXCHANGE
            and each.speaker == USER
            and exchange in each.sources
        ]

    # -- correcting -----------------------------------------------------------------------------

    async def meant(self, turns: Sequence[AnsweredTurn]) -> list[list[Memory]]:
        """Return what a correction may refer to: what the assistant has just named, what the user
        said last, or what the last answer was based on. Memories that say the same thing are in one
        list.

        Args:
            turns: the exchanges of the running conversation, oldest first.
        """
        return await asyncio.to_thread(self._meant, turns, self._turns.named)

    async def corrections(self, words: str, turns: Sequence[AnsweredTurn]) -> list[Correction]:
        """Return the corrections that `words` may mean according to the rules. If there are
        several, it is unclear which statement is wrong."""
        meant = await self.meant(turns)
        whole = stands_alone(words)
        other = await asyncio.to_thread(self._contradicted, words) if whole else []
        return possible(words, meant, other, self._lexicon)

    def may_be_value(self, old: str, words: str) -> bool:
        """Whether a correction may contain a new value for an old text, and not just a remark."""
        return may_be_value(old, words, self._lexicon)

    def rewritten(self, text: str, old: Sequence[Memory], words: str) -> Correction | None:
        """Return an uncertain correction with a text that a model wrote. Return None unless the
        text consists of the old text with the new value in it (see `is_made_of`)."""
        if not is_made_of(text, old[0].text, words):
            return None
        made = Corrected(as_sentence(text), certain=False)
        return correction_of(made, [old], self._lexicon)

    async def correct(
        self, correction: Correction, turns: Sequence[AnsweredTurn] = ()
    ) -> StoredStatement | None:
        """Store a corrected statement. It supersedes the old statements, the memories derived from
        them, and any of the assistant's answers in the last turns that repeat them.

        Return None if any of the old statements has been forgotten in the meantime. The new
        statement is then not stored, because it contains words of the forgotten ones.

        Args:
            turns: the last turns, whose answers may repeat the old statement.

        Raises:
            SettingsError: the text can't be stored.
        """
        wanted = [each.id for each in correction.old]
        if not await asyncio.to_thread(self._all_there, wanted):
            return None
        exchanges = [turn.exchange.id for turn in turns]
        stored = await self._stored(self._correct, correction, exchanges)
        if await asyncio.to_thread(self._all_there, wanted):
            return stored
        await self.take_back(stored)  # forgotten while this was stored, e.g. on the screen
        return None

    # -- undoing --------------------------------------------------------------------------------

    async def take_back(self, stored: StoredStatement) -> bool:
        """Undo what `remember`, `keep` or `correct` did. New memories are hidden immediately and
        purged as soon as nobody speaks; the other memories are restored. If any of the stored
        memories has been forgotten in the meantime, return False and change nothing.

        Raises:
            StoreError: undoing is incomplete. The new memories may be hidden in this session only,
                or the others may not be restored until the new ones are purged.
        """
        if not await asyncio.to_thread(self._all_there, stored.new or stored.memories):
            return False
        try:
            if stored.new:
                await self._forgetting.hide((), stored.new, for_good=True)
        finally:
            await asyncio.to_thread(self._restore, stored)
        self._turns.spoke_of([stored.memories])
        return True

    # -- wishes ---------------------------------------------------------------------------------

    def profile(self) -> Sequence[MemoryUsed]:
        """Return the notes that are in every prompt: names first, then the others, newest first."""
        return self._memory.profile()

    async def saying(self, text: str) -> list[str]:
        """Return the ids of all memories with exactly this text, superseded ones too."""
        found = await asyncio.to_thread(self._memory.index.outlines)
        return [each.id for each in found.values() if each.text == text]

    # -- inside; blocking -----------------------------------------------------------------------

    async def _stored(
        self, store: Callable[..., StoredStatement], *arguments: object
    ) -> StoredStatement:
        stored = await asyncio.to_thread(store, *arguments)
        self._turns.spoke_of([stored.memories])
        return stored

    def _remember(self, words: str, for_good: bool) -> StoredStatement:
        self._memory.written()  # what was said just now may not be in the table yet
        made = memories_of_words(
            self._memory.user_id, words, self._forgetting.now(), pinned=for_good
        )
        old = self._with_texts({each.text.casefold() for each in made})
        known = self._memory.put(made, told=True)
        own = {each.id for each in made}
        new = tuple(each for each in known if each in own)
        ended = [key for each in self._rows(new) for key in each.supersedes]
        before = [old[each] for each in known if each in old]
        before += [replace(each, superseded_by=None) for each in self._rows(ended)]
        return StoredStatement(tuple(known), new, tuple(before))

    def _keep(self, memories: Collection[str], for_good: bool) -> StoredStatement:
        self._memory.written()
        before = self._rows(memories)

        def kept(old: Memory) -> Memory:
            return replace(old, importance=TOLD, pinned=old.pinned or for_good)

        changed = self._memory.change([each.id for each in before], kept)
        return StoredStatement(tuple(each.id for each in changed), before=tuple(before))

    def _correct(self, correction: Correction, exchanges: Collection[str]) -> StoredStatement:
        self._memory.written()  # what was said just now may not be in the table yet
        text = validated_text(correction.corrected.text)
        old = self._rows([each.id for each in correction.old])
        ended = [*old, *self._rows(self._repeating(old, exchanges, text))]
        made = memories_of_words(
            self._memory.user_id,
            text,
            self._forgetting.now(),
            pinned=any(each.pinned for each in old),
        )
        self._memory.put([*superseded(made[0], ended), *made[1:]])
        new = tuple(each.id for each in made)
        return StoredStatement(new, new, tuple(ended))

    def _repeating(self, old: Sequence[Memory], exchanges: Collection[str], text: str) -> list[str]:
        """Return the ids of other memories that repeat what the text corrects.

        These are memories that share a source with an old one and are withdrawn by the text as well
        (see `withdraws`). The assistant's answers are included if they contain all the words that
        the text removes from one of the old texts.
        """
        kept = self._lexicon.content_and_numbers(f"{text} {USER} {ASSISTANT}")
        removed = [self._lexicon.content_and_numbers(each.text) - kept for each in old]
        sources = {source for each in old for source in each.sources} - {ADDED_BY_USER}
        found = self._memory.index.outlines(sources | set(exchanges))
        known = {each.id for each in old}

        def repeats(each: Memory) -> bool:
            if each.speaker == ASSISTANT:
                return _has_any(self._lexicon.content_and_numbers(each.text), removed)
            return any(
                sources & {*one.sources} & {*each.sources}
                and withdraws(text, one.text, each.text, self._lexicon)
                for one in old
            )

        return [
            each.id
            for each in found.values()
            if each.id not in known
            and each.superseded_by is None
            and each.kind is not MemoryKind.SUMMARY
            and repeats(each)
        ]

    def _restore(self, stored: StoredStatement) -> None:
        before = {each.id: each for each in reversed(stored.before)}
        if before:  # all at once, so that an error can't leave only some of them restored
            self._memory.change(list(before), lambda now: _as_before(now, before[now.id]))

    def _meant(self, turns: Sequence[AnsweredTurn], named: Things) -> list[list[Memory]]:
        found = self._named(named) if named else [self._resolver.told(turns)]
        return _groups([memory for each in found for memory in each], self._lexicon)

    def _named(self, things: Things) -> list[list[Memory]]:
        """Return the user's statements among these things, except corrected ones. Return none if
        there are so many things that the reply only gave their number."""
        few = len(things) <= spoken_replies.NAMED
        found = [
            [each.memory for each in thing if each.memory is not None and _counts(each.memory)]
            for thing in (self._resolver.named(things) if few else ())
        ]
        return [each for each in found if each]

    def _contradicted(self, statement: str) -> list[list[Memory]]:
        like = {each.id for each in self._memory.find(statement, NEAR).memories}
        found = self._memory.index.outlines((), like)
        new = Memory("", self._memory.user_id, MemoryKind.FACT, f"No, {statement}", _NOW)
        return _groups(
            [
                each
                for each in found.values()
                if each.id in like
                and each.speaker == USER
                and each.superseded_by is None
                and supersedes(new, replace(each, created=_NOW, refreshed=None), self._lexicon)
            ],
            self._lexicon,
        )

    def _with_texts(self, texts: Collection[str]) -> dict[str, Memory]:
        """Return all memories with these texts, by id."""
        found = self._memory.index.outlines().values()
        ids = [each.id for each in found if each.text.strip().casefold() in texts]
        return {each.id: each for each in self._rows(ids)}

    def _all_there(self, ids: Collection[str]) -> bool:
        """Whether all of these memories exist and are not hidden."""
        return self._memory.index.outlines((), ids).keys() >= set(ids)

    def _rows(self, ids: Collection[str]) -> list[Memory]:
        return self._memory.table.get(self._memory.user_id, list(ids)) if ids else []


def _counts(memory: Memory) -> bool:
    """Whether a memory is a statement by the user that was not corrected."""
    return (
        memory.speaker == USER
        and memory.kind is not MemoryKind.SUMMARY
        and memory.superseded_by is None
        and not is_question(memory.text)
    )


def _has_any(words: set[str], some: Sequence[set[str]]) -> bool:
    """Whether at least one non-empty set in `some` is a subset of `words`."""
    return any(each and each <= words for each in some)


def _as_before(now: Memory, before: Memory) -> Memory:
    """Return a memory without the changes that a command made to it. Its sources stay as they are
    now, except that `ADDED_BY_USER` is removed if the command added it."""
    told = ADDED_BY_USER in before.sources
    return replace(
        now,
        sources=tuple(each for each in now.sources if told or each != ADDED_BY_USER),
        importance=before.importance,
        confidence=before.confidence,
        pinned=before.pinned,
        refreshed=before.refreshed,
        supersedes=before.supersedes,
        superseded_by=before.superseded_by,
    )


def _groups(memories: Sequence[Memory], lexicon: TextAnalyzer) -> list[list[Memory]]:
    """Group memories that come from the same exchange or say the same thing. In each group,
    statements that the user asked the assistant to remember come first."""
    groups: list[list[Memory]] = []
    for memory in memories:
        same = [group for group in groups if any(_same(memory, each, lexicon) for each in group)]
        joined = [*(each for group in same for each in group), memory]
        at = groups.index(same[0]) if same else len(groups)
        groups = [group for group in groups if group not in same]
        groups.insert(at, joined)
    return [sorted(group, key=_order) for group in groups]


def _same(one: Memory, two: Memory, lexicon: TextAnalyzer) -> bool:
    own = set(one.sources) - {ADDED_BY_USER}
    if not own.isdisjoint(two.sources):
        return True
    return lexicon.content_and_numbers(one.text) == lexicon.content_and_numbers(two.text)


def _order(memory: Memory) -> int:
    own = ADDED_BY_USER in memory.sources
    return 0 if own else 1 if memory.kind is MemoryKind.EXCHANGE else 2
