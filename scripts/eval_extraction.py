"""How well facts are taken from what a user says: precision, recall, and what nobody said.

    python scripts/eval_extraction.py [--model NAME] [--part a|b] [--limit N] [--cache FILE]
                                      [--rules] [--wrong] [--json]

Runs the idle work's own functions on the labelled utterances in `data/evaluation/extraction.jsonl`:
the statements that rules find, the model's judgement of them, and the check that the words support
them. The prompt and the rules were tuned on part `a`; part `b` measures. `--rules` takes all that
the rules find, without a model. With `--cache`, answers are read from a file and added to it, so
that what is done with them can be tuned without the model. With `--json` the last line is one JSON
object.
"""

import argparse
import asyncio
import hashlib
import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from assistant.errors import AssistantError, ModelFailed
from assistant.idle.jobs.fact_extraction import SCHEMA, TOKENS, candidates, judged, prompt, question
from assistant.idle.jobs.structured_output import FewShotPrompt, ask_for_json
from assistant.language.stemming import TextAnalyzer
from assistant.memory.transcript.fact_rows import Fact
from assistant.paths import models_cache
from data import located
from models import catalogue
from models.download.cache import ModelStore
from models.interfaces import LanguageModel
from models.llm.llama import LlamaCpp
from scripts.common.last_line import last_line
from scripts.eval.extraction_score import Predicted, Row, Score, pairs, read_rows, score, table

MODEL = "qwen2.5-coder-0.5b-instruct"
DATA = "evaluation/extraction.jsonl"


@dataclass
class Judge:
    """Asks the model, unless it has answered that before."""

    llm: LanguageModel
    cache: Path | None
    prompt: FewShotPrompt = field(default_factory=prompt)
    seconds: float = 0.0
    asked: int = 0
    failed: int = 0

    def __post_init__(self) -> None:
        there = self.cache is not None and self.cache.exists()
        lines = self.cache.read_text("utf-8").splitlines() if there and self.cache else []
        self._known = {row["key"]: row["answer"] for row in map(json.loads, lines)}

    async def fact(self, said: str, found: Fact) -> Fact | None:
        asked = question(said, found.text)
        key = hashlib.sha256(
            json.dumps(
                [self.llm.name, self.prompt.instructions, self.prompt.examples, asked]
            ).encode()
        ).hexdigest()
        if key not in self._known:
            self._known[key] = await self._answer(asked)
            if self.cache is not None:
                with self.cache.open("a", encoding="utf-8") as file:
                    file.write(json.dumps({"key": key, "answer": self._known[key]}) + "\n")
        try:
            return judged(found, self._known[key])
        except ModelFailed:
            self.failed += 1
            return None

    async def _answer(self, asked: str) -> Any:
        begun = time.perf_counter()
        try:
            return await ask_for_json(self.llm, self.prompt, asked, SCHEMA, TOKENS)
        except ModelFailed:
            return None
        finally:
            self.seconds += time.perf_counter() - begun
            self.asked += 1


async def extracted(
    rows: Sequence[Row], judge: Judge | None
) -> tuple[dict[str, list[Predicted]], int]:
    """By row, and how many statements were dropped as unsupported. Without a judge all that the
    rules find."""
    lexicon, predicted, dropped = TextAnalyzer("en"), {}, 0
    for row in rows:
        found = candidates(row.said, row.said_at, lexicon)
        dropped += found.unsupported
        made = list(found.kept)
        if judge is not None:
            every = [await judge.fact(row.said, each) for each in made]
            made = [each for each in every if each is not None]
        predicted[row.id] = [Predicted(fact.kind, fact.text, fact.quote) for fact in made]
    return predicted, dropped


def wrong(rows: Sequence[Row], predicted: Mapping[str, Sequence[Predicted]]) -> list[str]:
    """What is right or allowed by no label, and what was missed."""
    lines = []
    for row in rows:
        facts = predicted[row.id]
        right = pairs(row.facts, facts)
        rest = [at for at in range(len(facts)) if at not in right]
        allowed = {rest[at] for at in pairs(row.may, [facts[at] for at in rest])}
        lines += [
            f"{row.id} {row.kind} WRONG {facts[at].type}: {facts[at].text}"
            for at in rest
            if at not in allowed
        ]
        lines += [
            f"{row.id} {row.kind} {facts[at].type} instead of {row.facts[label].type}:"
            f" {facts[at].text}"
            for at, label in right.items()
            if facts[at].type != row.facts[label].type
        ]
        lines += [
            f"{row.id} {row.kind} missed: {label.text} | {row.said}"
            for at, label in enumerate(row.facts)
            if at not in right.values() and not any(label.matches(each.text) for each in facts)
        ]
    return lines


async def measured(options: argparse.Namespace) -> dict[str, Any]:
    every = read_rows(located(DATA))
    rows = [row for row in every if options.part in (None, row.part)][: options.limit]
    if options.rules:
        judge, (predicted, dropped) = None, await extracted(rows, None)
    else:
        store = ModelStore(models_cache(), catalogue.read())
        llm = LlamaCpp(
            store.weights(options.model),
            name=options.model,
            context_tokens=2048,
            threads=2,
            batch_threads=2,
            batch_tokens=128,
        )
        judge = Judge(llm, options.cache)
        await llm.load()
        try:
            predicted, dropped = await extracted(rows, judge)
        finally:
            await llm.close()
    result = score(rows, predicted)
    for line in (wrong(rows, predicted) if options.wrong else []) + table(result):
        print(line)
    return _figures(rows, result, judge, dropped)


def _figures(
    rows: Sequence[Row], result: Score, judge: Judge | None, dropped: int
) -> dict[str, Any]:
    whole = result.whole
    found: dict[str, Any] = {
        "utterances": len(rows),
        "whole": asdict(whole),
        "precision": round(whole.precision, 3),
        "recall": round(whole.recall, 3),
        "coverage": round(whole.coverage, 3),
        "f1": round(whole.f1, 3),
        "unsupported": round(whole.unsupported_share, 4),
        "dropped_by_rule": dropped,
    }
    if judge is not None:
        found |= {"asked": judge.asked, "failed": judge.failed}
        found["model_seconds"] = round(judge.seconds, 1)
        found["model_seconds_per_100"] = round(100 * judge.seconds / max(1, len(rows)), 1)
    return found


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--model", default=MODEL, help="name in the catalogue")
    parser.add_argument("--part", choices=("a", "b"))
    parser.add_argument("--limit", type=int)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--rules", action="store_true", help="without a model")
    parser.add_argument("--wrong", action="store_true", help="print what is wrong or missed")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    try:
        found = asyncio.run(measured(options))
    except AssistantError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    print(last_line(found) if options.json else found)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
