"""Writes the ONNX graph that reads a text together with a list of short items.

The graph takes the token ids of one input (`models.encoder.packing.inputs`), shape (1, length). Its
only output is `states`, shape (1, length, dimensions): the state of each token. NumPy computes the
layers on top of it, in `models/encoder/slots.py`, `models/encoder/reranker.py` and
`models/encoder/turn_judge.py`.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import onnx
from tokenizers import Tokenizer

from models.encoder.graph import Graph, token_states
from models.encoder.packing import Limits, inputs, special_ids
from models.encoder.reranker import MEMORY_LIMITS
from models.encoder.slots import SLOT_LIMITS
from models.encoder.turn_judge import turn_input
from models.encoder.weights import Published


class Samples(NamedTuple):
    """Texts and items on which the range of the activations is measured."""

    limits: Limits
    texts: Sequence[str]
    items: Sequence[str]


FORMS = Samples(
    SLOT_LIMITS,
    (
        "It's for my aunt Rosie in Dundee, she's eighty next week.",
        "um about half past nine i think",
        "Two pints of milk, some bread, and, oh, the good coffee.",
        "No idea, sorry.",
        "Actually, make it Friday the ninth, not Thursday.",
        "My sister had it last winter, and she was off work for a month.",
    ),
    (
        "asked: recipient: Whom is it for? text",
        "weight: How heavy is it? number in kilograms = 2",
        "day: On which day should it go? date = next Thursday",
        "time: At what time? time",
        "contents: What is inside? list = a scarf, two books",
        "transport: bike",
        "insured: Should it be insured? bool",
    ),
)
MEMORIES = Samples(
    MEMORY_LIMITS,
    (
        "When is the dentist?",
        "what was my sister's dog called again",
        "Do you remember how much we paid for the boiler?",
        "who's coming to Lisbon with me",
        "How long ago did I start the new job, and what was the old one?",
        "is my brother still in leeds",
    ),
    (
        "Got the dentist on the nineteenth, ten past nine, not looking forward to it.",
        "Anna's taken in a spaniel, Biscuit, he eats shoes.",
        "the boiler man came six hundred and forty pounds would you believe it",
        "Dave can't make Lisbon after all, so I've asked Priya.",
        "What's good for squeaky hinges?",
        "They rang, the dentist has moved to the twenty-fourth now.",
        "I start at the bakery on Monday, so that's me done with the bank.",
        "My brother's packing up the flat in Leeds, he's off to Cork in March.",
        "Ugh, what a day. Tea first, then everything else.",
        "Our neighbour's dog got out again last Tuesday, the big one.",
    ),
)

TURNS = (
    ("what's the capital of", ""),
    ("Set a timer for twenty five minutes", ""),
    ("um so yesterday we went down to the harbour and", ""),
    ("if it rains tomorrow", ""),
    ("Half past nine", "At what time should I wake you?"),
    ("it's oh seven nine", "What is your telephone number?"),
    ("I never liked that job, to be honest, too many early mornings", ""),
    ("Could you please remind me to call", ""),
    ("yes", "Shall I add it to your shopping list?"),
    ("milk, eggs, a bag of", "What do you need?"),
    ("to get to the old town from the station", ""),
    ("She moved to Lisbon with her two boys, and she says the weather is lovely", ""),
)
"""Words of turns that may not be over, each with the assistant's question or "", on which the range
of the activations is measured."""


def build_states(graph: Graph, published: Published) -> onnx.ModelProto:
    """Add the whole model to `graph`, and return it as an ONNX model."""
    states = token_states(graph, published)
    graph.add("Identity", states, outputs=("states",))
    return graph.model(states=["texts", "length", published.dimensions])


def sample_inputs(samples: Samples, tokenizer: Tokenizer) -> Iterator[list[int]]:
    """Yield the token ids of each text with all items. Each text gets the items in a different
    rotation. If they don't fit into one input, they are distributed over several."""
    first, separator = special_ids(tokenizer)
    items = [tokenizer.encode(each, add_special_tokens=False).ids for each in samples.items]
    for number, each in enumerate(samples.texts):
        ids = tokenizer.encode(each, add_special_tokens=False).ids
        turned = items[number:] + items[:number]
        yield from (made.ids for made in inputs(ids, turned, samples.limits, first, separator))


def sample_turns(tokenizer: Tokenizer) -> Iterator[list[int]]:
    """Yield the token ids of each of `TURNS`."""
    special = special_ids(tokenizer)
    for turn in TURNS:
        words, question = (tokenizer.encode(each, add_special_tokens=False).ids for each in turn)
        yield turn_input(words, question, special).ids
