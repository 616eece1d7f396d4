"""Finds a better language model that nobody has run with this assistant yet.

The profile `default` doesn't choose such a model by itself, because public benchmarks are the only
evidence for it. Instead, the user is told about the model, and can choose it.
"""

from collections.abc import Sequence
from itertools import takewhile

from models.catalogue import Catalogue, Model
from models.hardware import Hardware, expected_speed
from models.selection.machine_records import SPEECH_TOKENS_PER_S, Notes, Speed

RANKING = (
    "qwen3.5-4b",
    "qwen3-4b-instruct-2507",
    "ministral-3-3b-instruct-2512",
    "gemma-4-e4b-it",
    "qwen3.5-2b",
    "gemma-4-e2b-it",
    "qwen3-1.7b",
    "qwen2.5-1.5b-instruct",
    "qwen2.5-coder-1.5b-instruct",
    "lfm2.5-1.2b-instruct",
    "qwen2.5-coder-0.5b-instruct",
)
"""Language models, best first. Models that appear in the same public table of November 2026 are
ordered by their scores there: on commands to a smart home (Home Assistant's Assist set), or else on
function calling (BFCL v4). The others are placed by size and age."""

APPLE_RANKING = (
    "qwen3-4b-instruct-2507-mlx",
    "qwen3.5-4b-mlx",
    *RANKING[:-4],
    "qwen2.5-1.5b-instruct-mlx",
    *RANKING[-4:],
)
"""The same for Apple silicon. Qwen3.5 comes second, because with mlx-lm it reads the whole
conversation again in every turn."""

MEMORY_SHARE = 1 / 3
"""Largest share of the memory that a language model may take. The other models, the system and
the user's programs need the rest."""


def best_untried(
    catalogue: Catalogue,
    hardware: Hardware,
    notes: Notes,
    chosen: str,
    measured: Sequence[str],
) -> Model | None:
    """Return the best untried language model that ranks above `chosen` and should suit this
    machine; None if there is none. On Apple silicon, only the memory counts.

    Args:
        measured: models whose measured speed, if known, predicts the speed of other models.
    """
    ranking = APPLE_RANKING if hardware.apple_silicon else RANKING
    if chosen not in ranking:
        return None
    for name in takewhile(lambda each: each != chosen, ranking):
        model = catalogue.models.get(name)
        if model is None or model.tried or not _has_room(model, hardware):
            continue
        if hardware.apple_silicon or _should_keep_up(model, catalogue, hardware, notes, measured):
            return model
    return None


def worth_trying(model: Model, hardware: Hardware) -> str:
    """Return a sentence that tells the user about an untried model.

    It ends with a command, so it has no full stop, and nothing can follow it.
    """
    suits = "should suit this machine"
    if hardware.apple_silicon:  # there, a model's speed is not predicted
        suits = "fits into this machine's memory"
    return (
        f"{model.title} is expected to answer better and {suits}, but nobody has tried it with "
        f"this assistant yet: assistant config set llm.model {model.name}"
    )


def _has_room(model: Model, hardware: Hardware) -> bool:
    return model.ram_mb << 20 <= MEMORY_SHARE * hardware.ram_bytes


def _should_keep_up(
    model: Model, catalogue: Catalogue, hardware: Hardware, notes: Notes, measured: Sequence[str]
) -> bool:
    """Predict whether a model is fast enough, on the assumption that the time for a token is
    proportional to the model's size."""
    for name in measured:
        speed = notes.speed(hardware, (name,))
        if speed is not None:
            share = catalogue.get(name).bytes / model.bytes
            return Speed(share * speed.reading, share * speed.writing).keeps_up
    rate = float(notes.of(hardware).get("stream_rate", 0))
    return expected_speed(rate, model.bytes) >= SPEECH_TOKENS_PER_S
