"""Fills slots of forms, as requested by other processes."""

from assistant.errors import SettingsError
from assistant.ipc import Request
from assistant.state.contents import check_content
from assistant.state.entries import Entry, EntryKind
from assistant.state.store import StateStore


def fill_slot(store: StateStore, form: Entry, request: Request) -> Entry | None:
    """Fill a slot of a form, and return the slot. If it is filled already, its earlier content
    stays in its history. Return None if the form was removed in the meantime.

    Raises:
        SettingsError: the request has no usable content.
        StoreError: the state can't be written.
    """
    given = {name: request[name] for name in ("slot", "label", "value") if name in request}
    content = {**given, "said": "", "exchange": ""}
    try:
        check_content(EntryKind.SLOT, content)
    except ValueError as error:
        raise SettingsError(f"The form can't be filled in: {error}.", mend="assistant forms") from (
            error
        )
    slots = store.entries(EntryKind.SLOT, form.id)
    there = next((each for each in slots if each.content["slot"] == content["slot"]), None)
    if there is not None:
        return store.change(there.id, content, logged=True)
    [new] = store.add(EntryKind.SLOT, [content], form.id)
    if store.get(form.id) is None:
        store.remove([new.id])
        return None
    return new
