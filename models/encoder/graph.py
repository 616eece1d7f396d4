"""Writes a sentence-transformers model as an ONNX graph.

Graphs are written directly from the published weights with NumPy. They use onnxruntime's fused
operations, about a dozen per layer, where an export by tracing has fifty. Fewer operations save
noticeable time on a query of a dozen tokens. Writing graphs directly also avoids a dependency as
large as torch. The tests compare the result with sentence-transformers. Sums, biases and norms stay
separate operations, because onnxruntime's fused SkipLayerNormalization takes twice as long on a
CPU.

A graph takes token ids, shape (texts, length). An encoder's graph returns unit vectors, shape
(texts, dimensions). The modules `intent_graph` and `packed_graph` describe the other graphs. All
texts in a call have the same length, so there is no padding and no mask.

The quantised graph multiplies 7-bit weights by 8-bit activations. It takes well under half the time
of the full graph, and a third of the memory. A few channels of the activations are many times
larger than the others. A scale common to all channels would round the smaller channels to almost
nothing (all-mpnet-base-v2: mean cosine 0.91 to full precision). So each channel is divided by a
factor of its own, and its weights are multiplied by the same factor (SmoothQuant, Xiao et al.
2022). The factor balances the channel's range, measured on sample texts, against the range of its
weights. This gives a mean cosine of 0.99. Blockwise 8-bit weights reach 0.9998, but take almost
twice as long. With 8-bit instead of 7-bit weights, sums overflow on older processors without VNNI.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from models.encoder.weights import WEIGHTS, Array, Place, Published

OPSET = 17
IR_VERSION = 8
MICROSOFT = "com.microsoft"
"""Domain of onnxruntime's own operators."""
GREATEST_WEIGHT = 63
"""Largest absolute value of a quantised weight. It is low enough that the sum of two products with
8-bit activations fits into 16 bits."""
EASE = 0.7
"""Share of a channel's range that is moved from the activations to the weights, in [0, 1]
(SmoothQuant's alpha). This value gives the best cosine of those from 0.4 to 0.8."""
TINY = 1e-5


class Graph:
    """An ONNX graph built node by node.

    Args:
        reach: the largest activation of each input channel, by the name of the weight matrix. If it
            is given, the graph is quantised.
        beside: whether the graph's file will be saved next to the published weights and refer to
            their word embeddings. If not, it contains a copy of the embeddings.

    Attributes:
        inputs: name of the tensor that each weight matrix is applied to, by the matrix's name.
    """

    def __init__(self, reach: Mapping[str, Array] | None = None, *, beside: bool = False) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.inputs: dict[str, str] = {}
        self._reach = reach
        self._beside = beside

    def constant(self, name: str, value: Array) -> str:
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def add(
        self, kind: str, *inputs: str, outputs: tuple[str, ...] = (), domain: str = "", **how: Any
    ) -> str:
        """Append a node; return the name of its first output."""
        made = outputs or (f"{kind}_{len(self.nodes)}",)
        self.nodes.append(helper.make_node(kind, inputs, made, domain=domain, **how))
        return made[0]

    def dense(self, name: str, x: str, weight: Array, bias: Array) -> str:
        """Append a linear layer to `x`; return the name of its output.

        The layer multiplies `x` by the transpose of `weight`, shape (out, in) as published, and
        adds `bias`.
        """
        self.inputs[name] = x
        shift = self.constant(f"{name}.bias", bias)
        if self._reach is None:
            return self.add("Add", self.add("MatMul", x, self.constant(name, weight.T)), shift)
        ease = easing(self._reach[name], weight)
        codes, scales = quantise(weight * ease)
        return self.add(
            "DynamicQuantizeMatMul",
            self.add("Mul", x, self.constant(f"{name}.ease", 1 / ease)),
            self.constant(f"{name}.codes", codes.T),
            self.constant(f"{name}.scales", scales),
            "",
            shift,
            domain=MICROSOFT,
        )

    def embedding(self, name: str, ids: str, published: Published, weight: str) -> str:
        """Append a lookup of the rows `ids` of a published weight; return the name of its output.

        onnxruntime maps the published file into memory, so that only rows that are looked up are
        ever read, and all graphs share them. The quantised graph rounds the rows to half precision,
        as earlier versions did, so that the vectors of questions stay the same.
        """
        place = published.place(weight) if self._beside else None
        if place is None:
            table = self.constant(name, published[weight])
        else:
            table = self._mapped(name, published[weight].shape, place)
        rows = self.add("Gather", table, ids)
        if self._reach is None:
            return rows
        return self.add(
            "Cast", self.add("Cast", rows, to=TensorProto.FLOAT16), to=TensorProto.FLOAT
        )

    def _mapped(self, name: str, shape: Sequence[int], place: Place) -> str:
        tensor = onnx.TensorProto(
            name=name,
            dims=shape,
            data_type=TensorProto.FLOAT,
            data_location=TensorProto.EXTERNAL,
        )
        where = {"location": WEIGHTS, "offset": place.offset, "length": place.length}
        for key, value in where.items():
            tensor.external_data.add(key=key, value=str(value))
        self.constants.append(tensor)
        return name

    def model(self, **outputs: Sequence[str | int]) -> onnx.ModelProto:
        """Return a model of the nodes so far. Its input is `input_ids`. `outputs` gives the name
        and shape of each output."""
        ids = helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["texts", "length"])
        out = [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
            for name, shape in outputs.items()
        ]
        graph = helper.make_graph(self.nodes, "encoder", [ids], out, self.constants)
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(MICROSOFT, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)


def easing(reach: Array, weight: Array) -> Array:
    """Return a factor for each input channel, shape (in,).

    The channel's activations are to be divided by the factor, and its weights multiplied by it.
    """
    inputs = np.maximum(reach, TINY)
    weights = np.maximum(np.abs(weight).max(axis=0), TINY)
    ease = inputs**EASE / weights ** (1 - EASE)
    return np.asarray(ease / np.exp(np.log(ease).mean()), np.float32)


def quantise(weight: Array) -> tuple[Array, Array]:
    """Return the 8-bit codes of weights with shape (out, in), and the scale of each output."""
    scales = np.maximum(np.abs(weight).max(axis=1), TINY) / np.float32(GREATEST_WEIGHT)
    return np.rint(weight / scales[:, None]).astype(np.int8), scales.astype(np.float32)


def build(graph: Graph, published: Published) -> onnx.ModelProto:
    """Add the whole model to `graph`, and return it as an ONNX model."""
    pooled = graph.add("ReduceMean", token_states(graph, published), axes=[1], keepdims=0)
    graph.add("LpNormalization", pooled, outputs=("vectors",), axis=1, p=2)
    return graph.model(vectors=["texts", published.dimensions])


def token_states(graph: Graph, published: Published) -> str:
    """Append all layers; return the name of their output, shape (texts, length, dimensions)."""
    x = _embeddings(graph, published)
    bias = _position_bias(graph, published)
    for layer in published.layers:
        x = _layer(graph, published, f"encoder.layer.{layer}", x, bias)
    return x


def _embeddings(graph: Graph, published: Published) -> str:
    """Append the sum of word and position embeddings, normalised; return the name of the result.

    All tokens have the first token type.
    """
    words = graph.embedding("words", "input_ids", published, "embeddings.word_embeddings.weight")
    positions = published["embeddings.position_embeddings.weight"]
    positions = positions[published.architecture.first_position :]
    if "embeddings.token_type_embeddings.weight" in published.weights:
        positions = positions + published["embeddings.token_type_embeddings.weight"][0]
    zero, one = (graph.constant(f"int.{n}", np.array([n], np.int64)) for n in (0, 1))
    shape = graph.add("Shape", "input_ids")
    length = graph.add("Slice", shape, one, graph.constant("int.2", np.array([2], np.int64)))
    length = graph.add("Identity", length, outputs=("length",))
    placed = graph.add("Slice", graph.constant("positions", positions), zero, length, zero)
    return _normalised(graph, published, "embeddings.LayerNorm", graph.add("Add", words, placed))


def _position_bias(graph: Graph, published: Published) -> str:
    """Append the attention bias, which depends on the distance between tokens; return its name.

    The bias has the shape (1, heads, length, length). The name is "" if this kind of model has no
    bias.
    """
    name = "encoder.relative_attention_bias.weight"
    if name not in published.weights:
        return ""
    reach = int(published.config["max_position_embeddings"])
    distances = np.arange(-reach, reach + 1)
    by_distance = published[name][distance_buckets(distances, len(published[name]))]
    scalar = graph.add("Squeeze", "length")
    zero, one = (graph.constant(f"scalar.{n}", np.array(n, np.int64)) for n in (0, 1))
    here = graph.add("Range", zero, scalar, one)
    column = graph.add("Unsqueeze", here, "int.1")
    apart = graph.add("Sub", here, column)
    shifted = graph.add("Add", apart, graph.constant("reach", np.array(reach, np.int64)))
    table = graph.constant("distances", by_distance.T)
    return graph.add("Unsqueeze", graph.add("Gather", table, shifted, axis=1), "int.0")


def distance_buckets(distances: Array, buckets: int, furthest: int = 128) -> Array:
    """Return the bucket of each distance (key minus query) by T5's scheme (Raffel et al. 2020).

    Each direction has half of the buckets. Each near distance has its own bucket. Far distances
    share buckets of logarithmic width up to `furthest`.
    """
    half = buckets // 2
    near = half // 2
    away = np.abs(distances)
    ratio = np.log(np.maximum(away, 1).astype(np.float32) / near) / np.log(furthest / near)
    far = np.minimum(near + (ratio * (half - near)).astype(np.int64), half - 1)
    return np.where(distances > 0, half, 0) + np.where(away < near, away, far)


def _layer(graph: Graph, published: Published, prefix: str, x: str, position_bias: str) -> str:
    """Append attention and a two-layer perceptron; return the name of the output.

    Each of the two is followed by a residual connection and a layer norm.
    """
    where = published.architecture
    parts = [f"{prefix}.{part}" for part in where.query_key_value]
    weights, biases = (
        np.concatenate([published[f"{part}.{kind}"] for part in parts])
        for kind in ("weight", "bias")
    )
    qkv = tuple(f"{prefix}.{part}" for part in ("q", "k", "v"))
    graph.add("Split", graph.dense(f"{prefix}.qkv", x, weights, biases), outputs=qkv, axis=2)
    attended = graph.add(
        "MultiHeadAttention",
        *qkv,
        "",
        "",
        position_bias,
        domain=MICROSOFT,
        num_heads=published.heads,
    )
    x = _added(
        graph,
        published,
        (f"{prefix}.{where.attended}", f"{prefix}.{where.attended_norm}"),
        attended,
        x,
    )
    weights, biases = (
        published[f"{prefix}.intermediate.dense.{kind}"] for kind in ("weight", "bias")
    )
    inner = graph.dense(f"{prefix}.inner", x, weights, biases)
    inner = graph.add("Gelu", inner, domain=MICROSOFT)
    return _added(
        graph, published, (f"{prefix}.output.dense", f"{prefix}.output.LayerNorm"), inner, x
    )


def _added(graph: Graph, published: Published, names: tuple[str, str], y: str, x: str) -> str:
    """Append LayerNorm(x + dense(y)); return the name of its output.

    Args:
        names: published names of the dense layer and of the norm.
    """
    dense, norm = names
    y = graph.dense(dense, y, published[f"{dense}.weight"], published[f"{dense}.bias"])
    return _normalised(graph, published, norm, graph.add("Add", y, x))


def _normalised(graph: Graph, published: Published, norm: str, x: str) -> str:
    return graph.add(
        "LayerNormalization",
        x,
        graph.constant(f"{norm}.scale", published[f"{norm}.weight"]),
        graph.constant(f"{norm}.shift", published[f"{norm}.bias"]),
        axis=-1,
        epsilon=float(published.config["layer_norm_eps"]),
    )
