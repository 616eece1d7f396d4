"""Sentence vectors: a sentence-transformers model, exported once to ONNX and run by onnxruntime.

    python -m models.encoder prepare FOLDER

makes `model.onnx` (pooling and normalisation inside) and `model.int8.onnx` beside the published
weights. Only that needs torch and sentence-transformers, which take five seconds and 400 MB to
import; running the encoder needs neither.
"""

import json
import os
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from tokenizers import Tokenizer

from assistant.errors import ModelCorrupt, ModelError, ModelFailed, ModelMissing

ONNX = "model.onnx"
ONNX_INT8 = "model.int8.onnx"
OPSET = 17
BATCH = 32
"""Texts encoded at once; more only costs memory."""
DEFAULT_LENGTH = 256
"""Tokens, where the model doesn't say."""

Vectors = NDArray[np.float32]


class OnnxEncoder:
    """A prepared model in `folder`.

    Args:
        quantised: run the int8 weights: half the time, and vectors close to the others but not
            equal (cosine 0.97 on average for MiniLM).
        threads: CPU threads of one call.
    """

    def __init__(self, folder: Path, *, quantised: bool = False, threads: int = 1) -> None:
        self.name = folder.name
        self._folder = folder
        self._file = ONNX_INT8 if quantised else ONNX
        self._threads = threads
        self._session: onnxruntime.InferenceSession | None = None
        self._tokenizer: Tokenizer | None = None
        self._inputs: frozenset[str] = frozenset()

    @property
    def dimensions(self) -> int:
        """Known after `load`."""
        session, _ = self._ready()
        return int(session.get_outputs()[0].shape[1])

    def load(self) -> None:
        """Read the model and encode a word, so that the first query is quick.

        Raises:
            ModelMissing: the folder isn't there, or isn't prepared.
            ModelCorrupt: a file can't be read.
        """
        if self._session is not None:
            return
        for file in ("tokenizer.json", self._file):
            if not (self._folder / file).is_file():
                raise ModelMissing(
                    f"The encoder {self.name} is not complete: {self._folder / file} is missing.",
                    mend=f"assistant models pull {self.name}",
                )
        try:
            tokenizer = _tokenizer(self._folder)
            session = _session(self._folder / self._file, self._threads)
        except Exception as error:  # tokenizers and onnxruntime raise kinds of their own
            raise ModelCorrupt(
                f"The encoder in {self._folder} can't be read: {_first_line(error)}.",
                mend=f"assistant models pull {self.name}",
            ) from error
        self._inputs = frozenset(given.name for given in session.get_inputs())
        self._tokenizer, self._session = tokenizer, session
        self.encode(["warm"])

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors, shape (len(texts), dimensions). Text past the model's length is cut.

        Raises:
            ModelFailed: not loaded, or the engine gave up.
        """
        vectors = np.empty((len(texts), self.dimensions), np.float32)
        # Of like length together: a batch is padded to its longest text.
        order = sorted(range(len(texts)), key=lambda index: len(texts[index]))
        for start in range(0, len(order), BATCH):
            chosen = order[start : start + BATCH]
            vectors[chosen] = self._batch([texts[index] for index in chosen])
        return vectors

    def _batch(self, texts: list[str]) -> Vectors:
        session, tokenizer = self._ready()
        encoded = tokenizer.encode_batch(texts)
        feeds = {
            "input_ids": np.array([e.ids for e in encoded], np.int64),
            "attention_mask": np.array([e.attention_mask for e in encoded], np.int64),
            "token_type_ids": np.array([e.type_ids for e in encoded], np.int64),
        }
        try:
            result = session.run(None, {k: v for k, v in feeds.items() if k in self._inputs})[0]
        except Exception as error:  # onnxruntime's errors have no common base
            raise ModelFailed(f"The encoder {self.name} failed: {_first_line(error)}.") from error
        vectors: Vectors = result
        return vectors

    def _ready(self) -> tuple[onnxruntime.InferenceSession, Tokenizer]:
        if self._session is None or self._tokenizer is None:
            raise ModelFailed(f"The encoder {self.name} was used before it was loaded.")
        return self._session, self._tokenizer


def _tokenizer(folder: Path) -> Tokenizer:
    """Pads to the longest text of a batch and cuts at the model's own length."""
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    described = folder / "sentence_bert_config.json"
    length = DEFAULT_LENGTH
    if described.is_file():
        length = int(json.loads(described.read_text(encoding="utf-8"))["max_seq_length"])
    tokenizer.enable_truncation(length)
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    pad_id = int(config.get("pad_token_id") or 0)
    tokenizer.enable_padding(pad_id=pad_id, pad_token=tokenizer.id_to_token(pad_id))
    return tokenizer


def _session(file: Path, threads: int) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")


def prepare(folder: Path) -> None:
    """Export the sentence-transformers model in `folder`, fp32 and int8. Each file is written
    whole or not at all.

    Raises:
        ModelMissing: the published files aren't there.
        ModelCorrupt: they can't be read.
    """
    if not (folder / "modules.json").is_file():
        raise ModelMissing(f"{folder} holds no sentence-transformers model.")
    # Nothing may be looked up on the hub: what is there is all there is.
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ["TRANSFORMERS_OFFLINE"] = "1"
    from sentence_transformers import SentenceTransformer

    try:
        model: Any = SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    except Exception as error:  # safetensors, json and transformers raise kinds of their own
        raise ModelCorrupt(
            f"The encoder in {folder} can't be read: {_first_line(error)}."
        ) from error
    part, part_int8 = (folder / f"{name}.part" for name in (ONNX, ONNX_INT8))
    try:
        _export(model, part)
        _quantise(part, part_int8)
        part.replace(folder / ONNX)
        part_int8.replace(folder / ONNX_INT8)
    finally:
        part.unlink(missing_ok=True)
        part_int8.unlink(missing_ok=True)


def _export(model: Any, target: Path) -> None:
    """`model` as one ONNX graph from token ids to unit vectors; batch and length are free."""
    import torch

    names = ["input_ids", "attention_mask"]
    if "token_type_ids" in model.tokenizer.model_input_names:
        names.append("token_type_ids")

    class Pipeline(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
            features = self.model(dict(zip(names, inputs, strict=True)))
            return torch.nn.functional.normalize(features["sentence_embedding"], dim=1)

    example = model.tokenizer(
        ["one two", "a longer line of text"], padding=True, return_tensors="pt"
    )
    axes = {name: {0: "batch", 1: "length"} for name in names}
    with warnings.catch_warnings(), torch.no_grad():
        # The tracer warns of every constant; the equality of the vectors is tested instead.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            Pipeline().eval(),
            tuple(example[name] for name in names),
            str(target),
            input_names=names,
            output_names=["vectors"],
            dynamic_axes={**axes, "vectors": {0: "batch"}},
            opset_version=OPSET,
            dynamo=False,
        )


def _quantise(source: Path, target: Path) -> None:
    """Weights to int8, activations on the fly."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    quantize_dynamic(str(source), str(target), weight_type=QuantType.QInt8)


def main(arguments: list[str]) -> int:
    if len(arguments) != 2 or arguments[0] != "prepare":
        sys.stderr.write("usage: python -m models.encoder prepare FOLDER\n")
        return 2
    try:
        prepare(Path(arguments[1]))
    except ModelError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
