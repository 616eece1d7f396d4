"""Finds the slot for which the assistant has asked in its own words. English only."""

from assistant.forms.definition import Form, Slot
from assistant.forms.values import mentions
from assistant.forms.wording import plain
from assistant.language.sentences import sentences


def asked_in(form: Form, text: str) -> Slot | None:
    """Return the slot that the last sentence of an answer asks for; None if it asks for no slot, or
    could mean several."""
    last = next((each.text for each in reversed(sentences(text))), "")
    if not last.endswith("?"):
        return None
    said = plain(last)
    for slot in form.slots:
        if plain(slot.ask) in said:
            return slot
    found = [each for each in form.slots if mentions(each).search(said)]
    return found[0] if len(found) == 1 else None
