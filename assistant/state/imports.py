"""Reads entries that were exported as JSON rows."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import NAMESPACE_OID, uuid5

from assistant.errors import SettingsError
from assistant.memory import mark_of
from assistant.state.contents import check_content
from assistant.state.entries import Entry, EntryKind
from assistant.state.store import StateStore


def imported(
    rows: Sequence[object],
    kinds: Collection[EntryKind],
    parts: Mapping[EntryKind, EntryKind],
    here: Collection[str],
) -> list[Entry]:
    """Convert exported rows to entries.

    Args:
        kinds: the kinds that can be imported.
        parts: for lists, forms and tasks, the kind of their parts.
        here: ids of the user's stored entries.

    Raises:
        SettingsError: a row is unusable, or belongs to an entry that is neither stored nor among
            the rows.
    """
    entries = [_entry(row, number, kinds) for number, row in enumerate(rows, start=1)]
    whole = {part: kind for kind, part in parts.items()}
    wholes = {*here, *(each.id for each in entries if each.kind in parts)}
    for number, entry in enumerate(entries, start=1):
        if (entry.kind in whole) != bool(entry.parent) or (
            entry.parent and entry.parent not in wholes
        ):
            raise _unusable(number, f"its {whole.get(entry.kind, EntryKind.LIST)} is missing")
    return entries


def renamed(store: StateStore, user: str, entries: Sequence[Entry]) -> list[Entry]:
    """Return the entries, with new ids for those whose ids belong to other users' entries. The new
    ids are the same at each import."""
    taken = store.of_others([each.id for each in entries])
    ids = {key: _own_id(user, key) for key in taken}
    return [
        replace(each, id=ids.get(each.id, each.id), parent=ids.get(each.parent, each.parent))
        for each in entries
    ]


def not_forgotten(store: StateStore, user: str, entries: Sequence[Entry]) -> list[Entry]:
    """Return the entries that the user has not forgotten since they were exported. An entry is
    forgotten if it was purged, belongs to a purged entry, or comes from a purged exchange."""
    marks, exchanges = store.forgotten()

    def is_gone(key: str) -> bool:
        return any(mark_of(each) in marks for each in (key, _own_id(user, key)))

    return [
        each
        for each in entries
        if not (is_gone(each.id) or is_gone(each.parent))
        and each.content.get("exchange", "") not in exchanges
    ]


def _own_id(user: str, key: str) -> str:
    return uuid5(NAMESPACE_OID, f"{user} {key}").hex


def encodable(text: str) -> bool:
    """Return whether a text can be stored."""
    try:
        return "\0" not in text and bool(text.encode())
    except UnicodeEncodeError:  # half of a surrogate pair
        return False


# -- inside -------------------------------------------------------------------------------------


def _entry(row: object, number: int, kinds: Collection[EntryKind]) -> Entry:
    try:
        if not isinstance(row, Mapping):
            raise ValueError("it is not a JSON object")
        if row.get("kind") not in kinds:
            raise ValueError(f"there is no kind {row.get('kind')!r:.40}")
        entry = Entry(
            row["id"],
            EntryKind(row["kind"]),
            row["content"],
            row["parent"],
            _time(row, "created"),
            _time(row, "changed"),
        )
        _check(entry)
    except KeyError as error:
        raise _unusable(number, f"the field `{error.args[0]}` is missing") from error
    except (TypeError, ValueError) as error:
        raise _unusable(number, str(error)) from error
    return entry


def _time(row: Mapping[str, Any], key: str) -> datetime:
    try:
        return datetime.fromisoformat(row[key])
    except (TypeError, ValueError) as error:
        raise ValueError(f"the field `{key}` is not a time") from error


def _check(entry: Entry) -> None:
    """Raise ValueError if a field is unusable."""
    if not isinstance(entry.id, str) or not isinstance(entry.parent, str) or not entry.id:
        raise ValueError("an id is not a string")
    if not isinstance(entry.content, Mapping):
        raise ValueError("the field `content` is not a JSON object")
    if entry.created.tzinfo is None or entry.changed.tzinfo is None:
        raise ValueError("a time has no zone")
    check_content(entry.kind, entry.content)
    if not all(map(encodable, filter(None, (entry.id, entry.parent, *entry.texts)))):
        raise ValueError("it contains an invalid character")


def _unusable(number: int, why: str) -> SettingsError:
    return SettingsError(
        f"Line {number} can't be imported: {why}. Nothing was imported.",
        mend="Correct the line, and import the file again.",
    )
