"""Splits a Piper voice in two, so that sound starts before a whole sentence is synthesized.

A voice is one network with two halves. The first half turns text into frames, which hold the
pronunciation and melody of the whole sentence. The second half turns frames into sound. It takes
two thirds of the time, and each frame's sound depends only on a few frames around it. So the second
half can run piece by piece, and still yields the same samples as for the whole sentence.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from onnx.helper import make_graph, make_model, make_tensor_value_info
from piper import PiperConfig
from piper.patch_voice_with_alignment import add_alignment_output

Waveform = NDArray[np.float32]
"""Mono audio, shape (n,), with values within ±1."""

DECODER = "/dec/"
"""Prefix of the names of the second half's nodes, in every voice made by Piper's own exporter."""
FIRST_OF_DECODER = "/dec/conv_pre/Conv"
CONTEXT_FRAMES = 13
"""Number of frames on either side that affect a frame's sound: 10 in medium voices, 13 in high
ones."""
PIECES = (20, 40, 80, 160)
"""Number of frames per piece; a frame is 12 ms long. The last number applies to all further pieces.
The first piece is short, because somebody is waiting for it. Decoding a piece
takes much less time than playing the previous one."""


@dataclass(frozen=True, slots=True)
class Frames:
    """The data of a sentence that the first half passes to the second.

    Attributes:
        latent: the frames, shape (1, values, frames).
        conditions: further inputs of the second half, such as the speaker.
        lengths: number of frames of each phoneme id.
    """

    latent: NDArray[np.float32]
    conditions: dict[str, NDArray[np.float32]]
    lengths: NDArray[np.int64]

    def __len__(self) -> int:
        return int(self.latent.shape[2])


class NotSplittable(ValueError):
    """The network is not structured like those made by Piper's exporter."""


class Network(Protocol):
    frame_samples: int

    def encode(self, ids: list[int], pace: float) -> Frames:
        """Return the frames of a sentence.

        Args:
            ids: the sentence's phoneme ids.
            pace: factor that stretches every phoneme; 2.0 is half as fast.
        """

    def decode(self, frames: Frames) -> Iterator[Waveform]:
        """Yield the sound of a sentence in pieces."""


def open_network(path: Path, config: PiperConfig) -> Network:
    """Open the network of the voice at `path`, in two halves if it can be split."""
    try:
        return SplitNetwork(path, config)
    except NotSplittable:
        return WholeNetwork(path, config)


class SplitNetwork:
    """The two halves of a voice, each in its own session.

    Raises:
        NotSplittable: the network is not structured like those made by Piper's exporter.
    """

    def __init__(self, path: Path, config: PiperConfig) -> None:
        self.frame_samples = int(config.hop_length)
        self._config = config
        encoder, decoder, self._latent = _split(onnx.load(str(path)))
        self._encoder = _open_session(encoder.SerializeToString())
        self._decoder = _open_session(decoder.SerializeToString())
        self._outputs = [output.name for output in self._encoder.get_outputs()]
        self._conditions = [
            given.name for given in self._decoder.get_inputs() if given.name != self._latent
        ]

    def encode(self, ids: list[int], pace: float) -> Frames:
        found = self._encoder.run(None, _inputs(self._config, ids, pace))
        made = dict(zip(self._outputs, found, strict=True))
        latent = made.pop(self._latent)
        conditions = {name: made.pop(name) for name in self._conditions}
        (lengths,) = made.values()
        return Frames(latent, conditions, lengths.reshape(-1).astype(np.int64))

    def decode(self, frames: Frames) -> Iterator[Waveform]:
        start, number = 0, 0
        while start < len(frames):
            stop = min(len(frames), start + PIECES[min(number, len(PIECES) - 1)])
            yield self.part(frames, start, stop)
            start, number = stop, number + 1

    def part(self, frames: Frames, start: int, stop: int) -> Waveform:
        """Return the samples of the frames from `start` up to `stop`."""
        first = max(0, start - CONTEXT_FRAMES)
        last = min(len(frames), stop + CONTEXT_FRAMES)
        given = {self._latent: frames.latent[:, :, first:last], **frames.conditions}
        sound: Waveform = self._decoder.run(None, given)[0].reshape(-1)
        hop = len(sound) // (last - first)
        return sound[(start - first) * hop : (stop - first) * hop]


class WholeNetwork:
    """A voice that can't be split. Its frames are single samples.

    The network doesn't report the lengths of phonemes, so all phonemes are taken to be equally
    long.
    """

    frame_samples = 1

    def __init__(self, path: Path, config: PiperConfig) -> None:
        self._config = config
        self._session = _open_session(str(path))

    def encode(self, ids: list[int], pace: float) -> Frames:
        sound = self._session.run(None, _inputs(self._config, ids, pace))[0].reshape(1, 1, -1)
        ends = np.linspace(0, sound.shape[2], len(ids) + 1).astype(np.int64)
        return Frames(sound, {}, np.diff(ends))

    def decode(self, frames: Frames) -> Iterator[Waveform]:
        yield frames.latent.reshape(-1)


def _inputs(config: PiperConfig, ids: list[int], pace: float) -> dict[str, NDArray[np.generic]]:
    given: dict[str, NDArray[np.generic]] = {
        "input": np.array([ids], np.int64),
        "input_lengths": np.array([len(ids)], np.int64),
        "scales": np.array([config.noise_scale, pace, config.noise_w_scale], np.float32),
    }
    if config.num_speakers > 1:
        given["sid"] = np.array([config.default_speaker_id], np.int64)
    return given


def _open_session(model: bytes | str) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    # One thread is fastest whenever another core is busy; while the assistant speaks, the language
    # model keeps one busy.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # Planning memory reuse takes 1.6 s while loading a voice, and makes the voice no faster.
    options.enable_mem_reuse = False
    # Otherwise, a memory layout is kept for every sentence length: 60 MB for a dozen lengths.
    options.enable_mem_pattern = False
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    # onnxruntime keeps the network's bytes in order to reload it on another device. Drop them.
    session._model_bytes = None
    return session


def _split(model: onnx.ModelProto) -> tuple[onnx.ModelProto, onnx.ModelProto, str]:
    """Cut the graph before the decoder, and add the phonemes' lengths as an output.

    Returns both halves, and the name of the tensor with the frames, which the first half passes to
    the second.

    Raises:
        NotSplittable: the graph is not structured like those made by Piper's exporter.
    """
    graph = model.graph
    first = [node for node in graph.node if node.name == FIRST_OF_DECODER]
    try:
        lengths = add_alignment_output(model)
    except ValueError as error:
        raise NotSplittable(str(error)) from error
    if not first:
        raise NotSplittable(f"it has no {FIRST_OF_DECODER}")
    decoder = [node for node in graph.node if node.name.startswith(DECODER)]
    made = {output for node in decoder for output in node.output}
    before = [
        node
        for node in graph.node
        if not node.name.startswith(DECODER) and not made.intersection(node.input)
    ]
    made_before = {output for node in before for output in node.output}
    crossing = list(
        dict.fromkeys(name for node in decoder for name in node.input if name in made_before)
    )
    latent, sound = first[0].input[0], decoder[-1].output[0]
    if latent not in crossing:
        raise NotSplittable(f"{FIRST_OF_DECODER} takes nothing from the encoder")
    return (
        _submodel(model, before, [given.name for given in graph.input], [*crossing, lengths]),
        _submodel(model, decoder, crossing, [sound]),
        latent,
    )


def _submodel(
    model: onnx.ModelProto, nodes: list[onnx.NodeProto], inputs: list[str], outputs: list[str]
) -> onnx.ModelProto:
    used = {name for node in nodes for name in node.input}
    known = {given.name: given for given in model.graph.input}
    graph = make_graph(
        nodes,
        "half",
        [known.get(name) or _floats(name) for name in inputs],
        [_floats(name) for name in outputs],
        [weights for weights in model.graph.initializer if weights.name in used],
    )
    return make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version)


def _floats(name: str) -> onnx.ValueInfoProto:
    return make_tensor_value_info(name, onnx.TensorProto.FLOAT, None)
