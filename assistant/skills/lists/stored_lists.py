"""Stores the user's lists, and finds the lists and the items that the user means."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from assistant.language.enumerations import without_amount
from assistant.language.stemming import TextAnalyzer
from assistant.language.word_lists import language_data
from assistant.state import Entry, EntryKind, StateStore

_AROUND_NAME = re.compile(
    r"^(?:my|the|our|a|an|new|this|that|it's|on|onto|to(?! ?-?do))\s+"
    r"|^lists? (?:of|for|called|named)\s+|\s*\blists?$|\s+please$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Item:
    """An item of a list."""

    id: str
    text: str
    done: bool


@dataclass(frozen=True, slots=True)
class UserList:
    """A list with its items, in the order in which they were added."""

    id: str
    name: str
    items: tuple[Item, ...] = ()

    @property
    def open(self) -> tuple[Item, ...]:
        """The items that are not done."""
        return tuple(each for each in self.items if not each.done)


@dataclass(frozen=True, slots=True)
class Added:
    """The result of adding items to a list.

    `new` are new items, `reopened` items that were marked as done and are now open again, and
    `there` items that were already open on the list. `created` is whether the list was created for
    them, and `beside` whether any lists existed before.
    """

    to: UserList
    new: tuple[Item, ...]
    reopened: tuple[Item, ...]
    there: tuple[Item, ...]
    created: bool = False
    beside: bool = False


class StoredLists:
    """Reads and changes the lists in a store. The content of a list is {"name": str}, the content
    of an item {"text": str, "done": bool}.

    All methods that use the store block, and may raise StoreError. Lists and items may disappear at
    any time.

    Args:
        lexicon: compares the texts of items.
    """

    def __init__(self, store: StateStore, lexicon: TextAnalyzer) -> None:
        self._store = store
        self._lexicon = lexicon

    # -- reading and changing -------------------------------------------------------------------

    def all(self) -> list[UserList]:
        """Return all lists, oldest first."""
        items: dict[str, list[Item]] = {}
        for entry in _by_age(self._store.entries(EntryKind.ITEM)):
            items.setdefault(entry.parent, []).append(_item(entry))
        return [
            UserList(each.id, str(each.content["name"]), tuple(items.get(each.id, ())))
            for each in _by_age(self._store.entries(EntryKind.LIST))
        ]

    def get(self, key: str) -> UserList | None:
        return next((each for each in self.all() if each.id == key), None)

    def create(self, name: str) -> UserList:
        [entry] = self._store.add(EntryKind.LIST, [{"name": name}])
        return UserList(entry.id, name)

    def add(self, key: str | None, name: str, texts: Sequence[str]) -> Added | None:
        """Add items to a list, unless they are already on it. Return None if the list is gone.

        Args:
            key: the list's id. If it is None, a list is created.
            name: name of a list to create.
        """
        lists = self.all()
        created = [] if key else self._store.new(EntryKind.LIST, [{"name": name}])
        known = [*lists, *(UserList(each.id, name) for each in created)]
        to = next((each for each in known if each.id == (key or created[0].id)), None)
        if to is None:
            return None
        on_it = {self._whole(each.text): each for each in to.items}
        wanted = {self._whole(each): each for each in texts}
        there = [on_it[whole] for whole in wanted if whole in on_it]
        contents = [
            {"text": text, "done": False} for whole, text in wanted.items() if whole not in on_it
        ]
        added = self._store.new(EntryKind.ITEM, contents, to.id)
        self._store.restore([*created, *added])
        if self._store.get(to.id) is None:  # forgotten in between
            self._store.remove([each.id for each in added])
            return None
        reopened = self.mark([each.id for each in there if each.done], done=False)
        return Added(
            to,
            tuple(map(_item, added)),
            tuple(reopened),
            tuple(each for each in there if not each.done),
            created=key is None,
            beside=bool(lists),
        )

    def mark(self, keys: Iterable[str], *, done: bool) -> list[Item]:
        """Mark items as done or as not done. Return those that have changed."""
        found = (entry for key in keys if (entry := self._store.get(key)) is not None)
        changes = {
            each.id: {**each.content, "done": done}
            for each in found
            if each.content["done"] is not done
        }
        return list(map(_item, self._store.change_all(changes)))

    def take_back(self, added: Sequence[str], reopened: Sequence[str], created: str) -> list[str]:
        """Undo `add`. Return the texts of the items that were removed or ticked off again.

        Args:
            created: id of the list if it was created for the items, or empty. The list is removed
                if nothing else is on it, not even hidden items.
        """
        gone = [str(each.content["text"]) for each in self._store.remove(added)]
        gone += [each.text for each in self.mark(reopened, done=True)]
        if created:
            self._store.remove([created], if_empty=True)
        return gone

    def texts(self, keys: Iterable[str]) -> list[str]:
        """Return the texts of the items that exist."""
        found = map(self._store.get, keys)
        return [str(each.content["text"]) for each in found if each is not None]

    # -- what is meant --------------------------------------------------------------------------

    def named(self, name: str, lists: Sequence[UserList]) -> UserList | None:
        """Return the list with this name, or else the only list for which this name is a synonym;
        None if there is none.

        Args:
            name: a result of `list_name`.
        """
        wanted = self._name_key(name)
        for each in lists:
            if self._name_key(list_name(each.name)) == wanted:
                return each
        instead = language_data("en")["lists"]["instead"]
        fitting = [each for each in lists if name.lower() in instead.get(list_name(each.name), ())]
        return fitting[0] if len(fitting) == 1 else None

    def mentioned(self, text: str, lists: Sequence[UserList]) -> UserList | None:
        """Return the list that an answer names; None if it names none, or several."""
        found = self.named(list_name(text), lists)
        if found is not None:
            return found
        plain = f" {re.sub(r'[^a-z0-9]+', ' ', text.lower())} "
        fitting = [
            each for each in lists if f" {re.sub(r'[^a-z0-9]+', ' ', each.name.lower())} " in plain
        ]
        return fitting[0] if len(fitting) == 1 else None

    def fitting(self, words: str, items: Sequence[Item]) -> list[Item]:
        """Return the items that may be meant: those that match the words exactly, or else those
        that match apart from the amount, or else those that contain all of the words."""
        whole, core = self._whole(words), self._core(words)
        same = [each for each in items if self._whole(each.text) == whole]
        same = same or [each for each in items if self._core(each.text) == core]
        return same or [each for each in items if core <= self._core(each.text)]

    def _whole(self, text: str) -> frozenset[str]:
        stems = self._lexicon.content_and_numbers(text)
        return frozenset(stems or text.casefold().split())

    def _core(self, text: str) -> frozenset[str]:
        return self._whole(without_amount(text))

    def _name_key(self, name: str) -> frozenset[str]:
        """Return the form of a name that is used to compare names."""
        return frozenset(self._lexicon.content_and_numbers(name) or [name.casefold()])


def list_name(words: str) -> str:
    """Return a list's usual name; empty if the words name none.

    >>> list_name("My groceries list"), list_name("to do"), list_name("the list")
    ('grocery', 'to-do', '')
    """
    plain = " ".join(words.replace("’", "'").split()).strip(" .,;:!?\"'“”")
    while (inner := _AROUND_NAME.sub("", plain).strip()) != plain:
        plain = inner
    names = language_data("en")["lists"]["names"]
    usual = (name for name, said in names.items() if plain.lower() in (name, *said))
    return next(usual, plain)


def _by_age(entries: Iterable[Entry]) -> list[Entry]:
    """Sort entries by age. The store returns restored entries last, however old they are."""
    return sorted(entries, key=lambda each: each.created)


def _item(entry: Entry) -> Item:
    return Item(entry.id, str(entry.content["text"]), bool(entry.content["done"]))
