"""Merges or supersedes memories about the same thing if duplicate detection has left a pair
undecided. In such pairs, the user said something again in other words, or something changed
although no word says so.

Rules first determine the verdict that the words allow. Then a model is asked to confirm this
verdict in one word. The effect is the same as that of duplicate detection, and can be undone in the
same way (`assistant memory split`).
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Literal

from assistant.context import FewShotPrompt, shipped
from assistant.errors import ModelFailed
from assistant.idle.jobs.model_job import ModelJob
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
"""Kind of the output: the decisions about an exchange, each as [older id, newer id, verdict]."""
VERDICTS = ("same", "changed", "both")
Verdict = Literal["same", "changed", "both"]
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"verdict": {"enum": list(VERDICTS)}},
    "required": ["verdict"],
    "additionalProperties": False,
}
TOKENS = 16
"""Maximum number of tokens of the model's answer."""
NEAR = 16
"""Maximum number of similar memories with which each memory is compared."""


@dataclass(frozen=True, slots=True)
class Decided:
    older: Memory
    newer: Memory
    verdict: Verdict


@dataclass(slots=True)
class Decisions:
    """The decisions about an exchange's memories, and the ids of the exchanges whose words were
    compared."""

    decided: list[Decided]
    read: set[str]


# -- the question, and parsing the answer; pure ---------------------------------------------------


def allowed(older: Memory, newer: Memory, lexicon: TextAnalyzer) -> Verdict | None:
    """Return the verdict that the words allow besides "both". Return None if there is no such
    verdict, so that no model needs to be asked."""
    if not comparable(older, newer):
        return None
    if may_be_same(older, newer, lexicon):
        return "same"
    return "changed" if may_have_changed(older, newer, lexicon) else None


def by_rules(older: Memory, newer: Memory, lexicon: TextAnalyzer) -> Verdict:
    """Return the verdict of the rules for duplicates. The memories may be less similar."""
    if not comparable(older, newer):
        return "both"
    decision = reconcile.reconcile(newer, [(older, 1.0)], lexicon, NEAREST)
    if isinstance(decision, reconcile.Repeats):
        return "same"
    return "changed" if isinstance(decision, reconcile.Replaces) else "both"


def question(older: str, newer: str) -> str:
    return f"Before: {' '.join(older.split())}\nNow: {' '.join(newer.split())}"


def proposed(answered: object) -> Verdict:
    """Parse the model's verdict.

    Raises:
        ModelFailed: the answer has another form.
    """
    verdict = answered.get("verdict") if isinstance(answered, Mapping) else None
    for known in ("same", "changed", "both"):
        if verdict == known:
            return known
    raise ModelFailed("The model's answer is not one of the verdicts it was asked for.")


def prompt() -> FewShotPrompt:
    """Load the prompt that ships with the project."""
    return shipped("consolidate", _example)


def _example(raw: Mapping[str, str]) -> tuple[str, str]:
    return question(raw["before"], raw["now"]), json.dumps({"verdict": raw["verdict"]})


# -- the job ------------------------------------------------------------------------------------


class ConsolidationJob(ModelJob[str, Decisions]):
    kind = CONSOLIDATED
    priority = 70
    schema = SCHEMA
    max_tokens = TOKENS
    rules = 0
    """Version of the rules. It may be 0, because `version` adds 1 for the model that this job
    always has."""
    asked = 0
    """Number of pairs that the model was asked about in this process."""

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
            return  # some of these words were forgotten meanwhile
        await asyncio.to_thread(self._carry_out, made.decided)
        content = [[each.older.id, each.newer.id, each.verdict] for each in made.decided]
        await self.note(DerivedOutput(source, content, tuple(sorted(made.read))))

    # -- internals ------------------------------------------------------------------------------

    def _pairs(self, exchange: str) -> list[tuple[Memory, list[Memory]]]:
        """Return each memory of the exchange with the older memories about the same thing, nearest
        first.

        Raises:
            ModelFailed: a memory has no vector yet.
        """
        index, table = self._memory.index, self._memory.table
        ids = [key for key in index.outlines([exchange]) if _is_of(key, exchange)]
        near = {
            own: [key for key, cosine in index.alike(own, NEAR) if cosine >= NEAREST] for own in ids
        }
        # In one query, since each query takes time.
        rows = table.get(self._user, list(dict.fromkeys(chain(ids, *near.values()))))
        found = {each.id: each for each in rows}
        own = [found[key] for key in ids if key in found]
        pairs = []
        for newer in own:
            if not (may_be_merged(newer) and _is_of_turn(newer, exchange)):
                continue
            if not index.has_vector(newer.id):
                raise ModelFailed("A memory to be compared has no vector yet.")
            older = [found[key] for key in near[newer.id] if key in found]
            pairs.append((newer, [each for each in older if comparable(each, newer)]))
        return pairs

    async def _decide(self, newer: Memory, near: Sequence[Memory], made: Decisions) -> None:
        """Decide about `newer` and each memory of `near`, until a pair gets a verdict other than
        "both". Add that decision to `made`."""
        for older in near:
            if not await asyncio.to_thread(self._derived.readable, older.sources):
                continue  # a merge with this memory could not be undone
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
        """Merge the newer memory into the older one, then delete the newer one. If this is
        interrupted, either the newer memory still exists, or the older one already includes
        the newer one's sources."""
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
    """Return whether the id belongs to a turn of the exchange, or to a fact from the exchange."""
    fact = exchange_of(key)
    return fact[0] == exchange if fact is not None else key.startswith(f"{exchange}-")


def _is_of_turn(memory: Memory, exchange: str) -> bool:
    return own_exchange(memory) == exchange or exchange_of(memory.id) is not None
