"""Finds the tools that an utterance may ask for, by meaning.

The utterance's vector is compared with the vector of each tool's name and description. This takes
microseconds. The results are only candidates: the language model decides whether the user really
asks for one of them, and its decision is checked.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assistant.tool_servers.tool import Tool

Vector = NDArray[np.float32]
Vectors = NDArray[np.float32]
Encode = Callable[[Sequence[str]], Vectors]
"""Returns unit vectors of texts, shape (len(texts), dimensions). Blocks."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A tool that an utterance may ask for. `score` is a cosine similarity."""

    tool: Tool
    score: float


class ToolIndex:
    """The vectors of tools, in the space of one encoder.

    Args:
        encode: encodes the texts that describe tools.
    """

    def __init__(self, encode: Encode) -> None:
        self._encode = encode
        self._known: tuple[tuple[Tool, ...], Vectors] = ((), np.zeros((0, 0), np.float32))

    def build(self, tools: Sequence[Tool]) -> None:
        """Replace the tools. Blocks for some milliseconds for each tool.

        Raises:
            ModelFailed: the encoder failed.
        """
        texts = [described(tool) for tool in tools]
        vectors = self._encode(texts) if texts else np.zeros((0, 0), np.float32)
        self._known = (tuple(tools), vectors)

    def find(self, vector: Vector, least: float, most: int) -> list[Candidate]:
        """Return the tools that are most like an utterance, best first.

        Args:
            vector: the utterance's unit vector, shape (dimensions,).
            least: minimum score.
        """
        tools, vectors = self._known
        if not tools:
            return []
        scores = vectors @ vector
        best = np.argsort(-scores)[:most].tolist()
        return [Candidate(tools[at], float(scores[at])) for at in best if scores[at] >= least]


def described(tool: Tool) -> str:
    """Return the text that utterances are compared with: the tool's name, and the first sentence
    of its description.

    >>> described(Tool("git", "git_create_branch", "Creates a branch. Needs a repository."))
    'create branch: Creates a branch'
    """
    first = tool.description.partition(". ")[0].rstrip(".")
    return f"{tool.spoken}: {first}" if first else tool.spoken
