"""What a command to forget means: which exchanges and memories go, and what is said of it.

Nothing is read or changed here. "That" is what the user just told; or, after an answer, what the
answer was made of (`answer_sources`), since the user heard that it is still known. Where it is one
thing, it is done at once and read back; of several the newest is named, and it is asked first.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from assistant.context import Exchange
from assistant.language.dialogue_acts import is_courtesy, is_question
from assistant.language.normalization import content_words
from assistant.language.second_person import spoken_phrase, spoken_topic
from assistant.language.speakers import ASSISTANT, USER
from assistant.language.stemming import TextAnalyzer
from assistant.memory.forgetting.answer_origins import (
    AnsweredTurn,
    AnswerTracer,
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

__all__ = [
    "AnsweredTurn",
    "Everything",
    "Selection",
    "about",
    "all_of",
    "everything",
    "known",
    "memories_about",
    "question",
    "read_back",
    "since",
    "that",
]

NOTHING = "There is nothing to forget."
_LONG_AGO = datetime.min.replace(tzinfo=UTC)
NAMED = 3
"""Of what is known about a topic."""
LIKE = 0.6
"""Cosine from which on a memory is about a topic though it has none of its words. Vectors of
two words are like much: of 25 topics among 1,467 sentences of our evaluation set, with MiniLM as
questions are encoded, twenty came in by that at 0.45, seven from 0.5, foreign ones up to 0.55, and
from here one, rightly."""
COURTESIES = 2
"""Exchanges like "Thanks." "You're welcome." that are passed over to find what was meant."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What is to go.

    `exchanges` are ids of the transcript's, the newest first. `memories` are the ids of what rests
    on these alone, and of what was meant itself and rests on no exchange. `newest` is a phrase, and
    `count` how many things the user would say that they are; where they are few, `others` are the
    phrases of all but the newest. `question` is to be answered with yes before anything goes; None
    where it is done at once.
    """

    exchanges: tuple[str, ...]
    memories: tuple[str, ...]
    newest: str
    count: int
    question: str | None = None
    others: tuple[str, ...] = ()

    @property
    def named(self) -> str:
        """All of them, where they are few; else the newest."""
        return "; ".join((self.newest, *self.others))


# -- that ---------------------------------------------------------------------------------------


def that(
    last: Sequence[AnsweredTurn], everything: Everything, lexicon: TextAnalyzer
) -> Selection | None:
    """What "forget that" means; None where nothing has been said.

    Args:
        last: of the running conversation, oldest first: what the prompt held.
    """
    turns = [turn for turn in last if turn.exchange.user_text.strip()]
    if not turns:
        return None
    place = _meant_turn(turns)
    after = {turn.exchange.id for turn in turns[place:]}
    trace = AnswerTracer(turns, everything, lexicon)
    if is_question(turns[place].exchange.user_text):
        trace.follow(place)
    if not trace.exchanges and not trace.memories:
        exchange = turns[place].exchange
        trace.take_exchange(exchange)
    gone = trace.exchanges | after
    gone |= trace.echoes(gone)
    return _meant(gone, trace.memories, trace.things, everything, turns, lexicon)


def _meant_turn(turns: Sequence[AnsweredTurn]) -> int:
    """The newest turn that is more than thanks; the newest if all are."""
    for back in range(min(COURTESIES + 1, len(turns))):
        place = len(turns) - 1 - back
        if not is_courtesy(turns[place].exchange.user_text):
            return place
    return len(turns) - 1


# -- spans, topics, all -------------------------------------------------------------------------


def since(
    exchanges: Iterable[Exchange],
    now: datetime,
    minutes: float,
    everything: Everything,
    lexicon: TextAnalyzer,
) -> Selection | None:
    """All that was said, or written down, in the last `minutes`; None where nothing was."""
    edge = now - timedelta(minutes=minutes)
    chosen = [each for each in exchanges if (each.ended or now) >= edge]
    by_hand = [
        memory
        for memory in everything.values()
        if ADDED_BY_USER in memory.sources and memory.created >= edge
    ]
    return all_of(chosen, everything, lexicon, by_hand)


def all_of(
    exchanges: Iterable[Exchange],
    everything: Everything,
    lexicon: TextAnalyzer,
    memories: Iterable[Memory] = (),
) -> Selection | None:
    """These exchanges and memories, such as a conversation's."""
    chosen, others = list(exchanges), list(memories)
    things = [
        ToldItem(each.user_text or each.assistant_text, USER, each.started) for each in chosen
    ]
    things += map(thing_of, others)
    keys, ids = {each.id for each in chosen}, {each.id for each in others}
    return _meant(keys, ids, things, everything, (), lexicon, order=chosen) if things else None


def about(
    topic: str,
    everything: Everything,
    exchanges: Iterable[Exchange],
    recalled: Iterable[RecalledMemory],
    lexicon: TextAnalyzer,
) -> Selection | None:
    """All that is about a topic: has all of its words, in whatever inflection, or is very like it;
    None where there is nothing, or the topic is none ("him").

    Args:
        exchanges: of the whole transcript.
        recalled: found by the topic, at leisure.
    """
    wanted = stems(topic, lexicon)
    if not wanted:
        return None
    chosen = memories_about(topic, everything, recalled, lexicon)
    known = list(exchanges)
    keys = {
        each.id
        for each in known
        if _has(f"{each.user_text}\n{each.assistant_text}", wanted, lexicon)
    }
    for memory in chosen:
        keys |= sources_of(memory, wanted, everything, lexicon)
    said = [each for each in known if each.id in keys]
    things = _counted(said, chosen, keys)
    texts = [thing.text for thing in things if not is_question(thing.text)]
    named = {stem for text in texts for stem in distinct(text, lexicon)}
    others = ((e.id, e.user_text, e.assistant_text) for e in known if e.id not in keys)
    keys |= echoes(others, texts, named, lexicon)
    ids = {memory.id for memory in chosen}
    return _meant(keys, ids, things, everything, (), lexicon, order=known)


def memories_about(
    topic: str, everything: Everything, recalled: Iterable[RecalledMemory], lexicon: TextAnalyzer
) -> list[Memory]:
    """Memories that are about a topic, newest first."""
    wanted = stems(topic, lexicon)
    like = {each.id for each in recalled if each.parts.get("meaning", 0.0) >= LIKE}
    found = [
        memory
        for memory in everything.values()
        if wanted and (memory.id in like or _has(memory.text, wanted, lexicon))
    ]
    return sorted(found, key=_told, reverse=True)


def _has(text: str, wanted: set[str], lexicon: TextAnalyzer) -> bool:
    return may_have(text, wanted, lexicon, every=True) and wanted <= stems(text, lexicon)


def everything(
    exchanges: Iterable[str], memories: Everything, lexicon: TextAnalyzer
) -> Selection | None:
    """All that there is; None where there is nothing.

    Args:
        exchanges: ids of the whole transcript.
    """
    keys = tuple(exchanges)
    if not keys and not memories:
        return None
    newest = max(memories.values(), key=_told, default=None)
    text = "" if newest is None else _phrase(thing_of(newest), lexicon)
    known = set(keys)
    alone = sum(known.isdisjoint(memory.sources) for memory in memories.values())
    count = len(keys) + alone
    asked = f"That is all I know about you, {counted(count)}. Forget everything?"
    return Selection(keys, tuple(memories), text, count, asked)


def _counted(
    said: Sequence[Exchange], chosen: Sequence[Memory], keys: Collection[str]
) -> list[ToldItem]:
    """What the user would count: what was told; questions only where nothing was."""
    things = [ToldItem(each.user_text, USER, each.started) for each in said if each.user_text]
    told = [thing for thing in things if not is_question(thing.text)]
    rest = [thing_of(memory) for memory in chosen if set(keys).isdisjoint(memory.sources)]
    return told + rest or things


# -- what they have in common -------------------------------------------------------------------


def _meant(
    exchanges: Collection[str],
    chosen: Collection[str],
    things: Sequence[ToldItem],
    everything: Everything,
    turns: Sequence[AnsweredTurn],
    lexicon: TextAnalyzer,
    order: Sequence[Exchange] = (),
) -> Selection | None:
    going = set(exchanges)
    memories = {key for key in chosen if _goes(everything[key], going)} | {
        memory.id
        for memory in everything.values()
        if memory.sources and going.issuperset(memory.sources)
    }
    if not going and not memories:
        return None
    times = {each.id: each.started for each in (*order, *(turn.exchange for turn in turns))}
    for memory in everything.values():
        if (key := own_exchange(memory)) is not None and key in going:
            times.setdefault(key, memory.created)
    distinct_things = {content_words(thing.text) or thing.text: thing for thing in things}
    told = sorted(distinct_things.values(), key=lambda thing: thing.when, reverse=True)
    phrases = list(dict.fromkeys(_phrase(thing, lexicon) for thing in told[: NAMED + 1]))
    few = len(told) <= NAMED
    made = Selection(
        exchanges=tuple(sorted(going, key=lambda key: times.get(key, _LONG_AGO), reverse=True)),
        memories=tuple(sorted(memories, key=lambda key: _told(everything[key]), reverse=True)),
        newest=phrases[0] if phrases else "",
        count=max(1, len(told)),
        others=tuple(phrases[1:]) if few else (),
    )
    return replace(made, question=question(made)) if made.count > 1 else made


def _goes(memory: Memory, exchanges: Collection[str]) -> bool:
    """What was said goes with its exchange, or stays with another telling's; all else goes by
    itself."""
    return memory.kind is not MemoryKind.EXCHANGE or not set(memory.sources) - set(exchanges)


def _told(memory: Memory) -> datetime:
    return memory.told


def _phrase(thing: ToldItem, lexicon: TextAnalyzer) -> str:
    return spoken_phrase(thing.text, thing.speaker, english=lexicon.language == "en")


# -- what is said of it -------------------------------------------------------------------------


def counted(count: int) -> str:
    return "one thing" if count == 1 else f"{count} things"


def read_back(meant: Selection | None, *, undoable: bool = True) -> str:
    """Said when it is done."""
    if meant is None:
        return NOTHING
    single = meant.count == 1 and meant.newest
    what = meant.named if single or meant.others else counted(meant.count)
    end = "" if what.endswith("…") else "."
    it = "it" if meant.count == 1 else "them"
    return f"Forgotten: {what}{end}" + (f" Say undo to keep {it}." if undoable else "")


def question(meant: Selection) -> str:
    """Asked before several things go."""
    if not meant.newest:
        return f"That is {counted(meant.count)}. Forget them all?"
    end = "" if meant.named.endswith("…") else "."
    which = "" if meant.others else ", the newest"
    return f"That is {counted(meant.count)}{which}: {meant.named}{end} Forget them all?"


def known(topic: str | None, found: Sequence[Memory], lexicon: TextAnalyzer) -> str:
    """The answer to "what do you know about my dog": how much it is, and the newest of it.

    Args:
        topic: None is the user.
        found: newest first.
    """
    english = lexicon.language == "en"
    what = "you" if topic is None else spoken_topic(topic, english=english)
    told = [each for each in found if each.speaker != ASSISTANT and not is_question(each.text)]
    things = list(dict.fromkeys(_phrase(thing_of(each), lexicon) for each in told))
    if not things:
        return f"I remember nothing about {what}."
    named = "; ".join(things[:NAMED])
    end = "" if named.endswith("…") else "."
    if len(things) <= NAMED:
        return f"About {what} I remember {counted(len(things))}: {named}{end}"
    return f"About {what} I remember {counted(len(things))}. The newest: {named}{end}"
