"""Measures how well the functions of idle work extract facts from what a user says."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from assistant.errors import ModelFailed
from assistant.idle.jobs.fact_extraction import SCHEMA, TOKENS, candidates, judged, prompt, question
from assistant.language.stemming import TextAnalyzer
from assistant.memory.transcript.fact_rows import Fact
from models.interfaces import LanguageModel
from scripts.common.program import Figures
from scripts.eval.asking import Answers, Asking
from scripts.eval.extraction_score import Predicted, Row, Score, pairs

DATA = "evaluation/extraction.jsonl"


class Judge(Asking):
    """Asks the model whether each statement is worth remembering."""

    def __init__(self, llm: LanguageModel, cache: Path | None) -> None:
        super().__init__(llm, prompt(), SCHEMA, TOKENS, Answers(cache))
        self.failed = 0

    async def fact(self, said: str, found: Fact) -> Fact | None:
        try:
            return judged(found, await self.answer(question(said, found.text)))
        except ModelFailed:
            self.failed += 1
            return None


async def extracted(
    rows: Sequence[Row], judge: Judge | None
) -> tuple[dict[str, list[Predicted]], int]:
    """The facts by row, and the number of statements dropped as unsupported. Without a judge, all
    facts that the rules find are kept."""
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
    """Lines for facts that match no label and are not allowed, for wrong types, and for missed
    facts."""
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


def figures(rows: Sequence[Row], result: Score, judge: Judge | None, dropped: int) -> Figures:
    whole = result.whole
    found: Figures = {
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
