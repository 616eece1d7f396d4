"""What upkeep left undecided among memories that are about the same: told again in a looser form,
or changed without a word that says so.

Rules say first what the words allow at all; only of that a model is asked, in one word. What is
taken is what upkeep would have done, and is undone in the same way (`assistant memory split`).
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Literal

from assistant.errors import ModelFailed
from assistant.idle.jobs.model_job import ModelJob
from assistant.idle.jobs.structured_output import FewShotPrompt, shipped
from assistant.language.stemming import TextAnalyzer
from assistant.memory.curation import (
    NEAREST,
    DerivedOutput,
    Memory,
    comparable,
    exchange_of,
    may_be_merged,
    may_be_same,
    may_have_changed,
    own_exchange,
    reconcile,
)

CONSOLIDATED = "consolidate"
"""The kind of output: what was decided of an exchange, as lists of two memories' ids and a word."""
VERDICTS = ("same", "changed", "both")
Verdict = Literal["same", "changed", "both"]
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"verdict": {"enum": list(VERDICTS)}},
    "required": ["verdict"],
    "additionalProperties": False,
}
TOKENS = 16
"""Of the answer."""
NEAR = 16
"""Nearest memories that each is compared with."""


@dataclass(frozen=True, slots=True)
class Decided:
    older: Memory
    newer: Memory
    verdict: Verdict


@dataclass(slots=True)
class Decisions:
    """What was decided of an exchange's memories, and the exchanges whose words were compared."""

    decided: list[Decided]
    read: set[str]


# -- what is asked, and what is made of the answer; pure ------------------------------------------


def allowed(older: Memory, newer: Memory, lexicon: TextAnalyzer) -> Verdict | None:
    """The one proposal that the words allow; None where a model need not be asked."""
    if not comparable(older, newer):
        return None
    if may_be_same(older, newer, lexicon):
        return "same"
    return "changed" if may_have_changed(older, newer, lexicon) else None


def by_rules(older: Memory, newer: Memory, lexicon: TextAnalyzer) -> Verdict:
    """What needs no model: upkeep's own rules, for what is less alike than it looks at."""
    if not comparable(older, newer):
        return "both"
    decision = reconcile.reconcile(newer, [(older, 1.0)], lexicon, NEAREST)
    if isinstance(decision, reconcile.Repeats):
        return "same"
    return "changed" if isinstance(decision, reconcile.Replaces) else "both"


def question(older: str, newer: str) -> str:
    return f"Before: {' '.join(older.split())}\nNow: {' '.join(newer.split())}"


def proposed(answered: object) -> Verdict:
    """
    Raises:
        ModelFailed: that is no answer to the question.
    """
    verdict = answered.get("verdict") if isinstance(answered, Mapping) else None
    for known in ("same", "changed", "both"):
        if verdict == known:
            return known
    raise ModelFailed("The model did not say what it was asked to.")


def prompt() -> FewShotPrompt:
    """What ships with the project."""
    return shipped("consolidate", _example)


def _example(raw: Mapping[str, str]) -> tuple[str, str]:
    return question(raw["before"], raw["now"]), json.dumps({"verdict": raw["verdict"]})


# -- the work -----------------------------------------------------------------------------------


class ConsolidationJob(ModelJob[str, Decisions]):
    kind = CONSOLIDATED
    priority = 70
    schema = SCHEMA
    max_tokens = TOKENS
    rules = 0
    """It is never done without a model, so its versions count from one."""
    asked = 0
    """Pairs that the model was asked about in this process."""

    def prompt(self) -> FewShotPrompt:
        return prompt()

    def read(self, subject: str) -> str | None:
        return subject if self._derived.lacking(self.kind, self.version, [subject]) else None

    async def make(self, source: str) -> Decisions:
        await self._memory.settled()
        decisions = Decisions([], {source})
        for newer, near in await asyncio.to_thread(self._pairs, source):
            await self._decide(newer, near, decisions)
        return decisions

    async def keep(self, source: str, made: Decisions) -> None:
        if not await asyncio.to_thread(self._derived.readable, made.read):
            return  # something of it was forgotten meanwhile
        await asyncio.to_thread(self._carry_out, made.decided)
        content = [[each.older.id, each.newer.id, each.verdict] for each in made.decided]
        await self.note(DerivedOutput(source, content, tuple(sorted(made.read))))

    # -- inside ---------------------------------------------------------------------------------

    def _pairs(self, exchange: str) -> list[tuple[Memory, list[Memory]]]:
        """The exchange's memories, each with older ones that are about the same, nearest first.

        Raises:
            ModelFailed: one has no vector yet.
        """
        index, table = self._memory.index, self._memory.table
        ids = [key for key in index.outlines([exchange]) if _is_of(key, exchange)]
        near = {
            own: [key for key, cosine in index.alike(own, NEAR) if cosine >= NEAREST] for own in ids
        }
        # All at once: each query of the table takes its time.
        rows = table.get(self._user, list(dict.fromkeys(chain(ids, *near.values()))))
        found = {each.id: each for each in rows}
        own = [found[key] for key in ids if key in found]
        pairs = []
        for newer in own:
            if not (may_be_merged(newer) and _is_of_turn(newer, exchange)):
                continue
            if not index.has_vector(newer.id):
                raise ModelFailed("What is to be compared has no vector yet.")
            older = [found[key] for key in near[newer.id] if key in found]
            pairs.append((newer, [each for each in older if comparable(each, newer)]))
        return pairs

    async def _decide(self, newer: Memory, near: Sequence[Memory], made: Decisions) -> None:
        """At most one thing is said of each."""
        for older in near:
            if not await asyncio.to_thread(self._derived.readable, older.sources):
                continue  # what rests on them could not be taken apart again
            verdict = by_rules(older, newer, self._lexicon)
            if verdict == "both" and (may := allowed(older, newer, self._lexicon)) is not None:
                self.asked += 1
                answered = await self.ask(question(older.text, newer.text))
                made.read.update(older.sources)
                verdict = may if proposed(answered) == may else "both"
            if verdict != "both":
                made.read.update(older.sources)
                made.decided.append(Decided(older, newer, verdict))
                return

    def _carry_out(self, decided: Sequence[Decided]) -> None:
        for each in decided:
            if each.verdict == "same":
                self._merge(each.older, each.newer)
            else:
                self._supersede(each.older, each.newer)

    def _merge(self, older: Memory, newer: Memory) -> None:
        """In this order: whatever interrupts it, the new one is there or among the sources."""
        [now] = self._memory.change([older.id], lambda old: _told_again(old, newer)) or [older]
        if set(newer.sources) <= set(now.sources):
            self._memory.delete([newer])

    def _supersede(self, older: Memory, newer: Memory) -> None:
        def how(memory: Memory) -> Memory:
            if not may_be_merged(memory):
                return memory
            if memory.id == older.id:
                return replace(memory, superseded_by=newer.id)
            ended = tuple(dict.fromkeys((*memory.supersedes, older.id)))
            return replace(memory, supersedes=ended)

        self._memory.change([newer.id, older.id], how)


def _told_again(old: Memory, new: Memory) -> Memory:
    begun = set(new.sources) <= set(old.sources)
    return reconcile.refreshed(old, new) if may_be_merged(old) and not begun else old


def _is_of(key: str, exchange: str) -> bool:
    """By its id: a turn of the exchange, or a fact of it."""
    fact = exchange_of(key)
    return fact[0] == exchange if fact is not None else key.startswith(f"{exchange}-")


def _is_of_turn(memory: Memory, exchange: str) -> bool:
    return own_exchange(memory) == exchange or exchange_of(memory.id) is not None
