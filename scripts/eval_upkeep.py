"""How well the memory tells what is told again, and what puts something older out of force.

    python scripts/eval_upkeep.py [--encoder NAME] [--json]
    python scripts/eval_upkeep.py --model NAME [--encoder NAME] [--json]
    python scripts/eval_upkeep.py --talk [--encoder NAME] [--json]

On the project's own pairs of utterances (`data/evaluation/memory_pairs.jsonl`), told on two days
each: precision and recall of both decisions, of the rules alone and with the encoder's cosine.
Part `a` was there when the rules were written, part `b` came afterwards; the rules were then
mended once, so that b flatters them a little too. `--talk` takes the project's 6,000 utterances
of one user instead, where each is said but once, and prints what would be merged or superseded
among them: to be read. `--model` adds what the idle work `consolidate` makes of the pairs that are
left: `consolidated` by its rules and, where these ask it, by the model; `proposed` what the model
says of all of them, unchecked. With `--json` the last line is one JSON object.
"""

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from assistant.errors import AssistantError
from assistant.idle.jobs.consolidation import (
    SCHEMA,
    TOKENS,
    allowed,
    by_rules,
    prompt,
    proposed,
    question,
)
from assistant.idle.jobs.structured_output import ask_for_json
from assistant.language.stemming import TextAnalyzer
from assistant.memory.curation.consolidation import NEAREST
from assistant.memory.curation.reconcile import Repeats, Replaces, reconcile
from assistant.memory.records.memory import Memory, MemoryKind
from assistant.paths import models_cache
from data import located
from models import catalogue
from models.download.cache import ModelStore
from models.encoder.onnx import OnnxEncoder
from models.llm.llama import LlamaCpp
from scripts.common.last_line import last_line

ENCODER = "all-minilm-l6-v2"
PAIRS = "evaluation/memory_pairs.jsonl"
TALK = ("evaluation/paraphrase_facts.jsonl", "evaluation/paraphrase_distractors.jsonl")
START = datetime(2026, 1, 1, tzinfo=UTC)
NEAR = 64
LABELS = {Repeats: "duplicate", Replaces: "replaces"}
"""By decision; what is `similar` stands for itself."""
VERDICTS = {"same": "duplicate", "changed": "replaces", "both": "similar"}


def told(text: str, day: int, key: str = "") -> Memory:
    at = START + timedelta(days=day)
    return Memory(
        key or f"{day}", "user", MemoryKind.EXCHANGE, text, at, sources=(key or f"{day}",)
    )


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in located(name).read_text("utf-8").splitlines()]


def on_pairs(encoder: OnnxEncoder) -> dict[str, Any]:
    """Precision and recall by part and decision, and the pairs that were decided wrongly."""
    pairs, lexicon = rows(PAIRS), TextAnalyzer("en")
    older = encoder.encode([pair["older"] for pair in pairs])
    newer = encoder.encode([pair["newer"] for pair in pairs])
    cosines = np.sum(older * newer, axis=1)
    decided: dict[str, list[str]] = {"rules": [], "with_cosine": []}
    for pair, cosine in zip(pairs, cosines.tolist(), strict=True):
        first, second = told(pair["older"], 0), told(pair["newer"], 9)
        for name, near in (("rules", 1.0), ("with_cosine", cosine)):
            decision = reconcile(second, [(first, near)], lexicon)
            decided[name].append(LABELS.get(type(decision), "similar"))
    found: dict[str, Any] = {"pairs": len(pairs)}
    for part in ("a", "b"):
        chosen = [at for at, pair in enumerate(pairs) if pair["part"] == part]
        wanted = [pairs[at]["label"] for at in chosen]
        found[part] = {
            name: {
                label: quality([each[at] for at in chosen], wanted, label)
                for label in LABELS.values()
            }
            for name, each in decided.items()
        }
    found["wrong"] = [
        f"{pair['label']} taken as {got} ({cosine:.2f}): {pair['older']} | {pair['newer']}"
        for pair, got, cosine in zip(pairs, decided["with_cosine"], cosines, strict=True)
        if got != pair["label"]
    ]
    return found


def quality(got: Sequence[str], wanted: Sequence[str], label: str) -> dict[str, float]:
    right = sum(a == b == label for a, b in zip(got, wanted, strict=True))
    return {
        "precision": round(right / max(1, sum(each == label for each in got)), 3),
        "recall": round(right / max(1, sum(each == label for each in wanted)), 3),
        "pairs": sum(each == label for each in wanted),
    }


async def on_model(encoder: OnnxEncoder, model: str) -> dict[str, Any]:
    """By part: precision and recall, what upkeep decides included, and the time it took."""
    pairs, lexicon = rows(PAIRS), TextAnalyzer("en")
    cosines = np.sum(
        encoder.encode([each["older"] for each in pairs])
        * encoder.encode([each["newer"] for each in pairs]),
        axis=1,
    )
    llm = LlamaCpp(
        ModelStore(models_cache(), catalogue.read()).weights(model),
        name=model,
        context_tokens=2048,
        threads=2,
        batch_threads=2,
        batch_tokens=128,
    )
    await llm.load()
    asking, form = 0, prompt()
    begun, decided = time.perf_counter(), []
    try:
        for pair, cosine in zip(pairs, cosines.tolist(), strict=True):
            first, second = told(pair["older"], 0), told(pair["newer"], 9)
            known = LABELS.get(type(reconcile(second, [(first, cosine)], lexicon)), "similar")
            if known != "similar" or cosine < NEAREST:
                decided.append((known, known))
                continue
            asked = question(pair["older"], pair["newer"])
            says = proposed(await ask_for_json(llm, form, asked, SCHEMA, TOKENS))
            rule, may = by_rules(first, second, lexicon), allowed(first, second, lexicon)
            asking += rule == "both" and may is not None
            taken = rule if rule != "both" else says if says == may else "both"
            decided.append((VERDICTS[taken], VERDICTS[says]))
    finally:
        await llm.close()
    found: dict[str, Any] = {
        "left": sum(cosine >= NEAREST for cosine in cosines.tolist()),
        "asked by the rules": asking,
        "seconds": round(time.perf_counter() - begun, 1),
    }
    for part in ("a", "b"):
        chosen = [at for at, pair in enumerate(pairs) if pair["part"] == part]
        wanted = [pairs[at]["label"] for at in chosen]
        found[part] = {
            name: {
                label: quality([decided[at][place] for at in chosen], wanted, label)
                for label in LABELS.values()
            }
            for place, name in enumerate(("consolidated", "proposed"))
        }
    found["wrong"] = [
        f"{pair['label']}, {how} {each[place]}: {pair['older']} | {pair['newer']}"
        for pair, each in zip(pairs, decided, strict=True)
        for place, how in enumerate(("taken as", "proposed as"))
        if each[place] not in (pair["label"], "similar")
    ]
    return found


def on_talk(encoder: OnnxEncoder) -> dict[str, Any]:
    """What is decided of each utterance, given the nearest of those before it."""
    talk = sorted((row for name in TALK for row in rows(name)), key=lambda row: int(row["day"]))
    memories = [told(row["said"], row["day"], row["id"]) for row in talk]
    vectors = encoder.encode([memory.text for memory in memories])
    lexicon = TextAnalyzer("en")
    decisions = []
    for place, memory in enumerate(memories):
        cosines = vectors[:place] @ vectors[place]
        near = np.argsort(-cosines, kind="stable")[:NEAR]
        others = [(memories[at], float(cosines[at])) for at in near.tolist()]
        decision = reconcile(memory, others, lexicon)
        if isinstance(decision, Repeats):
            decisions.append(f"duplicate: {decision.old.text} | {memory.text}")
        elif isinstance(decision, Replaces):
            decisions += [f"replaces: {old.text} | {memory.text}" for old in decision.old]
    return {"utterances": len(memories), "decisions": decisions}


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--talk", action="store_true", help="the 6,000 utterances instead")
    parser.add_argument("--model", help="a language model in the catalogue")
    parser.add_argument("--encoder", default=ENCODER, help="name in the catalogue, or a folder")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    folder = Path(options.encoder)
    encoder = OnnxEncoder(folder if folder.is_dir() else models_cache() / options.encoder)
    try:
        encoder.load()
        found = on_talk(encoder) if options.talk else on_pairs(encoder)
        if options.model:
            found["model"] = asyncio.run(on_model(encoder, options.model))
    except (AssistantError, OSError, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    if options.model:
        for line in found["model"].pop("wrong"):
            sys.stdout.write(f"{line}\n")
        sys.stdout.write(f"{options.model}: {found['model']}\n")
    for line in found["decisions" if options.talk else "wrong"]:
        sys.stdout.write(f"{line}\n")
    if options.talk:
        told = f"{len(found['decisions'])} decisions on {found['utterances']:,} utterances\n"
        sys.stdout.write(told)
    for part in ("a", "b"):
        for name, figures in found.get(part, {}).items():
            sys.stdout.write(f"part {part}, {name}: {figures}\n")
    if options.json:
        sys.stdout.write(last_line(found | {"encoder": encoder.name}) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
