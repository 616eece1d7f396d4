"""Trains a low-rank adapter of an encoder, and two layers above it, that recognise intents."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import torch
from peft import get_peft_model_state_dict, set_peft_model_state_dict
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional
from transformers import AutoTokenizer

from assistant.errors import ModelCorrupt
from assistant.paths import models_cache
from models import catalogue
from models.catalogue import Model
from models.download.cache import ModelStore
from models.encoder.intents import ARGUMENTS, KINDS, IntentKinds
from scripts.common.utterances import Utterance, read_dev
from scripts.train import calibration
from scripts.train.intent_lessons import (
    CLASSES,
    IGNORED,
    LONGEST,
    Sample,
    batches,
    read_lessons,
    read_talk,
    samples,
)
from scripts.train.lora import WEIGHTS, Optimiser, adapted, save_with_heads

HEAD_DROPOUT = 0.1
SMOOTHED = 0.02
"""Share of each label that is spread over all classes."""
UNSURE = 0.6
"""Share of an uncertain label that goes to the kind; the rest goes to "no command"."""
MARKING = 0.5
"""Weight of marking the argument."""
AT_ONCE = 256


@dataclass(frozen=True, slots=True)
class Plan:
    """How to train: `talk` utterances of ordinary talk are drawn in each pass; `begun` is the
    folder of an adapter to go on from."""

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
    begun: Path | None = None


class Classifier(nn.Module):
    """The published encoder with an adapter, and the layers that recognise kinds and arguments."""

    def __init__(self, folder: str, rank: int, device: str, *, half: bool) -> None:
        super().__init__()
        self.encoder = adapted(folder, rank)
        size = self.encoder.config.hidden_size
        self.dropout = nn.Dropout(HEAD_DROPOUT)
        self.intents = nn.Linear(2 * size, len(CLASSES))
        self.spans = nn.Linear(size, 1 + len(ARGUMENTS))
        self.device, self._half = device, half
        self.to(device)

    def forward(self, tokens: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
        """The logits of the classes, shape (texts, classes), and for each token the logits of no
        argument and of each of the three arguments, shape (texts, length, 4)."""
        ids = nn.utils.rnn.pad_sequence([torch.tensor(each) for each in tokens], batch_first=True)
        lengths = torch.tensor([len(each) for each in tokens])[:, None]
        keep = (torch.arange(ids.shape[1])[None] < lengths).long().to(self.device)
        with torch.autocast(self.device, torch.bfloat16, enabled=self._half):
            states = self.encoder(input_ids=ids.to(self.device), attention_mask=keep)
        x = states.last_hidden_state.float()
        mean = (x * keep[..., None]).sum(1) / keep.sum(1, keepdim=True)
        both = torch.cat([x[:, 0], mean], -1)
        return self.intents(self.dropout(both)), self.spans(self.dropout(x))

    def load(self, begun: Path) -> None:
        """Take the weights of an adapter of the same rank that recognises the same kinds. Raises
        ModelCorrupt: it can't be read, or is another one."""
        try:
            weights = load_file(begun / WEIGHTS)
            kinds = json.loads((begun / KINDS).read_text(encoding="utf-8"))["kinds"]
            if tuple(kinds) != CLASSES:
                raise ValueError("it recognises other kinds")
            for name, layer in (("intents", self.intents), ("spans", self.spans)):
                of_layer = {part: weights.pop(f"{name}.{part}") for part in ("weight", "bias")}
                layer.load_state_dict(of_layer)
            of_encoder = {
                name: weight for name, weight in weights.items() if name.startswith("base_model.")
            }
            if of_encoder.keys() != get_peft_model_state_dict(self.encoder).keys():
                raise ValueError("it has other layers")
            set_peft_model_state_dict(self.encoder, of_encoder)
        except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
            raise ModelCorrupt(f"The adapter in {begun} can't be used: {error}.") from error

    @property
    def trained(self) -> list[nn.Parameter]:
        return [each for each in self.parameters() if each.requires_grad]

    @torch.no_grad()
    def outputs(self, tokens: Sequence[Sequence[int]]) -> calibration.Array:
        """The logits of the classes, in the order of the texts, shape (texts, classes)."""
        self.eval()
        order = sorted(range(len(tokens)), key=lambda row: len(tokens[row]))
        found = np.empty((len(tokens), len(CLASSES)))
        for start in range(0, len(order), AT_ONCE):
            rows = order[start : start + AT_ONCE]
            found[rows] = self([tokens[row] for row in rows])[0].cpu().numpy()
        return found

    def save(self, published: Model, temperature: float, folder: Path) -> None:
        """Write the adapter in peft's format, with the last layers in the same file, and the
        description of the outputs."""
        heads = {"intents": self.intents, "spans": self.spans}
        save_with_heads(self.encoder, heads, published, folder)
        described = IntentKinds(kinds=CLASSES, temperature=temperature)
        text = json.dumps(described.model_dump(), indent=2)
        (folder / KINDS).write_text(f"{text}\n", encoding="utf-8")


def loss_of(model: Classifier, batch: Sequence[Sample]) -> Tensor:
    """The cross entropy of the kinds, and that of the arguments' tokens."""
    intents, spans = model([each.tokens for each in batch])
    wanted = torch.full(intents.shape, SMOOTHED / len(CLASSES))
    for row, each in enumerate(batch):
        certain = 1.0 if each.sure else UNSURE
        wanted[row, each.number] += (1 - SMOOTHED) * certain
        wanted[row, 0] += (1 - SMOOTHED) * (1 - certain)
    loss = functional.cross_entropy(intents, wanted.to(model.device))
    marks = nn.utils.rnn.pad_sequence(
        [torch.tensor(each.marks) for each in batch], batch_first=True, padding_value=IGNORED
    ).to(model.device)
    if (marks != IGNORED).any():
        marked = functional.cross_entropy(
            spans.flatten(0, 1), marks.reshape(-1), ignore_index=IGNORED
        )
        loss = loss + MARKING * marked
    return loss


def train(
    model: Classifier,
    tokenizer: Any,
    lessons: Sequence[Utterance],
    talk: Sequence[str],
    plan: Plan,
) -> None:
    chance = Random(plan.seed)
    drawn = min(plan.talk, len(talk))
    steps = plan.epochs * -(-(len(lessons) + drawn) // plan.batch)
    optimiser = Optimiser(model.trained, plan.rate, steps)
    for _ in range(plan.epochs):
        model.train()
        ordinary = [Utterance(text, None) for text in chance.sample(talk, drawn)]
        learnt = samples([*lessons, *ordinary], tokenizer, chance)
        for batch in batches(learnt, plan.batch, chance):
            optimiser.step(loss_of(model, batch))


def judged(model: Classifier, tokenizer: Any, dev: Sequence[Utterance]) -> dict[str, Any]:
    """The temperature chosen on `dev`, the share of right answers, and the calibration."""
    labels = np.array([CLASSES.index(each.label or "none") for each in dev])
    sure = np.array([each.sure for each in dev])
    read = tokenizer([each.said for each in dev], truncation=True, max_length=LONGEST)
    said = model.outputs(read["input_ids"])
    temperature = calibration.best_temperature(said[sure], labels[sure])
    found = calibration.softmax(said, temperature)
    return {
        "temperature": temperature,
        "right": round(float((found.argmax(axis=1) == labels).mean()), 4),
        "calibration": calibration.calibration(found, labels),
    }


def trained(plan: Plan) -> dict[str, Any]:
    """Train on `data/training`, and write the adapter to `out` if that is given.

    Raises:
        ModelError: the encoder is missing, or the adapter in `begun` doesn't fit.
        InputUnusable: an utterance is wrongly labelled.
    """
    torch.manual_seed(plan.seed)
    lessons, talk = read_lessons(plan.limit), read_talk(plan.limit)
    dev = read_dev()
    store = ModelStore(models_cache(), catalogue.read())
    published = store.catalogue.get(plan.encoder)
    folder = str(store.location(plan.encoder))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = Classifier(folder, plan.rank, device, half=plan.half)
    if plan.begun is not None:
        model.load(plan.begun)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    train(model, tokenizer, lessons, talk, plan)
    figures: dict[str, Any] = {"encoder": plan.encoder, "learnt": len(lessons), "talk": len(talk)}
    figures |= judged(model, tokenizer, dev)
    if plan.out:
        model.save(published, figures["temperature"], plan.out)
    return figures
