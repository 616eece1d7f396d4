"""Sentence vectors: a sentence-transformers model, prepared once (`preparation`) and run by
onnxruntime."""

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
"""Tokens per call of the engine, over all its texts. Larger batches are no faster per token."""
DEFAULT_LENGTH = 256
"""Tokens, if the model doesn't specify a length."""
CHARACTERS_PER_TOKEN = 32
"""Before text is tokenized, it is cut to this many characters per token of the model's length:
a megabyte would take a second."""

Vectors = NDArray[np.float32]
Ids = tuple[int, ...]


class OnnxEncoder:
    """A prepared model in `folder`.

    Args:
        quantised: for questions; takes a third of the time and memory (less if fewer layers were
            distilled), and gives vectors that are close but not equal (mean cosine 0.99;
            distilled, 0.95).
        threads: CPU threads per call.
        max_tokens: length to which text is cut, if below the model's own.
        keep_end: cut long texts at the beginning instead of the end: a user who says a lot before
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
        # Activations are quantised over the range of a whole call: several texts would affect each
        # other.
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
        """Length of a vector; known after `load`."""
        self._ready()
        return self._dimensions

    def load(self) -> None:
        """Load the model and encode a word, so that the first query is fast. Idempotent.

        Raises:
            ModelMissing: the folder is missing or not prepared.
            ModelCorrupt: a file can't be read.
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
                f"The encoder in {self._folder} can't be read: {_first_line(error)}.",
                mend=f"assistant models pull {self._folder.name}",
            ) from error
        self._dimensions = int(session.get_outputs()[0].shape[1])
        self._tokenizer, self._session = tokenizer, session
        self.encode(["warm"])

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors, shape (len(texts), dimensions). Text past the model's length is cut.

        Raises:
            ModelFailed: not loaded, or the engine failed.
        """
        session, tokenizer = self._ready()
        vectors = np.empty((len(texts), self._dimensions), np.float32)
        # One by one: a batch would start the tokenizer's own threads.
        tokens = [tuple(tokenizer.encode(self._cut(text)).ids) for text in texts]
        for chosen in _batches(tokens, self._tokens_at_once):
            ids = np.array([tokens[index] for index in chosen], np.int64)
            try:
                vectors[chosen] = session.run(None, {"input_ids": ids})[0]
            except Exception as error:  # onnxruntime's errors have no common base
                raise ModelFailed(
                    f"The encoder {self.name} failed: {_first_line(error)}."
                ) from error
        return vectors

    def _cut(self, text: str) -> str:
        """The part to encode, with "?" for lone surrogates, which the tokenizer rejects."""
        kept = text[-self._characters :] if self._keep_end else text[: self._characters]
        return kept.encode("utf-8", "replace").decode("utf-8")

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
    """Indices of texts to encode together: of equal length, since the graph has no padding."""
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


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
