"""Handles JSON requests about the user's state, and yields the JSON rows that answer them.

The command line and the screen send such requests. Entries are named by their ids, or by the first
characters of their ids.

{"act": "state.list", "kind": "note"}       → "entry" rows in the order in which they were added,
                                              then a "listed" row; each list comes before its items,
                                              each form before its slots, each task before its lines
{"act": "state.add", "kind": "note", "text": "…"}
{"act": "state.add", "kind": "list", "name": "shopping", "items": ["milk"]}
                                            → "added" rows; the list is created if there is none
                                              with this name
{"act": "state.add", "kind": "slot", "form": "1f0c2a", "slot": "day", "label": "day", "value": …}
                                            → an "added" row
{"act": "state.change", "ids": ["1f0c2a"], "text": "…", "done": true}
                                            → "changed" rows; "text" is for items, notes and lines,
                                              "done" for items, and "value" for slots
{"act": "state.remove", "ids": ["1f0c2a"], "kind": "list"}
                                            → "removed" rows, also for the parts of the entries;
                                              with "kind", the ids must be those of entries of
                                              this kind or of their parts
{"act": "state.clear", "kind": "timer"}     → "removed" rows; with "name": only the items of this
                                              list
{"act": "state.export", "kind": "list"}     → bare rows, without "event"; without "kind": all
{"act": "state.history", "ids": ["1f0c2a"]} → "earlier" rows: earlier contents of these slots and
                                              lines, oldest first; a form stands for its slots, a
                                              task for its lines
{"act": "state.import", "rows": […]}        → an "imported" row; existing entries stay unchanged;
                                              entries that have been forgotten since the export are
                                              left out and counted
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from assistant.errors import SettingsError, StoreError
from assistant.ipc import Request, Row
from assistant.memory import Memory, Transcript, microseconds, short
from assistant.state.contents import check_content
from assistant.state.entries import Entry, EntryKind
from assistant.state.forgettable import outlines
from assistant.state.imports import encodable, imported, not_forgotten, renamed
from assistant.state.slots import fill_slot
from assistant.state.store import StateStore

SHOWN = (
    *(EntryKind.TIMER, EntryKind.ALARM, EntryKind.REMINDER),
    *(EntryKind.LIST, EntryKind.ITEM, EntryKind.NOTE, EntryKind.FORM, EntryKind.SLOT),
    *(EntryKind.TASK, EntryKind.LINE),
)
"""The kinds that requests can be about. The remaining kind, the voice, is set only by speaking."""
PARTS = {
    EntryKind.LIST: EntryKind.ITEM,
    EntryKind.FORM: EntryKind.SLOT,
    EntryKind.TASK: EntryKind.LINE,
}
"""The kind of the parts of lists, forms and tasks."""
CHANGEABLE = {
    EntryKind.ITEM: frozenset({"text", "done"}),
    EntryKind.NOTE: frozenset({"text"}),
    EntryKind.SLOT: frozenset({"value", "said", "exchange"}),
    EntryKind.LINE: frozenset({"text"}),
}
"""The fields of each kind that a request can change."""
SHORTEST_ID = 6
LONGEST_TEXT = 10_000
MOST_IMPORTED = 100_000


class StateRequests:
    """Answers requests about the state of any user. Thread-safe.

    Args:
        session: the store of the running session, which reports changes to the screen. None if no
            session is running.
        user: the session's user.
        off_record: returns whether the session is off the record. If it is, nothing is added for
            its user.
    """

    def __init__(
        self,
        transcript: Transcript,
        session: StateStore | None = None,
        user: str = "",
        off_record: Callable[[], bool] = lambda: False,
    ) -> None:
        self._transcript = transcript
        self._session = session
        self._user = user
        self._off_record = off_record

    def answer(self, request: Request) -> Iterator[Row]:
        """Carry out a request and yield the rows that answer it. Blocking.

        Raises:
            SettingsError: the request is malformed.
            StoreError: the state can't be read or written, there is no such entry, or nothing may
                be added.
        """
        act = ACTS.get(str(request.get("act")))
        if act is None:
            raise SettingsError(
                "The running assistant does not know this request.",
                mend="Restart the assistant: its version differs from this command's.",
            )
        store = self._store(str(request.get("user", "")))
        if store is self._session and self._off_record() and _adds_words(request):
            raise StoreError(
                "The conversation is off the record, so nothing is added.",
                mend="Say: back on the record.",
            )
        yield from act(store, request)

    def outlines(self, user: str) -> Mapping[str, Memory]:
        """Return a user's entries as memories, for requests to forget. Raises StoreError."""
        return outlines(self._store(user), user)

    def _store(self, user: str) -> StateStore:
        if self._session is not None and user == self._user:
            return self._session
        store = StateStore(self._transcript, user)
        for items in self._transcript.hidden(user):
            store.hide(items)
        return store


def _adds_words(request: Request) -> bool:
    """Return whether a request stores words. Ticking off an item does not."""
    if request.get("act") == "state.change":
        return not request.keys().isdisjoint({"text", "value"})
    return request.get("act") in ("state.add", "state.import")


# -- acts ---------------------------------------------------------------------------------------


def _list(store: StateStore, request: Request) -> Iterator[Row]:
    found = _of_kind(store, _kind(request))
    for entry in found:
        yield _row(entry, "entry")
    yield {"event": "listed", "kind": _kind(request).value, "count": len(found)}


def _add(store: StateStore, request: Request) -> Iterator[Row]:
    kind = _kind(request)
    if kind is EntryKind.NOTE:
        new = store.add(kind, [{"text": _text(request.get("text"))}])
    elif kind is EntryKind.LIST:
        new = _add_to_list(store, request)
    elif kind is EntryKind.SLOT:
        form = _one(store.entries(EntryKind.FORM), str(request.get("form", "")))
        new = [each for each in [fill_slot(store, form, request)] if each is not None]
    else:
        raise SettingsError(
            f"{kind.capitalize()}s can only be set by asking the assistant.", mend="assistant talk"
        )
    for entry in new:
        yield _row(entry, "added")


def _add_to_list(store: StateStore, request: Request) -> list[Entry]:
    name, items = _text(request.get("name")), request.get("items", [])
    if not isinstance(items, list):
        raise SettingsError("`items` must be a list of strings.", mend="assistant lists --help")
    texts = [_text(each) for each in items]
    found = _named(store, name)
    new = store.new(EntryKind.LIST, [{"name": name}]) if found is None else []
    contents = [{"text": text, "done": False} for text in texts]
    key = found.id if found is not None else new[0].id
    return store.restore([*new, *store.new(EntryKind.ITEM, contents, key)])


def _change(store: StateStore, request: Request) -> Iterator[Row]:
    text, done = request.get("text"), request.get("done")
    changes: dict[str, Any] = {"text": _text(text)} if text is not None else {}
    if isinstance(done, bool):
        changes["done"] = done
    if "value" in request:
        changes |= {"value": request["value"], "said": "", "exchange": ""}
    entries = _chosen(store, request)
    for entry in entries:
        if not changes.keys() <= CHANGEABLE.get(entry.kind, frozenset()):
            raise SettingsError(
                f"{entry.kind.capitalize()}s can't be changed this way ({short(entry.id)}).",
                mend="assistant lists",
            )
        _check_changed(entry, changes)
    for entry in entries:
        content = {**entry.content, **changes}
        if entry.kind is EntryKind.LINE:
            # The new text comes from no exchange, and "tomorrow" in it is relative to today.
            content |= {"exchange": "", "said_at": microseconds(datetime.now(UTC))}
        logged = entry.kind in (EntryKind.SLOT, EntryKind.LINE)
        changed = store.change(entry.id, content, logged=logged)
        if changed is not None:
            yield _row(changed, "changed")


def _check_changed(entry: Entry, changes: Mapping[str, Any]) -> None:
    try:
        check_content(entry.kind, {**entry.content, **changes})
    except ValueError as error:
        raise SettingsError(
            f"{short(entry.id)} can't be changed this way: {error}.", mend="assistant forms"
        ) from error


def _history(store: StateStore, request: Request) -> Iterator[Row]:
    for entry in _chosen(store, request):
        part = PARTS.get(entry.kind)
        for each in [entry] if part is None else store.entries(part, entry.id):
            for change in store.changes(each.id):
                yield {
                    "event": "earlier",
                    "short": short(each.id),
                    "id": each.id,
                    "kind": each.kind.value,
                    "content": dict(change.content),
                    "until": change.at.isoformat(),
                    "by": change.exchange,
                }


def _remove(store: StateStore, request: Request) -> Iterator[Row]:
    for entry in store.remove([each.id for each in _chosen(store, request)]):
        yield _row(entry, "removed")


def _clear(store: StateStore, request: Request) -> Iterator[Row]:
    kind, name = _kind(request), request.get("name")
    if name is None:
        gone = store.entries(kind, unreadable=True)
    else:
        found = _named(store, _text(name))
        if kind is not EntryKind.LIST or found is None:
            raise StoreError(f"There is no list {name!r:.40}.", mend="assistant lists")
        gone = store.entries(EntryKind.ITEM, found.id, unreadable=True)
    for entry in store.remove([each.id for each in gone]):
        yield _row(entry, "removed")


def _export(store: StateStore, request: Request) -> Iterator[Row]:
    kinds = [_kind(request)] if request.get("kind") is not None else SHOWN
    rows = {entry.id: _row(entry) for kind in kinds for entry in _of_kind(store, kind)}
    yield from rows.values()


def _import(store: StateStore, request: Request) -> Iterator[Row]:
    rows = request.get("rows")
    if not isinstance(rows, list) or len(rows) > MOST_IMPORTED:
        raise SettingsError("There is nothing to import.", mend="assistant notes export FILE")
    here = {each.id for kind in SHOWN for each in store.entries(kind, unreadable=True)}
    entries = imported(rows, SHOWN, PARTS, here)
    user = str(request.get("user", ""))
    kept = not_forgotten(store, user, entries)
    added = store.restore(renamed(store, user, kept))
    left_out = len(entries) - len(kept)
    yield {"event": "imported", "count": len(added), "forgotten": left_out}


ACTS: Mapping[str, Callable[[StateStore, Request], Iterator[Row]]] = {
    "state.list": _list,
    "state.add": _add,
    "state.change": _change,
    "state.history": _history,
    "state.remove": _remove,
    "state.clear": _clear,
    "state.export": _export,
    "state.import": _import,
}
"""The function that carries out each act."""


# -- entries ------------------------------------------------------------------------------------


def _of_kind(store: StateStore, kind: EntryKind) -> list[Entry]:
    """Return the entries of a kind, each followed by the entries that belong to it."""
    found = store.entries(kind)
    if kind not in PARTS:
        return found
    parts = store.entries(PARTS[kind])
    own = ([each, *(part for part in parts if part.parent == each.id)] for each in found)
    return [entry for entries in own for entry in entries]


def _named(store: StateStore, name: str) -> Entry | None:
    """Return the list with this name. Case, spaces and hyphens are ignored."""
    wanted = _plain(name)
    lists = store.entries(EntryKind.LIST)
    return next((each for each in lists if _plain(each.content.get("name", "")) == wanted), None)


def _plain(name: str) -> str:
    return "".join(name.casefold().replace("-", " ").split())


def _chosen(store: StateStore, request: Request) -> list[Entry]:
    """Return the entries with the ids in the request. Raises StoreError if one doesn't exist."""
    ids = request.get("ids")
    if not isinstance(ids, list) or not all(isinstance(each, str) for each in ids):
        raise SettingsError("The request has no `ids`.", mend="assistant lists --help")
    kinds: Sequence[EntryKind] = SHOWN
    if request.get("kind") is not None:
        kind = _kind(request)
        kinds = (kind, PARTS[kind]) if kind in PARTS else (kind,)
    every = [entry for kind in kinds for entry in store.entries(kind)]
    return list({(one := _one(every, key)).id: one for key in ids}.values())


def _one(every: Sequence[Entry], key: str) -> Entry:
    if len(key) < SHORTEST_ID:
        raise SettingsError(
            f"{key!r} is too short: give {SHORTEST_ID} or more characters of an id.",
            mend="assistant lists",
        )
    found = [each for each in every if each.id.startswith(key)]
    if not found:
        raise StoreError(f"There is no entry {key!r:.40}.", mend="List them, and copy an id.")
    if len(found) > 1:
        raise SettingsError(f"{key!r:.40} could be several entries.", mend="Give more of the id.")
    return found[0]


def _row(entry: Entry, event: str | None = None) -> Row:
    row: Row = {
        "id": entry.id,
        "kind": entry.kind.value,
        "parent": entry.parent,
        "created": entry.created.isoformat(),
        "changed": entry.changed.isoformat(),
        "content": dict(entry.content),
    }
    return row if event is None else {"event": event, "short": short(entry.id), **row}


# -- reading requests; these raise SettingsError ------------------------------------------------


def _kind(request: Request) -> EntryKind:
    kind = request.get("kind")
    if kind not in SHOWN:
        raise SettingsError(
            f"There is no kind {kind!r:.40}.", mend=f"Choose one of {', '.join(SHOWN)}."
        )
    return EntryKind(kind)


def _text(value: object) -> str:
    """Return a request's text as it is stored: on one line, without surrounding spaces."""
    text = " ".join(value.split()) if isinstance(value, str) else ""
    if not text:
        raise SettingsError("The text is empty.", mend="assistant notes --help")
    if len(text) > LONGEST_TEXT:
        raise SettingsError(
            f"The text has {len(text):,} characters; the limit is {LONGEST_TEXT:,}.",
            mend="Shorten it.",
        )
    if not encodable(text):
        raise SettingsError("The text contains an invalid character.", mend="Remove it.")
    return text
