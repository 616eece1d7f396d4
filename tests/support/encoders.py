"""Sentence encoders without a model."""

import threading
import time
from collections.abc import Callable, Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from assistant.errors import ModelFailed
from tests.support.patience import PATIENCE_S


class HashingEncoder:
    """Texts that share words get similar vectors: each word is a direction drawn from its hash."""

    name = "hashing"
    dimensions = 32

    def __init__(self) -> None:
        self.encoded: list[str] = []

    def load(self) -> None:
        """Nothing to load."""

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.encoded += texts
        vectors = [self._vector(text) for text in texts]
        return np.array(vectors, np.float32).reshape(-1, self.dimensions)

    def _vector(self, text: str) -> NDArray[np.float64]:
        total = np.full(self.dimensions, 1e-3)
        for word in text.lower().split():
            meant = self._meant(word.strip(".,?!"))
            seed = int.from_bytes(blake2b(meant.encode(), digest_size=8).digest())
            total += np.random.default_rng(seed).normal(size=self.dimensions)
        return np.asarray(total / np.linalg.norm(total))

    def _meant(self, word: str) -> str:
        return word


class OtherHashing(HashingEncoder):
    """Has another name and gives different vectors; calls `gate` before each encoding."""

    name = "other"
    dimensions = 48

    def __init__(self) -> None:
        super().__init__()
        self.gate: Callable[[], None] = lambda: None

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.gate()
        return super().encode(texts)

    def _meant(self, word: str) -> str:
        return f"other {word}"


class Held(HashingEncoder):
    """Waits before each text that begins with "slow" until `may_go_on` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = threading.Event()
        self.may_go_on = threading.Event()

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if any(text.startswith("slow") for text in texts):
            self.begun.set()
            deadline = time.monotonic() + PATIENCE_S
            while not self.may_go_on.is_set():  # `time` may be simulated
                assert time.monotonic() < deadline
                time.sleep(0.005)
        return super().encode(texts)


class SteeredEncoder(HashingEncoder):
    """`same` says which words mean the same; `gate` is called before each encoding, which fails if
    `broken` is set."""

    dimensions = 64

    def __init__(self) -> None:
        super().__init__()
        self.same: dict[str, str] = {}
        self.broken = False
        self.gate: Callable[[], None] = lambda: None

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.gate()
        if self.broken:
            raise ModelFailed("The encoder failed.")
        return super().encode(texts)

    def _meant(self, word: str) -> str:
        return self.same.get(word, word)


def unit_vectors(count: int, dimensions: int, seed: int = 1) -> NDArray[np.float32]:
    """Unit vectors in random directions."""
    drawn = np.random.default_rng(seed).normal(size=(count, dimensions))
    return np.asarray(drawn / np.linalg.norm(drawn, axis=1, keepdims=True), np.float32)
