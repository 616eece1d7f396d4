"""Prepares a sentence-transformers model for the encoder by writing ONNX graphs.

    python -m models.encoder.preparation FOLDER [--adapter FOLDER] [--distilled FOLDER]
        [--intents FOLDER] [--slots FOLDER] [--reranker FOLDER] [--turns FOLDER]

writes `encoder.onnx` and `encoder.int8.onnx` beside the published weights in FOLDER. The options
are the folders of adapters, as the catalogue names them:

- `--adapter`: is added to the weights of both graphs.
- `--distilled`: is also added to the weights of `encoder.int8.onnx`. That graph then has only the
  layers that this adapter changes.
- `--intents`: makes the program write `intents.int8.onnx` (`models/encoder/intent_graph.py`), with
  no other adapter.
- `--slots`, `--reranker`, `--turns`: make the program write `slots.int8.onnx`,
  `reranker.int8.onnx` and `turns.int8.onnx` (`models/encoder/packed_graph.py`), each with no
  other adapter.
"""

import argparse
import itertools
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper
from tokenizers import Tokenizer

from assistant.errors import ModelCorrupt, ModelError
from models.encoder.graph import Graph, build
from models.encoder.intent_graph import COMMANDS, build_intents, read_heads
from models.encoder.intents import INTENTS
from models.encoder.onnx import FULL, QUANTISED, open_session
from models.encoder.packed_graph import (
    FORMS,
    MEMORIES,
    build_states,
    sample_inputs,
    sample_turns,
)
from models.encoder.reranker import OnnxReranker
from models.encoder.slots import OnnxSlotReader
from models.encoder.turn_judge import OnnxTurnJudge
from models.encoder.weights import Array, Published, distil, read_published

THINGS = (
    "my sister's wedding",
    "the dentist",
    "a dog called Max",
    "twelve guitar strings",
    "grandma's recipe for plum cake",
    "the flight to Lisbon",
    "an allergy to peanuts",
    "the broken washing machine",
    "Doctor Okafor",
    "forty euros a month",
    "football practice",
    "the blue bicycle in the cellar",
)
FRAMES = (
    "what did i tell you about {} and {}",
    "{}",
    "remind me, when was {}?",
    "Yesterday it was all about {}, and then, well, {} came up again. I was so tired that I cried!",
    "who takes care of {}",
    "I don't like {} any more; I'd rather have {}.",
)
SENTENCES = tuple(frame.format(*pair) for pair in itertools.pairwise(THINGS) for frame in FRAMES)
"""Sample questions and statements on which the range of the activations is measured."""


def reach(published: Published, texts: Iterable[Sequence[int]]) -> dict[str, Array]:
    """Return the largest activation of each channel over some texts, in the form that `Graph`
    takes.

    Args:
        texts: the token ids of each text.
    """
    graph = Graph()
    model = build(graph, published)
    watched = dict.fromkeys(graph.inputs.values())
    model.graph.output.extend(
        helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in watched
    )
    session = open_session(model.SerializeToString(), threads=1)
    greatest: dict[str, Array] = {}
    for ids in texts:
        found = session.run(list(watched), {"input_ids": np.array([ids], np.int64)})
        for name, values in zip(watched, found, strict=True):
            peaks = np.abs(values).max(axis=(0, 1))
            greatest[name] = np.maximum(greatest.get(name, peaks), peaks)
    return {matrix: greatest[name] for matrix, name in graph.inputs.items()}


def prepare(
    folder: Path,
    adapter: Path | None = None,
    distilled: Path | None = None,
    intents: Path | None = None,
    slots: Path | None = None,
    reranker: Path | None = None,
    turns: Path | None = None,
) -> None:
    """Write the graphs of the model in `folder`, with the adapters in these folders.

    The same weights give the same bytes on processors of the same kind.

    Raises:
        ModelMissing: the published files are missing.
        ModelCorrupt: a published file or an adapter can't be read, or an adapter doesn't fit.
        ModelFailed: models of this kind can't be prepared.
        OSError: a graph can't be written.
    """
    published = read_published(folder, adapter)
    asked = distil(published, distilled) if distilled else published
    try:
        # Refuse adapters that don't fit before making any graph, since each takes a second.
        heads = read_heads(intents, published.dimensions) if intents else None
        if slots:
            OnnxSlotReader.layers(slots, published.dimensions)
        if reranker:
            OnnxReranker.layers(reranker, published.dimensions)
        if turns:
            OnnxTurnJudge.layers(turns, published.dimensions)
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        tokenizer.no_padding()
        _write(build(Graph(beside=True), published), folder / FULL)
        seen = reach(asked, [tokenizer.encode(text).ids for text in SENTENCES])
        _write(build(Graph(seen, beside=True), asked), folder / QUANTISED)
        if intents and heads:
            classifying = read_published(folder, intents)
            seen = reach(classifying, [tokenizer.encode(text).ids for text in COMMANDS])
            graph = Graph(seen, beside=True)
            _write(build_intents(graph, classifying, heads), folder / INTENTS)
        if slots:
            _write_states(folder, slots, sample_inputs(FORMS, tokenizer), OnnxSlotReader.GRAPH)
        if reranker:
            samples = sample_inputs(MEMORIES, tokenizer)
            _write_states(folder, reranker, samples, OnnxReranker.GRAPH)
        if turns:
            _write_states(folder, turns, sample_turns(tokenizer), OnnxTurnJudge.GRAPH)
    except (OSError, ModelError):
        raise
    except Exception as error:  # tokenizers, onnx and onnxruntime raise exceptions of their own
        raise ModelCorrupt(f"The encoder in {folder} is damaged: {error}.") from error


def _write_states(
    folder: Path, adapter: Path, samples: Iterable[Sequence[int]], graph: str
) -> None:
    """Write the graph that computes token states with one adapter. The range of the activations is
    measured on `samples`, the token ids of some inputs."""
    published = read_published(folder, adapter)
    made = Graph(reach(published, samples), beside=True)
    _write(build_states(made, published), folder / graph)


def _write(model: onnx.ModelProto, file: Path) -> None:
    file.write_bytes(model.SerializeToString(deterministic=True))


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    for name in ("adapter", "distilled", "intents", "slots", "reranker", "turns"):
        parser.add_argument(f"--{name}", type=Path)
    try:
        prepare(**vars(parser.parse_args(arguments)))
    except ModelError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
