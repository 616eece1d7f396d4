"""Determines what a request to forget means, and what it would delete or change."""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from assistant.context import Exchange
from assistant.errors import ModelError, SettingsError, StoreError
from assistant.language.calendar import Period
from assistant.language.stemming import TextAnalyzer
from assistant.memory.forgetting import last_turn, selection, spoken_replies
from assistant.memory.forgetting.answer_origins import (
    AnsweredTurn,
    Everything,
    Things,
    ToldItem,
    existing,
)
from assistant.memory.forgetting.attribution import stems
from assistant.memory.forgetting.cascade import cascade
from assistant.memory.forgetting.explanation import AnswerExplainer
from assistant.memory.forgetting.memory_access import MemoryAccess
from assistant.memory.forgetting.selection import ForgetPlan
from assistant.memory.records.hidden import HiddenSet
from assistant.memory.records.ids import resolve_id
from assistant.memory.records.memory import Memory, said
from assistant.memory.records.validation import validated_text
from assistant.memory.retrieval.results import Recalled
from assistant.memory.transcript.database import Transcript


@dataclass(frozen=True, slots=True)
class ForgetRequest:
    """A request to forget. Exactly one field is set, except that `sources` is used together with
    `ids`, and `named` with `that`.

    `that` selects the things `named` by the assistant since the last turn. If there are none, it
    selects the user's last statement or, after a question, the sources of the answer. `last`
    selects the last exchange, and `conversation` all exchanges of the running conversation. `ids`
    selects memories; with `sources`, the exchanges that derived memories are based on are selected,
    too. `about` is a topic, and `period` a stretch of time.
    """

    that: bool = False
    conversation: bool = False
    last: bool = False
    everything: bool = False
    about: str | None = None
    period: Period | None = None
    ids: tuple[str, ...] = ()
    sources: bool = False
    named: Things = ()


@dataclass(frozen=True, slots=True)
class ForgetPreview:
    """The effects that a plan would have. Nothing is changed yet.

    `deleted` are the memories that would be deleted, newest first. `changed` are the new versions
    of memories that would remain but lose some of their contents. `exchanges` are the exchanges
    that would be deleted, newest first, except those whose text is no longer available. `staying`
    are ids of exchanges that would remain although a deleted memory was based on them.
    """

    plan: ForgetPlan
    deleted: tuple[Memory, ...]
    changed: tuple[Memory, ...]
    exchanges: tuple[Exchange, ...]
    staying: tuple[str, ...]

    @property
    def fingerprint(self) -> str:
        """A digest of the items to delete. It shows whether the selection has changed."""
        ids = (*sorted(self.plan.exchanges), "", *sorted(each.id for each in self.deleted))
        return hashlib.sha256(" ".join(ids).encode()).hexdigest()[:16]


class NothingMeant(StoreError):
    """Nothing matches the request. The message doesn't contain the user's words."""


class Resolver:
    """Determines what one user's requests to forget mean.

    Every method blocks, and raises StoreError if something can't be read.
    """

    def __init__(
        self,
        transcript: Transcript,
        memories: MemoryAccess,
        lexicon: TextAnalyzer,
    ) -> None:
        self._user = memories.user
        self._transcript = transcript
        self._memories = memories
        self._lexicon = lexicon
        self.explaining = AnswerExplainer(transcript, memories, lexicon)
        """Explains answers. It attributes them in the same way as "forget that"."""

    def resolve(self, request: ForgetRequest, live: Sequence[AnsweredTurn] = ()) -> ForgetPlan:
        """Return the plan for a request.

        Memories are read from RAM if they are loaded.

        Args:
            live: the exchanges of the running conversation, with the memories in their prompts.
                They need not be stored yet.

        Raises:
            NothingMeant: nothing matches the request.
            SettingsError: the request is malformed.
        """
        if (request.that and not request.named) or request.conversation:
            return self._plan(request, self._around(live), live)
        return self._plan(request, self._memories.outlines(), live)

    def preview(self, request: ForgetRequest, live: Sequence[AnsweredTurn] = ()) -> ForgetPreview:
        """Return the plan for a request, and the effects that it would have on the table.

        Args:
            live: as for `resolve`.

        Raises:
            NothingMeant: nothing matches the request.
            SettingsError: the request is malformed.
        """
        similar = self._similar(request.about) if request.about is not None else None
        everything = {each.id: each for each in self._memories.rows()}
        everything |= self._memories.state()
        hidden = HiddenSet(self._transcript.hidden(self._user))
        visible = {k: each for k, each in everything.items() if not hidden.covers(k, each.sources)}
        plan = self._plan(request, visible, live, similar)
        going = set(plan.exchanges)
        removed = cascade(self._transcript, self._user, everything, plan.memories, going)
        deleted = [visible[key] for key in removed.ids if key in visible]
        exchanges = self._said([turn for turn in live if turn.exchange.id in going], going)
        return ForgetPreview(
            plan,
            tuple(sorted(deleted, key=said, reverse=True)),
            tuple(each for each in removed.changed if not hidden.covers(each.id, each.sources)),
            tuple(sorted(exchanges, key=lambda each: each.started, reverse=True)),
            removed.staying,
        )

    def about(self, topic: str) -> list[Memory]:
        """Return the memories about a topic, newest first."""
        similar = self._memories.find(topic).memories
        outlines = self._memories.outlines()
        return selection.memories_about(topic, outlines, similar, self._lexicon)

    def told(self, live: Sequence[AnsweredTurn]) -> list[Memory]:
        """Return the user's statement in the last turn. If that turn was a question, return the
        statements that its answer was based on or should have been based on, likeliest first.

        Args:
            live: as for `resolve`.
        """
        closed = [turn for turn in live if not turn.exchange.open]
        return last_turn.told(closed, self._around(closed), self._lexicon)

    def named(self, things: Things, live: Sequence[AnsweredTurn] = ()) -> list[list[ToldItem]]:
        """Return the things named by the assistant that still exist, each as a list of its
        memories or exchanges.

        Args:
            live: as for `resolve`.
        """
        ids = {key for each in things for key in each}
        closed = [turn for turn in live if not turn.exchange.open]
        outlines = self._memories.outlines(ids, ids) if ids else {}
        return existing(things, closed, outlines)

    def newest(self) -> list[Memory]:
        """Return all memories, newest first."""
        outlines = self._memories.outlines()
        return sorted(outlines.values(), key=lambda each: each.created, reverse=True)

    # -- inside ---------------------------------------------------------------------------------

    def _plan(
        self,
        request: ForgetRequest,
        visible: Mapping[str, Memory],
        live: Sequence[AnsweredTurn],
        similar: Recalled | None = None,
    ) -> ForgetPlan:
        live = [turn for turn in live if not turn.exchange.open]
        exchanges = [turn.exchange for turn in live]
        nothing = spoken_replies.NOTHING
        if request.named:
            plan = last_turn.named(request.named, live, visible, self._lexicon)
        elif request.that:
            plan = last_turn.that(live, visible, self._lexicon)
        elif request.conversation:
            plan = selection.all_of(exchanges, visible)
        elif request.ids:
            keys = [k for name in request.ids for k in resolve_id(visible, name, exchange=True)]
            named = [visible[key] for key in dict.fromkeys(keys)]
            plan = selection.named(named, visible, sources=request.sources)
        elif request.everything:
            kept = self._transcript.exchange_ids(self._user) | {each.id for each in exchanges}
            plan = selection.everything(sorted(kept), visible)
        elif request.about is not None:
            like = similar if similar is not None else self._similar(request.about)
            every = self._said(live)
            plan = selection.about(request.about, visible, every, like.memories, self._lexicon)
            plan = replace(plan, by_words_alone=like.missed) if plan is not None else None
            nothing = spoken_replies.NOTHING_ABOUT
        elif request.last:
            newest = sorted(self._said(live), key=lambda each: each.started)[-1:]
            plan = selection.all_of(newest, visible)
            nothing = spoken_replies.NOTHING_SAID
        elif request.period is not None:
            plan = selection.within(request.period, self._said(live), visible)
            nothing = spoken_replies.NOTHING_THEN
        else:
            raise SettingsError("The request names nothing to forget.")
        if plan is None:
            raise NothingMeant(nothing, mend="assistant memory list")
        return plan

    def _around(self, live: Sequence[AnsweredTurn]) -> Everything:
        try:
            return self._memories.around(live)
        except StoreError:  # not loaded; a purge deletes memories with their exchange anyway
            return {}

    def _similar(self, topic: str) -> Recalled:
        if not stems(validated_text(topic), self._lexicon):
            raise SettingsError(
                f"{topic[:60]!r} contains nothing to search for.",
                mend='assistant memory forget --about "my dog"',
            )
        try:
            return self._memories.find(topic)
        except ModelError:
            return Recalled(missed=True)

    def _said(
        self, live: Sequence[AnsweredTurn], ids: Collection[str] | None = None
    ) -> list[Exchange]:
        """Return the running conversation's exchanges, and the stored exchanges with these ids.

        If `ids` is None, all exchanges in the transcript that aren't hidden are returned.
        """
        wanted = self._transcript.exchange_ids(self._user) if ids is None else ids
        kept = {each.id: each for _, each in self._transcript.exchanges(self._user, wanted)}
        return list(({turn.exchange.id: turn.exchange for turn in live} | kept).values())
