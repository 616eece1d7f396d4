"""Trains an adapter with which some of an encoder's layers encode questions as all layers do."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from torch import Tensor, nn
from torch.nn import functional
from transformers import AutoModel, AutoTokenizer

from assistant.errors import ModelFailed
from assistant.paths import models_cache
from models import catalogue
from models.catalogue import Model
from models.download.cache import ModelStore
from scripts.train.lora import Optimiser, save
from scripts.train.training_data import Told

MATRICES = ["q", "k", "v", "o", "query", "key", "value", "dense"]
BATCH = 128
DRAWN = 50
"""Number of batches whose texts are sorted by length together, since padding takes as long to
encode as words do."""
LONGEST = 64
"""Number of tokens after which a text is cut off, as questions are in the product."""
TEMPERATURE = 0.05
NEAR = 10.0
"""Weight of the distance to the teacher's vector, relative to the weight of the ranking."""
AMONG = 512
"""Utterances that are ranked in addition to those that answer the batch's questions."""

Tokens = list[int]


def pooled(model: Any, tokens: Sequence[Tokens]) -> Tensor:
    """Unit vectors, shape (texts, dimensions)."""
    given = [torch.tensor(each) for each in tokens]
    ids = nn.utils.rnn.pad_sequence(given, batch_first=True)
    lengths = torch.tensor([len(each) for each in tokens])[:, None]
    keep = (torch.arange(ids.shape[1])[None] < lengths).long()
    states = model(input_ids=ids, attention_mask=keep).last_hidden_state
    return functional.normalize((states * keep[..., None]).sum(1))


@torch.no_grad()
def vectors(model: Any, tokens: Sequence[Tokens]) -> Tensor:
    """Like `pooled`, but for many texts; keeps their order."""
    model.eval()
    order = sorted(range(len(tokens)), key=lambda row: len(tokens[row]))
    parts = [
        pooled(model, [tokens[row] for row in order[start : start + BATCH]])
        for start in range(0, len(order), BATCH)
    ]
    return torch.cat(parts)[torch.argsort(torch.tensor(order))]


@dataclass(frozen=True, slots=True)
class Lesson:
    """All texts as tokens, and the teacher's vectors of these texts, shape (texts, dimensions).

    The questions come first, then the utterances. `asked` holds for each question the number of the
    utterance that answers it.
    """

    tokens: list[Tokens]
    taught: Tensor
    asked: list[int]
    utterances: int

    @classmethod
    def of(cls, told: Sequence[Told], tokenizer: Any, teacher: Any) -> "Lesson":
        asked = [row for row, each in enumerate(told) for _ in each.asked]
        texts = [question for each in told for question in each.asked]
        texts += [each.said for each in told]
        texts += [text for each in told for text in each.beside]
        tokens = [
            list(tokenizer(text, truncation=True, max_length=LONGEST)["input_ids"])
            for text in texts
        ]
        return cls(tokens, vectors(teacher, tokens), asked, len(told))

    @property
    def said(self) -> Tensor:
        """The teacher's vectors of the utterances."""
        return self.taught[len(self.asked) :][: self.utterances]


@dataclass(frozen=True, slots=True)
class Plan:
    """How to train; one in `hold_out` questions is held out."""

    encoder: str
    out: Path | None
    layers: Sequence[int]
    rank: int
    rate: float
    epochs: int
    hold_out: int
    seed: int


class Student:
    """Some layers of the teacher, with an adapter to be trained."""

    def __init__(self, teacher: Any, layers: Sequence[int], rank: int) -> None:
        """Raises ModelFailed: the teacher doesn't have these layers."""
        self._encoder = teacher.encoder
        self._all: nn.ModuleList = self._encoder.layer
        if not set(layers) <= set(range(len(self._all))):
            raise ModelFailed(f"The encoder has only the layers 0 to {len(self._all) - 1}.")
        config = LoraConfig(
            r=rank,
            lora_alpha=2 * rank,
            target_modules=MATRICES,
            layers_to_transform=sorted(layers),
            layers_pattern="layer",
        )
        self.adapted = get_peft_model(teacher, config)
        self.model: Any = self.adapted.get_base_model()
        self._encoder.layer = nn.ModuleList([self._all[each] for each in sorted(layers)])

    @property
    def parameters(self) -> list[nn.Parameter]:
        return [each for each in self.adapted.parameters() if each.requires_grad]

    def save(self, folder: Path, published: Model) -> None:
        """Write the adapter, with the teacher's layer numbers."""
        self._encoder.layer = self._all
        save(self.adapted, published, folder)


def batches(lesson: Lesson, rows: Sequence[int], chance: Random) -> Iterator[list[int]]:
    """Yields batches of these texts, each text once, with texts of similar length together."""
    left = list(rows)
    chance.shuffle(left)
    for start in range(0, len(left), DRAWN * BATCH):
        drawn = sorted(left[start : start + DRAWN * BATCH], key=lambda row: len(lesson.tokens[row]))
        made = [drawn[first : first + BATCH] for first in range(0, len(drawn), BATCH)]
        chance.shuffle(made)
        yield from made


def loss_of(student: Student, lesson: Lesson, rows: Sequence[int]) -> Tensor:
    mine = pooled(student.model, [lesson.tokens[row] for row in rows])
    true = lesson.taught[list(rows)]
    own = [lesson.asked[row] for row in rows if row < len(lesson.asked)]
    among = lesson.said[[*torch.randint(lesson.utterances, (AMONG,)).tolist(), *own]]
    ranked = functional.kl_div(
        functional.log_softmax(mine @ among.T / TEMPERATURE, 1),
        functional.softmax(true @ among.T / TEMPERATURE, 1),
        reduction="batchmean",
    )
    return NEAR * (1 - (mine * true).sum(1).mean()) + ranked


def train(student: Student, lesson: Lesson, rows: Sequence[int], plan: Plan) -> None:
    chance = Random(plan.seed)
    passes = [batches(lesson, rows, chance) for _ in range(plan.epochs)]
    steps = plan.epochs * -(-len(rows) // BATCH)
    optimiser = Optimiser(student.parameters, plan.rate, steps)
    student.adapted.train()
    for batch in (batch for each in passes for batch in each):
        optimiser.step(loss_of(student, lesson, batch))


def found(student: Student, lesson: Lesson, held: Sequence[int]) -> dict[str, float]:
    """For the questions `held`: the mean cosine to the teacher's vectors, and the share that find
    their utterance among the first five, with the student's and with the teacher's vectors."""
    mine = vectors(student.model, [lesson.tokens[row] for row in held])
    true = lesson.taught[list(held)]
    right = torch.tensor([lesson.asked[row] for row in held])[:, None]

    def five(questions: Tensor) -> float:
        nearest = (questions @ lesson.said.T).topk(5).indices
        return round(float((nearest == right).any(1).float().mean()), 3)

    cosine = round(float((mine * true).sum(1).mean()), 4)
    return {"cosine": cosine, "R@5": five(mine), "R@5 of the teacher": five(true)}


def distilled(told: Sequence[Told], plan: Plan) -> dict[str, Any]:
    """Train on all utterances and questions, and write the adapter to `out` if that is given.

    Raises:
        ModelError: the encoder is missing, or doesn't have these layers.
    """
    torch.manual_seed(plan.seed)
    store = ModelStore(models_cache(), catalogue.read())
    model = store.catalogue.get(plan.encoder)
    folder = str(store.location(plan.encoder))
    teacher = AutoModel.from_pretrained(folder)
    if model.adapter:
        teacher = PeftModel.from_pretrained(teacher, str(model.adapter.path)).merge_and_unload()
    lesson = Lesson.of(told, AutoTokenizer.from_pretrained(folder), teacher)
    student = Student(teacher, plan.layers, plan.rank)
    held = list(range(0, len(lesson.asked), plan.hold_out))
    rows = sorted(set(range(len(lesson.tokens))) - set(held))
    figures: dict[str, Any] = {"encoder": plan.encoder, "learnt": len(rows)}
    figures["before"] = found(student, lesson, held)
    train(student, lesson, rows, plan)
    figures["after"] = found(student, lesson, held)
    if plan.out:
        student.save(plan.out, model)
    return figures
