"""Follow-up questions find facts of our own set with the real encoder."""

from dataclasses import replace
from pathlib import Path

import pytest

from assistant.memory.retrieval.encoding import QueryEncoder
from data import located
from models.download.cache import ModelStore
from models.encoder.onnx import OnnxEncoder
from scripts.eval.encoders import KeptVectors
from scripts.eval.followup import FOLLOW_UPS, Bench, measured, read
from scripts.eval.recall_data import own_files, read_paraphrases
from scripts.eval.recall_metrics import means

pytestmark = pytest.mark.real


EVERY = 4
"""Of the questions about facts, only every fourth is asked, twice."""


def smaller_set(folder: Path) -> tuple[Path, Path, Path]:
    """Every third follow-up, all facts, and no distractors."""
    asked = located(FOLLOW_UPS).read_text("utf-8").splitlines(keepends=True)[::3]
    facts = own_files("paraphrase")[0].read_text("utf-8").splitlines(keepends=True)
    files = folder / "facts.jsonl", folder / "none.jsonl", folder / "asked.jsonl"
    for file, lines in zip(files, (facts, [], asked), strict=True):
        file.write_text("".join(lines), encoding="utf-8")
    return files


async def test_earlier_words_help_follow_ups_and_do_not_harm_new_topics(
    store: ModelStore, tmp_path: Path
) -> None:
    facts, none, follow_ups = smaller_set(tmp_path)
    full = OnnxEncoder(store.location("all-minilm-l6-v2"))
    full.load()
    encoder = QueryEncoder(full)
    pool = read_paraphrases(facts, none)
    questions = read(replace(pool, questions=pool.questions[::EVERY]), follow_ups)
    values = await measured(Bench(pool, encoder, KeptVectors(full, None)), questions)
    encoder.close()
    found = {
        kind: {name: means(each)["MRR@10"] for name, each in of_kind.items()}
        for kind, of_kind in values.items()
    }
    assert found["follow-up"]["ours"] > found["follow-up"]["plain"] + 0.2
    assert found["new topic"]["ours"] >= found["new topic"]["plain"] - 0.02
    assert found["new topic"]["always"] < found["new topic"]["plain"] - 0.05
    assert found["first half"]["ours"] > found["first half"]["plain"]
