"""Summarises a stretch of conversation in a few sentences, based on what the user said in it.

Rules extract the points and put them in the third person. A model, if one is used, shortens them.
Each sentence of the model cites some points. A sentence is dropped if it contains a word, a name, a
number or a `not` that these points lack. If no sentence is left, the rules' sentences are used. The
assistant's words are never read.
"""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from assistant.context import Exchange, FewShotPrompt, shipped
from assistant.errors import ModelFailed
from assistant.idle.jobs.model_job import ModelJob, utc_now
from assistant.language.stemming import TextAnalyzer
from assistant.memory import Transcript, UserMemory
from assistant.memory.curation import (
    MARKS,
    MOST_WORDS,
    SUMMARISED,
    DerivedOutput,
    Memory,
    Span,
    SummarySentence,
    borne_out,
    extract_sentences,
    select_sentences,
    span_summaries,
    written,
)
from models.interfaces import LanguageModel

OFFERED = 12
"""Maximum number of points that are shown to the model."""
SENTENCE: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "from": {
            "type": "array",
            "items": {"type": "integer", "minimum": 1, "maximum": OFFERED},
            "minItems": 1,
            "maxItems": 2,
        },
        "text": {"type": "string", "maxLength": 160},
    },
    "required": ["from", "text"],
    "additionalProperties": False,
}
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "sentences": {
            "type": "array",
            "items": SENTENCE,
            "minItems": 1,
            "maxItems": 5,
        }
    },
    "required": ["sentences"],
    "additionalProperties": False,
}
TOKENS = 320
"""Maximum number of tokens of the model's answer."""


@dataclass(frozen=True, slots=True)
class WrittenSummary:
    """A summary, and the number of sentences dropped because the user's words don't support them.
    The text is empty if there is nothing to summarise."""

    text: str
    unsupported: int = 0


# -- the question, and parsing the answer; pure ---------------------------------------------------


def offered(every: Sequence[SummarySentence]) -> list[SummarySentence]:
    """Return the most informative statements, to be shown to the model. Questions are not
    included."""
    return select_sentences([each for each in every if not each.asked], 2 * MOST_WORDS)[:OFFERED]


def question(shown: Sequence[SummarySentence]) -> str:
    return "\n".join(f"{number}. {each.text}" for number, each in enumerate(shown, start=1))


def composed(
    every: Sequence[SummarySentence], answered: object, lexicon: TextAnalyzer
) -> WrittenSummary:
    """Keep the model's sentences that the user's words support, and add the user's questions. If no
    sentence is left, return the summary made by rules.

    Raises:
        ModelFailed: the answer has another form.
    """
    shown, kept, dropped = offered(every), list[str](), 0
    for sentence, numbers in _sentences(answered):
        by = [shown[number - 1] for number in numbers if 0 < number <= len(shown)]
        room = MOST_WORDS - sum(len(each.split()) for each in kept)
        if not borne_out(sentence, by, lexicon):
            dropped += 1
        elif sentence not in kept and len(sentence.split()) <= room:
            kept.append(sentence)
    if not kept:
        return WrittenSummary(written(select_sentences(every)), dropped)
    words = sum(len(each.split()) for each in kept)
    asked = select_sentences([each for each in every if each.asked], MOST_WORDS - words)
    return WrittenSummary(" ".join(filter(None, (*kept, written(asked)))), dropped)


def prompt() -> FewShotPrompt:
    """Load the prompt that ships with the project."""
    return shipped("summarise", _example)


def _example(raw: Mapping[str, Any]) -> tuple[str, str]:
    asked = "\n".join(f"{number}. {each}" for number, each in enumerate(raw["told"], start=1))
    return asked, json.dumps({"sentences": raw["sentences"]})


def _sentences(answered: object) -> list[tuple[str, list[int]]]:
    listed = answered.get("sentences") if isinstance(answered, Mapping) else None
    try:
        if not isinstance(listed, list):
            raise TypeError
        return [
            (" ".join(str(each["text"]).split()), [int(number) for number in each["from"]])
            for each in listed
        ]
    except (TypeError, KeyError, ValueError):
        raise ModelFailed("The model's summary is not in the requested form.") from None


# -- the job ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SpanSource:
    span: Span
    said: tuple[Exchange, ...]


class SummarisationJob(ModelJob[SpanSource, WrittenSummary]):
    """Summarises conversations by rules. If there is a model, it shortens the result.

    Args:
        turns: number of turns per summary.
    """

    kind = SUMMARISED
    priority = 60
    schema = SCHEMA
    max_tokens = TOKENS
    unsupported = 0
    """Number of sentences dropped in this process because the user's words don't support them."""

    def __init__(
        self,
        transcript: Transcript,
        memory: UserMemory,
        llm: LanguageModel | None,
        turns: int,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        super().__init__(transcript, memory, llm, now)
        self._spans = span_summaries.ConversationSpans(transcript, memory.user_id, turns)

    def prompt(self) -> FewShotPrompt:
        return prompt()

    def lacking(self, limit: int) -> Sequence[str]:
        return self._spans.without_summary(self.version, self._now(), limit)

    def read(self, subject: str) -> SpanSource | None:
        span = self._spans.span(subject)
        if span is None:
            return None
        if self._spans.suppressed(span):
            self.noted(DerivedOutput(subject, None, span.exchanges), "")
            return None
        if self._spans.has_summary(span, self.version):
            return None
        said = self._transcript.exchanges(self._user, span.exchanges)
        return SpanSource(span, tuple(exchange for _, exchange in said))

    async def make(self, source: SpanSource) -> WrittenSummary:
        found = extract_sentences(source.said, self._lexicon)
        made = await self._written(found.kept)
        self.unsupported += found.unsupported + made.unsupported
        return made

    async def keep(self, source: SpanSource, made: WrittenSummary) -> None:
        span = source.span
        old = await asyncio.to_thread(self._before, span)
        marks = next((each for each in old if each.id == span.subject), None)
        new = span_summaries.memory_of(
            self._user, span.conversation, span.subject, made.text, source.said
        )
        if marks is not None:
            new = replace(new, **{name: getattr(marks, name) for name in MARKS})
        changed = [each for each in old if not made.text or each != new]
        if changed:
            await asyncio.to_thread(self._memory.delete, changed)
        if made.text:
            await asyncio.to_thread(self._memory.put, [new])
        output = DerivedOutput(span.subject, made.text or None, span.exchanges)
        await self.note(output, [span.subject])

    # -- internals ------------------------------------------------------------------------------

    async def _written(self, every: Sequence[SummarySentence]) -> WrittenSummary:
        shown = offered(every)
        if self._llm is None or len(shown) <= 1:
            return WrittenSummary(written(select_sentences(every)))
        return composed(every, await self.ask(question(shown)), self._lexicon)

    def _before(self, span: Span) -> list[Memory]:
        """Return the stored summaries of the same words: the span's earlier one, and those of
        overlapping spans of other lengths, whose outputs are deleted."""
        others = self._spans.drop_overlapping(span)
        return self._memory.table.get(self._user, [span.subject, *others])
