"""Selects the exchanges and memories that a request to forget refers to.

All functions are pure. The module `last_turn` finds out what "that" refers to.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from operator import attrgetter

from assistant.context import Exchange
from assistant.language.calendar import Period
from assistant.language.dialogue_acts import is_question
from assistant.language.normalisation import content_words
from assistant.language.speakers import USER
from assistant.language.stemming import TextAnalyzer
from assistant.memory.forgetting.answer_origins import (
    Everything,
    ToldItem,
    echoes,
    sources_of,
    thing_of,
)
from assistant.memory.forgetting.attribution import distinct, may_have, stems
from assistant.memory.records.ids import ADDED_BY_USER, own_exchange
from assistant.memory.records.memory import Memory, MemoryKind
from assistant.memory.retrieval.results import RecalledMemory

_LONG_AGO = datetime.min.replace(tzinfo=UTC)
LIKE = 0.6
"""Minimum cosine at which a memory without a topic's words still counts as being about the topic.

The vector of a topic of one or two words is similar to many others. The value was chosen with 25
topics and the 1,467 sentences of the evaluation set. MiniLM encoded the topics as it encodes
questions. A threshold of 0.45 added twenty memories to those that contain the words, 0.5 added
seven, and 0.6 added one. Some of those added by thresholds up to 0.55 were wrong; the one added by
0.6 was right.
"""


@dataclass(frozen=True, slots=True)
class ForgetPlan:
    """The exchanges and memories that a request to forget selects.

    `exchanges` are ids in the transcript, newest first. `memories` are ids of memories based only
    on these exchanges, and of requested memories that are deleted without their exchanges. `items`
    are the things to forget as the user would count them, newest first and without repetitions.
    `count` is their number. If `everything` is set, `items` contains only the newest one.
    `by_words_alone` means that memories were found only by the topic's words, because a search by
    meaning was not possible. If several things could be meant, `alternatives` has a plan for each,
    and the plan itself covers all of them.
    """

    exchanges: tuple[str, ...]
    memories: tuple[str, ...]
    items: tuple[ToldItem, ...]
    count: int
    everything: bool = False
    by_words_alone: bool = False
    alternatives: "tuple[ForgetPlan, ...]" = ()

    @property
    def needs_confirmation(self) -> bool:
        """Whether the user must confirm before the plan is carried out."""
        return self.everything or self.count > 1 or bool(self.alternatives)


# -- spans, topics, all -------------------------------------------------------------------------


def within(
    period: Period, exchanges: Iterable[Exchange], everything: Everything
) -> ForgetPlan | None:
    """Return the plan for everything said or written in a period; None if there is nothing."""
    chosen = [
        each
        for each in exchanges
        if each.started <= period.until and (each.ended or period.until) >= period.since
    ]
    by_hand = [
        memory
        for memory in everything.values()
        if ADDED_BY_USER in memory.sources and period.since <= memory.created <= period.until
    ]
    return all_of(chosen, everything, by_hand)


def all_of(
    exchanges: Iterable[Exchange],
    everything: Everything,
    memories: Iterable[Memory] = (),
) -> ForgetPlan | None:
    """Return the plan for all of these exchanges and memories, e.g. those of a conversation."""
    chosen, others = list(exchanges), list(memories)
    things = [
        ToldItem(each.user_text or each.assistant_text, USER, each.started) for each in chosen
    ]
    things += map(thing_of, others)
    keys, ids = {each.id for each in chosen}, {each.id for each in others}
    return planned(keys, ids, things, everything, chosen) if things else None


def about(
    topic: str,
    everything: Everything,
    exchanges: Iterable[Exchange],
    recalled: Iterable[RecalledMemory],
    lexicon: TextAnalyzer,
) -> ForgetPlan | None:
    """Return the plan for everything about a topic; None if nothing matches.

    A text is about the topic if it contains all of the topic's words, in any inflection, or if its
    meaning is very similar. Also returns None if the topic has no content words ("him").

    Args:
        exchanges: all exchanges of the transcript.
        recalled: the results of a search for the topic that had no deadline.
    """
    wanted = stems(topic, lexicon)
    if not wanted:
        return None
    chosen = memories_about(topic, everything, recalled, lexicon)
    also = _versions([each.id for each in chosen], everything) - {each.id for each in chosen}
    chosen += [everything[key] for key in also if everything[key].speaker == USER]
    known = list(exchanges)
    keys = {
        each.id
        for each in known
        if _has(f"{each.user_text}\n{each.assistant_text}", wanted, lexicon)
    }
    for memory in chosen:
        keys |= sources_of(memory, wanted, everything, lexicon)
    said = [each for each in known if each.id in keys]
    things = _items(said, chosen, keys)
    texts = [thing.text for thing in things if not is_question(thing.text)]
    named = {stem for text in texts for stem in distinct(text, lexicon)}
    others = ((e.id, e.user_text, e.assistant_text) for e in known if e.id not in keys)
    keys |= echoes(others, texts, named, lexicon)
    ids = {memory.id for memory in chosen}
    return planned(keys, ids, things, everything, known)


def memories_about(
    topic: str, everything: Everything, recalled: Iterable[RecalledMemory], lexicon: TextAnalyzer
) -> list[Memory]:
    """Return the memories about a topic, newest first."""
    wanted = stems(topic, lexicon)
    like = {each.id for each in recalled if each.parts.get("meaning", 0.0) >= LIKE}
    found = [
        memory
        for memory in everything.values()
        if wanted and (memory.id in like or _has(memory.text, wanted, lexicon))
    ]
    return sorted(found, key=attrgetter("told"), reverse=True)


def _has(text: str, wanted: set[str], lexicon: TextAnalyzer) -> bool:
    return may_have(text, wanted, lexicon, every=True) and wanted <= stems(text, lexicon)


def everything(exchanges: Iterable[str], memories: Everything) -> ForgetPlan | None:
    """Return the plan for everything; None if there is nothing to forget.

    Args:
        exchanges: ids of all exchanges in the transcript.
    """
    keys = tuple(exchanges)
    if not keys and not memories:
        return None
    newest = max(memories.values(), key=attrgetter("told"), default=None)
    items = (thing_of(newest),) if newest is not None else ()
    count = counted(keys, memories.values())
    return ForgetPlan(keys, tuple(memories), items, count, everything=True)


def named(
    memories: Sequence[Memory], everything: Everything, *, sources: bool = False
) -> ForgetPlan | None:
    """Return the plan for these memories. A verbatim memory is deleted with its whole exchange.

    Args:
        sources: whether to include the exchanges on which derived memories are based.
    """
    rests_on = memories if sources else [m for m in memories if m.kind is MemoryKind.EXCHANGE]
    keys = {source for memory in rests_on for source in memory.sources} - {ADDED_BY_USER}
    ids = {memory.id for memory in memories}
    plan = planned(keys, ids, [*map(thing_of, memories)], everything, ())
    if plan is None:
        return None
    gone = [everything[key] for key in plan.memories]
    return replace(plan, count=counted(plan.exchanges, gone))


def counted(exchanges: Collection[str], memories: Iterable[Memory]) -> int:
    """Return the number of exchanges, plus the number of memories not based on any of them."""
    known = set(exchanges)
    return len(known) + sum(known.isdisjoint(memory.sources) for memory in memories)


def _items(
    said: Sequence[Exchange], chosen: Sequence[Memory], keys: Collection[str]
) -> list[ToldItem]:
    """Return the things that the user would count: statements, or questions if there are no
    statements.
    """
    things = [ToldItem(each.user_text, USER, each.started) for each in said if each.user_text]
    statements = [thing for thing in things if not is_question(thing.text)]
    rest = [thing_of(memory) for memory in chosen if set(keys).isdisjoint(memory.sources)]
    return statements + rest or things


# -- inside -------------------------------------------------------------------


def planned(
    exchanges: Collection[str],
    chosen: Collection[str],
    things: Sequence[ToldItem],
    everything: Everything,
    order: Iterable[Exchange],
) -> ForgetPlan | None:
    going, memories = _with_corrections(set(exchanges), set(chosen), everything)
    if not going and not memories:
        return None
    times = {each.id: each.started for each in order}
    for memory in everything.values():
        if (key := own_exchange(memory)) is not None and key in going:
            times.setdefault(key, memory.created)
    others = [everything[key] for key in memories.difference(chosen)]
    all_things = [*_corrected(others, exchanges, going), *things]
    each_once = {content_words(thing.text) or thing.text: thing for thing in all_things}
    items = sorted(each_once.values(), key=lambda thing: thing.when, reverse=True)
    return ForgetPlan(
        exchanges=tuple(sorted(going, key=lambda key: times.get(key, _LONG_AGO), reverse=True)),
        memories=tuple(sorted(memories, key=lambda key: everything[key].told, reverse=True)),
        items=tuple(items),
        count=max(1, len(items)),
    )


def _corrected(
    added: Iterable[Memory], selected: Collection[str], going: set[str]
) -> list[ToldItem]:
    """Return the added memories that the user would count as further items.

    Args:
        added: the memories that are deleted only because they were corrected or are corrections.
        selected: the exchanges that the request itself selected.
        going: all exchanges to delete. Memories derived from one of them aren't counted again.
    """
    return [
        thing_of(memory)
        for memory in added
        if memory.speaker == USER
        and set(memory.sources).isdisjoint(selected)
        and (memory.kind is MemoryKind.EXCHANGE or going.isdisjoint(memory.sources))
    ]


def _with_corrections(
    exchanges: set[str], chosen: set[str], everything: Everything
) -> tuple[set[str], set[str]]:
    """Return the selected exchanges and memories, and all others that are deleted with them.

    A corrected statement and its correction are deleted together, whichever of them was selected.
    Otherwise the wrong statement would count as true again, or the right one would remain.
    """
    while True:
        going = {key for key in chosen if _goes(everything[key], exchanges)} | {
            memory.id
            for memory in everything.values()
            if memory.sources and exchanges.issuperset(memory.sources)
        }
        more = _versions(going, everything)
        said = (everything[key] for key in more if everything[key].kind is MemoryKind.EXCHANGE)
        wider = exchanges | {source for each in said for source in each.sources}
        if more <= going and wider == exchanges:
            return exchanges, going
        chosen, exchanges = chosen | more, wider


def _versions(ids: Collection[str], everything: Everything) -> set[str]:
    """Return the ids of all memories that the user's corrections link to the given ones. The given
    ids are included if their memories were corrected or are corrections."""
    pairs = [
        {memory.id, newer.id}
        for memory in everything.values()
        if (newer := everything.get(memory.superseded_by or "")) is not None
        and newer.sources == (ADDED_BY_USER,)
    ]
    found, more = set(ids), set[str]()
    while len(more) < len(more := {key for pair in pairs if pair & found for key in pair}):
        found |= more
    return more


def _goes(memory: Memory, exchanges: Collection[str]) -> bool:
    """Whether a requested memory is deleted.

    A verbatim memory remains if its words were also said in an exchange that remains. Other kinds
    are always deleted.
    """
    return memory.kind is not MemoryKind.EXCHANGE or not set(memory.sources) - set(exchanges)
