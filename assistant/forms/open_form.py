"""A form that is being filled in, as the state stores it.

The content of a FORM entry is
{"form": key, "title": str, "opened": microseconds, "asked": name of a slot or "", "closed": bool,
"read": id of the last exchange that was searched for values, or ""}. The content of a SLOT entry,
whose parent is the FORM entry, is
{"slot": name, "label": str, "value": its value, "said": the user's words, "exchange": id or ""}.

Each change is one transaction, after which the stored form is complete. So nothing is lost if the
process is killed.
"""

import re
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from assistant.context import sanitised
from assistant.events import StateEntry
from assistant.forms.definition import Form, FormLibrary, Slot
from assistant.forms.proposal import Proposal, Way
from assistant.forms.values import Value, check_value, same_value, shown, value_words
from assistant.memory import microseconds, time_of
from assistant.state import Entry, EntryKind, StateStore

MOST_TOKENS = 120
"""Maximum number of tokens of `OpenForm.block`, by an estimate that tends to be too high."""
LONGEST_VALUE = 60
"""Maximum number of characters of a value in the block."""
TOKEN_LETTERS = 3.5
"""A token of English text has at least this many letters on average."""
MOST_ASKED = 2
"""A slot for which the assistant has asked this many times waits until the others are filled."""

Content = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Filled:
    """The content of a slot. `id` is the id of its entry. `slot` is None if the form no longer has
    the slot."""

    id: str
    slot: Slot | None
    content: Content

    @property
    def value(self) -> Value:
        value: Value = self.content["value"]
        return value

    @property
    def label(self) -> str:
        return str(self.content["label"])

    @property
    def shown(self) -> str:
        """The value as it is written."""
        return shown(self.slot, self.value) if self.slot else value_words(self.value)


@dataclass(frozen=True, slots=True)
class PutInSlot:
    """What was put in a slot. `before` is the replaced content; None if the slot was empty."""

    key: str
    slot: Slot
    before: Content | None
    after: Content

    @property
    def value(self) -> Value:
        value: Value = self.after["value"]
        return value


@dataclass(frozen=True, slots=True)
class _Unheard:
    """An exchange that has not been "heard" yet, i.e. not been searched for values. `asked` is the
    name of the slot that the assistant had asked for before the exchange. `later` contains the
    names of slots that were filled after it."""

    asked: str
    later: set[str] = field(default_factory=set)


class OpenForm:
    """A form that is being filled in, with a copy of its content. Methods marked "Blocks" use the
    store, and may raise StoreError; the others read only the copy.

    Thread-safe: an utterance may be processed while another thread is still processing the previous
    one. The methods that don't block are for the event loop.
    """

    def __init__(self, store: StateStore, form: Form, entry: Entry) -> None:
        self.form = form
        self.key = entry.id
        self._store = store
        self._content: Content = entry.content
        self._filled: dict[str, Filled] = {}
        self._recency: list[str] = []
        """Names of the filled slots, in the order in which they were filled or changed."""
        self._asked_for: dict[str, int] = {}
        """How often the assistant has asked for a slot since the form was opened or resumed."""
        self._asked = str(entry.content.get("asked", ""))
        self._put_at = self.opened
        self._unheard: dict[str, _Unheard] = {}
        """The exchanges that have not been heard yet, by their ids, oldest first."""
        self._changing = threading.RLock()

    # -- opening --------------------------------------------------------------------------------

    @classmethod
    def begin(cls, store: StateStore, form: Form) -> "OpenForm":
        """Begin to fill in a form. Blocks."""
        content = {
            "form": form.key,
            "title": form.title,
            "opened": microseconds(store.now()),
            "asked": "",
            "closed": False,
            "read": "",
        }
        [entry] = store.add(EntryKind.FORM, [content])
        return cls(store, form, entry)

    @classmethod
    def unfinished(cls, store: StateStore, form: Form) -> "OpenForm | None":
        """Return the copy of `form` that was opened or resumed last and isn't closed. Blocks."""
        return _newest(
            cls(store, form, entry)
            for entry in store.entries(EntryKind.FORM)
            if entry.content["form"] == form.key and not entry.content.get("closed")
        )

    @classmethod
    def in_progress(cls, store: StateStore, library: FormLibrary) -> "OpenForm | None":
        """Return the form that was opened or resumed last, if it is not closed. All other forms
        have been set aside. Blocks."""
        entries = store.entries(EntryKind.FORM)
        last = max(entries, key=lambda each: int(each.content["opened"]), default=None)
        form = library.get(str(last.content["form"])) if last is not None else None
        if last is None or form is None or last.content.get("closed"):
            return None
        return _newest([cls(store, form, last)])

    def reload(self) -> bool:
        """Read what the store contains. Return whether the form is still there and open. Blocks."""
        with self._changing:
            entry = self._store.get(self.key)
            if entry is None:
                return False
            self._content = entry.content
            slots = self._store.entries(EntryKind.SLOT, self.key)
            slots.sort(key=lambda each: each.created)
            self._take([(each.id, each.content) for each in slots])
            changed = sorted(slots, key=lambda each: each.changed)
            self._put_at = changed[-1].changed if changed else self.opened
            self._recency = list(dict.fromkeys(str(each.content["slot"]) for each in changed))
            return not entry.content.get("closed")

    def update(self, kind: str, rows: Sequence[StateEntry]) -> bool:
        """Update the copy with the entries of one kind from an event. Return whether the form is
        still there and open."""
        if kind == EntryKind.SLOT:
            self._take((each.id, each.content) for each in rows if each.parent == self.key)
        if kind == EntryKind.FORM:
            own = next((each for each in rows if each.id == self.key), None)
            if own is None or own.content.get("closed"):
                return False
            self._content = own.content
        return True

    def resume(self) -> None:
        """Make this the most recently opened form. Blocks."""
        self._asked_for.clear()
        self._change(opened=microseconds(self._store.now()))

    # -- what it contains -----------------------------------------------------------------------

    @property
    def opened(self) -> datetime:
        """When it was opened or last resumed."""
        return time_of(int(self._content["opened"]))

    @property
    def worked_on(self) -> datetime:
        """When the form was last opened, resumed, filled in or changed."""
        return max(self.opened, self._put_at)

    @property
    def asked(self) -> str:
        """Name of the slot for which the assistant has just asked, or empty."""
        return self._asked

    @property
    def read(self) -> str:
        """Id of the last exchange that was heard, or empty."""
        return str(self._content.get("read", ""))

    @property
    def filled(self) -> Sequence[Filled]:
        """The filled slots, in the order in which they were first filled."""
        return list(self._filled.values())

    def values(self) -> dict[str, Value]:
        """Return the values by the names of their slots, with the most recently changed one
        last."""
        order = [*(name for name in self._filled if name not in self._recency), *self._recency]
        return {
            name: self._filled[name].value
            for name in order
            if name in self._filled and self._filled[name].slot is not None
        }

    def missing(self) -> list[Slot]:
        """Return the empty slots, in the form's order."""
        return [each for each in self.form.slots if each.name not in self._filled]

    def next_slot(self) -> Slot | None:
        """Return the slot to ask for next. A slot for which the assistant has asked `MOST_ASKED`
        times waits until the others are filled."""
        empty = self.missing()
        fresh = [each for each in empty if self._asked_for.get(each.name, 0) < MOST_ASKED]
        return next(iter(fresh or empty), None)

    def block(self) -> str:
        """Return the line that describes the form to the language model: the filled slots, oldest
        first, then the next question. In this order, adding a value leaves the beginning unchanged,
        byte for byte."""
        following = self.next_slot()
        end = f" Ask next: {sanitised(following.ask)}" if following else " Nothing is missing."
        begin = f"Form being filled in: {sanitised(self.form.title)}."
        left = MOST_TOKENS - _tokens(begin) - _tokens(end) - _tokens(" And 99 more.")
        parts: list[str] = []
        for each in self._filled.values():
            part = f" {sanitised(f'{each.label}: {_shortened(each.shown)}')};"
            if _tokens(part) > left:
                break
            parts.append(part)
            left -= _tokens(part)
        more = len(self._filled) - len(parts)
        return "".join([begin, *parts, f" And {more} more." if more else "", end])

    def answered(self, exchange: str, slot: Slot | None) -> str:
        """Record which slot the language model asked for in an exchange. Called right after the
        exchange, or else when the exchange is heard. Return the name of the slot that the user's
        words in it answer, or an empty string."""
        if exchange not in self._unheard:
            self._unheard[exchange] = _Unheard(self._asked)
            self._note_asked(slot)
        return self._unheard[exchange].asked

    # -- changing -------------------------------------------------------------------------------

    def put(self, proposals: Iterable[Proposal], exchange: str = "") -> list[PutInSlot]:
        """Fill slots, and keep their previous values in their history. Return what has changed.
        Blocks.

        Args:
            exchange: id of the exchange that the proposals come from. Slots that were filled after
                this exchange keep their values. It is "" for the newest words."""
        with self._changing:
            if not self.reload():
                return []
            later = self._unheard[exchange].later if exchange in self._unheard else ()
            changes = (
                self._put(each, exchange)
                for each in proposals
                if each.slot not in later or each.way is Way.ADD
            )
            made = [each for each in changes if each is not None]
            if made and self._store.get(self.key) is None:  # forgotten in between
                self._store.remove([each.key for each in made if each.before is None])
                return []
            for each in () if exchange else list(self._unheard.values()):
                each.later.update(change.slot.name for change in made)
            return made

    def take_back(self, changes: Sequence[PutInSlot]) -> list[PutInSlot]:
        """Undo `put`, except for slots that have changed again or are gone. Return what was undone.
        Blocks."""
        undone: list[PutInSlot] = []
        with self._changing:
            for each in reversed(changes):
                entry = self._store.get(each.key)
                if entry is None or entry.content != each.after:
                    continue
                if each.before is None:
                    self._store.remove([each.key])
                else:
                    self._store.change(each.key, each.before, logged=True)
                undone.append(each)
            self.reload()
        return undone[::-1]

    def ask_for(self, slot: Slot | None) -> None:
        """Record which slot the assistant asks for. Blocks."""
        self._note_asked(slot)
        self._change(asked=self._asked)

    def heard(self, exchange: str) -> None:
        """Record that an exchange was heard. Call `answered` first. Older exchanges will no longer
        be heard. Blocks."""
        for each in list(self._unheard):
            del self._unheard[each]
            if each == exchange:
                break
        [asked, *_] = [*(each.asked for each in list(self._unheard.values())), self._asked]
        self._change(read=exchange, asked=asked)

    def close(self, *, closed: bool = True) -> bool:
        """Close the form, or open it again. Return whether it is still there. Blocks."""
        self._asked = ""
        return self._change(closed=closed, asked="")

    # -- inside ---------------------------------------------------------------------------------

    def _note_asked(self, slot: Slot | None) -> None:
        self._asked = slot.name if slot is not None else ""
        if slot is not None:
            self._asked_for[slot.name] = self._asked_for.get(slot.name, 0) + 1

    def _put(self, proposal: Proposal, exchange: str) -> PutInSlot | None:
        slot = self.form.slot(proposal.slot)
        if slot is None:
            return None
        there = self._filled.get(slot.name)
        value = proposal.applied(there.value if there is not None else None)
        check_value(slot, value)
        if there is not None and same_value(there.value, value):
            return None
        content = {
            "slot": slot.name,
            "label": slot.label,
            "value": value,
            "said": proposal.words,
            "exchange": exchange,
        }
        if there is None:
            [entry] = self._store.add(EntryKind.SLOT, [content], self.key)
        else:
            changed = self._store.change(there.id, content, exchange, logged=True)
            if changed is None:
                return None  # forgotten in between
            entry = changed
        key, self._put_at = entry.id, entry.changed
        self._filled = {**self._filled, slot.name: Filled(key, slot, content)}
        self._recency = [*(name for name in self._recency if name != slot.name), slot.name]
        return PutInSlot(key, slot, there.content if there is not None else None, content)

    def _change(self, **fields: Any) -> bool:
        with self._changing:
            entry = self._store.get(self.key)
            if entry is None:
                return False
            content = {**entry.content, **fields}
            changed = content == entry.content or self._store.change(self.key, content) is not None
            self._content = content
            return changed

    def _take(self, rows: Iterable[tuple[str, Content]]) -> None:
        """Replace the copy. The value of a slot that the form no longer has stays visible. A value
        that the slot no longer takes is left out, so the slot counts as empty."""
        filled: dict[str, Filled] = {}
        for key, content in rows:
            name = str(content["slot"])
            slot = self.form.slot(name)
            try:
                check_value(slot, content["value"])
            except ValueError:
                continue
            filled[name] = Filled(key, slot, content)
        self._filled = filled


def _newest(forms: Iterable[OpenForm]) -> OpenForm | None:
    """Return the form that was opened last, with its content loaded; None if it is closed."""
    found = max(forms, key=lambda each: each.opened, default=None)
    return found if found is not None and found.reload() else None


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE].rstrip()}…"


def _tokens(text: str) -> float:
    """Estimate the number of tokens. A sign, digit or letter other than A to Z counts as one."""
    letters = len(re.findall(r"[A-Za-z]", text))
    words = len(re.findall(r"[A-Za-z]+", text))
    others = len(re.findall(r"[^A-Za-z\s]", text))
    return max(words, letters / TOKEN_LETTERS) + others
