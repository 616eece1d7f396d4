"""Forms: what they ask for, how slots are filled from the user's words, and what is filled in.

This package knows nothing of the voice loop.
"""

from typing import TYPE_CHECKING

from assistant.facade import exports

if TYPE_CHECKING:
    from assistant.forms.definition import Form, FormLibrary, Slot, SlotType, read_form
    from assistant.forms.filling import NOTHING_FOUND, Filling, FormReader
    from assistant.forms.open_form import Filled, OpenForm, PutInSlot
    from assistant.forms.proposal import Proposal, Way
    from assistant.forms.questions import asked_in
    from assistant.forms.values import (
        UNKNOWN,
        Value,
        read,
        shown,
        spoken,
        value_words,
    )
else:
    __getattr__ = exports(__name__)

__all__ = [
    "NOTHING_FOUND",
    "UNKNOWN",
    "Filled",
    "Filling",
    "Form",
    "FormLibrary",
    "FormReader",
    "OpenForm",
    "Proposal",
    "PutInSlot",
    "Slot",
    "SlotType",
    "Value",
    "Way",
    "asked_in",
    "read",
    "read_form",
    "shown",
    "spoken",
    "value_words",
]
