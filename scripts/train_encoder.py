"""Adapt a sentence encoder to questions about what was said in passing.

    python scripts/train_encoder.py [--encoder NAME] [--out FOLDER] [--begun FOLDER] [--on FILE …]
                                    [--hold-out N] [--epochs N] [--layers N] [--rank N] [--rate R]
                                    [--limit N] [--seed N] [--half] [--json]

Learns on the files of `data/training`: utterances, what is asked weeks later in other words, and
other utterances that are tempting. A low-rank adapter (LoRA) of the encoder's upper layers is
trained so that a question is nearer to its utterance than to the others of its batch, then written
to FOLDER in peft's form; `models/catalogue.toml` names the adapters that are in use. The published
model must have been pulled. `--hold-out N` leaves out every Nth utterance and reports how often
its questions find it among all utterances, before and after. The evaluation sets are not read.
`--half` multiplies in bfloat16: up to four times as fast where the processor has it, else slower.
`--begun` goes on from an adapter of the same layers and rank.

With `--json` the last line is one JSON object.
"""

import argparse
import math
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import torch
from peft import LoraConfig, get_peft_model, load_peft_weights, set_peft_model_state_dict
from torch import Tensor, nn
from torch.nn import functional
from transformers import AutoModel, AutoTokenizer

from assistant.errors import AssistantError, ModelCorrupt
from assistant.paths import models_cache
from models import catalogue
from models.catalogue import Model
from models.download.cache import ModelStore
from scripts.common.last_line import last_line
from scripts.train.training_data import FILES, Told, read_pairs

MATRICES = r".*encoder\.layer\.({layers})\..*\.(q|k|v|o|query|key|value|dense)"
BATCH = 64
TEMPERATURE = 0.05
BACKWARDS = 0.5
"""Weight of finding the question by its utterance."""
WARM_UP = 0.1
"""Share of the steps in which the rate rises."""
DROPOUT = 0.05
LONGEST = 128
AT_ONCE = 32
OTHERS = 3000
"""Utterances that were learnt, among which those that were not are looked for."""


class Encoder:
    """The published model: its lower layers run once for each text, the upper ones are adapted."""

    def __init__(
        self,
        published: Model,
        folder: str,
        upper: int,
        rank: int,
        *,
        begun: Path | None = None,
        half: bool = False,
    ) -> None:
        self._tokenizer = AutoTokenizer.from_pretrained(folder)
        model = AutoModel.from_pretrained(folder)
        self._first = model.config.num_hidden_layers - upper
        self._lower: Any = AutoModel.from_pretrained(folder).eval()
        self._lower.encoder.layer = self._lower.encoder.layer[: self._first]
        numbers = "|".join(str(each) for each in range(self._first, self._first + upper))
        config = LoraConfig(
            r=rank,
            lora_alpha=2 * rank,
            lora_dropout=DROPOUT,
            target_modules=MATRICES.format(layers=numbers),
        )
        self._published = published.hub.repo if published.hub else published.name
        self.adapted = get_peft_model(model, config)
        if begun is not None:
            set_peft_model_state_dict(self.adapted, _differences(begun, self._published, config))
        self._model: Any = self.adapted.get_base_model()
        self._hidden: dict[str, Tensor] = {}
        self._half = half

    @property
    def parameters(self) -> list[nn.Parameter]:
        return [each for each in self.adapted.parameters() if each.requires_grad]

    @torch.no_grad()
    def read(self, texts: Sequence[str]) -> None:
        """Run the lower layers, so that `encode` needn't."""
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
        """Unit vectors, shape (texts, dimensions), of texts that were read. Those of about a length
        are encoded together: what fills up the others takes as long as words."""
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
        """In half precision: what it adds is small."""
        self.adapted.peft_config["default"].base_model_name_or_path = self._published
        self.adapted.half().save_pretrained(str(folder), save_embedding_layers=False)
        (folder / "README.md").unlink(missing_ok=True)


def _differences(begun: Path, published: str, config: LoraConfig) -> dict[str, Tensor]:
    """Raises ModelCorrupt: what is in the folder is not of the same model, layers and rank."""
    if not begun.is_dir():
        raise ModelCorrupt(f"There is no folder {begun} with an adapter.")
    try:
        made = LoraConfig.from_pretrained(str(begun))
        weights: dict[str, Tensor] = load_peft_weights(str(begun), device="cpu")
    except (OSError, ValueError) as error:
        raise ModelCorrupt(f"The adapter in {begun} can't be read: {error}.") from error
    wanted = (published, config.r, config.target_modules)
    if (made.base_model_name_or_path, made.r, made.target_modules) != wanted:
        raise ModelCorrupt(f"The adapter in {begun} is of another model, other layers or rank.")
    return weights


def batches(count: int, chance: Random) -> Iterator[list[int]]:
    """Of all rows in some order, each once."""
    rows = list(range(count))
    chance.shuffle(rows)
    for start in range(0, count - BATCH // 2, BATCH):
        yield rows[start : start + BATCH]


def rate_at(step: int, steps: int) -> float:
    """Share of the highest rate: rising, then falling by half a cosine."""
    rising = min(1.0, (step + 1) / (WARM_UP * steps))
    return rising * (0.5 + 0.5 * math.cos(math.pi * step / steps))


def loss_of(
    encoder: Encoder, asked: Sequence[str], said: Sequence[str], others: Sequence[str]
) -> Tensor:
    """Each question is to find its utterance among all, and each utterance its question (van den
    Oord et al. 2018)."""
    questions = encoder.encode(asked)
    utterances = encoder.encode([*said, *others])
    right = torch.arange(len(asked))
    found = functional.cross_entropy(questions @ utterances.T / TEMPERATURE, right)
    back = functional.cross_entropy(utterances[: len(said)] @ questions.T / TEMPERATURE, right)
    return found + BACKWARDS * back


def train(encoder: Encoder, told: Sequence[Told], options: argparse.Namespace) -> None:
    chance = Random(options.seed)
    encoder.read([text for each in told for text in each.texts])
    optimiser = torch.optim.AdamW(encoder.parameters, lr=options.rate, weight_decay=0.01)
    passes = round(options.epochs * len(told[0].asked))
    per_pass = sum(1 for _ in batches(len(told), Random(0)))
    steps, step, began = passes * per_pass, 0, time.monotonic()
    recent: list[float] = []
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
            for group in optimiser.param_groups:
                group["lr"] = options.rate * rate_at(step, steps)
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(encoder.parameters, 1.0)
            optimiser.step()
            step += 1
            recent = [*recent[-19:], loss.item()]
        pace = (time.monotonic() - began) / step
        print(
            f"step {step} of {steps}, loss {sum(recent) / len(recent):.3f}, {pace:.1f} s a step",
            file=sys.stderr,
            flush=True,
        )


def found(encoder: Encoder, asked: Sequence[Told], among: Sequence[str]) -> dict[str, float]:
    """Of the questions, the share that finds its utterance first, and among the first five."""
    utterances = encoder.vectors(among)
    place = {text: index for index, text in enumerate(among)}
    questions = [(question, place[each.said]) for each in asked for question in each.asked]
    scores = encoder.vectors([question for question, _ in questions]) @ utterances.T
    right = scores[torch.arange(len(questions)), torch.tensor([index for _, index in questions])]
    ranks = (scores > right[:, None]).sum(1)
    return {f"R@{k}": round(float((ranks < k).float().mean()), 3) for k in (1, 5)}


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--encoder", default="all-mpnet-base-v2", help="name in the catalogue")
    parser.add_argument("--out", type=Path, help="folder for the adapter")
    parser.add_argument("--begun", type=Path, help="folder of the adapter to go on from")
    parser.add_argument("--on", nargs="+", choices=FILES, default=FILES, help="default: all")
    parser.add_argument("--hold-out", type=int, default=0, metavar="N")
    parser.add_argument("--epochs", type=float, default=2.0)
    parser.add_argument("--layers", type=int, default=4, help="adapted, from the top")
    parser.add_argument("--rank", type=int, default=16)
    parser.add_argument("--rate", type=float, default=3e-4)
    parser.add_argument("--limit", type=int, help="so many utterances of each file")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--half", action="store_true", help="multiply in bfloat16")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    torch.manual_seed(options.seed)
    told = [each for name in options.on for each in read_pairs(name, options.limit)]
    kept_back = told[:: options.hold_out] if options.hold_out else []
    learnt = [each for n, each in enumerate(told) if not kept_back or n % options.hold_out]
    others = [each.said for each in learnt[:: max(1, len(learnt) // OTHERS)]] if kept_back else []
    among = [*(text for each in kept_back for text in (each.said, *each.beside)), *others]
    store = ModelStore(models_cache(), catalogue.read())
    try:
        encoder = Encoder(
            store.catalogue.get(options.encoder),
            str(store.location(options.encoder)),
            options.layers,
            options.rank,
            begun=options.begun,
            half=options.half,
        )
    except AssistantError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    figures: dict[str, Any] = {"encoder": options.encoder, "learnt": len(learnt)}
    if kept_back:
        figures["before"] = found(encoder, kept_back, among)
    train(encoder, learnt, options)
    if kept_back:
        figures["after"] = found(encoder, kept_back, among)
    if options.out:
        encoder.save(options.out)
    print("\n".join(f"{name}: {value}" for name, value in figures.items()))
    if options.json:
        print(last_line(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
