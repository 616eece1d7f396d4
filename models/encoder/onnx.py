"""Computes sentence vectors with a sentence-transformers model in onnxruntime.

The model must have been converted by `models.encoder.preparation`.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from tokenizers import Tokenizer

from assistant.errors import ModelCorrupt, ModelFailed, ModelMissing
from models.download.manifest import vectors_name

FULL = "encoder.onnx"
QUANTISED = "encoder.int8.onnx"
TOKENS_AT_ONCE = 256
"""Maximum number of tokens per batch, summed over its texts. Larger batches are no faster per
token."""
DEFAULT_LENGTH = 256
"""Maximum number of tokens per text if the model doesn't specify one."""
CHARACTERS_PER_TOKEN = 32
"""Before tokenizing, a text is cut to this many characters times the maximum number of tokens,
because tokenizing a megabyte takes a second."""

Vectors = NDArray[np.float32]
Ids = tuple[int, ...]


class OnnxEncoder:
    """A `SentenceEncoder` that runs the prepared model in `folder`.

    Args:
        quantised: use the 8-bit model, which is meant for questions. It takes less than half the
            time and a third of the memory, and even less if it was distilled to fewer layers. Its
            vectors are close to those of the full model, but not equal (mean cosine 0.99; 0.95 if
            distilled).
        threads: number of CPU threads per call.
        max_tokens: length to which texts are cut, if it is below the model's own maximum.
        keep_end: cut long texts at the beginning instead of the end. A user who says a lot before
            asking puts the question last.
    """

    def __init__(
        self,
        folder: Path,
        *,
        quantised: bool = False,
        threads: int = 1,
        max_tokens: int | None = None,
        keep_end: bool = False,
    ) -> None:
        self.name = vectors_name(folder)
        self._folder = folder
        self._file = QUANTISED if quantised else FULL
        # The scale of quantised activations depends on all texts in a call, so several texts in
        # one call would change each other's vectors.
        self._tokens_at_once = 1 if quantised else TOKENS_AT_ONCE
        self._threads = threads
        self._max_tokens = max_tokens
        self._keep_end = keep_end
        self._characters = 0
        self._dimensions = 0
        self._session: onnxruntime.InferenceSession | None = None
        self._tokenizer: Tokenizer | None = None

    @property
    def dimensions(self) -> int:
        """Number of values in a vector; known after `load`."""
        self._ready()
        return self._dimensions

    def load(self) -> None:
        """Load the model and encode a word, so that the first query is fast. Idempotent.

        Raises:
            ModelMissing: the folder is missing or has not been prepared.
            ModelCorrupt: a file of the model can't be read.
        """
        if self._session is not None:
            return
        for file in ("tokenizer.json", self._file):
            if not (self._folder / file).is_file():
                raise ModelMissing(
                    f"The encoder {self.name} is incomplete: {self._folder / file} is missing.",
                    mend=f"assistant models pull {self._folder.name}",
                )
        try:
            tokenizer = self._open_tokenizer()
            session = open_session(str(self._folder / self._file), self._threads)
        except Exception as error:  # tokenizers and onnxruntime raise exceptions of their own
            raise ModelCorrupt(
                f"The encoder in {self._folder} can't be read: {first_line(error)}.",
                mend=f"assistant models pull {self._folder.name}",
            ) from error
        self._dimensions = int(session.get_outputs()[0].shape[1])
        self._tokenizer, self._session = tokenizer, session
        self.encode(["warm"])

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return unit vectors of the texts, shape (len(texts), dimensions).

        Texts longer than the model's maximum length are cut.

        Raises:
            ModelFailed: the model is not loaded, or onnxruntime failed.
        """
        session, tokenizer = self._ready()
        vectors = np.empty((len(texts), self._dimensions), np.float32)
        # Tokenize one text at a time: a batch would start the tokenizer's own threads.
        tokens = [tuple(tokenizer.encode(self._cut(text)).ids) for text in texts]
        for chosen in _batches(tokens, self._tokens_at_once):
            ids = np.array([tokens[index] for index in chosen], np.int64)
            try:
                vectors[chosen] = session.run(None, {"input_ids": ids})[0]
            except Exception as error:  # onnxruntime's errors have no common base
                raise ModelFailed(
                    f"The encoder {self.name} failed: {first_line(error)}."
                ) from error
        return vectors

    def _cut(self, text: str) -> str:
        """Return the part of a text that is tokenized."""
        kept = text[-self._characters :] if self._keep_end else text[: self._characters]
        return without_surrogates(kept)

    def _open_tokenizer(self) -> Tokenizer:
        tokenizer = Tokenizer.from_file(str(self._folder / "tokenizer.json"))
        described = self._folder / "sentence_bert_config.json"
        length = DEFAULT_LENGTH
        if described.is_file():
            length = int(json.loads(described.read_text(encoding="utf-8"))["max_seq_length"])
        length = min(length, self._max_tokens or length)
        self._characters = length * CHARACTERS_PER_TOKEN
        tokenizer.no_padding()
        direction = "left" if self._keep_end else "right"
        tokenizer.enable_truncation(length, direction=direction)
        return tokenizer

    def _ready(self) -> tuple[onnxruntime.InferenceSession, Tokenizer]:
        if self._session is None or self._tokenizer is None:
            raise ModelFailed(f"The encoder {self.name} was used before it was loaded.")
        return self._session, self._tokenizer


def _batches(tokens: Sequence[Ids], at_once: int) -> Iterator[list[int]]:
    """Yield the indices of texts to encode together.

    All texts of a batch have the same length, because the graph has no padding.
    """
    batch: list[int] = []
    for index in sorted(range(len(tokens)), key=lambda each: len(tokens[each])):
        length = len(tokens[index])
        if batch and (len(tokens[batch[0]]) != length or (len(batch) + 1) * length > at_once):
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def open_session(model: str | bytes, threads: int) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # Otherwise onnxruntime's threads spin while they wait, on cores that the other engines need.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def open_prepared(
    folder: Path, graph: str, what: str, threads: int
) -> tuple[Tokenizer, onnxruntime.InferenceSession]:
    """Open a prepared graph and its tokenizer, with padding and truncation switched off.

    Args:
        what: the model's name at the beginning of error messages, e.g. "The model for forms".

    Raises:
        ModelMissing: a file is missing.
        ModelCorrupt: a file can't be read.
    """
    mend = f"assistant models pull {folder.name}"
    for file in ("tokenizer.json", graph):
        if not (folder / file).is_file():
            raise ModelMissing(f"{what} is incomplete: {folder / file} is missing.", mend=mend)
    try:
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        return tokenizer, open_session(str(folder / graph), threads)
    except Exception as error:  # tokenizers and onnxruntime raise exceptions of their own
        told = f"{what} in {folder} can't be read: {first_line(error)}."
        raise ModelCorrupt(told, mend=mend) from error


def without_surrogates(text: str) -> str:
    """Replace lone surrogates with "?", because the tokenizer rejects them. The length stays the
    same."""
    return text.encode("utf-8", "replace").decode("utf-8")


def first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
