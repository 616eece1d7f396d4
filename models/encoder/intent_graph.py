"""Writes the ONNX graph that recognises intents.

The graph takes the token ids of texts of equal length, shape (texts, length). Its four outputs are
logits:

- `intents`, shape (texts, kinds): of each kind of command.
- `spans`, shape (texts, length, 4): of each token being outside the command's arguments, or inside
  the first, the second or the third.
- `knowable`, shape (texts, 3): of each class in `KNOWABLE`. A softmax gives calibrated
  probabilities.
- `told`, shape (texts, 1): that the text asks for something that only the user can have told the
  assistant.

In addition to peft's files, the adapter's folder contains `intents.json` with the names of the
kinds (`models/encoder/intents.py`). The adapter's file also contains the weights of the last
layers, so that one digest covers both.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx

from assistant.errors import ModelCorrupt
from models.encoder.graph import Graph, token_states
from models.encoder.intents import ARGUMENTS, KNOWABLE, read_kinds
from models.encoder.weights import Array, Published, read_tensors

COMMANDS = (
    "Forget that.",
    "okay forget what i just told you about the dentist",
    "Could you please delete everything from the last half hour, Ada?",
    "I'd rather you didn't keep what I said about my brother's divorce.",
    "wipe all of it everything you have on me",
    "No, wait, bring that back!",
    "What do you know about my sister Anna?",
    "remember that my locker code is 4471",
    "Make a note of this, the plumber comes on Tuesday at half past nine.",
    "That's wrong, her name is Margaret and she lives in Leeds.",
    "Why did you say that?",
    "uh how do you know where i work",
    "When did I tell you about the leak in the cellar?",
    "You needn't call me Captain any more.",
    "This stays between us, don't write it down.",
    "Right, you can keep notes again.",
    "Set a timer for twelve minutes for the rice.",
    "remind me tomorrow at quarter past nine to call Anna about the boiler",
    "Can you wake me at 6:30 every weekday?",
    "add milk, eggs and a loaf of bread to the shopping list",
    "How long is left on the pasta timer?",
    "What's 15% of 240?",
    "turn the lights off in the kitchen please",
    "Let's fill in the intake form.",
    "Stop.",
    "Sorry, I missed that, say it again?",
    "go to sleep",
    "Hey Ada, are you there? Wake up.",
    "I forgot my umbrella on the bus again, can you believe it?",
    "She told me to forget about him, and I said I never would.",
    "what's the weather like in Lisbon tomorrow",
    "We had lentil soup and then we watched that film with the dog who remembers everything.",
    '"Erase the tape," he whispered, and the detective\'s hand closed around the receiver.',
    "Mum, stop it, put the phone down and listen to me for a second.",
)
"""Sample commands and other utterances on which the range of the activations is measured."""


ADDED_LATER = ("knowable", "told")
"""The layers that `scripts/train_intents.py` doesn't train."""


@dataclass(frozen=True, slots=True)
class IntentHeads:
    """The weights and biases of the last layers, shapes (out, in) and (out,)."""

    intents: tuple[Array, Array]
    spans: tuple[Array, Array]
    knowable: tuple[Array, Array]
    told: tuple[Array, Array]


def read_heads(adapter: Path, dimensions: int) -> IntentHeads:
    """Read the last layers from an adapter's folder, for a model with this number of dimensions.

    Raises:
        ModelCorrupt: the layers can't be read, don't fit the model, or are not complete.
    """
    kinds = len(read_kinds(adapter).kinds)
    layers = []
    try:
        tensors = read_tensors(adapter / "adapter_model.safetensors")
        for name, shape in (
            ("intents", (kinds, 2 * dimensions)),
            ("spans", (1 + len(ARGUMENTS), dimensions)),
            ("knowable", (len(KNOWABLE), 2 * dimensions)),
            ("told", (1, 2 * dimensions)),
        ):
            if name in ADDED_LATER and f"{name}.weight" not in tensors:
                raise ValueError(f"it has no layer `{name}`, which scripts/train_knowable.py adds")
            weight, bias = (tensors[f"{name}.{part}"] for part in ("weight", "bias"))
            if weight.shape != shape or bias.shape != shape[:1]:
                raise ValueError(f"{name} has the wrong shape")
            layers.append((np.asarray(weight, np.float32), np.asarray(bias, np.float32)))
    except (OSError, ValueError, KeyError, TypeError) as error:
        told = f"The adapter for intents in {adapter} can't be read: {error}."
        raise ModelCorrupt(told) from error
    return IntentHeads(*layers)


def build_intents(graph: Graph, published: Published, heads: IntentHeads) -> onnx.ModelProto:
    """Add the whole model to `graph`, and return it as an ONNX model. The last layers are not
    quantised."""
    states = token_states(graph, published)
    first = graph.add("Squeeze", graph.add("Gather", states, "int.0", axis=1), "int.1")
    mean = graph.add("ReduceMean", states, axes=[1], keepdims=0)
    both = graph.add("Concat", first, mean, axis=1)
    _linear(graph, "intents", both, heads.intents)
    _linear(graph, "spans", states, heads.spans)
    _linear(graph, "knowable", both, heads.knowable)
    _linear(graph, "told", both, heads.told)
    return graph.model(
        intents=["texts", len(heads.intents[1])],
        spans=["texts", "length", len(heads.spans[1])],
        knowable=["texts", len(heads.knowable[1])],
        told=["texts", 1],
    )


def _linear(graph: Graph, name: str, x: str, layer: tuple[Array, Array]) -> None:
    weight, bias = layer
    product = graph.add("MatMul", x, graph.constant(f"{name}.weight", weight.T))
    graph.add("Add", product, graph.constant(f"{name}.bias", bias), outputs=(name,))
