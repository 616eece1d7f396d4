"""Traces an answer back to its sources, in the running conversation and in earlier ones."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from assistant.context import Exchange
from assistant.events import MemoryUsed
from assistant.language.dialogue_acts import is_question
from assistant.language.normalisation import content_words
from assistant.language.speakers import ASSISTANT, USER
from assistant.language.stemming import TextAnalyzer
from assistant.memory.forgetting.attribution import (
    Source,
    asked_about,
    attributed_sources,
    distinct,
    may_have,
    stems,
)
from assistant.memory.records.ids import ADDED_BY_USER, origin_of, own_exchange, telling
from assistant.memory.records.memory import Memory, MemoryKind
from assistant.memory.retrieval.question import follows_up

LONGEST_TEXT = 2000
"""Maximum number of characters of a text that are examined."""
FEW_SOURCES = 3
"""Maximum number of exchanges that all count as a derived memory's sources. If there are more, e.g.
for a summary, only those with the most relevant words count.
"""

Everything = Mapping[str, Memory]
"""All of the user's memories by id."""
Things = tuple[tuple[str, ...], ...]
"""Things that the assistant has named. A thing is a tuple of the ids of the memories that contain
it, or of the exchanges in which it was said."""


@dataclass(frozen=True, slots=True)
class AnsweredTurn:
    """An exchange of the running conversation, and the memories that were in its prompt."""

    exchange: Exchange
    used: tuple[MemoryUsed, ...] = ()


@dataclass(frozen=True, slots=True)
class ToldItem:
    """Something that the user or the assistant said. `memory` is the memory that it was taken from.
    If it was taken from an exchange instead, `memory` is None, and `exchange` is the exchange's id,
    or empty if the id isn't needed."""

    text: str
    speaker: str
    when: datetime
    memory: Memory | None = field(default=None, compare=False)
    exchange: str = field(default="", compare=False)

    @property
    def id(self) -> str:
        """The id of the memory or, if there is none, of the exchange."""
        return self.memory.id if self.memory is not None else self.exchange


class AnswerTracer:
    """Traces answers to their sources, and collects the sources in `exchanges`, `memories` and
    `things`.
    """

    def __init__(
        self, turns: Sequence[AnsweredTurn], everything: Everything, lexicon: TextAnalyzer
    ) -> None:
        self._turns = turns
        self._everything = everything
        self._lexicon = lexicon
        self._words: set[str] = set()
        """Words that identified the sources."""
        self._followed: dict[int, bool] = {}
        self.exchanges: set[str] = set()
        self.memories: set[str] = set()
        self.things: list[ToldItem] = []

    def follow(self, place: int) -> bool:
        """Collect the sources of the answer in the turn at index `place`.

        Returns whether the answer was based on a memory or an earlier turn.
        """
        if place not in self._followed:
            self._followed[place] = self._follow(place)
        return self._followed[place]

    def _follow(self, place: int) -> bool:
        turn = self._turns[place]
        sources = [
            Source(memory, memory.text[:LONGEST_TEXT], used.near)
            for used in turn.used
            if (memory := self._everything.get(used.id)) is not None
        ]
        before = reversed(range(place))
        sources += [Source(at, self._contribution(at), near=False) for at in before]
        question = turn.exchange.user_text[:LONGEST_TEXT]
        earlier = ""
        if place and follows_up(question, self._lexicon.content(question)):
            earlier = self._turns[place - 1].exchange.user_text
        answer = turn.exchange.assistant_text[:LONGEST_TEXT]
        found, words = attributed_sources(question, answer, sources, self._lexicon, earlier)
        self.take(place, found, words)
        return bool(found)

    def take(self, place: int, found: Iterable[Source], words: Collection[str] = ()) -> None:
        """Collect these sources of the answer in the turn at index `place`, and the exchanges in
        which the turn's question was asked.

        Args:
            found: the sources. If there are none, nothing is collected.
            words: stems that identified the sources.
        """
        self._words |= set(words)
        for each in found:
            self.exchanges |= {self._turns[place].exchange.id, *self._asked_before(place)}
            if isinstance(each.origin, Memory):
                self._take_memory(each.origin, words)
            elif is_question(self._turns[each.origin].exchange.user_text):
                self._take_answer(each.origin)
            else:
                self.take_exchange(self._turns[each.origin].exchange)

    def has(self, source: Source) -> bool:
        """Whether this source was collected."""
        if isinstance(source.origin, Memory):
            memory = source.origin
            return memory.id in self.memories or not self.exchanges.isdisjoint(memory.sources)
        return self._turns[source.origin].exchange.id in self.exchanges

    def asked_about(self, place: int) -> tuple[list[Source], bool]:
        """Return the user's statements that the question in the turn at index `place` asks about,
        and whether the question can't be about anything else.
        """
        turn = self._turns[place]
        told = [
            Source(memory, memory.text[:LONGEST_TEXT])
            for used in turn.used
            if used.near
            and (memory := self._everything.get(used.id)) is not None
            and memory.speaker == USER
        ]
        told += [
            Source(at, self._turns[at].exchange.user_text[:LONGEST_TEXT])
            for at in reversed(range(place))
        ]
        told = [each for each in told if not is_question(each.text)]
        question = turn.exchange.user_text[:LONGEST_TEXT]
        answer = turn.exchange.assistant_text[:LONGEST_TEXT]
        return asked_about(question, answer, told, self._lexicon)

    def _asked_before(self, place: int) -> set[str]:
        """Return the ids of earlier exchanges of this conversation in which the same question was
        asked.
        """
        asked = content_words(self._turns[place].exchange.user_text)
        exchanges = [turn.exchange for turn in self._turns[:place]]
        return {each.id for each in exchanges if content_words(each.user_text) == asked}

    def _contribution(self, place: int) -> str:
        """Return the words of an exchange that could be the source of a later answer.

        These are the assistant's answer if the user asked something, otherwise the user's words.
        """
        exchange = self._turns[place].exchange
        asked = is_question(exchange.user_text)
        return (exchange.assistant_text if asked else exchange.user_text)[:LONGEST_TEXT]

    def _take_answer(self, place: int) -> None:
        exchange = self._turns[place].exchange
        if not self.follow(place):
            self.exchanges.add(exchange.id)
            said = exchange.assistant_text
            self.things.append(ToldItem(said, ASSISTANT, exchange.started, None, exchange.id))

    def take_exchange(self, exchange: Exchange) -> None:
        """Collect an exchange, and other exchanges in which the user said the same thing."""
        self.exchanges |= {exchange.id, *repetitions_of(exchange.id, self._everything)}
        self.things.append(said_in(exchange))

    def take_named(self, things: Iterable[ToldItem]) -> None:
        """Collect things that the assistant has named. If several come from the same words or say
        the same thing, only the first is added to `things`."""
        said = {turn.exchange.id: turn.exchange for turn in self._turns}
        known: list[object] = []
        for each in things:
            counted = len(self.things)
            words = stems(each.text, self._lexicon)
            if each.memory is not None:
                self._words |= words
                self._take_memory(each.memory, words)
            elif each.exchange in said:
                self.take_exchange(said[each.exchange])
            own = [origin_of(each.id), words - {USER} or each.text]
            if any(one in known for one in own):
                del self.things[counted:]
            known += own

    def _take_memory(self, memory: Memory, words: Collection[str]) -> None:
        self.memories.add(memory.id)
        self.exchanges |= sources_of(memory, words, self._everything, self._lexicon)
        origins = self._origins(memory, words) if memory.speaker == ASSISTANT else []
        for each in origins:
            self.exchanges |= sources_of(each, words, self._everything, self._lexicon)
        self.things += [thing_of(each) for each in origins or [memory]]

    def _origins(self, answer: Memory, words: Collection[str]) -> list[Memory]:
        """Return the user's earlier statements on which an answer of the assistant was based."""
        named = set(words) & distinct(answer.text, self._lexicon)
        own = stems(answer.text, self._lexicon)
        return [
            memory
            for memory in self._everything.values()
            if memory.speaker == USER
            and memory.kind is MemoryKind.EXCHANGE
            and memory.created < answer.created
            and may_have(memory.text, named, self._lexicon)
            and named <= (there := stems(memory.text, self._lexicon))
            and len(there & own) > 1
        ]

    def echoes(self, gone: Collection[str]) -> set[str]:
        """Return the ids of exchanges not in `gone` in which the assistant repeated one of
        `things`.

        Exchanges in which the user said the same thing are not included.
        """
        texts = [thing.text for thing in self.things]
        named = {stem for text in texts for stem in distinct(text, self._lexicon)} & self._words
        said_elsewhere = (each for each in self._exchanges() if each[0] not in gone)
        return echoes(said_elsewhere, texts, named, self._lexicon)

    def _exchanges(self) -> Iterable[tuple[str, str, str]]:
        """Yield the id of each exchange, with the user's and the assistant's words."""
        for turn in self._turns:
            yield turn.exchange.id, turn.exchange.user_text, turn.exchange.assistant_text
        for memory in self._everything.values():
            if memory.speaker == ASSISTANT and (key := own_exchange(memory)) is not None:
                said = self._everything.get(telling(key, USER))
                yield key, said.text if said is not None else "", memory.text


def echoes(
    exchanges: Iterable[tuple[str, str, str]],
    texts: Iterable[str],
    named: Collection[str],
    lexicon: TextAnalyzer,
) -> set[str]:
    """Return the ids of exchanges in which the assistant, but not the user, repeated something from
    the texts.

    The answer must contain one of `named`, and the exchange must contain another word of the texts.

    Args:
        exchanges: ids, each with the user's and the assistant's words.
        named: stems of names and numbers in the texts.
    """
    about = {stem for text in texts for stem in stems(text, lexicon)}
    wanted = set(named)
    return {
        key
        for key, said, answered in exchanges
        if wanted
        and may_have(answered, wanted, lexicon)
        and wanted & (stems(answered, lexicon) - (own := stems(said, lexicon)))
        and len(about & (stems(answered, lexicon) | own)) > 1
    }


def thing_of(memory: Memory) -> ToldItem:
    return ToldItem(memory.text, memory.speaker, memory.told, memory)


def said_in(exchange: Exchange) -> ToldItem:
    """Return what the user said in an exchange."""
    return ToldItem(exchange.user_text, USER, exchange.started, exchange=exchange.id)


def existing(
    things: Things, turns: Iterable[AnsweredTurn], everything: Everything
) -> list[list[ToldItem]]:
    """Return the things that still exist, each as a list of its memories or exchanges."""
    said = {turn.exchange.id: turn.exchange for turn in turns}

    def item(key: str) -> ToldItem | None:
        memory = everything.get(key) or everything.get(telling(key, USER))
        if memory is not None:
            return thing_of(memory)
        return said_in(said[key]) if key in said else None

    found = ([each for key in ids if (each := item(key)) is not None] for ids in things)
    return [each for each in found if each]


def sources_of(
    memory: Memory, words: Collection[str], everything: Everything, lexicon: TextAnalyzer
) -> set[str]:
    """Return the ids of the exchanges that a memory is based on.

    If a derived memory has more than `FEW_SOURCES`, only those with the most of `words` are
    returned.
    """
    sources = set(memory.sources) - {ADDED_BY_USER}
    if memory.kind is MemoryKind.EXCHANGE or len(sources) <= FEW_SOURCES:
        return sources
    wanted = set(words)
    said = dict.fromkeys(sources, 0)
    for each in everything.values():
        key = own_exchange(each)
        if key in said:
            said[key] = max(said[key], len(wanted & stems(each.text, lexicon)))
    most = max(said.values())
    return {key for key, count in said.items() if count == most} if most else set()


def repetitions_of(exchange: str, everything: Everything) -> set[str]:
    """Return the ids of all exchanges in which the user said the same thing as in this one,
    including this one.

    Returns an empty set if the user said it only once.
    """
    return {
        source
        for memory in everything.values()
        if memory.speaker == USER and memory.refreshed and exchange in memory.sources
        for source in memory.sources
        if source != ADDED_BY_USER
    }
