"""What the user told, described and asked for in other words, for the index alone.

Each exchange in its conversation: what is seen of it besides are the few lines before, and all
whose words are seen are sources of what is made. It is checked against them, since small models
make things up; what is left is only ever searched.
"""

import asyncio
import json
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256

from assistant.context import Exchange
from assistant.idle.jobs import expansion_prompt
from assistant.idle.jobs.expansion_prompt import ABOUT, QUESTIONS, Made, SpokenLine
from assistant.idle.jobs.structured_output import ask_for_json
from assistant.language.stemming import TextAnalyzer
from assistant.memory import Transcript, UserMemory
from assistant.memory.curation import (
    DerivedOutput,
    DerivedOutputs,
    exchange_rows,
    fingerprint,
    stored_expansions,
)
from models.interfaces import LanguageModel

RULES = 1
"""Their version."""
USER, ASSISTANT = "User", "Assistant"
"""As the lines begin."""


@dataclass(frozen=True, slots=True)
class ExpansionInput:
    """What the model is shown of an exchange."""

    exchange: Exchange
    before: tuple[SpokenLine, ...]
    new: SpokenLine
    sources: tuple[str, ...]
    """The exchanges whose words these are, its own first."""


class DocumentExpansionJob:
    """One user's. Needs English.

    Args:
        parts: what is made.
        now: wall time, UTC.
    """

    kind = stored_expansions.DESCRIBED
    priority = 60
    recurs = False
    light = False

    def __init__(
        self,
        transcript: Transcript,
        memory: UserMemory,
        llm: LanguageModel,
        parts: tuple[str, ...] = expansion_prompt.EVERYTHING,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._transcript = transcript
        self._memory = memory
        self._user = memory.user_id
        self._derived = DerivedOutputs(transcript, memory.user_id)
        self._llm = llm
        self._parts = parts
        self._lexicon = TextAnalyzer("en")
        self._prompt = expansion_prompt.prompt(parts)
        self._schema = expansion_prompt.schema(parts)
        self._now = now

    @property
    def version(self) -> int:
        """Of the vectors too: they are of no use to another encoder."""
        made_by = [RULES, expansion_prompt.PROMPT_VERSION, self._parts, self._memory.encoder]
        return zlib.crc32(json.dumps(made_by).encode())

    async def missing(self, limit: int) -> Sequence[str]:
        return await asyncio.to_thread(self._derived.missing, self.kind, self.version, limit)

    async def run(self, subjects: Sequence[str]) -> None:
        for seen in await asyncio.to_thread(self._wanted, subjects):
            content = await self._content(seen)
            kept = await asyncio.to_thread(self._keep, seen, content)
            if kept:
                self._memory.enrich([seen.exchange.id])

    # -- inside ---------------------------------------------------------------------------------

    def _wanted(self, subjects: Sequence[str]) -> list[ExpansionInput]:
        """In this order: what is there, not hidden, and lacks it."""
        lacking = self._derived.lacking(self.kind, self.version, subjects)
        return [self._seen(exchange) for _, exchange in lacking]

    def _seen(self, exchange: Exchange) -> ExpansionInput:
        before = exchange_rows.before(
            self._transcript, self._user, exchange, expansion_prompt.SHOWN_BEFORE
        )
        lines = [
            (each.id, SpokenLine(speaker, text))
            for each in before
            for speaker, text in ((USER, each.user_text), (ASSISTANT, each.assistant_text))
            if text.strip()
        ]
        new = SpokenLine(USER, exchange.user_text)
        shown = expansion_prompt.shown([line for _, line in lines], new)
        sources = [exchange.id, *(key for key, _ in lines[len(lines) - len(shown) :])]
        return ExpansionInput(exchange, tuple(shown), new, tuple(dict.fromkeys(sources)))

    async def _content(self, seen: ExpansionInput) -> stored_expansions.Description:
        said = seen.exchange.user_text.strip()
        nothing = stored_expansions.Description(
            "", self._parts, fingerprint(said), "", (), self._memory.encoder
        )
        if not expansion_prompt.tells(said):
            return nothing
        asked = expansion_prompt.question(seen.before, seen.new)
        key = self._key(asked)
        made = await asyncio.to_thread(self._made_before, seen.exchange.id, key)
        if made is None:
            made = await self._made(seen, asked)
        found = replace(nothing, key=key, about=made.about, questions=made.questions)
        if texts := expansion_prompt.texts(made):
            vectors = await asyncio.to_thread(self._memory.vectors, texts)
            found = replace(found, vectors=vectors)
        return found

    async def _made(self, seen: ExpansionInput, asked: str) -> Made:
        answered = await ask_for_json(
            self._llm, self._prompt, asked, self._schema, expansion_prompt.tokens(self._parts)
        )
        on = seen.exchange.started.astimezone().date()
        made = expansion_prompt.made(answered)
        return expansion_prompt.grounded(made, (*seen.before, seen.new), on, self._lexicon)

    def _made_before(self, exchange: str, key: str) -> Made | None:
        """By the same model, from the same words."""
        content = self._derived.of(self.kind, [exchange]).get(exchange)
        if content is None or content["key"] != key:
            return None
        stored = stored_expansions.description(content)
        if not set(self._parts).issubset(stored.parts):
            return None
        about = stored.about if ABOUT in self._parts else ""
        return Made(about, stored.questions if QUESTIONS in self._parts else ())

    def _key(self, asked: str) -> str:
        """Not of the prompt for other parts: their words don't change what is made of these."""
        parts = [self._llm.name, RULES, expansion_prompt.PROMPT_VERSION, asked]
        return sha256(json.dumps(parts).encode()).hexdigest()

    def _keep(self, seen: ExpansionInput, made: stored_expansions.Description) -> bool:
        output = DerivedOutput(seen.exchange.id, stored_expansions.content_of(made), seen.sources)
        return self._derived.keep(self.kind, self.version, self._llm.name, output, self._now())
