"""The skill that keeps lists: shopping, to-do and any others."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial

from assistant.events import Event
from assistant.intents import Command, CommandKind
from assistant.language.enumerations import joined, parts
from assistant.language.stemming import TextAnalyzer
from assistant.memory import spoken_replies
from assistant.skills.lists import spoken_lists
from assistant.skills.lists.spoken_lists import your
from assistant.skills.lists.stored_lists import Added, Item, StoredLists, UserList, list_name
from assistant.skills.lists.taking_off import GONE, ITEMS_GONE, ItemsMeant, TakingOff
from assistant.skills.removed_entries import RemovedEntries
from assistant.skills.skill import BRING_BACK, UNDO_IT, Choice, Reply, last_done
from assistant.skills.spoken_statements import OFF_RECORD
from assistant.state import StateStore

DEFAULT = "shopping"
"""Name of the list that is created if the user names none."""
RECENT_S = 600.0
"""For this many seconds, a command that names no list means the one that was used last."""
NO_LISTS = "You don't have any lists yet."
NOT_CLEARED = "All right, I'll keep it."
NOT_EMPTY = "There's something on it now, so I'll keep it."
STILL_HIDDEN = "I can't delete it yet, because something on it is still being forgotten."
ANY = "any of your lists"

Act = Callable[[str], Awaitable[Reply]]
"""Does something with the list that has this id."""


class Lists:
    """Adds to lists, reads them, and ticks off or removes their items.

    A command that adds to a list creates it if necessary, even if the command doesn't say what to
    add. If the user names no list, they mean the one that was used last, or else the only one.

    Args:
        lexicon: compares the texts of items.
        off_record: returns whether the session is off the record. Nothing is added then.
        now: returns the seconds of a clock that never goes back.
    """

    kinds = frozenset(
        {
            *(CommandKind.LIST_ADD, CommandKind.LIST_READ, CommandKind.LIST_TICK),
            *(CommandKind.LIST_REMOVE, CommandKind.LIST_CLEAR),
        }
    )

    def __init__(
        self,
        store: StateStore,
        lexicon: TextAnalyzer,
        off_record: Callable[[], bool],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._lists = StoredLists(store, lexicon)
        self._removed = RemovedEntries(store)
        self._off_list = TakingOff(self._lists, self._removed, self._use)
        self._off_record = off_record
        self._now = now
        self._used: tuple[str, float] = ("", float("-inf"))
        """Id of the list that was used last, and when."""

    def watch(self, event: Event) -> None:
        """Receive an event from the event bus."""
        self._removed.watch(event)

    async def carry_out(self, command: Command) -> Reply:
        match command.kind:
            case CommandKind.LIST_ADD:
                return await self._add(command)
            case CommandKind.LIST_READ:
                return await self._read(command)
            case CommandKind.LIST_CLEAR:
                return await self._clear(command)
        return await self._off(command)

    async def ask(self, command: Command) -> Reply | None:
        again = partial(self.carry_out, command)
        match command.kind:
            case CommandKind.LIST_ADD:
                return await self._shall_add(command)
            case CommandKind.LIST_READ:
                question = await self._shall_read(command)
                return Reply(question, if_yes=again) if question else None
            case CommandKind.LIST_CLEAR:
                reply = await self._clear(command)
                return reply if reply.asks else None
        if not parts(command.words or ""):
            return None
        reply = await self._off(command, sure=False)
        return reply if reply.asks else None

    # -- which list -----------------------------------------------------------------------------

    async def _meant(self, name: str | None) -> tuple[str, list[UserList], list[UserList]]:
        """Return the list's usual name, the lists that may be meant, and all lists."""
        every = await asyncio.to_thread(self._lists.all)
        plain = list_name(name or "")
        if plain:
            found = self._lists.named(plain, every)
            return plain, [found] if found is not None else [], every
        key, at = self._used
        recent = [each for each in every if each.id == key and self._now() - at < RECENT_S]
        return "", recent or every, every

    def _use(self, key: str) -> None:
        self._used = (key, self._now())

    def _which(self, shall: str, lists: Sequence[UserList], act: Act, text: str = "") -> Reply:
        """Return a reply that asks which list is meant: "Which list shall I clear: …?".

        Args:
            text: said instead of that question, if not empty.
        """
        names = joined([each.name for each in lists], "or")
        choices = tuple(Choice(your(each.name), partial(act, each.id)) for each in lists)
        return Reply(
            text or f"Which list {shall}: {names}?",
            choices=choices,
            if_said=partial(self._chosen, lists, act),
        )

    async def _chosen(self, lists: Sequence[UserList], act: Act, words: str) -> Reply | None:
        found = self._lists.mentioned(words, lists)
        return await act(found.id) if found is not None else None

    def _no_such(self, name: str, every: Sequence[UserList]) -> Reply:
        return Reply(f"You don't have {spoken_lists.a(name)} list." if name and every else NO_LISTS)

    # -- adding ---------------------------------------------------------------------------------

    async def _add(self, command: Command) -> Reply:
        if self._off_record():
            return Reply(OFF_RECORD)
        texts = parts(command.words or "")
        name, meant, _ = await self._meant(command.name)
        if not texts:
            return await self._ask_what(command, name, meant)
        if len(meant) > 1:
            shall = f"shall I add {spoken_lists.items(texts)} to"
            return self._which(shall, meant, partial(self._put, texts, ""))
        return await self._put(texts, name or DEFAULT, meant[0].id if meant else None)

    async def _shall_add(self, command: Command) -> Reply | None:
        texts = parts(command.words or "")
        if self._off_record() or not texts:
            return None
        name, meant, _ = await self._meant(command.name)
        if len(meant) > 1:
            return await self._add(command)
        where = your(meant[0].name if meant else name or DEFAULT)
        question = f"Shall I add {spoken_lists.items(texts)} to {where}?"
        return Reply(question, if_yes=partial(self.carry_out, command))

    async def _ask_what(self, command: Command, name: str, meant: Sequence[UserList]) -> Reply:
        """Ask what to add. If the command names a list that doesn't exist, create it."""
        if name and not meant:
            new = await asyncio.to_thread(self._lists.create, name)
            self._use(new.id)
            return Reply(
                f"I've made {spoken_lists.a(name)} list. What shall I put on it?",
                if_said=partial(self._what, replace(command, name=name)),
                undo=partial(self._drop, new.id),
                undo_question=partial(self._shall_drop, new.id),
            )
        where = f" to {your(meant[0].name)}" if len(meant) == 1 else ""
        what = partial(self._what, command)
        return Reply(f"What shall I add{where}?", if_said=what)

    async def _what(self, command: Command, words: str) -> Reply | None:
        """Take the user's answer about which items they mean. Return None if it names none."""
        if not parts(words):
            return None
        if words[:2].istitle():  # capitalised only because it begins the answer
            words = f"{words[0].lower()}{words[1:]}"
        command = replace(command, words=words)
        if command.kind is CommandKind.LIST_ADD:
            return await self._add(command)
        _, meant, _ = await self._meant(command.name)
        on = [item for each in meant for item in each.items]
        if not any(self._lists.fitting(part, on) for part in parts(words)):
            return None
        return await self._off(command)

    async def _put(self, texts: Sequence[str], name: str, key: str | None) -> Reply:
        if self._off_record():  # perhaps only after the question was asked
            return Reply(OFF_RECORD)
        added = await asyncio.to_thread(self._lists.add, key, name, texts)
        if added is None:
            return Reply(GONE)
        self._use(added.to.id)
        there = [each.text for each in added.there]
        changed = [*added.new, *added.reopened]
        if not changed:
            return Reply(spoken_lists.already(there, your(added.to.name)))
        return Reply(
            _added(added, changed, there),
            undo=partial(self._take_back, *_undo_arguments(added)),
            undo_question=partial(self._shall_undo, [each.id for each in changed], added.to.id),
        )

    async def _take_back(self, new: Sequence[str], reopened: Sequence[str], created: str) -> Reply:
        gone = await asyncio.to_thread(self._lists.take_back, new, reopened, created)
        if gone:
            return Reply(f"All right, I've taken {spoken_lists.known(gone)} off again.")
        return Reply(ITEMS_GONE)

    async def _shall_undo(self, keys: Sequence[str], key: str) -> str:
        """Return a question that asks whether to undo adding; empty if nothing that was added is
        left."""
        whole = await asyncio.to_thread(self._lists.get, key)
        left = [each.text for each in whole.items if each.id in keys] if whole is not None else []
        if whole is None or not left:
            return ""
        return last_done(f"add {spoken_lists.items(left)} to {your(whole.name)}", UNDO_IT)

    async def _drop(self, key: str) -> Reply:
        """Undo making a list, unless something has been put on it. This can't be undone itself."""
        return replace(await self._delete(key), undo=None)

    async def _shall_drop(self, key: str) -> str:
        left = await asyncio.to_thread(self._lists.get, key)
        if left is None or left.items:
            return ""
        return last_done(f"make {spoken_lists.a(left.name)} list", UNDO_IT)

    # -- reading --------------------------------------------------------------------------------

    async def _read(self, command: Command) -> Reply:
        name, meant, every = await self._meant(command.name)
        asked = parts(command.words or "")
        if asked and every and not name:
            meant = every
        if not meant:
            return self._no_such(name, every)
        if asked:
            return Reply(" ".join(self._whether(each, meant) for each in asked))
        if not name and len(every) > 1:
            told = spoken_lists.overview(every)
            if not any(each.open for each in every):
                return Reply(told)
            return self._which("", every, self._tell, f"{told} Which one shall I read?")
        return await self._tell(meant[0].id)

    async def _tell(self, key: str) -> Reply:
        found = await asyncio.to_thread(self._lists.get, key)
        if found is None:
            return Reply(GONE)
        self._use(key)
        return Reply(spoken_lists.contents(found))

    def _whether(self, words: str, lists: Sequence[UserList]) -> str:
        """Return a sentence that says whether something is on one of the lists."""
        for each in lists:
            if found := self._lists.fitting(words, each.open):
                self._use(each.id)
                return spoken_lists.is_on(found, "it" if len(lists) == 1 else your(each.name))
        for each in lists:
            if found := self._lists.fitting(words, each.items):
                return spoken_lists.ticked_before([item.text for item in found])
        return spoken_lists.missing(words, your(lists[0].name) if len(lists) == 1 else ANY)

    async def _shall_read(self, command: Command) -> str:
        name, meant, every = await self._meant(command.name)
        if not meant:
            return ""
        one = name or len(every) == 1
        if asked := parts(command.words or ""):
            where = your(meant[0].name) if one else "your lists"
            return f"Shall I look for {spoken_lists.items(asked)} on {where}?"
        return (
            f"Shall I read {your(meant[0].name)}?" if one else "Shall I say which lists you have?"
        )

    # -- ticking off and removing ---------------------------------------------------------------

    async def _off(self, command: Command, *, sure: bool = True) -> Reply:
        tick = command.kind is CommandKind.LIST_TICK
        name, meant, every = await self._meant(command.name)
        if not meant:
            return self._no_such(name, every)
        wanted = parts(command.words or "")
        if not wanted:
            text = "What shall I tick off?" if tick else "What shall I take off?"
            return Reply(text, if_said=partial(self._what, command))
        with_any = self._with_any(wanted, meant)
        if not name and not with_any:
            with_any = self._with_any(wanted, every)
            meant = with_any or every
        off = ItemsMeant(tick, tuple(wanted), sure=sure)
        if len(with_any) > 1:
            shall = f"shall I {'tick' if tick else 'take'} {spoken_lists.items(wanted)} off"
            return self._which(
                shall, with_any, partial(self._off_list.find, replace(off, sure=True))
            )
        if not with_any and len(meant) > 1:
            return Reply(" ".join(spoken_lists.missing(each, ANY) for each in wanted))
        return await self._off_list.find(off, (with_any or meant)[0].id)

    def _with_any(self, wanted: Sequence[str], lists: Sequence[UserList]) -> list[UserList]:
        """Return the lists with any of the items still to do or, failing that, those with any of
        them ticked off."""
        fits = self._lists.fitting
        open_ = [each for each in lists if any(fits(words, each.open) for words in wanted)]
        return open_ or [each for each in lists if any(fits(words, each.items) for words in wanted)]

    # -- clearing -------------------------------------------------------------------------------

    async def _clear(self, command: Command) -> Reply:
        name, meant, every = await self._meant(command.name)
        if not meant:
            return self._no_such(name, every)
        if len(meant) > 1:
            return self._which("shall I clear", meant, self._shall_clear)
        return await self._shall_clear(meant[0].id)

    async def _shall_clear(self, key: str) -> Reply:
        """Ask whether to clear a list, or to delete it if there is nothing on it."""
        whole = await asyncio.to_thread(self._lists.get, key)
        if whole is None:
            return Reply(GONE)
        self._use(key)
        if whole.items:
            count, act = len(whole.items), partial(self._do_clear, key)
            text = spoken_lists.shall_clear(whole)
            return Reply(text, if_yes=act, if_no=NOT_CLEARED, deletes=count)
        text = f"There's nothing on {your(whole.name)}. Shall I delete the list?"
        act = partial(self._delete, key)
        return Reply(text, if_yes=act, if_no=NOT_CLEARED, deletes=1)

    async def _do_clear(self, key: str) -> Reply:
        whole = await asyncio.to_thread(self._lists.get, key)
        if whole is None:
            return Reply(GONE)
        keys = [each.id for each in whole.items]
        removal, gone = await asyncio.to_thread(self._removed.remove, keys)
        if not gone:
            return Reply(f"There's nothing on {your(whole.name)}.")
        return self._removed_from("clear", f"Cleared {your(whole.name)}.", removal, key)

    async def _delete(self, key: str) -> Reply:
        """Delete a list, unless something has been put on it since the user was asked."""
        whole = await asyncio.to_thread(self._lists.get, key)
        if whole is None:
            return Reply(GONE)
        remove = partial(self._removed.remove, [key], if_empty=True)
        removal, gone = await asyncio.to_thread(remove)
        if not gone:
            return Reply(NOT_EMPTY if whole.items else STILL_HIDDEN)
        return self._removed_from("delete", f"Deleted {your(whole.name)}.", removal, key)

    def _removed_from(self, did: str, text: str, removal: str, key: str) -> Reply:
        """Return the reply to a removal that can be undone."""
        return Reply(
            text,
            undo=partial(self._restore, removal, key),
            undo_question=partial(self._shall_restore, did, removal, key),
        )

    async def _restore(self, removal: str, key: str) -> Reply:
        back = await asyncio.to_thread(self._removed.restore, removal)
        whole = await asyncio.to_thread(self._lists.get, key)
        if not back or whole is None:
            return Reply(spoken_replies.NOTHING_TO_UNDO)
        return Reply(f"All right, {your(whole.name)} is back as it was.")

    async def _shall_restore(self, did: str, removal: str, key: str) -> str:
        kept = {each.id: each for each in self._removed.kept(removal)}
        whole = await asyncio.to_thread(self._lists.get, key)
        name = str(kept[key].content["name"]) if key in kept else whole and whole.name
        return last_done(f"{did} {your(name)}", BRING_BACK) if kept and name else ""


def _undo_arguments(added: Added) -> tuple[list[str], list[str], str]:
    new, reopened = ([each.id for each in some] for some in (added.new, added.reopened))
    return new, reopened, added.to.id if added.created else ""


def _added(added: Added, changed: Sequence[Item], there: Sequence[str]) -> str:
    """Return the sentence that says what was added. If there are other lists, the sentence calls a
    newly created list "new", because its name may have been misheard."""
    new = "new " if added.created and added.beside else ""
    texts = [each.text for each in changed]
    text = f"Added {spoken_lists.items(texts)} to your {new}{added.to.name} list."
    return f"{text} {spoken_lists.already(there, 'it')}" if there else text
