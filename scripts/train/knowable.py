"""Trains two layers of the classifier of intents. They judge whether the assistant can know what is
asked, and whether only the user can have told it. The encoder and its adapter stay as they are, so
the recognition of intents doesn't change."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from peft import PeftModel
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.nn import functional
from transformers import AutoModel, AutoTokenizer

from assistant.errors import ModelCorrupt
from assistant.language.dialogue_acts import is_question
from assistant.paths import models_cache
from data import located
from models import catalogue
from models.download.cache import ModelStore
from models.encoder.intents import KNOWABLE
from scripts.common import utterances
from scripts.common.knowable import EVALUATION, KNOWN, PARTS, TRAINING, Labelled, read_labelled
from scripts.common.rows import InputUnusable, read_rows
from scripts.train import calibration
from scripts.train.intent_lessons import LONGEST, read_requests
from scripts.train.lora import WEIGHTS
from scripts.train.reranking_lessons import PEOPLE

ABOUT, ACT = "about", "act"
"""Tags of questions about the assistant, which it can always answer, and of requests for acts."""
Item = TypeVar("Item")
TOLD_STRENGTH = 1.0
"""`Plan.strength` of the layer `told`. With a greater strength, more questions of general knowledge
are taken for questions about the user's life."""
STEPS = 300
"""Maximum number of iterations. Far fewer are needed."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How to train.

    Attributes:
        adapter: the folder of the adapter; None for the one in use.
        write: whether to write the layers into the adapter's file.
        strength: weight of the utterances, relative to the penalty for large weights.
        talk: maximum number of utterances of ordinary talk that are learnt too.
        questions: maximum number of people's questions about their own lives that are learnt.
        limit: maximum number of labelled utterances to learn, and to judge by; None for all.
    """

    encoder: str
    adapter: Path | None
    write: bool
    strength: float
    talk: int
    questions: int
    limit: int | None


@dataclass(frozen=True, slots=True)
class Layer:
    """A linear layer: weight, shape (classes, inputs), and bias, shape (classes,)."""

    weight: Tensor
    bias: Tensor

    def outputs(self, features: Tensor) -> calibration.Array:
        return functional.linear(features, self.weight, self.bias).numpy()

    def divided(self, by: float) -> "Layer":
        return Layer(self.weight / by, self.bias / by)


def read_talk(most: int) -> Sequence[Labelled]:
    """Ordinary talk from the utterances with which intents are learnt, evenly spaced. Questions are
    left out, unless they are about the assistant: nobody has judged whether the assistant can
    answer them."""
    requests = read_requests()
    found = [
        Labelled(each.said, KNOWN)
        for each in utterances.read_utterances(located(utterances.TRAINING))
        if each.label is None and each.tag != ACT and each.said not in requests
        if each.tag == ABOUT or not is_question(each.said)
    ]
    return spread(found, most)


def read_questions() -> Sequence[str]:
    """People's questions about their own lives."""
    rows = read_rows(located(PEOPLE), "questions")
    return [each["question"] for row in rows for each in row["questions"]]


def spread(found: Sequence[Item], most: int) -> Sequence[Item]:
    """At most `most` of the items, evenly spaced."""
    return found[:: -(-len(found) // most)]


@torch.no_grad()
def features_of(folder: Path, adapter: Path, texts: Sequence[str]) -> Tensor:
    """The input of the layer for each text: the state of the first token, and the mean of all.

    Raises:
        ModelCorrupt: the adapter can't be read.
    """
    tokenizer = AutoTokenizer.from_pretrained(str(folder))
    try:
        published = AutoModel.from_pretrained(str(folder))
        encoder = PeftModel.from_pretrained(published, str(adapter)).float().eval()
    except (OSError, ValueError) as error:
        raise ModelCorrupt(
            f"The adapter for intents in {adapter} can't be read: {error}."
        ) from error
    found = []
    for text in texts:  # one by one, without padding, as in the product
        given = tokenizer(text, truncation=True, max_length=LONGEST, return_tensors="pt")
        x = encoder(**given).last_hidden_state[0]
        found.append(torch.cat([x[0], x.mean(0)]))
    return torch.stack(found).double()


def fitted(features: Tensor, labels: Tensor, classes: int, strength: float) -> Layer:
    """The layer with the least cross entropy and penalty (multinomial logistic regression)."""
    inputs = features.shape[1]
    weight = torch.zeros(classes, inputs, dtype=torch.float64, requires_grad=True)
    bias = torch.zeros(classes, dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.LBFGS([weight, bias], max_iter=STEPS, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        optimiser.zero_grad()
        outputs = functional.linear(features, weight, bias)
        wrong = functional.cross_entropy(outputs, labels, reduction="sum")
        total = strength * wrong + weight.square().sum() / 2
        total.backward()
        return total

    optimiser.step(loss)
    return Layer(weight.detach(), bias.detach())


def write(layers: Mapping[str, Layer], adapter: Path) -> None:
    """Write the layers into the file of the adapter, in half precision. All other weights stay as
    they are."""
    weights = load_file(adapter / WEIGHTS)
    for name, layer in layers.items():
        weights[f"{name}.weight"] = layer.weight.half().contiguous()
        weights[f"{name}.bias"] = layer.bias.half().contiguous()
    save_file(weights, adapter / WEIGHTS, metadata={"format": "pt"})


def trained(plan: Plan) -> dict[str, Any]:
    """Train on `data/training/knowable.jsonl`, on talk and on people's questions, and write the
    layers if `plan.write` is set. The temperature of `knowable` is chosen on the part `dev` of the
    evaluation set. The layer is divided by it, so that a softmax of its outputs gives calibrated
    probabilities.

    Raises:
        ModelError: the encoder is missing, or the adapter is damaged.
        InputUnusable: an utterance is wrongly labelled, or the encoder has no adapter for intents.
    """
    labelled = read_labelled(located(TRAINING))
    lessons = [*spread(labelled, plan.limit or len(labelled)), *read_talk(plan.talk)]
    asked = spread(read_questions(), min(plan.questions, plan.limit or plan.questions))
    every = read_labelled(located(EVALUATION), PARTS[0])
    dev = spread(every, plan.limit or len(every))
    store = ModelStore(models_cache(), catalogue.read())
    in_use = store.catalogue.get(plan.encoder).intents
    adapter = plan.adapter or (in_use.path if in_use else None)
    if adapter is None:
        raise InputUnusable(f"{plan.encoder} has no adapter for intents.")
    texts = [each.said for each in (*lessons, *dev)]
    features = features_of(store.location(plan.encoder), adapter, [*texts, *asked])
    learnt, judged = features[: len(lessons)], features[len(lessons) : len(texts)]
    layer = fitted(learnt, torch.from_numpy(classes_of(lessons)), len(KNOWABLE), plan.strength)
    outputs, labels = layer.outputs(judged), classes_of(dev)
    temperature = calibration.best_temperature(outputs, labels)
    if plan.write:
        told = told_layer(learnt[classes_of(lessons) == 0], features[len(texts) :])
        write({"knowable": layer.divided(temperature), "told": told}, adapter)
    known = calibration.softmax(outputs, temperature)[:, :1]
    return {
        "encoder": plan.encoder,
        "learnt": len(lessons),
        "temperature": temperature,
        "right": round(float((outputs.argmax(axis=1) == labels).mean()), 4),
        "calibration": calibration.calibration(
            np.hstack([known, 1 - known]), np.minimum(labels, 1)
        ),
    }


def told_layer(known: Tensor, told: Tensor) -> Layer:
    """A layer that tells questions about people's own lives from utterances that ask for nothing
    unknown. Other questions that the assistant can't answer aren't learnt: many of them are about
    the user's life, too.

    Args:
        known, told: the features of both, shape (utterances, inputs).
    """
    labels = torch.tensor([0] * len(known) + [1] * len(told))
    both = fitted(torch.cat([known, told]), labels, 2, TOLD_STRENGTH)
    return Layer(both.weight[1:] - both.weight[:1], both.bias[1:] - both.bias[:1])


def classes_of(utterances: Sequence[Labelled]) -> calibration.Numbers:
    """The number of each utterance's class."""
    return np.array([KNOWABLE.index(each.label) for each in utterances], np.int64)
