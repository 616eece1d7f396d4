"""Extracts facts, preferences, events and profile facts from what the user said.

Rules find the statements, put them in the third person and check that the user's words support
them. A model, if one is used, only judges which statements are worth remembering. So nothing can be
made up. A poor judgement only causes a few memories too many or too few. The assistant's words are
never read.
"""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from assistant.context import Exchange, FewShotPrompt, shipped
from assistant.errors import ModelFailed
from assistant.idle.jobs.model_job import ModelJob
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
"""Possible answers of the model → the importance of the fact. None means that the fact is
dropped."""
BY_RULE = {
    MemoryKind.PROFILE: 0.8,
    MemoryKind.PREFERENCE: 0.6,
    MemoryKind.FACT: 0.6,
    MemoryKind.EVENT: 0.5,
}
"""Importance by kind of fact, if no model is asked."""
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"worth": {"enum": list(IMPORTANCE_BY_WORTH)}},
    "required": ["worth"],
    "additionalProperties": False,
}
TOKENS = 16
"""Maximum number of tokens of the model's answer."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """Facts that may be remembered, and the number of statements dropped because they contain an
    unclear date, or are not supported by the user's words."""

    kept: tuple[Fact, ...] = ()
    unsupported: int = 0


# -- the question, and parsing the answer; pure ---------------------------------------------------


def candidates(said: str, started: datetime, lexicon: TextAnalyzer) -> Candidates:
    """Extract the facts from the user's words.

    Args:
        started: when the words were said; dates are in this machine's time zone.
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
    """Return the fact with the importance that the model gave it, or None if it is not worth
    remembering.

    Raises:
        ModelFailed: the answer has another form.
    """
    worth = answered.get("worth") if isinstance(answered, Mapping) else None
    if not isinstance(worth, str) or worth not in IMPORTANCE_BY_WORTH:
        raise ModelFailed("The model's judgement is not one of those requested.")
    importance = IMPORTANCE_BY_WORTH[worth]
    return None if importance is None else replace(fact, importance=importance)


def prompt() -> FewShotPrompt:
    """Load the prompt that ships with the project."""
    return shipped("extract", _example)


def _example(raw: Mapping[str, str]) -> tuple[str, str]:
    return question(raw["said"], raw["note"]), json.dumps({"worth": raw["worth"]})


# -- the job ------------------------------------------------------------------------------------


class FactExtractionJob(ModelJob[tuple[str, Exchange], list[Fact]]):
    """Extracts facts by rules. If there is a model, it judges them. The job's sources are
    exchanges, each with the id of its conversation."""

    kind = EXTRACTED
    priority = 40
    schema = SCHEMA
    max_tokens = TOKENS
    unsupported = 0
    """Number of statements dropped in this process because the user's words don't support them."""

    def prompt(self) -> FewShotPrompt:
        return prompt()

    def read(self, subject: str) -> tuple[str, Exchange] | None:
        for conversation, exchange in self._derived.lacking(self.kind, self.version, [subject]):
            if not self._corrected(subject):
                return conversation, exchange
        return None

    async def make(self, source: tuple[str, Exchange]) -> list[Fact]:
        _, exchange = source
        said = exchange.user_text
        found = candidates(said, exchange.started, self._lexicon)
        self.unsupported += found.unsupported
        # Standing requests were stored right away, and need no judgement.
        facts = [fact for fact in found.kept if not is_wish(fact.quote)]
        if self._llm is None:
            return facts
        kept = [judged(fact, await self.ask(question(said, fact.text))) for fact in facts]
        return [fact for fact in kept if fact is not None]

    async def keep(self, source: tuple[str, Exchange], made: list[Fact]) -> None:
        conversation, exchange = source
        content = fact_rows.content_of(made)
        new = memories_of_facts(self._user, conversation, exchange, content)
        before = await asyncio.to_thread(self._before, exchange.id)
        if new:
            marked = [_marked(each, before.pop(each.id, None)) for each in new]
            await asyncio.to_thread(self._memory.put, marked, told=True)
        if before:
            await asyncio.to_thread(self._memory.delete, list(before.values()))
        await self.note(DerivedOutput(exchange.id, content, (exchange.id,)), _fact_ids(exchange.id))

    # -- internals ------------------------------------------------------------------------------

    def _corrected(self, exchange: str) -> bool:
        """Return whether the exchange's facts must stay as they are: the user has deleted or
        changed some, or the words or facts have expired. Without this check, deleted facts would be
        extracted again."""
        earlier = fact_rows.read(self._transcript, self._user, [exchange]).get(exchange, [])
        expired = self._transcript.expired(self._user, self._now())
        if None not in earlier and expired.isdisjoint(
            [telling(exchange, USER), *_fact_ids(exchange)]
        ):
            return False
        self.noted(DerivedOutput(exchange, earlier, (exchange,)), "")
        return True

    def _before(self, exchange: str) -> dict[str, Memory]:
        """Return the exchange's facts that are in memory, by id."""
        resting = self._memory.index.outlines([exchange])
        ids = [each for each in resting if (of := exchange_of(each)) and of[0] == exchange]
        return {each.id: each for each in self._memory.table.get(self._user, ids)} if ids else {}


def _fact_ids(exchange: str) -> list[str]:
    """Return all ids that facts from the exchange may have."""
    return [fact_id(exchange, number) for number in range(statements.MOST)]


def _marked(new: Memory, before: Memory | None) -> Memory:
    """Return the fact `new` with the marks of the fact that it replaces."""
    if before is None:
        return new
    # If the text is new, other exchanges don't support it, so the old sources aren't copied.
    names = MARKS if before.text != new.text else (*MARKS, "sources")
    return replace(new, **{name: getattr(before, name) for name in names})
