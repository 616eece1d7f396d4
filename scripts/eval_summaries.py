"""Whether summaries of conversations help with broad questions, and harm narrow ones.

    python scripts/eval_summaries.py [--model NAME] [--turns N] [--cache FILE] [--show] [--json]

On the project's own fourteen conversations of one life (`data/evaluation/broad_questions.jsonl`):
what a prompt's notes have of what a good answer would name, without summaries, with those that
rules make and, with `--model`, with those that a language model shortened. All by the product's own
modules: the summaries, the search, the notes and their limits. Questions are of three kinds: about
a topic, about a time, and narrow ones, which must not lose. With `--cache` the model's answers are
read from a file and added to it. With `--json` the last line is one JSON object.
"""

import argparse
import asyncio
import hashlib
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from assistant.context.conversation import Exchange
from assistant.context.note import Note
from assistant.context.notes import NotesBudget, QuestionCues, notes_block
from assistant.context.prompt import asks_about_past, asks_something, asks_when
from assistant.errors import AssistantError, ModelFailed
from assistant.idle.jobs.structured_output import ask_for_json
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
from assistant.memory.retrieval.ranking import Ranking
from assistant.memory.retrieval.user_index import UserIndex
from assistant.memory.transcript.span_summaries import FEWEST, memory_of
from assistant.paths import models_cache
from assistant.settings import Settings
from data import located
from models import catalogue
from models.download.cache import ModelStore
from models.encoder.onnx import OnnxEncoder
from models.interfaces import LanguageModel
from models.llm.llama import LlamaCpp
from scripts.common.last_line import last_line
from scripts.eval.summary_score import Asked, covered, read_rows
from scripts.eval_recall import ENCODER, as_asked

DATA = "evaluation/broad_questions.jsonl"
ROOMS = (120, 200, 400)
"""Tokens of notes: what a slow, a middling and a quick model reads in its time."""
TOKEN = 4.0
"""Characters of English in one token, near enough."""
FOUND = 12
USER = "user"


@dataclass
class Shortener:
    """Asks the model, unless it has answered that before."""

    llm: LanguageModel
    cache: Path | None
    known: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    unsupported: int = 0
    sentences: int = 0
    failed: int = 0

    async def __call__(
        self, exchanges: Sequence[Exchange], lexicon: TextAnalyzer
    ) -> WrittenSummary:
        every = extract_sentences(exchanges, lexicon).kept
        shown, form = offered(every), prompt()
        if len(shown) <= 1:
            return WrittenSummary(written(select_sentences(every)))
        asked = question(shown)
        text = json.dumps([self.llm.name, form.instructions, form.examples, asked])
        key = hashlib.sha256(text.encode()).hexdigest()
        if key not in self.known:
            begun = time.perf_counter()
            try:
                self.known[key] = await ask_for_json(self.llm, form, asked, SCHEMA, TOKENS)
            except ModelFailed:
                self.known[key] = None
            self.seconds += time.perf_counter() - begun
            if self.cache is not None:
                with self.cache.open("a", encoding="utf-8") as file:
                    file.write(json.dumps({"key": key, "answer": self.known[key]}) + "\n")
        try:
            made = composed(every, self.known[key], lexicon)
        except ModelFailed:
            self.failed += 1
            return WrittenSummary(written(select_sentences(every)))
        self.sentences += len(self.known[key]["sentences"])
        self.unsupported += made.unsupported
        return made


async def by_rules(exchanges: Sequence[Exchange], lexicon: TextAnalyzer) -> WrittenSummary:
    return WrittenSummary(written(select_sentences(extract_sentences(exchanges, lexicon).kept)))


async def summed_up(
    talks: Mapping[str, Sequence[Exchange]], turns: int, how: Any
) -> list[tuple[Memory, datetime]]:
    """Summaries of all spans, and when each was there."""
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
    """What a prompt would hold."""

    def __init__(self, talks: Mapping[str, Sequence[Exchange]], folder: Path) -> None:
        """Raises ModelError: the encoder in `folder` has to be pulled, or is damaged."""
        self._encoder, self._asking = OnnxEncoder(folder), as_asked(folder)
        self._encoder.load()
        self._asking.load()
        self._said = [
            memory
            for key, each in talks.items()
            for e in each
            for memory in materialize_exchange(USER, key, e)
        ]
        self._known: dict[str, Any] = {}

    def _vectors(self, texts: Sequence[str]) -> Any:
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if new:
            self._known.update(zip(new, self._encoder.encode(new), strict=True))
        return np.array([self._known[text] for text in texts])

    def __call__(self, asked: Asked, summaries: Sequence[Memory], room: int) -> str:
        there = [each for each in (*self._said, *summaries) if each.created < asked.at]
        there.sort(key=lambda each: each.created)
        vectors = self._vectors([each.text for each in there])
        index = UserIndex(USER, TextAnalyzer("en"), vectors.shape[1], Ranking())
        index.add(there, vectors)
        read = read_question(asked.question, index.speakers())
        vector = self._asking.encode([read.meaning])[0]
        found = index.search(read, vector, k=FOUND, now=asked.at)
        least = Settings().memory.least_score
        notes = [
            Note(
                e.text, e.id, e.created, e.speaker, e.kind.value, e.superseded_by, e.score >= least
            )
            for e in found
        ]
        words = asked.question
        form = QuestionCues(
            words,
            asks=asks_something(words, "en"),
            exact=asks_when(words),
            past=asks_about_past(words),
        )
        return notes_block(notes, asked.at, _tokens, NotesBudget(room, room), form).text


def _tokens(text: str) -> int:
    return round(len(text) / TOKEN)


def figures(
    questions: Sequence[Asked], notes: Callable[[Asked, int], str], *, show: bool
) -> dict[str, Any]:
    """Means by kind of question and room."""
    found: dict[str, Any] = {}
    for room in ROOMS:
        blocks = [notes(asked, room) for asked in questions]
        shares = [covered(b, asked.points) for b, asked in zip(blocks, questions, strict=True)]
        for kind in ("topic", "time", "narrow"):
            mine = [s for s, asked in zip(shares, questions, strict=True) if asked.kind == kind]
            found[f"{kind} {room}"] = round(float(np.mean(mine)), 3)
        if show and room == ROOMS[1]:
            for asked, block, share in zip(questions, blocks, shares, strict=True):
                sys.stdout.write(f"\n{share:.2f} {asked.kind}: {asked.question}\n{block}\n")
    return found


async def measured(options: argparse.Namespace) -> dict[str, Any]:
    talks, questions = read_rows(located(DATA))
    notes = Notes(talks, models_cache() / ENCODER)
    made: dict[str, list[tuple[Memory, datetime]]] = {"without": []}
    made["rules"] = await summed_up(talks, options.turns, by_rules)
    found: dict[str, Any] = {"questions": len(questions), "turns": options.turns}
    if options.model:
        made[options.model], found["model"] = await _by_model(options, talks)
    for name, summaries in made.items():
        known = [memory for memory, _ in summaries]
        if options.show:
            for memory in known:
                sys.stdout.write(f"{name} {memory.id}: {memory.text}\n")

        def noted(asked: Asked, room: int, known: Sequence[Memory] = known) -> str:
            return notes(asked, known, room)

        found[name] = figures(questions, noted, show=options.show)
    return found


async def _by_model(
    options: argparse.Namespace, talks: Mapping[str, Sequence[Exchange]]
) -> tuple[list[tuple[Memory, datetime]], dict[str, Any]]:
    store = ModelStore(models_cache(), catalogue.read())
    llm = LlamaCpp(
        store.weights(options.model),
        name=options.model,
        context_tokens=2048,
        threads=2,
        batch_threads=2,
        batch_tokens=128,
    )
    there = options.cache is not None and options.cache.exists()
    lines = options.cache.read_text("utf-8").splitlines() if there else []
    known = {row["key"]: row["answer"] for row in map(json.loads, lines)}
    how = Shortener(llm, options.cache, known)
    await llm.load()
    try:
        made = await summed_up(talks, options.turns, how)
    finally:
        await llm.close()
    return made, {
        "seconds": round(how.seconds, 1),
        "summaries": len(made),
        "sentences": how.sentences,
        "unsupported": how.unsupported,
        "failed": how.failed,
    }


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--model", help="name in the catalogue")
    parser.add_argument("--turns", type=int, default=Settings().idle.summarise_turns)
    parser.add_argument("--cache", type=Path, help="of the model's answers")
    parser.add_argument("--show", action="store_true", help="summaries, and each question's notes")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    try:
        found = asyncio.run(measured(options))
    except (AssistantError, OSError, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    for name, each in found.items():
        sys.stdout.write(f"{name}: {each}\n")
    if options.json:
        sys.stdout.write(last_line(found) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
