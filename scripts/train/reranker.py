"""Trains a low-rank adapter of an encoder, and layers on top of it, that judge whether a memory
answers a question, and whether a newer memory makes it outdated."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from torch import Tensor
from torch.nn import functional
from transformers import AutoTokenizer

from assistant.paths import models_cache
from models import catalogue
from models.download.cache import ModelStore
from models.encoder.packing import Input
from models.encoder.reranker import MEMORY_LIMITS, OnnxReranker
from scripts.common.rows import InputUnusable
from scripts.common.statistics import auc
from scripts.train.lora import Optimiser
from scripts.train.packed_reader import PackedReader
from scripts.train.packed_samples import packed
from scripts.train.reranking_lessons import (
    Encode,
    Lesson,
    Person,
    Statements,
    Succession,
    Vectors,
    person_lessons,
    read_people,
    read_statements,
    successions,
)

RANKING = 0.3
"""Weight of ranking a question's memories, compared with judging each."""
RECALLED = 10
"""When measuring, this many of a person's memories, nearest to the question, are judged."""
KEPT = (0.95, 0.9, 0.8)
"""When measuring, thresholds keep these shares of the answerable questions."""
TOPS = (1, 3)


@dataclass(frozen=True, slots=True)
class Plan:
    """How to train.

    Each pass learns all of the people's questions, and `statements` other utterances. The people
    whose ids begin with `judge` are left out, and are used for measuring at the end. `start` is the
    folder of an adapter to go on from.
    """

    encoder: str
    out: Path | None
    rank: int
    batch: int
    rate: float
    epochs: int
    statements: int
    limit: int | None
    seed: int
    half: bool
    judge: str
    start: Path | None = None


@dataclass(frozen=True, slots=True)
class Sample:
    """A question with one of its memories as tokens, and whether this memory answers it."""

    made: Input
    answers: bool


class Judge(PackedReader):
    """The published encoder with an adapter, and the layers that judge memories."""

    def __init__(self, folder: str, rank: int, device: str, *, half: bool) -> None:
        super().__init__(folder, rank, device, OnnxReranker.shapes, half=half)

    def forward(self, batch: Sequence[Input], layer: str) -> Tensor:
        """The logits of a layer for each input, shape (inputs,). For the layer `answers`, an input
        is a question and a memory; for `outdated`, a question, an older memory and a newer one."""
        x, _ = self.states(batch)
        found: Tensor = self.layers[layer](x[:, 0])[:, 0]
        return found


def samples(lesson: Lesson, tokenizer: Any) -> list[Sample]:
    """One sample for each memory."""
    asked = tokenizer(lesson.question, add_special_tokens=False)["input_ids"]
    return [
        Sample(packed(tokenizer, asked, [memory], MEMORY_LIMITS), answers)
        for memory, answers in zip(lesson.memories, lesson.answers, strict=True)
    ]


def loss_of(model: Judge, batch: Sequence[Sequence[Sample]]) -> Tensor:
    """The cross entropies of judging each memory, and of ranking each question's memories.

    Args:
        batch: the samples of each lesson.
    """
    every = [each for lesson in batch for each in lesson]
    found = model([each.made for each in every], "answers")
    wanted = torch.tensor([float(each.answers) for each in every]).to(found.device)
    loss = functional.binary_cross_entropy_with_logits(found, wanted)
    sizes = [len(lesson) for lesson in batch]
    ranked = [
        -(functional.log_softmax(own, 0) * right).sum() / right.sum()
        for own, right in zip(found.split(sizes), wanted.split(sizes), strict=True)
        if right.any()
    ]
    return loss + RANKING * torch.stack(ranked).mean() if ranked else loss


def outdated_loss(model: Judge, tokenizer: Any, batch: Sequence[Succession]) -> Tensor:
    """The cross entropy of judging whether the newer memories make the older ones outdated."""
    wanted = torch.tensor([float(each.outdated) for each in batch]).to(model.device)
    found = model([succession_input(each, tokenizer) for each in batch], "outdated")
    return functional.binary_cross_entropy_with_logits(found, wanted)


def succession_input(each: Succession, tokenizer: Any) -> Input:
    asked = tokenizer(each.question, add_special_tokens=False)["input_ids"]
    return packed(tokenizer, asked, [each.older, each.newer], MEMORY_LIMITS)


def train(
    model: Judge, tokenizer: Any, people: Sequence[Person], statements: Statements, plan: Plan
) -> None:
    chance = Random(plan.seed)
    questions = sum(len(each.asked) for each in people)
    count = questions + min(plan.statements, len(statements))
    optimiser = Optimiser(model.trained, plan.rate, plan.epochs * -(-count // plan.batch))
    for _ in range(plan.epochs):
        model.train()
        lessons = [*person_lessons(people, chance), *statements.lessons(plan.statements, chance)]
        chance.shuffle(lessons)
        followed = [*successions(people, chance)]
        chance.shuffle(followed)
        steps = -(-len(lessons) // plan.batch)
        for step in range(steps):
            loss = loss_of(model, [samples(each, tokenizer) for each in lessons[step::steps]])
            loss = loss + outdated_loss(model, tokenizer, followed[step::steps])
            optimiser.step(loss)


@torch.no_grad()
def judged(model: Judge, tokenizer: Any, people: Sequence[Person]) -> dict[str, Any]:
    """How well the people's questions are judged with the memories that the published encoder ranks
    highest.

    Returns:
        told: how well the highest probability of an answer tells answerable questions from others
            (AUC).
        caught_at_0.95 and so on: the share of unanswerable questions that are recognised if the
            threshold keeps this share of the answerable ones.
        outdated: how well outdated memories are told from others (AUC).
        first_1, first_3: the share of answerable questions whose facts are all among the first one
            or three memories; with `encoder_`, as the encoder ranks them.
    """
    model.eval()
    likeliest: dict[bool, list[float]] = {True: [], False: []}
    ranked: dict[str, list[bool]] = {}
    for person in people:
        for asked, cosines in zip(person.asked, person.cosines, strict=True):
            nearest = np.argsort(-cosines)[:RECALLED].tolist()
            lesson = person.lesson(asked, nearest, asked.question)
            made = [each.made for each in samples(lesson, tokenizer)]
            found = model(made, "answers").sigmoid().tolist()
            answers = dict(zip(nearest, found, strict=True))
            likeliest[bool(asked.about)].append(max(found))
            if asked.about:
                best = sorted(answers, key=lambda each: -answers[each])
                for top in TOPS:
                    for name, order in (("", best), ("encoder_", nearest)):
                        ranked.setdefault(f"{name}first_{top}", []).append(
                            asked.facts <= {*order[:top]}
                        )
    told, untold = np.array(likeliest[True]), np.array(likeliest[False])
    figures: dict[str, float] = {"told": auc(untold, told)}
    for kept in KEPT:
        caught = untold < np.quantile(told, 1 - kept) if len(told) else np.array([])
        figures[f"caught_at_{kept}"] = float(caught.mean()) if len(caught) else 0.0
    figures["outdated"] = _outdated(model, tokenizer, people)
    figures |= {name: float(np.mean(each)) for name, each in ranked.items()}
    return {name: round(each, 3) for name, each in figures.items()}


def _outdated(model: Judge, tokenizer: Any, people: Sequence[Person]) -> float:
    likely: dict[bool, list[float]] = {True: [], False: []}
    for each in successions(people, Random(0)):
        share = model([succession_input(each, tokenizer)], "outdated").sigmoid()
        likely[each.outdated].append(float(share))
    return auc(np.array(likely[False]), np.array(likely[True]))


def encoding(folder: str, device: str) -> Encode:
    """Makes a function that encodes texts with the published encoder."""
    published = SentenceTransformer(folder, device=device, local_files_only=True)

    def encode(texts: Sequence[str]) -> Vectors:
        return np.asarray(
            published.encode([*texts], normalize_embeddings=True, show_progress_bar=False),
            np.float32,
        )

    return encode


def trained(plan: Plan) -> dict[str, Any]:
    """Train on `data/training`, and write the adapter to `out` if that is given.

    Raises:
        ModelError: the encoder is missing.
        InputUnusable: a file is wrong, or `judge` leaves out everybody.
    """
    torch.manual_seed(plan.seed)
    store = ModelStore(models_cache(), catalogue.read())
    published = store.catalogue.get(plan.encoder)
    folder = str(store.location(plan.encoder))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    encode = encoding(folder, device)
    people = read_people(encode, plan.limit)
    kept_back = [each for each in people if plan.judge and each.id.startswith(plan.judge)]
    if plan.judge:
        people = [each for each in people if not each.id.startswith(plan.judge)]
    if not people:
        raise InputUnusable(f"Without the people of {plan.judge}, there is nothing to learn.")
    model = Judge(folder, plan.rank, device, half=plan.half)
    if plan.start:
        model.resume(plan.start)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    train(model, tokenizer, people, read_statements(encode, plan.limit), plan)
    learnt = sum(len(each.asked) for each in people)
    figures: dict[str, Any] = {"encoder": plan.encoder, "learnt": learnt}
    if kept_back:
        figures |= judged(model, tokenizer, kept_back)
    if plan.out:
        model.save(published, plan.out)
    return figures
