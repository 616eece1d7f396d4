"""Summarises conversations, and measures how much of a good answer a prompt's notes contain."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from assistant.context.conversation import Exchange
from assistant.context.memory_block import MemoryBudget, memory_block
from assistant.context.question_cues import QuestionCues
from assistant.errors import ModelFailed
from assistant.events import MemoryUsed
from assistant.idle.jobs.summarisation import (
    SCHEMA,
    TOKENS,
    WrittenSummary,
    composed,
    offered,
    prompt,
    question,
)
from assistant.language.stemming import TextAnalyzer
from assistant.memory.curation.extractive_summary import (
    extract_sentences,
    select_sentences,
    written,
)
from assistant.memory.curation.materialize import materialize_exchange
from assistant.memory.records.ids import subject_of
from assistant.memory.records.memory import Memory
from assistant.memory.retrieval.question import read_question
from assistant.memory.transcript.span_summaries import FEWEST, memory_of
from assistant.settings import Settings
from models.interfaces import LanguageModel
from scripts.eval.asking import Answers, Asking
from scripts.eval.encoders import Encoders
from scripts.eval.recall_methods import indexed
from scripts.eval.summary_score import Asked, covered

ROOMS = (120, 200, 400)
"""Numbers of tokens of notes that a slow, a medium and a fast model can read in the time
allowed."""
TOKEN = 4.0
"""The approximate number of characters of English in one token."""
FOUND = 12
USER = "user"


Summarise = Callable[[Sequence[Exchange], TextAnalyzer], Awaitable[WrittenSummary]]


class Shortener(Asking):
    """Asks the model to shorten the sentences that rules choose. If it fails, rules select a
    few."""

    def __init__(self, llm: LanguageModel, cache: Path | None) -> None:
        super().__init__(llm, prompt(), SCHEMA, TOKENS, Answers(cache))
        self.unsupported = self.sentences = self.failed = 0

    async def summary(self, exchanges: Sequence[Exchange], lexicon: TextAnalyzer) -> WrittenSummary:
        every = extract_sentences(exchanges, lexicon).kept
        shown = offered(every)
        if len(shown) <= 1:
            return WrittenSummary(written(select_sentences(every)))
        answer = await self.answer(question(shown))
        try:
            made = composed(every, answer, lexicon)
        except ModelFailed:
            self.failed += 1
            return WrittenSummary(written(select_sentences(every)))
        self.sentences += len(answer["sentences"])
        self.unsupported += made.unsupported
        return made


async def by_rules(exchanges: Sequence[Exchange], lexicon: TextAnalyzer) -> WrittenSummary:
    return WrittenSummary(written(select_sentences(extract_sentences(exchanges, lexicon).kept)))


async def summed_up(
    talks: Mapping[str, Sequence[Exchange]], turns: int, how: Summarise
) -> list[tuple[Memory, datetime]]:
    """The summaries of all spans of turns, each with the time of its last turn."""
    lexicon, made = TextAnalyzer("en"), []
    for key, exchanges in talks.items():
        for at in range(0, len(exchanges), turns):
            part = exchanges[at : at + turns]
            text = (await how(part, lexicon)).text if len(part) >= FEWEST else ""
            if text:
                subject = subject_of(key, at + 1)
                made.append((memory_of(USER, key, subject, text, part), part[-1].started))
    return made


class Notes:
    """Builds the notes that a prompt would contain."""

    def __init__(self, talks: Mapping[str, Sequence[Exchange]], encoders: Encoders) -> None:
        self._encoders = encoders
        self._said = [
            memory
            for key, each in talks.items()
            for e in each
            for memory in materialize_exchange(USER, key, e)
        ]

    def __call__(self, asked: Asked, summaries: Sequence[Memory], room: int) -> str:
        there = [each for each in (*self._said, *summaries) if each.created < asked.at]
        there.sort(key=lambda each: each.created)
        vectors = self._encoders.documents([each.text for each in there])
        index = indexed(USER, there, vectors)
        read = read_question(asked.question, index.speakers())
        vector = self._encoders.queries([read.meaning])[0]
        found = index.search(read, vector, k=FOUND, now=asked.at)
        least = Settings().memory.least_score
        recalled = [
            MemoryUsed(
                each.id,
                each.text,
                kind=each.kind.value,
                speaker=each.speaker,
                said=each.created,
                superseded_by=each.superseded_by,
                near=each.score >= least,
            )
            for each in found
        ]
        cues = QuestionCues.of(asked.question, "en")
        return memory_block(recalled, asked.at, _tokens, MemoryBudget(room, room), cues).text


def _tokens(text: str) -> int:
    return round(len(text) / TOKEN)


def figures(
    questions: Sequence[Asked], notes: Callable[[Asked, int], str], *, show: bool
) -> dict[str, Any]:
    """The mean share of points in the notes, by kind of question and size of the notes."""
    found: dict[str, Any] = {}
    for room in ROOMS:
        blocks = [notes(asked, room) for asked in questions]
        shares = [covered(b, asked.points) for b, asked in zip(blocks, questions, strict=True)]
        for kind in ("topic", "time", "narrow"):
            mine = [s for s, asked in zip(shares, questions, strict=True) if asked.kind == kind]
            found[f"{kind} {room}"] = round(float(np.mean(mine)), 3)
        if show and room == ROOMS[1]:
            for asked, block, share in zip(questions, blocks, shares, strict=True):
                print(f"\n{share:.2f} {asked.kind}: {asked.question}\n{block}")
    return found
