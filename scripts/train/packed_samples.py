"""Packs texts and items into inputs, and groups samples into batches."""

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any, Protocol, TypeVar

from models.encoder.packing import Input, Limits, inputs


class Packed(Protocol):
    """A training sample with one input."""

    @property
    def made(self) -> Input: ...


Sample = TypeVar("Sample", bound=Packed)


def packed(tokenizer: Any, text: Sequence[int], items: Sequence[str], limits: Limits) -> Input:
    """Pack the token ids of a text with as many of the items as fit into one input."""
    ids = tokenizer(list(items), add_special_tokens=False)["input_ids"]
    first, separator = tokenizer.cls_token_id, tokenizer.sep_token_id
    return next(inputs(text, ids, limits, first, separator))


def batches(samples: Sequence[Sample], size: int, chance: Random) -> Iterator[list[Sample]]:
    """Yield all samples in batches, those of similar length together."""
    left = sorted(samples, key=lambda each: len(each.made.ids) + 20 * chance.random())
    made = [left[first : first + size] for first in range(0, len(left), size)]
    chance.shuffle(made)
    yield from made
