"""Writes the ONNX graph with which an encoder finds the values of a form's slots in an utterance.

The graph takes the token ids of an utterance with some slots (`models.encoder.slots.inputs`), shape
(1, length). Its only output is `states`, shape (1, length, dimensions): the state of each token.
The layers on top of it are so small that `models/encoder/slots.py` computes them with NumPy.
"""

from collections.abc import Iterator

import onnx
from tokenizers import Tokenizer

from models.encoder.graph import Graph, token_states
from models.encoder.slots import inputs, special_ids
from models.encoder.weights import Published

UTTERANCES = (
    "It's for my aunt Rosie in Dundee, she's eighty next week.",
    "um about half past nine i think",
    "Two pints of milk, some bread, and, oh, the good coffee.",
    "No idea, sorry.",
    "Actually, make it Friday the ninth, not Thursday.",
    "My sister had it last winter, and she was off work for a month.",
)
SLOTS = (
    "asked: recipient: Whom is it for? text",
    "weight: How heavy is it? number in kilograms = 2",
    "day: On which day should it go? date = next Thursday",
    "time: At what time? time",
    "contents: What is inside? list = a scarf, two books",
    "transport: bike",
    "insured: Should it be insured? bool",
)


def build_states(graph: Graph, published: Published) -> onnx.ModelProto:
    """Add the whole model to `graph`, and return it as an ONNX model."""
    states = token_states(graph, published)
    graph.add("Identity", states, outputs=("states",))
    return graph.model(states=["texts", "length", published.dimensions])


def sample_inputs(tokenizer: Tokenizer) -> Iterator[list[int]]:
    """Yield token ids on which the range of the activations is measured."""
    first, separator = special_ids(tokenizer)
    slots = [tokenizer.encode(each, add_special_tokens=False).ids for each in SLOTS]
    for number, each in enumerate(UTTERANCES):
        ids = tokenizer.encode(each, add_special_tokens=False).ids
        turned = slots[number:] + slots[:number]
        yield from (made.ids for made in inputs(ids, turned, first, separator))
