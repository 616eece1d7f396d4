"""Facts, preferences, events and what the user is, taken from what the user said.

Rules find the statements, write them in the third person and check that the words support them; a
model only judges which of them are worth remembering, if it is asked at all. So nothing can be made
up, and a bad judge costs a memory too few or too many. The assistant's words are never read.
"""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from assistant.context import Exchange, load_prompt
from assistant.errors import ModelFailed
from assistant.idle.jobs.structured_output import FewShotPrompt, ask_for_json, examples
from assistant.language.absolute_dates import with_absolute_dates
from assistant.language.speakers import USER
from assistant.language.stemming import TextAnalyzer
from assistant.language.third_person import third_person
from assistant.memory import MemoryKind, Transcript, UserMemory
from assistant.memory.curation import (
    EXTRACTED,
    MARKS,
    DerivedOutput,
    DerivedOutputs,
    Fact,
    Memory,
    exchange_of,
    fact_id,
    fact_rows,
    is_grounded,
    is_wish,
    kind_of,
    memories_of_facts,
    rewrite,
    statements,
    telling,
)
from models.interfaces import LanguageModel

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
RULES = 1
"""Their version, and the prompt's."""
TOKENS = 16
"""Of the answer."""
CONFIDENCE = 0.8
"""The words are the user's; what they were taken for need not be."""


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
            fact = Fact(kind.value, text, quote, BY_RULE[kind], CONFIDENCE)
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
    return FewShotPrompt(load_prompt("extract"), [_example(each) for each in examples("extract")])


def _example(raw: Mapping[str, str]) -> tuple[str, str]:
    return question(raw["said"], raw["note"]), json.dumps({"worth": raw["worth"]})


# -- the work -----------------------------------------------------------------------------------


class FactExtractionJob:
    """One user's. Needs English: of other languages nothing is taken.

    Args:
        llm: judges what the rules find; None takes all of it.
        now: wall time, UTC.
    """

    kind = EXTRACTED
    priority = 40
    recurs = False

    def __init__(
        self,
        transcript: Transcript,
        memory: UserMemory,
        llm: LanguageModel | None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._transcript = transcript
        self._memory = memory
        self._user = memory.user_id
        self._derived = DerivedOutputs(transcript, memory.user_id)
        self._llm = llm
        self.light = llm is None
        self.version = 2 * RULES + (llm is not None)
        self._lexicon = TextAnalyzer("en")
        self._prompt = prompt()
        self._now = now
        self.unsupported = 0
        """Statements that were dropped in this process, since the words don't support them."""

    async def missing(self, limit: int) -> Sequence[str]:
        return await asyncio.to_thread(self._derived.missing, self.kind, self.version, limit)

    async def run(self, subjects: Sequence[str]) -> None:
        for conversation, exchange in await asyncio.to_thread(self._wanted, subjects):
            if await asyncio.to_thread(self._put_right, exchange.id):
                await asyncio.to_thread(self._keep_as_it_is, exchange.id)
                continue
            found = candidates(exchange.user_text, exchange.started, self._lexicon)
            self.unsupported += found.unsupported
            # Wishes were taken at once, and need no judge.
            kept = [fact for fact in found.kept if not is_wish(fact.quote)]
            made = await self._judged(exchange.user_text, kept)
            if await asyncio.to_thread(self._wanted, [exchange.id]):  # nobody forgot it meanwhile
                await self._remember(conversation, exchange, made)

    # -- inside ---------------------------------------------------------------------------------

    def _wanted(self, subjects: Sequence[str]) -> list[tuple[str, Exchange]]:
        """With their conversations, in this order: what is there, not hidden, and lacks facts."""
        return self._derived.lacking(self.kind, self.version, subjects)

    def _put_right(self, exchange: str) -> bool:
        """The user has deleted or changed some of its facts, or what was said has expired: what
        there is of it stays as it is, or it would come back in other words."""
        earlier = fact_rows.read(self._transcript, self._user, [exchange]).get(exchange, ())
        expired = self._transcript.expired(self._user, self._now())
        ids = {telling(exchange, USER), *(fact_id(exchange, n) for n in range(statements.MOST))}
        return None in earlier or not expired.isdisjoint(ids)

    def _keep_as_it_is(self, exchange: str) -> None:
        earlier = fact_rows.read(self._transcript, self._user, [exchange]).get(exchange, [])
        self._keep(exchange, earlier, "")

    async def _judged(self, said: str, found: Sequence[Fact]) -> list[Fact]:
        if self._llm is None:
            return list(found)
        made: list[Fact] = []
        for fact in found:
            asked = question(said, fact.text)
            answered = await ask_for_json(self._llm, self._prompt, asked, SCHEMA, TOKENS)
            if (kept := judged(fact, answered)) is not None:
                made.append(kept)
        return made

    async def _remember(self, conversation: str, exchange: Exchange, made: list[Fact]) -> None:
        """First the memories, then the note that they were made: what comes between the two is
        done again, and changes nothing then."""
        content = fact_rows.content_of(made)
        new = memories_of_facts(self._user, conversation, exchange, content)
        before = await asyncio.to_thread(self._before, exchange.id)
        if new:
            marked = [_marked(each, before.pop(each.id, None)) for each in new]
            await asyncio.to_thread(self._memory.put, marked, told=True)
        if before:
            await asyncio.to_thread(self._memory.drop, list(before.values()))
        if not await asyncio.to_thread(self._keep, exchange.id, content, self._judge):
            await asyncio.to_thread(self._take_back, exchange.id)

    @property
    def _judge(self) -> str:
        return self._llm.name if self._llm is not None else ""

    def _before(self, exchange: str) -> dict[str, Memory]:
        """The facts of an exchange that are remembered, by their ids."""
        resting = self._memory.index.outlines([exchange])
        ids = [each for each in resting if (of := exchange_of(each)) and of[0] == exchange]
        return {each.id: each for each in self._memory.table.get(self._user, ids)} if ids else {}

    def _keep(self, exchange: str, content: Sequence[object], model: str) -> bool:
        output = DerivedOutput(exchange, list(content), (exchange,))
        return self._derived.keep(self.kind, self.version, model, output, self._now())

    def _take_back(self, exchange: str) -> None:
        """It was forgotten meanwhile: nothing of it stays, not in the store's older versions
        either."""
        ids = [fact_id(exchange, number) for number in range(statements.MOST)]
        made = self._memory.table.get(self._user, ids)
        if made:
            self._memory.drop(made)
            rewrite(self._memory.table)


def _marked(new: Memory, before: Memory | None) -> Memory:
    """With what was marked on the one that it takes the place of."""
    if before is None:
        return new
    # What another exchange told too is found in none of it any more.
    names = MARKS if before.text != new.text else (*MARKS, "sources")
    return replace(new, **{name: getattr(before, name) for name in names})
