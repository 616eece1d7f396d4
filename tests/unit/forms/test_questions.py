"""For which slot the assistant has asked in its own words."""

import pytest

from assistant.forms import asked_in
from tests.support.slot_reader import shipped_form


@pytest.mark.parametrize(
    ("text", "slot"),
    [
        ("That sounds unpleasant. Since when have you had it?", "since"),
        ("No hurry. Are you allergic to anything?", "allergies"),
        ("The practice needs it. So what is your date of birth?", "born"),
        ("Shall I note that your temperature is 39?", "temperature"),
        ("Since when have you had it? Take your time.", None),
        ("Anything else?", None),
        ("", None),
    ],
)
def test_the_slot_that_the_assistant_asks_for_is_found_in_its_words(
    text: str, slot: str | None
) -> None:
    found = asked_in(shipped_form("medical_intake"), text)
    assert (found.name if found else None) == slot
