"""Facts, preferences, events and what the user is, taken from what the user said.

Rules find the statements, write them in the third person and check that the words support them; a
model only judges which of them are worth remembering, if it is asked at all. So nothing can be made
up, and a bad judge costs a memory too few or too many. The assistant's words are never read.
"""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from assistant.context import Exchange
from assistant.errors import ModelFailed
from assistant.idle.jobs.model_job import ModelJob
from assistant.idle.jobs.structured_output import FewShotPrompt, shipped
from assistant.language.absolute_dates import with_absolute_dates
from assistant.language.speakers import USER
from assistant.language.stemming import TextAnalyzer
from assistant.language.third_person import third_person
from assistant.memory import MemoryKind
from assistant.memory.curation import (
    DERIVED_CONFIDENCE,
    EXTRACTED,
    MARKS,
    DerivedOutput,
    Fact,
    Memory,
    exchange_of,
    fact_id,
    fact_rows,
    is_grounded,
    is_wish,
    kind_of,
    memories_of_facts,
    statements,
    telling,
)

IMPORTANCE_BY_WORTH = {"no": None, "some": 0.5, "much": 0.8}
"""What the model may say of a fact, and how important it is then; None is not worth remembering."""
BY_RULE = {
    MemoryKind.PROFILE: 0.8,
    MemoryKind.PREFERENCE: 0.6,
    MemoryKind.FACT: 0.6,
    MemoryKind.EVENT: 0.5,
}
"""Importance, where no model is asked."""
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"worth": {"enum": list(IMPORTANCE_BY_WORTH)}},
    "required": ["worth"],
    "additionalProperties": False,
}
TOKENS = 16
"""Of the answer."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """What may be remembered, and how much was dropped since the words don't support it."""

    kept: tuple[Fact, ...] = ()
    unsupported: int = 0


# -- what is asked, and what is made of the answer; pure ------------------------------------------


def candidates(said: str, started: datetime, lexicon: TextAnalyzer) -> Candidates:
    """
    Args:
        started: when it was said; days are reckoned in this machine's time zone.
    """
    on = started.astimezone().date()
    found: dict[str, Fact] = {}
    dropped = 0
    stated = statements.statements(said)
    for quote in stated:
        meant = with_absolute_dates(quote, on)
        text = third_person(meant) if meant is not None else ""
        if is_grounded(text, quote, stated, on, lexicon):
            kind = kind_of(text)
            fact = Fact(kind.value, text, quote, BY_RULE[kind], DERIVED_CONFIDENCE)
            found.setdefault(text.casefold(), fact)
        else:
            dropped += 1
    return Candidates(tuple(found.values()), dropped)


def question(said: str, text: str) -> str:
    return f'Said: "{" ".join(said.split())}"\nNote: {text}'


def judged(fact: Fact, answered: object) -> Fact | None:
    """The fact with the importance that the model gives it; None where it gives it none.

    Raises:
        ModelFailed: that is no answer to the question.
    """
    worth = answered.get("worth") if isinstance(answered, Mapping) else None
    if not isinstance(worth, str) or worth not in IMPORTANCE_BY_WORTH:
        raise ModelFailed("The model did not judge what it was asked to.")
    importance = IMPORTANCE_BY_WORTH[worth]
    return None if importance is None else replace(fact, importance=importance)


def prompt() -> FewShotPrompt:
    """What ships with the project."""
    return shipped("extract", _example)


def _example(raw: Mapping[str, str]) -> tuple[str, str]:
    return question(raw["said"], raw["note"]), json.dumps({"worth": raw["worth"]})


# -- the work -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ToldExchange:
    exchange: Exchange
    conversation: str


class FactExtractionJob(ModelJob[ToldExchange, list[Fact]]):
    """Its model, if there is one, judges what the rules find."""

    kind = EXTRACTED
    priority = 40
    schema = SCHEMA
    max_tokens = TOKENS
    unsupported = 0
    """Statements that were dropped in this process, since the words don't support them."""

    def prompt(self) -> FewShotPrompt:
        return prompt()

    def read(self, subject: str) -> ToldExchange | None:
        for conversation, exchange in self._derived.lacking(self.kind, self.version, [subject]):
            if not self._put_right(subject):
                return ToldExchange(exchange, conversation)
        return None

    async def make(self, source: ToldExchange) -> list[Fact]:
        said = source.exchange.user_text
        found = candidates(said, source.exchange.started, self._lexicon)
        self.unsupported += found.unsupported
        # Wishes were taken at once, and need no judge.
        facts = [fact for fact in found.kept if not is_wish(fact.quote)]
        if self._llm is None:
            return facts
        kept = [judged(fact, await self.ask(question(said, fact.text))) for fact in facts]
        return [fact for fact in kept if fact is not None]

    async def keep(self, source: ToldExchange, made: list[Fact]) -> None:
        exchange, content = source.exchange, fact_rows.content_of(made)
        new = memories_of_facts(self._user, source.conversation, exchange, content)
        before = await asyncio.to_thread(self._before, exchange.id)
        if new:
            marked = [_marked(each, before.pop(each.id, None)) for each in new]
            await asyncio.to_thread(self._memory.put, marked, told=True)
        if before:
            await asyncio.to_thread(self._memory.delete, list(before.values()))
        await self.note(DerivedOutput(exchange.id, content, (exchange.id,)), _fact_ids(exchange.id))

    # -- inside ---------------------------------------------------------------------------------

    def _put_right(self, exchange: str) -> bool:
        """The user has deleted or changed some of its facts, or what was said has expired: what
        there is of it stays as it is, or it would come back in other words."""
        earlier = fact_rows.read(self._transcript, self._user, [exchange]).get(exchange, [])
        expired = self._transcript.expired(self._user, self._now())
        if None not in earlier and expired.isdisjoint(
            [telling(exchange, USER), *_fact_ids(exchange)]
        ):
            return False
        self.noted(DerivedOutput(exchange, earlier, (exchange,)), "")
        return True

    def _before(self, exchange: str) -> dict[str, Memory]:
        """The facts of an exchange that are remembered, by their ids."""
        resting = self._memory.index.outlines([exchange])
        ids = [each for each in resting if (of := exchange_of(each)) and of[0] == exchange]
        return {each.id: each for each in self._memory.table.get(self._user, ids)} if ids else {}


def _fact_ids(exchange: str) -> list[str]:
    """All that it may have."""
    return [fact_id(exchange, number) for number in range(statements.MOST)]


def _marked(new: Memory, before: Memory | None) -> Memory:
    """With what was marked on the one that it takes the place of."""
    if before is None:
        return new
    # What another exchange told too is found in none of it any more.
    names = MARKS if before.text != new.text else (*MARKS, "sources")
    return replace(new, **{name: getattr(before, name) for name in names})
