"""Explains what an answer was based on, from the words of the answer and the log of recalls.

"Forget that" finds the sources of an answer with the same code (`AnswerTracer`), so both agree on
the sources.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from assistant.context import Exchange, is_fixed
from assistant.errors import ModelError, SettingsError, StoreError
from assistant.events import MemoryUsed
from assistant.language.dialogue_acts import is_courtesy, is_question
from assistant.language.speakers import USER
from assistant.language.stemming import TextAnalyzer
from assistant.memory.forgetting.answer_origins import (
    AnsweredTurn,
    AnswerTracer,
    Everything,
    ToldItem,
    said_in,
    sources_of,
)
from assistant.memory.forgetting.attribution import stems
from assistant.memory.forgetting.last_turn import COURTESIES
from assistant.memory.forgetting.memory_access import MemoryAccess
from assistant.memory.forgetting.selection import memories_about
from assistant.memory.records.hidden import HiddenSet
from assistant.memory.records.ids import ADDED_BY_USER, LEAST_PREFIX, telling
from assistant.memory.records.memory import Memory, MemoryKind
from assistant.memory.transcript import recall_log
from assistant.memory.transcript.database import Transcript
from assistant.memory.transcript.recall_log import LoggedMemory
from assistant.memory.transcript.rows import newest_answers, stored_conversation

LONGEST_TURN = 5
"""Maximum number of digits of a turn's number. More digits are the beginning of an id."""
MEND = "assistant memory why"


@dataclass(frozen=True, slots=True)
class ExplainedMemory:
    """A memory that was recalled for an answer. `left_out` is the reason why it was not in the
    prompt, or None if it was in the prompt. `score` is None for a note that every prompt contains.
    `based_on` says whether the answer was based on the memory."""

    memory: Memory
    score: float | None
    left_out: str | None
    based_on: bool


@dataclass(frozen=True, slots=True)
class Explanation:
    """What an answer was based on.

    `sources` are things that were said, best first. If there are none, the answer came from the
    model itself, or it is a fixed reply (`fixed`). If a source is a derived memory, its `text` is
    the user's words from which the memory was derived, if they are still known. `recalled` are the
    memories in the prompt, then those that were left out. `told` says whether the user stated
    something in this turn. If so, the answer may refer to that statement.
    """

    exchange: Exchange
    sources: tuple[ToldItem, ...]
    recalled: tuple[ExplainedMemory, ...]
    told: bool
    fixed: bool = False


@dataclass(frozen=True, slots=True)
class _Recalls:
    """What is known about some turns. `logs` are their logs of recalls, by exchange id. `profile`
    has the ids of the notes that are in every prompt. `memories` are the memories that may be
    sources of the answers, by id; hidden ones are left out."""

    logs: Mapping[str, tuple[LoggedMemory, ...]]
    profile: Sequence[str]
    memories: Everything


class AnswerExplainer:
    """Explains the answers given to one user. Every method blocks, and raises StoreError if
    something can't be read."""

    def __init__(
        self, transcript: Transcript, memories: MemoryAccess, lexicon: TextAnalyzer
    ) -> None:
        self._user = memories.user
        self._transcript = transcript
        self._memories = memories
        self._lexicon = lexicon

    def last(self, turns: Sequence[AnsweredTurn]) -> Explanation | None:
        """Explain the last answer of the running conversation; None if there is none.

        Args:
            turns: all turns of the running conversation. The memories recalled for stored turns are
                read from the log, so that a restart loses none.
        """
        place = _last_answer([turn.exchange for turn in turns])
        return self._explained(turns, place, self._recalls(turns)) if place is not None else None

    def stored(self, named: str | None = None) -> Explanation:
        """Explain an answer in the transcript.

        Args:
            named: the number of a turn of the last conversation, or the beginning of an exchange's
                id. Default: the last answer.

        Raises:
            SettingsError: the beginning of the id is too short.
            StoreError: there is no such answer.
        """
        found = self.newest(1) if named is None else self._each_explained(self._exchange(named))
        explanation = next(found, None)
        if explanation is None:
            raise StoreError("There is no answer to explain.", mend="assistant talk")
        return explanation

    def newest(self, limit: int) -> Iterator[Explanation]:
        """Explain the newest answers in the transcript, newest first, whatever their conversation.

        Args:
            limit: maximum number of answers.
        """
        with self._transcript.reading() as db:
            answers = newest_answers(db, self._user, limit)
        return self._each_explained(answers)

    def told_about(self, topic: str | None, turns: Sequence[AnsweredTurn] = ()) -> list[ToldItem]:
        """Return the user's statements about a topic, newest first, except corrected ones. A
        repeated statement is returned twice.

        Args:
            topic: None means any topic.
            turns: the turns of the running conversation, because some may have no memories yet.
        """
        everything = self._memories.outlines()
        found = everything.values() if topic is None else self._about(topic, everything)
        told = [
            ToldItem(each.text, USER, when, each)
            for each in found
            if _states(each) and each.superseded_by is None
            for when in {each.created, each.told}
        ]
        remembered = {source for each in everything.values() for source in each.sources}
        wanted = stems(topic or "", self._lexicon)
        told += [
            said_in(each)
            for each in (turn.exchange for turn in turns)
            if each.id not in remembered
            and not is_question(each.user_text)
            and (topic is None or (wanted and wanted <= stems(each.user_text, self._lexicon)))
        ]
        return sorted(told, key=lambda each: each.when, reverse=True)

    # -- inside ---------------------------------------------------------------------------------

    def _about(self, topic: str, everything: Everything) -> list[Memory]:
        try:
            similar = self._memories.find(topic).memories
        except ModelError:  # then search by words alone
            similar = ()
        return memories_about(topic, everything, similar, self._lexicon)

    def _exchange(self, named: str) -> dict[str, str]:
        """Return the id of the exchange that `named` means, with the id of its conversation."""
        if not _is_turn(named):
            return self._with_id(named)
        last = self._transcript.resume(self._user, timedelta.max)
        exchanges = last.exchanges if last is not None else []
        found = [each.id for each in exchanges if each.turn == int(named)]
        if last is None or not found:
            raise StoreError(f"The last conversation has no turn {named}.", mend=MEND)
        return {found[-1]: last.id}

    def _with_id(self, named: str) -> dict[str, str]:
        if len(named) < LEAST_PREFIX:
            raise SettingsError(
                f"{named!r} is neither a turn's number nor {LEAST_PREFIX} or more characters of an"
                " exchange's id.",
                mend=MEND,
            )
        known = self._transcript.exchange_ids(self._user)
        ids = [key for key in known if key.startswith(named)]
        if len(ids) != 1:
            if not ids:
                raise StoreError(f"No exchange id begins with {named[:40]!r}.", mend=MEND)
            raise StoreError(
                f"{named[:40]!r} matches {len(ids)} exchanges.",
                mend="Give more characters of the id.",
            )
        talk = next((talk for talk, _ in self._transcript.exchanges(self._user, ids)), None)
        if talk is None:  # forgotten meanwhile
            raise StoreError(f"No exchange id begins with {named[:40]!r}.", mend=MEND)
        return {ids[0]: talk}

    def _each_explained(self, answers: Mapping[str, str]) -> Iterator[Explanation]:
        """Explain the answers of these exchanges, which are given with the ids of their
        conversations. Exchanges that are not in the transcript any more are left out."""
        talks: dict[str, list[AnsweredTurn]] = {}
        for talk in set(answers.values()):
            with self._transcript.reading() as db:
                stored = stored_conversation(db, self._user, talk)
            talks[talk] = [AnsweredTurn(each) for each in stored.exchanges]
        # Read once for all answers, because without a running session this reads all memories.
        recalls = self._recalls([turn for turns in talks.values() for turn in turns])
        for key, talk in answers.items():
            for place, turn in enumerate(talks[talk]):
                if turn.exchange.id == key:
                    yield self._explained(talks[talk], place, recalls)

    def _recalls(self, turns: Sequence[AnsweredTurn]) -> _Recalls:
        logs = {turn.exchange.id: recall_log.logged_memories(turn.used) for turn in turns}
        logs |= recall_log.read(self._transcript, self._user, logs.keys())
        profile = self._memories.profile()
        notes = [MemoryUsed(key, "") for key in profile]
        recalled = {key: [MemoryUsed(each.id, "") for each in log] for key, log in logs.items()}
        read = self._memories.around(
            [AnsweredTurn(turn.exchange, (*recalled[turn.exchange.id], *notes)) for turn in turns]
        )
        hidden = HiddenSet(self._transcript.hidden(self._user))
        shown = {key: each for key, each in read.items() if not hidden.covers(key, each.sources)}
        return _Recalls(logs, profile, shown)

    def _explained(
        self, known: Sequence[AnsweredTurn], place: int, recalls: _Recalls
    ) -> Explanation:
        """Explain the answer at index `place` of the conversation with the turns `known`. `recalls`
        may also be about turns of other conversations."""
        profile = recalls.profile
        notes = tuple(MemoryUsed(key, "", near=False) for key in profile)
        turns = [
            AnsweredTurn(turn.exchange, (*_in_prompt(recalls.logs[turn.exchange.id]), *notes))
            for turn in known
        ]
        exchange = turns[place].exchange
        own = recalls.logs[exchange.id]
        everything = {
            key: each
            for key, each in recalls.memories.items()
            if not (key in profile and each.created > exchange.started)
        }
        trace = AnswerTracer(turns, everything, self._lexicon)
        fixed = is_fixed(exchange)
        if not fixed:
            trace.follow(place)
        recalled = [
            ExplainedMemory(everything[e.id], e.score, e.left_out, e.id in trace.memories)
            for e in own
            if e.id in everything
        ]
        listed = {each.memory.id for each in recalled}
        recalled += [
            ExplainedMemory(everything[key], None, None, based_on=True)
            for key in profile
            if key in trace.memories and key not in listed
        ]
        recalled.sort(key=lambda each: each.left_out is not None)
        sources = [self._named(each, exchange, everything) for each in trace.things]
        told = not is_question(exchange.user_text)
        return Explanation(exchange, tuple(sources), tuple(recalled), told, fixed)

    def _named(self, thing: ToldItem, answered: Exchange, everything: Everything) -> ToldItem:
        """Return `thing`. If it is a derived memory, give it the text and time of the user's words
        from which it was derived, if those are known. If it was derived from several utterances,
        the one most similar to the answer is used."""
        memory = thing.memory
        if memory is None or memory.kind is MemoryKind.EXCHANGE or ADDED_BY_USER in memory.sources:
            return thing
        wanted = stems(answered.assistant_text, self._lexicon)
        keys = sources_of(memory, wanted, everything, self._lexicon)
        words = [said for key in keys if (said := everything.get(telling(key, USER))) is not None]
        best = max(
            words, key=lambda said: len(wanted & stems(said.text, self._lexicon)), default=None
        )
        return thing if best is None else replace(thing, text=best.text, when=best.told)


def _states(memory: Memory) -> bool:
    """Whether a memory is a statement by the user, in the user's own words."""
    if ADDED_BY_USER in memory.sources:
        return True
    own = memory.kind is MemoryKind.EXCHANGE and memory.speaker == USER
    return own and not is_question(memory.text)


def _is_turn(named: str) -> bool:
    return named.isascii() and named.isdigit() and len(named) <= LONGEST_TURN


def _in_prompt(log: Sequence[LoggedMemory]) -> tuple[MemoryUsed, ...]:
    return tuple(MemoryUsed(each.id, "", each.score) for each in log if each.left_out is None)


def _last_answer(exchanges: Sequence[Exchange]) -> int | None:
    """Return the index of the last answer that isn't a reply to a courtesy. Only the last few
    answers are examined. If all of them reply to courtesies, return the index of the very last one.
    Return None if there are no answers."""
    answered = [at for at, each in enumerate(exchanges) if each.assistant_text and not each.open]
    recent = reversed(answered[-COURTESIES - 1 :])
    meant = (at for at in recent if not is_courtesy(exchanges[at].user_text))
    return next(meant, answered[-1] if answered else None)
