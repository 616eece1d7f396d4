"""A sentence encoder without a model."""

import threading
from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

WAIT_S = 30


class HashingEncoder:
    """Texts that share words have like vectors: each word is a direction drawn from its hash."""

    name = "hashing"
    dimensions = 32

    def __init__(self) -> None:
        self.encoded: list[str] = []

    def load(self) -> None:
        """Nothing to load."""

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.encoded += texts
        return np.array([self._vector(text) for text in texts], np.float32).reshape(-1, 32)

    def _vector(self, text: str) -> NDArray[np.float64]:
        total = np.full(self.dimensions, 1e-3)
        for word in text.lower().split():
            seed = int.from_bytes(blake2b(word.strip(".,?!").encode(), digest_size=8).digest())
            total += np.random.default_rng(seed).normal(size=self.dimensions)
        return total / np.linalg.norm(total)


class Held(HashingEncoder):
    """Waits before each text that begins with "slow" until it may go on."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = threading.Event()
        self.may_go_on = threading.Event()

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if any(text.startswith("slow") for text in texts):
            self.begun.set()
            assert self.may_go_on.wait(WAIT_S)
        return super().encode(texts)
