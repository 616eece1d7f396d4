"""What the training programs share: the optimiser, and creating and saving an adapter."""

import ctypes
import math
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import torch
from peft import LoraConfig, get_peft_model
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from transformers import AutoModel

from models.catalogue import Model

WEIGHTS = "adapter_model.safetensors"
MATRICES = r".*encoder\.layer\.\d+\..*\.(q|k|v|o|query|key|value|dense)"
DROPOUT = 0.05
TOLD_EVERY = 50
"""Number of steps between two messages."""
WARM_UP = 0.1
"""Share of the steps during which the learning rate rises."""
DRAWN = 1 << 23
"""Minimum number of random values that all `Dropout`s of the same probability share."""
REDRAWN_EVERY = 20_000
"""Number of uses after which these values are drawn anew."""
M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -2, -3, -8
"""Constants from <malloc.h>."""


class Optimiser:
    """AdamW with a learning rate that rises, then falls."""

    def __init__(self, parameters: Sequence[nn.Parameter], rate: float, steps: int) -> None:
        self._parameters = parameters
        self._rate = rate
        self._steps = steps
        self._adam = torch.optim.AdamW(parameters, lr=rate, weight_decay=0.01)
        self._losses: list[float] = []
        self._began = time.monotonic()

    def step(self, loss: Tensor) -> None:
        """Make a step, and now and then print the mean loss."""
        for group in self._adam.param_groups:
            group["lr"] = self._rate * rate_at(len(self._losses), self._steps)
        self._adam.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self._parameters, 1.0)
        self._adam.step()
        self._losses.append(loss.item())
        if not len(self._losses) % TOLD_EVERY:
            self._tell()

    def _tell(self) -> None:
        """Print the mean loss of the last steps, and the seconds per step."""
        done, recent = len(self._losses), self._losses[-TOLD_EVERY:]
        pace = (time.monotonic() - self._began) / done
        print(
            f"step {done} of {self._steps}, loss {sum(recent) / len(recent):.3f}, "
            f"{pace:.2f} s per step",
            file=sys.stderr,
            flush=True,
        )


def rate_at(step: int, steps: int) -> float:
    """The share of the highest learning rate at a step: it rises linearly, then falls along half a
    cosine."""
    rising = min(1.0, (step + 1) / (WARM_UP * steps))
    return rising * (0.5 + 0.5 * math.cos(math.pi * step / steps))


def repository(published: Model) -> str:
    """The name that an adapter gives for its base model."""
    return published.hub.repo if published.hub else published.name


def save(adapted: Any, published: Model, folder: Path) -> None:
    """Write an adapter in peft's format, in half precision, which suffices for small changes."""
    adapted.peft_config["default"].base_model_name_or_path = repository(published)
    adapted.half().save_pretrained(str(folder), save_embedding_layers=False)
    (folder / "README.md").unlink(missing_ok=True)


def adapted(folder: str, rank: int) -> Any:
    """Load a published encoder, with a new adapter for all its layers. There is no dropout of
    attention weights: with it, or with fused attention, a step backward takes twice as long on a
    processor."""
    keep_freed_memory()
    config = LoraConfig(r=rank, lora_alpha=2 * rank, lora_dropout=DROPOUT, target_modules=MATRICES)
    published = AutoModel.from_pretrained(
        folder, attention_probs_dropout_prob=0.0, attn_implementation="eager"
    )
    made = get_peft_model(published, config)
    return made if torch.cuda.is_available() else with_fast_dropout(made)


def keep_freed_memory() -> None:
    """Have the C library keep freed memory for later tensors. By default, glibc returns the memory
    of large tensors to the system at once, and clearing the pages anew takes a fifth to a third of
    the training's time."""
    if sys.platform == "linux":
        library = ctypes.CDLL(None)
        library.mallopt(M_ARENA_MAX, 1)
        library.mallopt(M_MMAP_THRESHOLD, 1 << 27)
        library.mallopt(M_TRIM_THRESHOLD, (1 << 31) - 1)
        library.mallopt(M_TOP_PAD, 1 << 26)


def with_fast_dropout(model: nn.Module) -> nn.Module:
    """Replace all dropout layers by `Dropout`."""
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, nn.Dropout):
                setattr(parent, name, Dropout(child.p))
    return model


class Dropout(nn.Module):
    """Dropout that takes its random values from a pool at a random place. Drawing each value anew
    takes two thirds of a training's time on a processor without vector instructions for it."""

    _pools: ClassVar[dict[float, Tensor]] = {}
    _uses: ClassVar[dict[float, int]] = {}

    def __init__(self, share: float) -> None:
        super().__init__()
        self.p = share

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or not self.p:
            return x
        pool, size = self._pool(x), x.numel()
        start = int(torch.randint(pool.numel() - size, ()).item())
        kept = pool[start : start + size].to(x.device, x.dtype)
        return x * kept.view(x.shape)

    def _pool(self, x: Tensor) -> Tensor:
        """Values of 0, or of 1 divided by the share that is kept; enough for `x`."""
        pool, uses = self._pools.get(self.p), self._uses.get(self.p, 0)
        if pool is None or pool.numel() < 2 * x.numel() or uses >= REDRAWN_EVERY:
            size = max(DRAWN, 2 * x.numel())
            pool = (torch.rand(size) >= self.p).bfloat16() / (1 - self.p)
            self._pools[self.p], uses = pool, 0
        self._uses[self.p] = uses + 1
        return pool


def save_with_heads(
    encoder: Any, heads: Mapping[str, nn.Module], published: Model, folder: Path
) -> None:
    """Write an adapter, with the layers above the encoder in the same file."""
    save(encoder, published, folder)
    weights = load_file(folder / WEIGHTS)
    for name, layer in heads.items():
        for part, value in layer.state_dict().items():
            weights[f"{name}.{part}"] = value.half().cpu().contiguous()
    save_file(weights, folder / WEIGHTS, metadata={"format": "pt"})
