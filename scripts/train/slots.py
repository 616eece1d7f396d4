"""Trains a low-rank adapter of an encoder, and small layers above it, that find what an utterance
says for the slots of a form."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence
from transformers import AutoTokenizer

from assistant.paths import models_cache
from data import located
from models import catalogue
from models.download.cache import ModelStore
from models.encoder.slots import ACTS, OnnxSlotReader
from models.interfaces import SlotAct
from scripts.common.rows import InputUnusable
from scripts.common.utterances import TRAINING as INTENTS
from scripts.common.utterances import read_utterances
from scripts.train.lora import Optimiser
from scripts.train.packed_reader import PackedReader
from scripts.train.packed_samples import batches
from scripts.train.slot_lessons import Lesson, chatter, plain_choices, read_lessons
from scripts.train.slot_samples import IGNORED, Sample, sample
from scripts.train.slot_values import Values
from scripts.train.training_data import FILES, read_pairs

NOTHING = ACTS.index(SlotAct.NOTHING)
OTHERS = 0.1
"""Weight of marking tokens for slots to which the utterance gives nothing."""
MARKING, TALKING, CHOOSING = 1.0, 0.3, 3.0
"""Weights of marking tokens, of telling whether more was said, and of the options of choices, which
are seldom chosen."""
SHORTEST = 3
"""A shorter command or remark might also answer a form's question, so it is not learnt as talk."""
CHOICES_PER_TALK = 4
"""One bare choice is learnt for this many utterances of ordinary talk."""
SMOOTHED = 0.03


@dataclass(frozen=True, slots=True)
class Plan:
    """How to train.

    `talk` utterances of ordinary talk are drawn in each pass. The utterances of the writer `judge`
    are left out, and are used for measuring at the end. `start` is the folder of an adapter to go
    on from.
    """

    encoder: str
    out: Path | None
    rank: int
    batch: int
    rate: float
    epochs: int
    talk: int
    limit: int | None
    seed: int
    half: bool
    judge: str
    start: Path | None = None


class Reader(PackedReader):
    """The published encoder with an adapter, and the layers that read forms."""

    def __init__(self, folder: str, rank: int, device: str, *, half: bool) -> None:
        super().__init__(folder, rank, device, OnnxSlotReader.shapes, half=half)

    def forward(self, batch: Sequence[Sample]) -> tuple[Tensor, Tensor, Tensor]:
        """The logits of the acts, shape (samples, slots, acts), of the marks, shape (samples,
        slots, tokens, marks), and of whether more was said, shape (samples,)."""
        x, slots = self.states([each.made for each in batch])
        words = x[:, 1 : 1 + max(each.made.text for each in batch)]
        first = x[:, :1].expand_as(slots)
        acts = self.layers["acts"](torch.cat([slots, first], -1))
        products = words[:, None] * slots[:, :, None]
        hidden = (
            self.layers["tokens"](words)[:, None]
            + self.layers["slots"](slots)[:, :, None]
            + self.layers["products"](products)
        )
        return acts, self.layers["marks"](hidden.relu()), self.layers["talk"](x[:, 0])[:, 0]


def loss_of(model: Reader, batch: Sequence[Sample]) -> Tensor:
    """The cross entropy of acts and marks, and that of whether more was said."""
    acts, marks, talk = model(batch)
    wanted = pad_sequence(
        [torch.tensor(each.acts) for each in batch], batch_first=True, padding_value=IGNORED
    ).to(model.device)
    options = pad_sequence([torch.tensor(each.options) for each in batch], batch_first=True)
    weight = 1 + (CHOOSING - 1) * options.float().to(model.device)
    weight = weight * (wanted != IGNORED)
    lost = functional.cross_entropy(
        acts.flatten(0, 1),
        wanted.flatten(),
        ignore_index=IGNORED,
        label_smoothing=SMOOTHED,
        reduction="none",
    )
    loss = (lost.view(wanted.shape) * weight).sum() / weight.sum()
    by_token = torch.full(marks.shape[:3], IGNORED)
    for row, each in enumerate(batch):
        by_token[row, : len(each.marks), : each.made.text] = torch.tensor(each.marks).reshape(
            len(each.marks), each.made.text
        )
    by_token = by_token.to(model.device)
    lost = functional.cross_entropy(
        marks.flatten(0, 2), by_token.flatten(), ignore_index=IGNORED, reduction="none"
    ).view(by_token.shape)
    given = ((wanted != NOTHING) & (wanted != IGNORED)).float()[..., None]
    weight = (given + OTHERS * (1 - given)) * (by_token != IGNORED)
    loss = loss + MARKING * (lost * weight).sum() / weight.sum().clamp(min=1)
    said = torch.tensor([float(each.talk) for each in batch]).to(model.device)
    return loss + TALKING * functional.binary_cross_entropy_with_logits(talk, said)


def train(
    model: Reader, tokenizer: Any, lessons: Sequence[Lesson], talk: Sequence[str], plan: Plan
) -> None:
    chance = Random(plan.seed)
    drawn = min(plan.talk, len(talk))
    forms, values = [each.form for each in lessons], Values(lessons)
    count = len(lessons) + drawn + drawn // CHOICES_PER_TALK
    steps = plan.epochs * -(-count // plan.batch)
    optimiser = Optimiser(model.trained, plan.rate, steps)
    for _ in range(plan.epochs):
        model.train()
        learnt = [*lessons, *chatter(forms, chance.sample(talk, drawn), chance)]
        learnt += plain_choices(forms, drawn // CHOICES_PER_TALK, chance)
        samples = [sample(each, tokenizer, chance, values) for each in learnt]
        for batch in batches(samples, plan.batch, chance):
            optimiser.step(loss_of(model, batch))


@torch.no_grad()
def judged(model: Reader, tokenizer: Any, lessons: Sequence[Lesson]) -> dict[str, Any]:
    """The recall and the precision of the acts on slots, the share of acts that are found with
    exactly the right words (`exact`), and the share of utterances for which the model rightly
    judges whether more was said (`talk`)."""
    model.eval()
    counts: Counter[str] = Counter()
    samples = [sample(each, tokenizer, None) for each in lessons]
    for start in range(0, len(samples), 64):
        batch = samples[start : start + 64]
        acts, marks, talk = model(batch)
        for row, each in enumerate(batch):
            counts["talk"] += int((talk[row] > 0).item() == each.talk)
            for slot, wanted in enumerate(each.acts):
                found = int(acts[row, slot].argmax())
                words = marks[row, slot, : each.made.text].argmax(-1).tolist()
                same = found == wanted
                counts["wanted"] += wanted != NOTHING
                counts["found"] += found != NOTHING
                counts["right"] += same and wanted != NOTHING
                counts["exact"] += same and wanted != NOTHING and words == each.marks[slot]
    return {
        "recall": round(counts["right"] / max(1, counts["wanted"]), 3),
        "precision": round(counts["right"] / max(1, counts["found"]), 3),
        "exact": round(counts["exact"] / max(1, counts["wanted"]), 3),
        "talk": round(counts["talk"] / max(1, len(lessons)), 3),
    }


def _said_to_assistants(limit: int | None) -> list[str]:
    """Commands, and talk that resembles them. They don't answer a form's question. Short ones
    ("yes") might, so they are left out."""
    found = read_utterances(located(INTENTS))[:limit]
    return [each.said for each in found if len(each.said.split()) >= SHORTEST and not each.claims]


def trained(plan: Plan) -> dict[str, Any]:
    """Train on `data/training`, and write the adapter to `out` if that is given.

    Raises:
        ModelError: the encoder is missing.
        InputUnusable: a dialogue is wrongly marked, or the writer held out wrote all of them.
    """
    torch.manual_seed(plan.seed)
    lessons = read_lessons(plan.limit)
    kept_back = [each for each in lessons if each.by == plan.judge]
    lessons = [each for each in lessons if each.by != plan.judge]
    if not lessons:
        raise InputUnusable(f"Without the dialogues of {plan.judge}, there is nothing to learn.")
    talk = [text for name in FILES for each in read_pairs(name, plan.limit) for text in each.texts]
    talk += _said_to_assistants(plan.limit)
    store = ModelStore(models_cache(), catalogue.read())
    published = store.catalogue.get(plan.encoder)
    folder = str(store.location(plan.encoder))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = Reader(folder, plan.rank, device, half=plan.half)
    if plan.start:
        model.resume(plan.start)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    train(model, tokenizer, lessons, talk, plan)
    figures: dict[str, Any] = {"encoder": plan.encoder, "learnt": len(lessons)}
    if kept_back:
        figures |= judged(model, tokenizer, kept_back)
    if plan.out:
        model.save(published, plan.out)
    return figures
