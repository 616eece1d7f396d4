"""Trains a low-rank adapter of an encoder, and two layers on top of it, that judge whether a
speaker's words are complete, and whether they interrupt the assistant."""

from collections import Counter
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
from models.encoder.packing import Input
from models.encoder.turn_judge import OnnxTurnJudge, turn_input
from scripts.common.rows import InputUnusable
from scripts.common.spoken_turns import (
    INTERRUPTIONS,
    TRAINING,
    Interruption,
    read_interruptions,
    read_turns,
)
from scripts.common.statistics import auc
from scripts.train.lora import Optimiser
from scripts.train.packed_reader import PackedReader
from scripts.train.packed_samples import batches
from scripts.train.turn_lessons import Lesson, drawn, heard, pauses, read_whole

AT_ONCE = 128
LEAST_SHARE = 0.05
"""An answer counts as if it had at least this share of a batch."""
KEPT = 0.9
"""When measuring, the threshold keeps this share of the complete turns."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How to train.

    Each pass learns all turns with marked pauses, as written and as heard, everything that is said
    while the assistant speaks, and `turns` other turns. The turns of the writer `judge` are left
    out, and are used for measuring at the end. `start` is the folder of an adapter to go on from.
    Pauses that this adapter takes for ends are then left out: the words before them could have been
    the whole turn, and nothing in them tells that they weren't.
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
    """A lesson, and its texts as tokens."""

    made: Input
    lesson: Lesson


class Judge(PackedReader):
    """The published encoder with an adapter, and the layers that judge words."""

    def __init__(self, folder: str, rank: int, device: str, *, half: bool) -> None:
        super().__init__(folder, rank, device, OnnxTurnJudge.shapes, half=half)

    def forward(self, batch: Sequence[Sample]) -> Tensor:
        """The log-odds that each lesson's layer finds, shape (samples,)."""
        x, _ = self.states([each.made for each in batch])
        last = torch.tensor([each.made.text for each in batch], device=x.device)
        both = torch.cat([x[:, 0], x[torch.arange(len(batch)), last]], 1)
        found = torch.zeros(len(batch), device=x.device)
        for name, layer in self.layers.items():
            its = torch.tensor([each.lesson.layer == name for each in batch], device=x.device)
            found = torch.where(its, layer(both)[:, 0], found)
        return found


def sample(lesson: Lesson, tokenizer: Any) -> Sample:
    words, assistant = tokenizer([lesson.words, lesson.assistant], add_special_tokens=False)[
        "input_ids"
    ]
    special = tokenizer.cls_token_id, tokenizer.sep_token_id
    return Sample(turn_input(words, assistant, special), lesson)


def loss_of(model: Judge, batch: Sequence[Sample]) -> Tensor:
    """The cross entropy. For each layer, both answers count equally, however often they occur."""
    wanted = torch.tensor([float(each.lesson.wanted) for each in batch], device=model.device)
    weight = torch.tensor(balanced([each.lesson for each in batch]), device=model.device)
    return functional.binary_cross_entropy_with_logits(model(batch), wanted, weight)


def balanced(lessons: Sequence[Lesson]) -> list[float]:
    """The weight of each lesson. The mean weight of a layer's lessons is about 1."""
    kinds = Counter((each.layer, each.wanted) for each in lessons)
    layers = Counter(each.layer for each in lessons)
    shares = {kind: max(kinds[kind] / layers[kind[0]], LEAST_SHARE) for kind in kinds}
    return [0.5 / shares[each.layer, each.wanted] for each in lessons]


def train(
    model: Judge,
    tokenizer: Any,
    marked: Sequence[Lesson],
    spoken: Sequence[Interruption],
    plan: Plan,
) -> None:
    chance, whole = Random(plan.seed), read_whole(plan.limit)
    passes = [drawn(marked, whole, spoken, plan.turns, chance) for _ in range(plan.epochs)]
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
    """The lessons, except incomplete words that the model takes for complete ones."""
    stops = sorted(
        {each for each in lessons if each.layer == "complete" and not each.wanted},
        key=lambda each: len(each.words),
    )
    taken: set[Lesson] = set()
    for first in range(0, len(stops), AT_ONCE):
        some = stops[first : first + AT_ONCE]
        found = model([sample(each, tokenizer) for each in some]).tolist()
        taken |= {each for each, odds in zip(some, found, strict=True) if odds > 0}
    return [each for each in lessons if each not in taken]


@torch.no_grad()
def judged(model: Judge, tokenizer: Any, lessons: Sequence[Lesson]) -> dict[str, float]:
    """How well the layers tell the two answers of these lessons apart.

    Returns:
        auc: the share of pairs of lessons with different answers that are told apart.
        passed_at_0.9: of the lessons whose answer is no, the share that get a yes with a threshold
            at which nine tenths of the others get one.
    """
    samples = [sample(each, tokenizer) for each in lessons]
    found = [float(model([each])[0]) for each in samples]
    yes, no = (
        np.array(
            [value for value, each in zip(found, lessons, strict=True) if each.wanted is is_wanted]
        )
        for is_wanted in (True, False)
    )
    passed = no >= np.quantile(yes, 1 - KEPT) if len(yes) else np.zeros(0)
    return {
        "auc": round(auc(no, yes), 3),
        f"passed_at_{KEPT}": round(float(passed.mean()), 3) if len(passed) else 0.0,
    }


def trained(plan: Plan) -> dict[str, Any]:
    """Train on `data/training`, and write the adapter to `out` if that is given.

    Raises:
        ModelError: the encoder is missing.
        InputUnusable: a file is wrong, or the writer held out wrote all turns.
    """
    torch.manual_seed(plan.seed)
    turns, spoken = read_turns(TRAINING, plan.limit), read_interruptions(INTERRUPTIONS, plan.limit)
    kept_back = [each for each in turns if each.by == plan.judge]
    writers = {each.by for each in turns} - {plan.judge}
    if not writers:
        raise InputUnusable(f"Without the turns of {plan.judge}, there is nothing to learn.")
    marked = [lesson for turn in turns if turn.by in writers for lesson in pauses(turn)]
    marked += heard(writers, plan.limit)
    store = ModelStore(models_cache(), catalogue.read())
    published = store.catalogue.get(plan.encoder)
    folder = str(store.location(plan.encoder))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = Judge(folder, plan.rank, device, half=plan.half)
    if plan.start:
        model.resume(plan.start)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    train(model, tokenizer, marked, spoken, plan)
    figures: dict[str, Any] = {"encoder": plan.encoder, "learnt": len(marked) + len(spoken)}
    if kept_back:
        lessons = [lesson for turn in kept_back for lesson in pauses(turn)]
        figures |= judged(model, tokenizer, lessons)
    if plan.out:
        model.save(published, plan.out)
    return figures
