"""Trains a low-rank adapter of an encoder, and two layers on top of it, that judge which memories
answer a question."""

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
from torch.nn.utils.rnn import pad_sequence
from transformers import AutoTokenizer

from assistant.paths import models_cache
from models import catalogue
from models.download.cache import ModelStore
from models.encoder.packing import Input
from models.encoder.reranker import MEMORY_LIMITS, judging_shapes
from scripts.common.rows import InputUnusable
from scripts.train.lora import Optimiser
from scripts.train.packed_reader import PackedReader
from scripts.train.packed_samples import batches, packed
from scripts.train.reranking_lessons import (
    Encode,
    Lesson,
    Person,
    Statements,
    Vectors,
    person_lessons,
    read_people,
    read_statements,
)

ANSWERING, OUTDATING, UNTELLING = 3.0, 0.3, 0.7
"""Weights of the memories that answer the question, of telling which of these are outdated, and of
telling that nothing answers it."""
RECALLED = 10
"""Number of a person's memories, nearest to the question, that are judged when measuring."""
KEPT = (0.95, 0.9, 0.8)
"""Shares of the answerable questions that are to be kept when measuring."""
TOPS = (1, 3)


@dataclass(frozen=True, slots=True)
class Plan:
    """How to train.

    In each pass, all questions of people are learnt, and `statements` of the other utterances. The
    people whose ids begin with `judge` are not learnt, but measured at the end. `start` is the
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
    """A lesson as tokens. Memories that don't fit are left out."""

    made: Input
    answers: list[float]
    outdated: list[float]


class Judge(PackedReader):
    """The published encoder with an adapter, and the layers that judge memories."""

    def __init__(self, folder: str, rank: int, device: str, *, half: bool) -> None:
        super().__init__(folder, rank, device, judging_shapes, half=half)

    def forward(self, batch: Sequence[Input]) -> tuple[Tensor, Tensor]:
        """How strongly each memory seems to answer the question, and to be outdated, shape (inputs,
        memories, 2), and the question to be unanswered, shape (inputs,)."""
        x, memories = self.states(batch)
        whole = x[:, 0]
        question = x[range(len(batch)), [each.text_end for each in batch]]
        beside = whole[:, None].expand_as(memories)
        read = torch.cat([memories, beside, memories * question[:, None]], -1)
        unanswered = self.layers["unanswered"](torch.cat([whole, question], -1))
        return self.layers["memory"](read), unanswered[:, 0]


def sample(lesson: Lesson, tokenizer: Any) -> Sample:
    asked = tokenizer(lesson.question, add_special_tokens=False)["input_ids"]
    made = packed(tokenizer, asked, lesson.memories, MEMORY_LIMITS)
    fitting = len(made.ends)
    answers, outdated = ([*map(float, each)] for each in (lesson.answers, lesson.outdated))
    return Sample(made, answers[:fitting], outdated[:fitting])


def loss_of(model: Judge, batch: Sequence[Sample]) -> Tensor:
    """The cross entropies of what is said of each memory, and of all together. A memory that is
    outdated counts as one that answers the question."""
    found, unanswered = model([each.made for each in batch])
    answers, outdated, there = (
        pad_sequence([torch.tensor(each) for each in rows], batch_first=True).to(model.device)
        for rows in (
            [each.answers for each in batch],
            [each.outdated for each in batch],
            [[1.0] * len(each.answers) for each in batch],
        )
    )
    about = (answers + outdated).clamp(max=1)
    lost = functional.binary_cross_entropy_with_logits(found[..., 0], about, reduction="none")
    loss = (lost * there * (1 + (ANSWERING - 1) * about)).sum() / there.sum()
    lost = functional.binary_cross_entropy_with_logits(found[..., 1], outdated, reduction="none")
    loss = loss + OUTDATING * (lost * about).sum() / about.sum().clamp(min=1)
    nothing = (about.sum(1) == 0).float()
    return loss + UNTELLING * functional.binary_cross_entropy_with_logits(unanswered, nothing)


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
        samples = [sample(each, tokenizer) for each in lessons]
        for batch in batches(samples, plan.batch, chance):
            optimiser.step(loss_of(model, batch))


@torch.no_grad()
def judged(model: Judge, tokenizer: Any, people: Sequence[Person]) -> dict[str, Any]:
    """How well the people's questions are judged with the memories that the published encoder ranks
    highest.

    Returns:
        untold: the probability that a question that nothing answers seems less answered than
            another (AUC).
        caught_at_0.95 and so on: the share of such questions that are recognised if this share of
            the others is kept.
        first_1, first_3: the share of the other questions whose facts are all among the first so
            many memories; with `encoder_`, as the encoder ranks them.
        outdated: the probability that an outdated memory seems more so than another (AUC).
    """
    model.eval()
    doubts: dict[bool, list[float]] = {True: [], False: []}
    old: dict[bool, list[float]] = {True: [], False: []}
    ranked: dict[str, list[bool]] = {}
    for person in people:
        for asked, cosines in zip(person.asked, person.cosines, strict=True):
            nearest = np.argsort(-cosines)[:RECALLED].tolist()
            shown = sorted(nearest)
            made = sample(person.lesson(asked, shown, asked.question), tokenizer).made
            found, unanswered = model([made])
            shares = found[0].sigmoid().cpu().numpy()
            answers = dict(zip(shown, shares[:, 0].tolist(), strict=False))
            doubt = float(unanswered.sigmoid()) + 1 - max(answers.values())
            doubts[bool(asked.about)].append(doubt)
            for number, share in zip(shown, shares[:, 1].tolist(), strict=False):
                if number in asked.about:
                    old[number in asked.outdated].append(share)
            if asked.about:
                best = sorted(answers, key=lambda each: -answers[each])
                for top in TOPS:
                    for name, order in (("", best), ("encoder_", nearest)):
                        ranked.setdefault(f"{name}first_{top}", []).append(
                            asked.facts <= {*order[:top]}
                        )
    return _figures(doubts, old, ranked)


def _figures(
    doubts: dict[bool, list[float]], old: dict[bool, list[float]], ranked: dict[str, list[bool]]
) -> dict[str, Any]:
    told, untold = np.array(doubts[True]), np.array(doubts[False])
    figures: dict[str, float] = {"untold": auc(told, untold)}
    for kept in KEPT:
        caught = untold > np.quantile(told, kept) if len(told) else np.array([])
        figures[f"caught_at_{kept}"] = float(caught.mean()) if len(caught) else 0.0
    figures |= {name: float(np.mean(each)) for name, each in ranked.items()}
    figures["outdated"] = auc(np.array(old[False]), np.array(old[True]))
    return {name: round(each, 3) for name, each in figures.items()}


def auc(lower: Vectors, higher: Vectors) -> float:
    """The share of the pairs of numbers in which the second is higher; 0 without any."""
    return float((lower[:, None] < higher).mean()) if len(lower) and len(higher) else 0.0


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
        InputUnusable: a file is wrong, or the writers kept back wrote about all people.
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
