"""Recognises commands to the assistant itself, with an encoder in onnxruntime.

The model must have been prepared by `models.encoder.preparation`. It is the published encoder with
an adapter and four linear layers. The first gives the probability of each kind of command. The
second marks the words that are the command's arguments; it was trained only on commands that may
have arguments, so its output means nothing for other commands. The third judges whether the
assistant can know what an utterance asks for, and the fourth whether that is something that only
the user can have told. `scripts/train_intents.py` trains the adapter and the first two layers, and
`scripts/train_knowable.py` trains the other two.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from tokenizers import Tokenizer

from assistant.errors import ModelCorrupt, ModelFailed
from models.encoder.onnx import (
    CHARACTERS_PER_TOKEN,
    first_line,
    open_prepared,
    without_surrogates,
)
from models.encoder.packing import sigmoid
from models.interfaces import ClassifiedText

INTENTS = "intents.int8.onnx"
KINDS = "intents.json"
"""Name of the file in the adapter's folder that describes the model's outputs."""
NO_COMMAND = "none"
"""The kind of an utterance that isn't a command."""
ARGUMENTS = ("words", "when", "name")
"""The arguments of a command. A token with the mark 1 belongs to the first argument, and so on. A
token with the mark 0 belongs to none."""
KNOWABLE = ("known", "live", "unseen")
"""The classes of the third layer. `known`: the assistant can answer, or no answer is needed.
`live`: only somebody with internet access could answer. `unseen`: only an eyewitness could."""
OUTPUTS = ("intents", "spans", "knowable", "told")
LONGEST = 64
"""Maximum number of tokens of an utterance. The rest is cut off, as in training."""


class IntentKinds(BaseModel):
    """The meaning of a model's `intents` outputs.

    Attributes:
        kinds: the kind of command that each output stands for.
        temperature: divides the outputs before the softmax. This calibrates the probabilities: of
            the answers with probability p, a share of about p is right.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kinds: tuple[str, ...] = Field(min_length=2)
    temperature: float = Field(gt=0, allow_inf_nan=False)


def read_kinds(adapter: Path) -> IntentKinds:
    """Read the description in the folder of an adapter.

    Raises:
        ModelCorrupt: the description is missing or damaged.
    """
    try:
        described = IntentKinds.model_validate_json((adapter / KINDS).read_bytes())
        if NO_COMMAND not in described.kinds or len({*described.kinds}) < len(described.kinds):
            raise ValueError(f"it lists a kind twice, or `{NO_COMMAND}` is missing")
    except (OSError, ValidationError, ValueError) as error:
        raise ModelCorrupt(f"{adapter / KINDS} can't be read: {first_line(error)}.") from error
    return described


class OnnxIntentClassifier:
    """An `IntentClassifier` that runs the prepared model in `folder`.

    Args:
        adapter: the folder of the adapter that the model was prepared with.
        threads: number of CPU threads per call.
    """

    def __init__(self, folder: Path, adapter: Path, *, threads: int = 1) -> None:
        self._folder = folder
        self._adapter = adapter
        self._threads = threads
        self._kinds = IntentKinds(kinds=(NO_COMMAND, ""), temperature=1.0)
        self._session: onnxruntime.InferenceSession | None = None
        self._tokenizer: Tokenizer | None = None

    def load(self) -> None:
        """Load the model and classify a word, so that the first utterance is fast. Idempotent.

        Raises:
            ModelMissing: the folder is missing or has not been prepared.
            ModelCorrupt: a file of the model can't be read.
        """
        if self._session is not None:
            return
        what = "The intent classifier"
        tokenizer, session = open_prepared(self._folder, INTENTS, what, self._threads)
        tokenizer.enable_truncation(LONGEST)
        kinds = read_kinds(self._adapter)
        shapes = {each.name: each.shape for each in session.get_outputs()}
        if shapes["intents"][1] != len(kinds.kinds) or "told" not in shapes:
            raise ModelCorrupt(
                f"The intent classifier in {self._folder} doesn't have the kinds listed in "
                f"{self._adapter / KINDS}, or was prepared by another version of this program.",
                mend=f"assistant models pull {self._folder.name}",
            )
        self._kinds, self._tokenizer, self._session = kinds, tokenizer, session
        self.classify("warm")

    def classify(self, text: str) -> ClassifiedText:
        """Classify an utterance. The model reads only the first `LONGEST` tokens. If an argument
        includes the last of these tokens, the rest of the utterance is added to the argument. A
        longer utterance is never taken to ask for something unknowable, since its end may ask for
        something else.

        Raises:
            ModelFailed: the model is not loaded, or onnxruntime failed.
        """
        if self._session is None or self._tokenizer is None:
            raise ModelFailed("The intent classifier was used before it was loaded.")
        beginning = text[: LONGEST * CHARACTERS_PER_TOKEN]
        read = self._tokenizer.encode(without_surrogates(beginning))
        cut = bool(read.overflowing) or len(beginning) < len(text)
        try:
            ids = np.array([read.ids], np.int64)
            outputs = self._session.run(OUTPUTS, {"input_ids": ids})
        except Exception as error:  # onnxruntime's errors have no common base
            raise ModelFailed(f"The intent classifier failed: {first_line(error)}.") from error
        intents, spans, knowable, told = (each[0] for each in outputs)
        found = zip(self._kinds.kinds, _softmax(intents, self._kinds.temperature), strict=True)
        probabilities = {kind: share for kind, share in found if kind != NO_COMMAND}
        marks = spans.argmax(axis=1).tolist()
        words, when, name = (
            marked_words(text, read.offsets, marks, number, cut=cut)
            for number in range(1, 1 + len(ARGUMENTS))
        )
        if cut:
            return ClassifiedText(probabilities, words, when, name)
        _, live, unseen = _softmax(knowable)
        [told_share] = sigmoid(told).tolist()
        return ClassifiedText(probabilities, words, when, name, live, unseen, told_share)


def _softmax(outputs: NDArray[np.float32], temperature: float = 1.0) -> list[float]:
    scaled = np.exp((outputs - outputs.max()) / temperature)
    shares: list[float] = (scaled / scaled.sum()).tolist()
    return shares


def marked_words(
    text: str,
    offsets: Sequence[tuple[int, int]],
    marks: Sequence[int],
    mark: int = 1,
    *,
    cut: bool = False,
) -> str | None:
    """Return the longest stretch of text that begins and ends with tokens of this mark, widened to
    whole words. It may contain unmarked tokens, but none with another mark. Return None if no token
    has this mark.

    Args:
        offsets: the range of characters [start, end) of each token. Special tokens have an empty
            range, and are ignored.
        marks: the number of the argument that each token belongs to, or 0.
        cut: whether the text continues after the last token. If that token has the mark, the rest
            of the text counts as marked too.
    """
    parts: list[tuple[int, int]] = []
    goes_on = False
    for (first, past), found in zip(offsets, marks, strict=True):
        if past <= first or found == 0:
            continue
        if found == mark:
            parts.append((parts.pop()[0] if goes_on else first, past))
        goes_on = found == mark
    if not parts:
        return None
    start, end = max(parts, key=lambda part: part[1] - part[0])
    if cut and end == max(past for _, past in offsets):
        end = len(text)
    while start > 0 and text[start - 1].isalnum() and text[start].isalnum():
        start -= 1
    while end < len(text) and text[end - 1].isalnum() and text[end].isalnum():
        end += 1
    return text[start:end]
