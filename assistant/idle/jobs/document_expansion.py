"""Rephrases what the user said as a description and as questions, which only the search index uses.

If an exchange refers back to earlier lines, the model sees the last few of these, too. All
exchanges that it sees are sources of the output. Because small models make things up, the output is
checked against these exchanges. Even text that passes the check is only searched, never shown.
"""

import asyncio
import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha256

from assistant.context import Exchange, FewShotPrompt
from assistant.idle.jobs import expansion_prompt
from assistant.idle.jobs.expansion_prompt import ABOUT, QUESTIONS, Made, SpokenLine
from assistant.idle.jobs.model_job import ModelJob, utc_now
from assistant.memory import Transcript, UserMemory
from assistant.memory.curation import DerivedOutput, document_expansion, fingerprint
from models.interfaces import LanguageModel

USER, ASSISTANT = "User", "Assistant"
"""Names of the speakers, at the start of each line."""


@dataclass(frozen=True, slots=True)
class ExpansionInput:
    """An exchange, with the lines that the model is shown."""

    exchange: Exchange
    before: tuple[SpokenLine, ...]
    new: SpokenLine
    sources: tuple[str, ...]
    """Ids of the exchanges whose words are shown, starting with this exchange."""


class DocumentExpansionJob(ModelJob[ExpansionInput, document_expansion.Expansion]):
    """Writes descriptions and questions for the index.

    Args:
        parts: what to write: descriptions, questions or both.
    """

    kind = document_expansion.DESCRIBED
    priority = 60

    def __init__(
        self,
        transcript: Transcript,
        memory: UserMemory,
        llm: LanguageModel,
        parts: tuple[str, ...] = expansion_prompt.EVERYTHING,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._parts = parts
        super().__init__(transcript, memory, llm, now)
        self.schema = expansion_prompt.schema(parts)
        self.max_tokens = expansion_prompt.tokens(parts)
        # The encoder is included because another encoder can't use its vectors.
        made_by = [self.rules, expansion_prompt.PROMPT_VERSION, parts, str(memory.encoder)]
        self.version = zlib.crc32(json.dumps(made_by).encode())

    def prompt(self) -> FewShotPrompt:
        return expansion_prompt.prompt(self._parts)

    def read(self, subject: str) -> ExpansionInput | None:
        for _, exchange in self._derived.lacking(self.kind, self.version, [subject]):
            return self._seen(exchange)
        return None

    async def make(self, source: ExpansionInput) -> document_expansion.Expansion:
        said = source.exchange.user_text.strip()
        nothing = document_expansion.Expansion(
            fingerprint(said), parts=self._parts, encoder=self._memory.encoder
        )
        if not expansion_prompt.tells(said):
            return nothing
        asked = expansion_prompt.question(source.before, source.new)
        key = self._key(asked)
        made = await asyncio.to_thread(self._made_before, source.exchange.id, key)
        if made is None:
            made = await self._made(source, asked)
        found = replace(nothing, key=key, about=made.about, questions=made.questions)
        if texts := expansion_prompt.texts(made):
            vectors = await asyncio.to_thread(self._memory.vectors, texts)
            found = replace(found, vectors=vectors)
        return found

    async def keep(self, source: ExpansionInput, made: document_expansion.Expansion) -> None:
        exchange = source.exchange.id
        if await self.note(
            DerivedOutput(exchange, document_expansion.content_of(made), source.sources)
        ):
            self._memory.enrich([exchange])

    # -- internals ------------------------------------------------------------------------------

    def _seen(self, exchange: Exchange) -> ExpansionInput:
        before = self._transcript.before(self._user, exchange, expansion_prompt.SHOWN_BEFORE)
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

    async def _made(self, seen: ExpansionInput, asked: str) -> Made:
        on = seen.exchange.started.astimezone().date()
        made = expansion_prompt.made(await self.ask(asked))
        return expansion_prompt.grounded(made, (*seen.before, seen.new), on, self._lexicon)

    def _made_before(self, exchange: str, key: str) -> Made | None:
        """Return the stored output of the same model for the same question, or None if there is
        none."""
        content = self._derived.of(self.kind, [exchange]).get(exchange)
        if content is None or content["key"] != key:
            return None
        stored = document_expansion.expansion(content)
        if not set(self._parts).issubset(stored.parts):
            return None
        about = stored.about if ABOUT in self._parts else ""
        return Made(about, stored.questions if QUESTIONS in self._parts else ())

    def _key(self, asked: str) -> str:
        """Return a hash of the model's name and the question. The hash is the same whether
        descriptions, questions or both are wanted, because a description does not depend on whether
        questions are written too."""
        parts = [self.model, self.rules, expansion_prompt.PROMPT_VERSION, asked]
        return sha256(json.dumps(parts).encode()).hexdigest()
