"""Trains a low-rank adapter of an encoder, and a layer on top of it, that judge whether a speaker's
words are complete."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional
from transformers import AutoTokenizer

from assistant.paths import models_cache
from models import catalogue
from models.download.cache import ModelStore
from models.encoder.completeness import completeness_shapes, turn_input
from models.encoder.packing import Input
from scripts.common.rows import InputUnusable
from scripts.common.spoken_turns import TRAINING, SpokenTurn, read_turns
from scripts.common.statistics import auc
from scripts.train.lora import Optimiser
from scripts.train.packed_reader import PackedReader
from scripts.train.packed_samples import batches
from scripts.train.turn_lessons import Lesson, drawn, pauses, read_whole

AT_ONCE = 128
KEPT = 0.9
"""When measuring, the threshold keeps this share of the complete turns."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How to train.

    Each pass learns all turns with marked pauses, and `turns` others. The turns of the writer
    `judge` are left out, and are used for measuring at the end. `start` is the folder of an adapter
    to go on from. Stops that this adapter takes for ends are then left out: the words could have
    been the whole turn, and nothing in them tells that they weren't.
    """

    encoder: str
    out: Path | None
    rank: int
    batch: int
    rate: float
    epochs: int
    turns: int
    limit: int | None
    seed: int
    half: bool
    judge: str
    start: Path | None = None


@dataclass(frozen=True, slots=True)
class Sample:
    """The words and the question of a lesson as tokens, and whether the words are complete."""

    made: Input
    complete: bool


class Judge(PackedReader):
    """The published encoder with an adapter, and the layer that judges words."""

    def __init__(self, folder: str, rank: int, device: str, *, half: bool) -> None:
        super().__init__(folder, rank, device, completeness_shapes, half=half)

    def forward(self, batch: Sequence[Input]) -> Tensor:
        """The log-odds that the words of each input are complete, shape (inputs,)."""
        x, _ = self.states(batch)
        last = torch.tensor([each.text for each in batch], device=x.device)
        both = torch.cat([x[:, 0], x[torch.arange(len(batch)), last]], 1)
        found: Tensor = self.layers["complete"](both)[:, 0]
        return found


def sample(lesson: Lesson, tokenizer: Any) -> Sample:
    words, question = tokenizer([lesson.words, lesson.question], add_special_tokens=False)[
        "input_ids"
    ]
    special = tokenizer.cls_token_id, tokenizer.sep_token_id
    return Sample(turn_input(words, question, special), lesson.complete)


def loss_of(model: Judge, batch: Sequence[Sample]) -> Tensor:
    """The cross entropy. Complete and incomplete words count equally, however many there are."""
    wanted = torch.tensor([float(each.complete) for each in batch], device=model.device)
    found = model([each.made for each in batch])
    complete = wanted.mean().clamp(0.05, 0.95)
    weight = torch.where(wanted > 0, 0.5 / complete, 0.5 / (1 - complete))
    return functional.binary_cross_entropy_with_logits(found, wanted, weight)


def train(
    model: Judge,
    tokenizer: Any,
    marked: Sequence[SpokenTurn],
    whole: Sequence[SpokenTurn],
    plan: Plan,
) -> None:
    chance = Random(plan.seed)
    passes = [drawn(marked, whole, plan.turns, chance) for _ in range(plan.epochs)]
    if plan.start:
        passes = [unambiguous(model, tokenizer, each) for each in passes]
    steps = sum(-(-len(each) // plan.batch) for each in passes)
    optimiser = Optimiser(model.trained, plan.rate, steps)
    model.eval()  # no dropout: on a processor, it would triple the time of a step
    for lessons in passes:
        samples = [sample(each, tokenizer) for each in lessons]
        for batch in batches(samples, plan.batch, chance):
            optimiser.step(loss_of(model, batch))


@torch.no_grad()
def unambiguous(model: Judge, tokenizer: Any, lessons: Sequence[Lesson]) -> list[Lesson]:
    """The lessons without incomplete words that the model takes for complete."""
    stops = sorted(
        {each for each in lessons if not each.complete}, key=lambda each: len(each.words)
    )
    taken: set[Lesson] = set()
    for first in range(0, len(stops), AT_ONCE):
        some = stops[first : first + AT_ONCE]
        found = model([sample(each, tokenizer).made for each in some]).tolist()
        taken |= {each for each, odds in zip(some, found, strict=True) if odds > 0}
    return [each for each in lessons if each not in taken]


@torch.no_grad()
def judged(model: Judge, tokenizer: Any, turns: Sequence[SpokenTurn]) -> dict[str, float]:
    """How well complete turns are told from turns that stop at a marked pause.

    Returns:
        auc: the share of pairs of a complete and an incomplete one that are told apart.
        passed_at_0.9: the share of the incomplete ones that are taken for complete if the threshold
            keeps this share of the complete ones.
    """
    samples = [sample(each, tokenizer) for turn in turns for each in pauses(turn)]
    found = [float(model([each.made])[0]) for each in samples]
    complete, stopped = (
        np.array(
            [value for value, each in zip(found, samples, strict=True) if each.complete is is_so]
        )
        for is_so in (True, False)
    )
    passed = stopped >= np.quantile(complete, 1 - KEPT) if len(complete) else np.zeros(0)
    return {
        "auc": round(auc(stopped, complete), 3),
        f"passed_at_{KEPT}": round(float(passed.mean()), 3) if len(passed) else 0.0,
    }


def trained(plan: Plan) -> dict[str, Any]:
    """Train on `data/training`, and write the adapter to `out` if that is given.

    Raises:
        ModelError: the encoder is missing.
        InputUnusable: a file is wrong, or the writer kept back wrote all turns.
    """
    torch.manual_seed(plan.seed)
    marked = read_turns(TRAINING, plan.limit)
    kept_back = [each for each in marked if each.by == plan.judge]
    marked = [each for each in marked if each.by != plan.judge]
    if not marked:
        raise InputUnusable(f"Without the turns of {plan.judge}, there is nothing to learn.")
    store = ModelStore(models_cache(), catalogue.read())
    published = store.catalogue.get(plan.encoder)
    folder = str(store.location(plan.encoder))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = Judge(folder, plan.rank, device, half=plan.half)
    if plan.start:
        model.resume(plan.start)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    train(model, tokenizer, marked, read_whole(plan.limit), plan)
    figures: dict[str, Any] = {"encoder": plan.encoder, "learnt": len(marked)}
    if kept_back:
        figures |= judged(model, tokenizer, kept_back)
    if plan.out:
        model.save(published, plan.out)
    return figures
