"""Trains a low-rank adapter of a language model with written answers, and writes it as a GGUF
file."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import gguf
import numpy as np
import torch
from peft import LoraConfig, get_peft_model
from torch import Tensor, nn
from torch.nn import functional
from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

from assistant.errors import ModelFailed
from assistant.paths import models_cache
from models import catalogue
from models.download.cache import ModelStore
from models.llm.gguf import read_header
from scripts.common.rows import read_rows
from scripts.train.lora import Optimiser, keep_freed_memory

NAMES = {
    "q_proj": "attn_q",
    "k_proj": "attn_k",
    "v_proj": "attn_v",
    "o_proj": "attn_output",
    "gate_proj": "ffn_gate",
    "up_proj": "ffn_up",
    "down_proj": "ffn_down",
}
"""The matrices that are adapted: their names in transformers and in GGUF files."""
ARCHITECTURES = frozenset({"qwen2"})
"""Architectures whose matrices are stored in GGUF files as they are in transformers. Others, such
as Llama, store the rows of the queries and keys in another order."""

Texts = Sequence[Mapping[str, str]]
"""Messages with the keys `role` and `content`."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How to train: the adapter's `rank`, the first layer that it changes, the maximum number of
    tokens in a pack besides the system message, and so on."""

    model: str
    lessons: Path
    out: Path | None
    rank: int
    first: int
    pack: int
    rate: float
    epochs: int
    seed: int


class Lesson(NamedTuple):
    """A prompt and the answer to learn, as token ids."""

    system: tuple[int, ...]
    prompt: list[int]
    answer: list[int]


class Row(NamedTuple):
    """Several lessons in one row of tokens.

    Attributes:
        ids: the tokens, shape (tokens,).
        positions: their positions, shape (tokens,). Each lesson follows the system message.
        seen: which tokens each token attends to, shape (tokens, tokens): those before it that
            belong to its own lesson or to the system message.
        places: the tokens whose successor is learnt, shape (learnt,).
        wanted: these successors, shape (learnt,).
    """

    ids: Tensor
    positions: Tensor
    seen: Tensor
    places: Tensor
    wanted: Tensor


def read_lesson(tokenizer: Any, messages: Texts, answer: str) -> Lesson:
    """The tokens of a prompt and an answer, with the model's own chat template."""

    def rendered(of: Texts, *, asked: bool) -> str:
        found = tokenizer.apply_chat_template(list(of), tokenize=False, add_generation_prompt=asked)
        return str(found)

    def tokens(text: str) -> list[int]:
        return list(tokenizer(text, add_special_tokens=False)["input_ids"])

    system = rendered(messages[:1], asked=False)
    asked = rendered(messages, asked=True)
    answered = rendered([*messages, {"role": "assistant", "content": answer}], asked=False)
    return Lesson(
        tuple(tokens(system)),
        tokens(asked.removeprefix(system)),
        tokens(answered.removeprefix(asked).rstrip("\n")),
    )


def packs(lessons: Sequence[Lesson], most: int, chance: Random) -> Iterator[list[Lesson]]:
    """Yields lessons with the same system message in packs, so that the message is read only once
    for all of them. Besides the message, a pack has at most `most` tokens, or one lesson."""
    by_system: dict[tuple[int, ...], list[Lesson]] = {}
    for each in chance.sample(lessons, len(lessons)):
        by_system.setdefault(each.system, []).append(each)
    found: list[list[Lesson]] = []
    for same in by_system.values():
        left = most
        for each in same:
            size = len(each.prompt) + len(each.answer)
            if not found or found[-1][0].system != each.system or size > left:
                found.append([])
                left = most
            found[-1].append(each)
            left -= size
    chance.shuffle(found)
    yield from found


def row_of(pack: Sequence[Lesson]) -> Row:
    """The row of tokens of a pack, whose lessons don't attend to each other."""
    ids = list(pack[0].system)
    positions = list(range(len(ids)))
    lesson = [0] * len(ids)
    places: list[int] = []
    for number, each in enumerate(pack, 1):
        begin = len(ids) + len(each.prompt) - 1
        places += range(begin, begin + len(each.answer))
        read = [*each.prompt, *each.answer[:-1]]
        positions += range(len(each.system), len(each.system) + len(read))
        lesson += [number] * len(read)
        ids += read
    of = torch.tensor(lesson)
    before = torch.ones(len(ids), len(ids), dtype=torch.bool).tril()
    seen = before & ((of[:, None] == of[None]) | (of[None] == 0))
    wanted = [token for each in pack for token in each.answer]
    return Row(
        torch.tensor(ids), torch.tensor(positions), seen, torch.tensor(places), torch.tensor(wanted)
    )


def loss_of(model: Any, row: Row) -> Tensor:
    """The mean cross entropy of the answers' tokens."""
    hidden = torch.finfo(torch.bfloat16).min
    mask = torch.zeros(row.seen.shape, dtype=torch.bfloat16).masked_fill(~row.seen, hidden)
    with torch.autocast("cpu", torch.bfloat16):
        states = model.model(
            input_ids=row.ids[None],
            position_ids=row.positions[None],
            attention_mask=mask[None, None],
            use_cache=False,
        ).last_hidden_state[0]
        logits = model.lm_head(states[row.places])
    return functional.cross_entropy(logits.float(), row.wanted)


def weights_of(model: str) -> Path:
    """The GGUF file of a model that can be adapted.

    Raises:
        ModelError: it is missing.
        ModelFailed: its matrices are stored in another way.
    """
    file = ModelStore(models_cache(), catalogue.read()).weights(model)
    architecture = read_header(file).values["general.architecture"]
    if architecture not in ARCHITECTURES:
        raise ModelFailed(
            f"{model} has the architecture {architecture}. Adapters can be written only for "
            f"{', '.join(sorted(ARCHITECTURES))}."
        )
    return file


def load(file: Path) -> tuple[Any, Any]:
    """The tokenizer and the model of a GGUF file, with its weights in bfloat16."""
    keep_freed_memory()
    tokenizer = AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)
    model = AutoModelForCausalLM.from_pretrained(
        file.parent,
        gguf_file=file.name,
        dtype=torch.bfloat16,
        attn_implementation="eager",  # backward, the others are several times slower on processors
        quantization_config=GgufConfig(dequantize=True),
    )
    return tokenizer, model


def with_adapter(model: Any, rank: int, first: int) -> Any:
    """The model with a new adapter, in 32-bit floats, of its layers from `first` on."""
    layers = list(range(first, model.config.num_hidden_layers))
    config = LoraConfig(
        r=rank, lora_alpha=2 * rank, target_modules=list(NAMES), layers_to_transform=layers
    )
    adapted = get_peft_model(model, config)
    for each in trained_of(adapted):
        each.data = each.data.float()
    return adapted


def trained_of(adapted: nn.Module) -> list[nn.Parameter]:
    return [each for each in adapted.parameters() if each.requires_grad]


def save(adapted: Any, file: Path) -> None:
    """Write the adapter as a GGUF file, in half precision."""
    writer = gguf.GGUFWriter(str(file), adapted.config.model_type)
    writer.add_type(gguf.GGUFType.ADAPTER)
    writer.add_string(gguf.Keys.Adapter.TYPE, "lora")
    writer.add_float32(
        gguf.Keys.Adapter.LORA_ALPHA, float(adapted.peft_config["default"].lora_alpha)
    )
    for name, value in adapted.state_dict().items():
        parts = name.split(".")
        side = next((each for each in ("lora_A", "lora_B") if each in parts), None)
        if side is None:
            continue
        matrix = NAMES[parts[parts.index(side) - 1]]
        layer = parts[parts.index("layers") + 1]
        data = value.float().numpy().astype(np.float16)
        writer.add_tensor(f"blk.{layer}.{matrix}.weight.{side.lower()}", data)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def trained(plan: Plan) -> dict[str, Any]:
    """Train with the lessons of a file, and write the adapter to `out` if that is given.

    Raises:
        ModelError: the language model is missing, or can't be adapted.
        InputUnusable: the file can't be read.
    """
    torch.manual_seed(plan.seed)
    chance = Random(plan.seed)
    tokenizer, published = load(weights_of(plan.model))
    if plan.out:
        plan.out.parent.mkdir(parents=True, exist_ok=True)
    adapted = with_adapter(published, plan.rank, plan.first)
    rows = read_rows(plan.lessons, "messages", "answer")
    lessons = [read_lesson(tokenizer, row["messages"], row["answer"]) for row in rows]
    passes = [list(packs(lessons, plan.pack, chance)) for _ in range(plan.epochs)]
    learning = Optimiser(trained_of(adapted), plan.rate, sum(map(len, passes)))
    losses = []
    for pack in (each for some in passes for each in some):
        loss = loss_of(adapted.base_model.model, row_of(pack))
        losses.append(loss.item())
        learning.step(loss)
    if plan.out:
        save(adapted, plan.out)
    last = losses[-len(passes[-1]) // 4 :]
    return {"lessons": len(lessons), "steps": len(losses), "loss": round(sum(last) / len(last), 3)}
