"""Loads the model that finds the answers to a form's questions in what the user says."""

from assistant.compose.adapted_models import build_slot_reader
from assistant.errors import ModelMissing
from assistant.settings import Settings
from models.interfaces import SlotReader
from models.selection import select_models


def loaded_slot_reader(settings: Settings) -> SlotReader:
    """Load the reader that the settings choose. Blocks. Raises ModelError: it is missing or
    damaged."""
    reader = build_slot_reader(select_models(settings), settings)
    if reader is None:
        raise ModelMissing("The profile has no model for forms.")
    reader.load()
    return reader
