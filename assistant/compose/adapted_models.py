"""Creates the models that are an encoder with an adapter for one task.

Each uses the first of the profile's encoders that was trained for the task in the user's language.
The caller must `load` it before use.
"""

import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from assistant.errors import ModelError
from assistant.settings import Settings
from models.interfaces import IntentClassifier, Reranker, SlotReader, TurnJudge
from models.selection import ModelSelection

logger = logging.getLogger(__name__)

Made = TypeVar("Made")
MOST_THREADS = 2
"""Maximum number of threads per call. More threads don't read a few dozen tokens faster."""


def build_intent_classifier(
    selection: ModelSelection, settings: Settings
) -> IntentClassifier | None:
    """Create the intent classifier. Return None if the profile has none for the user's language.
    Blocking.

    Raises:
        ModelMissing: the encoder is not on this machine.
        ModelCorrupt: the encoder is damaged.
    """
    from models.encoder import OnnxIntentClassifier

    places = _prepared(selection, settings, "intents")
    return OnnxIntentClassifier(*places) if places else None


def build_slot_reader(selection: ModelSelection, settings: Settings) -> SlotReader | None:
    """Create the reader of forms; see `build_intent_classifier`. It is loaded when a form is
    opened, because most sessions never open one."""
    from models.encoder import OnnxSlotReader

    places = _prepared(selection, settings, "slots")
    return OnnxSlotReader(*places, threads=_threads(selection)) if places else None


def build_reranker(selection: ModelSelection, settings: Settings) -> Reranker | None:
    """Create the judge of memories, as `build_intent_classifier` does."""
    from models.encoder import OnnxReranker

    places = _prepared(selection, settings, "reranker")
    return OnnxReranker(*places, threads=_threads(selection)) if places else None


def build_turn_judge(selection: ModelSelection, settings: Settings) -> TurnJudge | None:
    """Create the judge of a turn's words, as `build_intent_classifier` does."""
    from models.encoder import OnnxTurnJudge

    places = _prepared(selection, settings, "turns")
    return OnnxTurnJudge(*places) if places else None


WITHOUT: Mapping[Callable[[ModelSelection, Settings], Any], str] = {
    build_intent_classifier: "commands are recognised by the grammar alone",
    build_slot_reader: "forms aren't filled in from what is said",
    build_reranker: "memories can't be judged by whether they answer a question",
    build_turn_judge: "only sound and silence show the end of a turn, and any words interrupt",
}
"""What the log says if a model can't be created."""


def find(
    build: Callable[[ModelSelection, Settings], Made | None],
    selection: ModelSelection,
    settings: Settings,
) -> Made | None:
    """Create a model with `build`, one of the functions above. If this fails, log why and return
    None: the assistant works without it. Blocking."""
    try:
        return build(selection, settings)
    except ModelError as error:
        logger.warning("%s: %s", WITHOUT[build], error)
        return None


def _prepared(
    selection: ModelSelection, settings: Settings, adapter: str
) -> tuple[Path, Path] | None:
    """Find the first of the profile's encoders that supports the user's language and has this
    adapter. Return the folders of the encoder and the adapter, or None if no encoder has it. Raises
    ModelMissing or ModelCorrupt."""
    language = settings.persona.language.partition("-")[0]
    for name in selection.profile.encoders:
        model = selection.store.catalogue.get(name)
        if language in model.languages and (found := model.adapters.get(adapter)):
            return selection.store.location(name), found.path
    return None


def _threads(selection: ModelSelection) -> int:
    return min(MOST_THREADS, selection.hardware.cores)
