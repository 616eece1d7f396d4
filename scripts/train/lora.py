"""What both trainings of an adapter share: its optimiser, and how it is written."""

import math
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from models.catalogue import Model

WARM_UP = 0.1
"""Share of the steps in which the rate rises."""


class Optimiser:
    """AdamW with a rate that rises and falls."""

    def __init__(self, parameters: Sequence[nn.Parameter], rate: float, steps: int) -> None:
        self._parameters = parameters
        self._rate = rate
        self._steps = steps
        self._adam = torch.optim.AdamW(parameters, lr=rate, weight_decay=0.01)
        self._losses: list[float] = []
        self._began = time.monotonic()

    def step(self, loss: Tensor) -> int:
        """How many steps have been made with this one."""
        for group in self._adam.param_groups:
            group["lr"] = self._rate * rate_at(len(self._losses), self._steps)
        self._adam.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self._parameters, 1.0)
        self._adam.step()
        self._losses.append(loss.item())
        return len(self._losses)

    def tell(self, last: int) -> None:
        """The mean loss of the last steps, and the pace."""
        done, recent = len(self._losses), self._losses[-last:]
        pace = (time.monotonic() - self._began) / done
        print(
            f"step {done} of {self._steps}, loss {sum(recent) / len(recent):.3f}, "
            f"{pace:.2f} s a step",
            file=sys.stderr,
            flush=True,
        )


def rate_at(step: int, steps: int) -> float:
    """Share of the highest rate: rising, then falling by half a cosine."""
    rising = min(1.0, (step + 1) / (WARM_UP * steps))
    return rising * (0.5 + 0.5 * math.cos(math.pi * step / steps))


def repository(published: Model) -> str:
    """What an adapter says that it belongs to."""
    return published.hub.repo if published.hub else published.name


def save(adapted: Any, published: Model, folder: Path) -> None:
    """In peft's form, in half precision: what it adds is small."""
    adapted.peft_config["default"].base_model_name_or_path = repository(published)
    adapted.half().save_pretrained(str(folder), save_embedding_layers=False)
    (folder / "README.md").unlink(missing_ok=True)
