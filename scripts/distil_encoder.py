"""Let some of a sentence encoder's layers encode questions as all of them do.

    python scripts/distil_encoder.py --layers N… [--encoder NAME] [--out FOLDER] [--rank N]
                                     [--epochs N] [--rate R] [--hold-out N] [--limit N] [--seed N]
                                     [--json]

The teacher is the encoder as it is prepared, with its adapter. The student has the layers N of it,
counted from 0, and a low-rank adapter (LoRA) of these is trained so that a text's vector is the
teacher's, and ranks what was said as the teacher's does (after Sanh et al. 2019). It learns on all
texts of `data/training`, since a turn may ask or tell. Memories go on being encoded by all layers,
so no vector of theirs changes. The adapter is written to FOLDER in peft's form;
`models/catalogue.toml` names those that are in use. Every Nth question is held out and reported
on, before and after: the mean cosine to the teacher's vector, and how often question finds its
utterance among all. The evaluation sets are not read.

With `--json` the last line is one JSON object.
"""

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from torch import Tensor, nn
from torch.nn import functional
from transformers import AutoModel, AutoTokenizer

from assistant.errors import AssistantError, ModelFailed
from assistant.paths import models_cache
from models import catalogue
from models.catalogue import Model
from models.download.cache import ModelStore
from scripts.common.last_line import last_line
from scripts.train.training_data import FILES, Told, read_pairs
from scripts.train_encoder import rate_at

MATRICES = ["q", "k", "v", "o", "query", "key", "value", "dense"]
BATCH = 128
DRAWN = 50
"""Batches' worth of texts that are sorted by their length: what fills up a batch takes as long as
words."""
LONGEST = 64
"""Tokens; a question is cut there too."""
TEMPERATURE = 0.05
NEAR = 10.0
"""Weight of the vector's distance to the teacher's, against that of the ranking."""
AMONG = 512
"""Utterances that are ranked, beside those that the batch asks for."""
TOLD_EVERY = 100

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
    """As `pooled`, of many texts, in their order."""
    model.eval()
    order = sorted(range(len(tokens)), key=lambda row: len(tokens[row]))
    parts = [
        pooled(model, [tokens[row] for row in order[start : start + BATCH]])
        for start in range(0, len(order), BATCH)
    ]
    return torch.cat(parts)[torch.argsort(torch.tensor(order))]


@dataclass(frozen=True, slots=True)
class Lesson:
    """All texts as tokens, and the teacher's vectors of them, shape (texts, dimensions).

    `asked` says for the texts that are questions, which come first, which utterance they ask for;
    the utterances come next.
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


class Student:
    """Some layers of the teacher, of which an adapter is trained."""

    def __init__(self, teacher: Any, layers: Sequence[int], rank: int) -> None:
        """Raises ModelFailed: the teacher hasn't these layers."""
        self._encoder = teacher.encoder
        self._all: nn.ModuleList = self._encoder.layer
        if not set(layers) <= set(range(len(self._all))):
            raise ModelFailed(f"The encoder has the layers 0 to {len(self._all) - 1} alone.")
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
        """In half precision, under the numbers that the layers have in the teacher."""
        self._encoder.layer = self._all
        config = self.adapted.peft_config["default"]
        config.base_model_name_or_path = published.hub.repo if published.hub else published.name
        self.adapted.half().save_pretrained(str(folder), save_embedding_layers=False)
        (folder / "README.md").unlink(missing_ok=True)


def batches(lesson: Lesson, rows: Sequence[int], chance: Random) -> Iterator[list[int]]:
    """Of these texts, each about once, those of about a length together."""
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


def train(
    student: Student, lesson: Lesson, rows: Sequence[int], options: argparse.Namespace
) -> None:
    chance = Random(options.seed)
    optimiser = torch.optim.AdamW(student.parameters, lr=options.rate, weight_decay=0.01)
    passes = [batches(lesson, rows, chance) for _ in range(options.epochs)]
    steps = options.epochs * -(-len(rows) // BATCH)
    student.adapted.train()
    recent: list[float] = []
    began = time.monotonic()
    for step, batch in enumerate(batch for each in passes for batch in each):
        loss = loss_of(student, lesson, batch)
        for group in optimiser.param_groups:
            group["lr"] = options.rate * rate_at(step, steps)
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(student.parameters, 1.0)
        optimiser.step()
        recent.append(loss.item())
        if not (step + 1) % TOLD_EVERY:
            pace = (time.monotonic() - began) / (step + 1)
            last = sum(recent[-TOLD_EVERY:]) / TOLD_EVERY
            print(
                f"step {step + 1} of {steps}, loss {last:.3f}, {pace:.2f} s a step",
                file=sys.stderr,
                flush=True,
            )


def found(student: Student, lesson: Lesson, held: Sequence[int]) -> dict[str, float]:
    """Of the questions `held`: the mean cosine to the teacher's vectors, and the share that finds
    its utterance among the first five of all, with the student's vectors and the teacher's."""
    mine = vectors(student.model, [lesson.tokens[row] for row in held])
    true = lesson.taught[list(held)]
    right = torch.tensor([lesson.asked[row] for row in held])[:, None]

    def five(questions: Tensor) -> float:
        nearest = (questions @ lesson.said.T).topk(5).indices
        return round(float((nearest == right).any(1).float().mean()), 3)

    cosine = round(float((mine * true).sum(1).mean()), 4)
    return {"cosine": cosine, "R@5": five(mine), "R@5 of the teacher": five(true)}


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--encoder", default="all-minilm-l6-v2", help="name in the catalogue")
    parser.add_argument("--layers", type=int, nargs="+", required=True, help="kept, from 0 on")
    parser.add_argument("--out", type=Path, help="folder for the adapter")
    parser.add_argument("--rank", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--hold-out", type=int, default=28, metavar="N")
    parser.add_argument("--limit", type=int, help="so many utterances of each file")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> int:
    options = parsed(arguments)
    torch.manual_seed(options.seed)
    told = [each for name in FILES for each in read_pairs(name, options.limit)]
    store = ModelStore(models_cache(), catalogue.read())
    try:
        model = store.catalogue.get(options.encoder)
        folder = str(store.location(options.encoder))
        teacher = AutoModel.from_pretrained(folder)
        if model.adapter:
            teacher = PeftModel.from_pretrained(teacher, str(model.adapter.path)).merge_and_unload()
        lesson = Lesson.of(told, AutoTokenizer.from_pretrained(folder), teacher)
        student = Student(teacher, options.layers, options.rank)
    except AssistantError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    held = list(range(0, len(lesson.asked), options.hold_out))
    rows = sorted(set(range(len(lesson.tokens))) - set(held))
    figures: dict[str, Any] = {"encoder": options.encoder, "learnt": len(rows)}
    figures["before"] = found(student, lesson, held)
    train(student, lesson, rows, options)
    figures["after"] = found(student, lesson, held)
    if options.out:
        student.save(options.out, model)
    print("\n".join(f"{name}: {value}" for name, value in figures.items()))
    if options.json:
        print(last_line(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
