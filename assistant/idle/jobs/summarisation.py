"""What a stretch of conversation was about, in a few sentences, from what the user said there.

Rules find what may be told, and write it in the third person; where a model is asked, it puts that
in fewer words, and every sentence is checked against the words that it names: one with a word, a
name, a number or a `not` that isn't there is dropped. Where none is left the rules' own sentences
stand. The assistant's words are never read.
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
from assistant.language.stemming import TextAnalyzer
from assistant.memory import Transcript, UserMemory
from assistant.memory.curation import (
    MARKS,
    MOST_WORDS,
    SUMMARISED,
    DerivedOutput,
    DerivedOutputs,
    Memory,
    Span,
    SummarySentence,
    borne_out,
    extract_sentences,
    rewrite,
    select_sentences,
    span_summaries,
    written,
)
from models.interfaces import LanguageModel

MOST_SENTENCES = 5
OFFERED = 12
"""Points that a model chooses from."""
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
            "maxItems": MOST_SENTENCES,
        }
    },
    "required": ["sentences"],
    "additionalProperties": False,
}
RULES = 1
"""Their version, and the prompt's."""
TOKENS = 320
"""Of the answer."""


@dataclass(frozen=True, slots=True)
class WrittenSummary:
    """A summary, empty where there is nothing to tell, and how many sentences were dropped since
    the words don't support them."""

    text: str
    unsupported: int = 0


# -- what is asked, and what is made of the answer; pure ------------------------------------------


def offered(every: Sequence[SummarySentence]) -> list[SummarySentence]:
    """What was told, the most telling of it, as a model is shown it; questions are added later."""
    return select_sentences([each for each in every if not each.asked], 2 * MOST_WORDS)[:OFFERED]


def question(shown: Sequence[SummarySentence]) -> str:
    return "\n".join(f"{number}. {each.text}" for number, each in enumerate(shown, start=1))


def composed(
    every: Sequence[SummarySentence], answered: object, lexicon: TextAnalyzer
) -> WrittenSummary:
    """The model's sentences that the words bear out, and what was asked; the rules' summary where
    none is left.

    Raises:
        ModelFailed: that is no answer to the question.
    """
    shown, told, dropped = offered(every), list[str](), 0
    for sentence, numbers in _sentences(answered):
        by = [shown[number - 1] for number in numbers if 0 < number <= len(shown)]
        room = MOST_WORDS - sum(len(each.split()) for each in told)
        if not borne_out(sentence, by, lexicon):
            dropped += 1
        elif sentence not in told and len(sentence.split()) <= room:
            told.append(sentence)
    if not told:
        return WrittenSummary(written(select_sentences(every)), dropped)
    words = sum(len(each.split()) for each in told)
    asked = select_sentences([each for each in every if each.asked], MOST_WORDS - words)
    return WrittenSummary(" ".join(filter(None, (*told, written(asked)))), dropped)


def prompt() -> FewShotPrompt:
    """What ships with the project."""
    return FewShotPrompt(
        load_prompt("summarise"), [_example(each) for each in examples("summarise")]
    )


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
        raise ModelFailed("The model did not sum up what it was asked to.") from None


# -- the work -----------------------------------------------------------------------------------


class SummarisationJob:
    """One user's. Needs English: of other languages nothing is taken.

    Args:
        llm: puts it in fewer words; None leaves it to the rules.
        turns: of one span.
        now: wall time, UTC.
    """

    kind = SUMMARISED
    priority = 60
    recurs = False

    def __init__(
        self,
        transcript: Transcript,
        memory: UserMemory,
        llm: LanguageModel | None,
        turns: int,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._transcript = transcript
        self._memory = memory
        self._user = memory.user_id
        self._derived = DerivedOutputs(transcript, memory.user_id)
        self._llm = llm
        self._turns = turns
        self.light = llm is None
        self.version = 2 * RULES + (llm is not None)
        self._lexicon = TextAnalyzer("en")
        self._prompt = prompt()
        self._now = now
        self.unsupported = 0
        """Sentences that were dropped in this process, since the words don't support them."""

    async def missing(self, limit: int) -> Sequence[str]:
        return await asyncio.to_thread(self._missing, limit)

    def _missing(self, limit: int) -> list[str]:
        with self._transcript.reading() as db:
            return span_summaries.spans_without_summary(
                db, self._user, self.version, self._turns, self._now(), limit
            )

    async def run(self, subjects: Sequence[str]) -> None:
        for subject in subjects:
            span = await asyncio.to_thread(self._span, subject)
            if span is None:
                continue
            said = await asyncio.to_thread(self._said, span)
            found = extract_sentences(said, self._lexicon)
            made = await self._written(found.kept)
            self.unsupported += found.unsupported + made.unsupported
            if await asyncio.to_thread(self._span, subject) == span:  # nothing changed meanwhile
                await self._remember(span, said, made.text)

    # -- inside ---------------------------------------------------------------------------------

    def _span(self, subject: str) -> Span | None:
        """None where nothing is to be made of it, now or at all."""
        with self._transcript.reading() as db:
            span = span_summaries.span(db, self._user, subject, self._turns)
            if span is None:
                return None
            right = span_summaries.put_right(db, self._user, span.exchanges)
        if right:
            self._keep(span, None, "")
            return None
        return span if subject not in self._whole([span]) else None

    def _whole(self, spans: Sequence[Span]) -> set[str]:
        """Those that have a summary of all that they hold."""
        found = self._derived.made(self.kind, self.version, [each.subject for each in spans])
        with self._transcript.reading() as db:
            covered = span_summaries.sources(db, self._user, found)
        return {e.subject for e in spans if covered.get(e.subject) == frozenset(e.exchanges)}

    def _said(self, span: Span) -> list[Exchange]:
        return [each for _, each in self._transcript.exchanges(self._user, span.exchanges)]

    async def _written(self, every: Sequence[SummarySentence]) -> WrittenSummary:
        shown = offered(every)
        if self._llm is None or len(shown) <= 1:
            return WrittenSummary(written(select_sentences(every)))
        answered = await ask_for_json(self._llm, self._prompt, question(shown), SCHEMA, TOKENS)
        return composed(every, answered, self._lexicon)

    async def _remember(self, span: Span, said: Sequence[Exchange], text: str) -> None:
        """First the memory, then the note that it was made: what comes between the two is done
        again, and changes nothing then."""
        old = await asyncio.to_thread(self._before, span)
        marks = next((each for each in old if each.id == span.subject), None)
        new = span_summaries.memory_of(self._user, span.conversation, span.subject, text, said)
        if marks is not None:
            new = replace(new, **{name: getattr(marks, name) for name in MARKS})
        changed = [each for each in old if not text or each != new]
        if changed:
            await asyncio.to_thread(self._memory.drop, changed)
        if text:
            await asyncio.to_thread(self._memory.put, [new])
        if not await asyncio.to_thread(self._keep, span, text or None, self._model):
            await asyncio.to_thread(self._take_back, span)

    @property
    def _model(self) -> str:
        return self._llm.name if self._llm is not None else ""

    def _before(self, span: Span) -> list[Memory]:
        """Summaries of the same words: an earlier one, and those of spans of another length."""
        with self._transcript.writing() as db:
            others = span_summaries.overlapping(db, self._user, span.subject, span.exchanges)
            span_summaries.drop(db, self._user, others)
        return self._memory.table.get(self._user, [span.subject, *others])

    def _keep(self, span: Span, text: str | None, model: str) -> bool:
        output = DerivedOutput(span.subject, text, span.exchanges)
        return self._derived.keep(self.kind, self.version, model, output, self._now())

    def _take_back(self, span: Span) -> None:
        """Something of it was forgotten meanwhile: nothing of it stays, not in the store's older
        versions either."""
        made = self._memory.table.get(self._user, [span.subject])
        if made:
            self._memory.drop(made)
            rewrite(self._memory.table)
