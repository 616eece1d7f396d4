"""Represents entries of the user's state as memories, so that requests to forget find them."""

from collections.abc import Iterator, Mapping
from typing import Any

from assistant.memory import ADDED_BY_USER, Memory, MemoryKind
from assistant.state.entries import Entry, EntryKind, texts_in
from assistant.state.store import StateStore

SHOWN: Mapping[EntryKind, tuple[str, str]] = {
    EntryKind.TIMER: ("name", "My {} timer"),
    EntryKind.ALARM: ("name", "My alarm for {}"),
    EntryKind.REMINDER: ("words", "My reminder: {}"),
    EntryKind.LIST: ("name", "My {} list"),
    EntryKind.ITEM: ("text", "{}"),
    EntryKind.NOTE: ("text", "{}"),
    EntryKind.FORM: ("title", "My {} form"),
    EntryKind.TASK: ("name", "My task: {}"),
}
"""For each kind, the key of the entry's words in its content, and how the user would refer to the
entry. Slots and lines also have words, but are handled by functions of their own. Other kinds have
no words."""


def outlines(store: StateStore, user: str) -> Mapping[str, Memory]:
    """Return a memory for each entry that has words, by id, so that "forget my shopping list" finds
    the list. Blocks for some milliseconds.

    Raises:
        StoreError: the state can't be read.
    """
    entries = (entry for kind in SHOWN for entry in store.entries(kind, unreadable=True))
    found = [_outline(entry, user) for entry in entries]
    slots = store.entries(EntryKind.SLOT, unreadable=True)
    found += [_slot(store, entry, user) for entry in slots]
    lines = store.entries(EntryKind.LINE, unreadable=True)
    found += [_line(store, entry, user) for entry in lines]
    return {each.id: each for each in found if each is not None}


def _outline(entry: Entry, user: str) -> Memory | None:
    key, shape = SHOWN[entry.kind]
    words = entry.content.get(key)
    if not isinstance(words, str):  # unreadable: use all its texts
        words, shape = " ".join(entry.texts), "{}"
    if not (words := words.strip()):
        return None
    text = shape.format(words)
    return Memory(entry.id, user, MemoryKind.FACT, text, entry.created, sources=(ADDED_BY_USER,))


def _slot(store: StateStore, entry: Entry, user: str) -> Memory:
    """Return a memory of the present and earlier values of a form's slot."""
    said = dict.fromkeys(words for each in _contents(store, entry) for words in _said(each))
    text = f"{entry.content.get('label', '')}: {', '.join(said)}".removeprefix(": ")
    return _taken(store, entry, user, text, grows=isinstance(entry.content.get("value"), list))


def _line(store: StateStore, entry: Entry, user: str) -> Memory:
    """Return a memory of the present and earlier texts of a task's line."""
    texts = dict.fromkeys(str(each.get("text", "")) for each in _contents(store, entry))
    return _taken(store, entry, user, ", before that ".join(texts), grows=True)


def _contents(store: StateStore, entry: Entry) -> list[Mapping[str, Any]]:
    """Return the contents of an entry, newest first."""
    return [entry.content, *(each.content for each in reversed(store.changes(entry.id)))]


def _taken(store: StateStore, entry: Entry, user: str, text: str, *, grows: bool) -> Memory:
    """Return a memory for an entry that was taken from an exchange and is forgotten with it.

    Args:
        grows: whether the text may also contain words from earlier contents. If so, the entry is
            forgotten with any of the exchanges that it comes from, as a summary is.
    """
    contents = _contents(store, entry) if grows else [entry.content]
    sources = dict.fromkeys(str(each.get("exchange") or ADDED_BY_USER) for each in contents)
    kind = MemoryKind.SUMMARY if len(sources) > 1 else MemoryKind.FACT
    return Memory(entry.id, user, kind, text, entry.created, sources=tuple(sources))


def _said(content: Mapping[str, Any]) -> Iterator[str]:
    """Yield a slot's value, and the words that it was read from if they say more."""
    if "value" not in content:  # unreadable: use all its texts
        yield from texts_in(content)
        return
    value, words = content["value"], str(content.get("said", ""))
    shown = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    yield from filter(None, (shown, "" if words.casefold() in shown.casefold() else words))
