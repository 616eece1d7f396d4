"""Trains a low-rank adapter of an encoder's upper layers that moves questions nearer to answers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import torch
from peft import LoraConfig, get_peft_model, load_peft_weights, set_peft_model_state_dict
from torch import Tensor, nn
from torch.nn import functional
from transformers import AutoModel, AutoTokenizer

from assistant.errors import ModelCorrupt
from assistant.paths import models_cache
from models import catalogue
from models.catalogue import Model
from models.download.cache import ModelStore
from scripts.train.lora import Optimiser, repository, save
from scripts.train.training_data import Told

MATRICES = r".*encoder\.layer\.({layers})\..*\.(q|k|v|o|query|key|value|dense)"
BATCH = 64
TEMPERATURE = 0.05
BACKWARDS = 0.5
"""Weight of the reverse task: finding the question from its utterance."""
DROPOUT = 0.05
LONGEST = 128
AT_ONCE = 32
OTHERS = 3000
"""Approximate number of training utterances among which the held-out ones have to be found."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How to train; every `hold_out`th utterance is held out for testing, or none if it is 0."""

    encoder: str
    out: Path | None
    layers: int
    rank: int
    rate: float
    epochs: float
    hold_out: int
    seed: int
    begun: Path | None
    half: bool


class Encoder:
    """The published model. Its lower layers run only once for each text; its upper layers are
    adapted."""

    def __init__(self, published: Model, folder: str, plan: Plan) -> None:
        """Raises ModelCorrupt: the adapter to start from has another model, layers or rank."""
        self._tokenizer = AutoTokenizer.from_pretrained(folder)
        model = AutoModel.from_pretrained(folder)
        self._first = model.config.num_hidden_layers - plan.layers
        self._lower: Any = AutoModel.from_pretrained(folder).eval()
        self._lower.encoder.layer = self._lower.encoder.layer[: self._first]
        numbers = "|".join(str(self._first + each) for each in range(plan.layers))
        config = LoraConfig(
            r=plan.rank,
            lora_alpha=2 * plan.rank,
            lora_dropout=DROPOUT,
            target_modules=MATRICES.format(layers=numbers),
        )
        self._published = published
        self.adapted = get_peft_model(model, config)
        if plan.begun is not None:
            differences = _differences(plan.begun, repository(published), config)
            set_peft_model_state_dict(self.adapted, differences)
        self._model: Any = self.adapted.get_base_model()
        self._hidden: dict[str, Tensor] = {}
        self._half = plan.half

    @property
    def parameters(self) -> list[nn.Parameter]:
        return [each for each in self.adapted.parameters() if each.requires_grad]

    @torch.no_grad()
    def read(self, texts: Sequence[str]) -> None:
        """Run the lower layers on new texts, and cache their output for `encode`."""
        new = sorted(set(texts) - self._hidden.keys(), key=lambda text: (len(text), text))
        for start in range(0, len(new), AT_ONCE):
            batch = new[start : start + AT_ONCE]
            given = self._tokenizer(
                batch, padding=True, truncation=True, max_length=LONGEST, return_tensors="pt"
            )
            with self._precision():
                states = self._lower(**given).last_hidden_state
            for text, state, keep in zip(batch, states, given["attention_mask"], strict=True):
                self._hidden[text] = state[: int(keep.sum())].half().clone()

    def encode(self, texts: Sequence[str]) -> Tensor:
        """Unit vectors, shape (texts, dimensions), of texts passed to `read` before. Texts of
        similar length are encoded together, since padding takes as long as words."""
        order = sorted(range(len(texts)), key=lambda index: len(self._hidden[texts[index]]))
        parts = [
            self._upper([self._hidden[texts[index]] for index in order[start : start + AT_ONCE]])
            for start in range(0, len(order), AT_ONCE)
        ]
        return torch.cat(parts)[torch.argsort(torch.tensor(order))]

    def _upper(self, given: Sequence[Tensor]) -> Tensor:
        x = nn.utils.rnn.pad_sequence(list(given), batch_first=True).float()
        lengths = torch.tensor([len(each) for each in given])[:, None]
        keep = (torch.arange(x.shape[1])[None] < lengths).float()
        mask = (1 - keep)[:, None, None] * torch.finfo(torch.float32).min
        encoder = self._model.encoder
        bias = (
            [encoder.compute_position_bias(x)] if self._model.config.model_type == "mpnet" else []
        )
        with self._precision():
            for layer in encoder.layer[self._first :]:
                x = layer(x, mask, *bias)
                x = x[0] if isinstance(x, tuple) else x
        x = x.float()
        return functional.normalize((x * keep[..., None]).sum(1) / keep.sum(1, keepdim=True))

    def _precision(self) -> torch.autocast:
        return torch.autocast("cpu", torch.bfloat16, enabled=self._half)

    @torch.no_grad()
    def vectors(self, texts: Sequence[str]) -> Tensor:
        self.adapted.eval()
        self.read(texts)
        return self.encode(texts)

    def save(self, folder: Path) -> None:
        save(self.adapted, self._published, folder)


def _differences(begun: Path, published: str, config: LoraConfig) -> dict[str, Tensor]:
    """The weights of the adapter in `begun`. Raises ModelCorrupt: it can't be read, or has another
    model, layers or rank."""
    if not begun.is_dir():
        raise ModelCorrupt(f"There is no folder {begun} with an adapter.")
    try:
        made = LoraConfig.from_pretrained(str(begun))
        weights: dict[str, Tensor] = load_peft_weights(str(begun), device="cpu")
    except (OSError, ValueError) as error:
        raise ModelCorrupt(f"The adapter in {begun} can't be read: {error}.") from error
    wanted = (published, config.r, config.target_modules)
    if (made.base_model_name_or_path, made.r, made.target_modules) != wanted:
        raise ModelCorrupt(
            f"The adapter in {begun} has another model, other layers or another rank."
        )
    return weights


def batches(count: int, chance: Random) -> Iterator[list[int]]:
    """Yields batches of rows in random order. If at most half a batch of rows remains at the end,
    they are left out."""
    rows = list(range(count))
    chance.shuffle(rows)
    for start in range(0, count - BATCH // 2, BATCH):
        yield rows[start : start + BATCH]


def loss_of(
    encoder: Encoder, asked: Sequence[str], said: Sequence[str], others: Sequence[str]
) -> Tensor:
    """The contrastive loss: each question should find its utterance among all, and each utterance
    its question (van den Oord et al. 2018)."""
    questions = encoder.encode(asked)
    utterances = encoder.encode([*said, *others])
    right = torch.arange(len(asked))
    found = functional.cross_entropy(questions @ utterances.T / TEMPERATURE, right)
    back = functional.cross_entropy(utterances[: len(said)] @ questions.T / TEMPERATURE, right)
    return found + BACKWARDS * back


def train(encoder: Encoder, told: Sequence[Told], plan: Plan) -> None:
    chance = Random(plan.seed)
    encoder.read([text for each in told for text in each.texts])
    passes = round(plan.epochs * len(told[0].asked))
    per_pass = sum(1 for _ in batches(len(told), Random(0)))
    optimiser = Optimiser(encoder.parameters, plan.rate, passes * per_pass)
    for number in range(passes):
        encoder.adapted.train()
        for rows in batches(len(told), chance):
            chosen = [told[row] for row in rows]
            loss = loss_of(
                encoder,
                [
                    each.asked[(number + row) % len(each.asked)]
                    for row, each in zip(rows, chosen, strict=True)
                ],
                [each.said for each in chosen],
                [chance.choice(each.beside) for each in chosen],
            )
            optimiser.step(loss)


def found(encoder: Encoder, asked: Sequence[Told], among: Sequence[str]) -> dict[str, float]:
    """The share of questions that find their utterance first, and among the first five."""
    utterances = encoder.vectors(among)
    place = {text: index for index, text in enumerate(among)}
    questions = [(question, place[each.said]) for each in asked for question in each.asked]
    scores = encoder.vectors([question for question, _ in questions]) @ utterances.T
    right = scores[torch.arange(len(questions)), torch.tensor([index for _, index in questions])]
    ranks = (scores > right[:, None]).sum(1)
    return {f"R@{k}": round(float((ranks < k).float().mean()), 3) for k in (1, 5)}


def adapted(told: Sequence[Told], plan: Plan) -> dict[str, Any]:
    """Train on `told`, and write the adapter to `out` if that is given.

    Raises:
        ModelError: the encoder is missing, or the adapter in `begun` doesn't fit.
    """
    torch.manual_seed(plan.seed)
    kept_back = told[:: plan.hold_out] if plan.hold_out else []
    learnt = [each for n, each in enumerate(told) if not kept_back or n % plan.hold_out]
    others = [each.said for each in learnt[:: max(1, len(learnt) // OTHERS)]] if kept_back else []
    among = [*(text for each in kept_back for text in (each.said, *each.beside)), *others]
    store = ModelStore(models_cache(), catalogue.read())
    published = store.catalogue.get(plan.encoder)
    encoder = Encoder(published, str(store.location(plan.encoder)), plan)
    figures: dict[str, Any] = {"encoder": plan.encoder, "learnt": len(learnt)}
    if kept_back:
        figures["before"] = found(encoder, kept_back, among)
    train(encoder, learnt, plan)
    if kept_back:
        figures["after"] = found(encoder, kept_back, among)
    if plan.out:
        encoder.save(plan.out)
    return figures
