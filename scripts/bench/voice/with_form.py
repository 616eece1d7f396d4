"""A medical intake that an earlier session left open, half filled in."""

from pathlib import Path

from assistant.forms.definition import FormLibrary
from assistant.forms.open_form import OpenForm
from assistant.forms.proposal import Proposal
from assistant.state import StateStore

FORM = "medical_intake"
ANSWERS = (
    Proposal("reason", "a cough that keeps me awake", "It's a cough that keeps me awake."),
    Proposal("since", "2026-11-02", "Since the second of November."),
    Proposal("severity", 6.0, "About a six."),
    Proposal("temperature", 37.9, "Thirty-seven point nine."),
    Proposal("medicines", ["ibuprofen", "cough syrup"], "Ibuprofen and cough syrup."),
)


def half_filled(store: StateStore) -> None:
    """Open the form, and fill in `ANSWERS`. Blocks.

    The assistant has not just asked one of the form's questions. If it had, many of the clips would
    be taken for the answer to that question.
    """
    form = FormLibrary(Path("no-such-folder")).get(FORM)
    assert form is not None
    OpenForm.begin(store, form).put(ANSWERS)
