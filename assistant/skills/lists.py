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
from assistant.skills import spoken_lists
from assistant.skills.remembering import OFF_RECORD
from assistant.skills.removed_entries import RemovedEntries
from assistant.skills.skill import BRING_BACK, UNDO_IT, Choice, Reply, last_done
from assistant.skills.spoken_lists import your
from assistant.skills.stored_lists import Added, Item, StoredLists, UserList, list_name
from assistant.skills.taking_off import GONE, ITEMS_GONE, ItemsMeant, TakingOff
from assistant.state import StateStore

DEFAULT = "shopping"
"""Name of the list that is created if the user names none."""
RECENT_S = 600.0
"""Seconds for which the list that was used last is the one that is meant."""
NO_LISTS = "You don't have any lists yet."
NOT_CLEARED = "All right, I'll keep it."
ANY = "any of your lists"

Act = Callable[[str], Awaitable[Reply]]
"""Does something with the list that has this id."""


class Lists:
    """Adds to lists, reads them, and ticks off and removes what is on them.

    A list is created when something is put on it, or when it is first named. If the user names no
    list, the only one is meant, then the one that was used last.

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
            text: is said instead.
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
        """Ask what to add. A list that is named for the first time is created."""
        if name and not meant:
            new = await asyncio.to_thread(self._lists.create, name)
            self._use(new.id)
            return Reply(
                f"I've made {spoken_lists.a(name)} list. What shall I put on it?",
                if_said=partial(self._what, replace(command, name=name)),
                undo=partial(self._take_back, (), (), new.id),
                undo_question=partial(self._shall_drop, new),
            )
        where = f" to {your(meant[0].name)}" if len(meant) == 1 else ""
        what = partial(self._what, command)
        return Reply(f"What shall I add{where}?", if_said=what)

    async def _what(self, command: Command, words: str) -> Reply | None:
        """Take the answer to the question which items are meant. Return None if it names none."""
        if not parts(words):
            return None
        if words[:2].istitle():  # the capital only begins the answer
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
            undo_question=partial(
                self._shall_undo, [each.id for each in changed], your(added.to.name)
            ),
        )

    async def _take_back(self, new: Sequence[str], reopened: Sequence[str], created: str) -> Reply:
        gone = await asyncio.to_thread(self._lists.take_back, new, reopened, created)
        if gone:
            return Reply(f"All right, I've taken {spoken_lists.known(gone)} off again.")
        return Reply("All right, I've dropped that list." if created and not new else ITEMS_GONE)

    async def _shall_undo(self, keys: Sequence[str], where: str) -> str:
        """Return the question whether to undo adding; empty if nothing of it is left."""
        left = await asyncio.to_thread(self._lists.texts, keys)
        return last_done(f"add {spoken_lists.items(left)} to {where}", UNDO_IT) if left else ""

    async def _shall_drop(self, new: UserList) -> str:
        left = await asyncio.to_thread(self._lists.get, new.id)
        unused = left is not None and not left.items
        return last_done(f"make {spoken_lists.a(new.name)} list", UNDO_IT) if unused else ""

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
        """Return whether something is on one of the lists."""
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
        """Return the lists that have any of the items; first of all, those where it is not done."""
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
        act = partial(self._do_clear, whole)
        if whole.items:
            count = len(whole.items)
            text = spoken_lists.shall_clear(whole)
            return Reply(text, if_yes=act, if_no=NOT_CLEARED, deletes=count)
        text = f"There's nothing on {your(whole.name)}. Shall I delete the list?"
        return Reply(text, if_yes=act, if_no=NOT_CLEARED, deletes=1)

    async def _do_clear(self, whole: UserList) -> Reply:
        """Remove what is on a list, or the list if nothing was on it when the user was asked."""
        now = await asyncio.to_thread(self._lists.get, whole.id)
        if now is None:
            return Reply(GONE)
        keys = [each.id for each in now.items] if whole.items else [now.id]
        removal, gone = await asyncio.to_thread(self._removed.remove, keys)
        if not gone:
            return Reply(f"There's nothing on {your(now.name)}.")
        did, done = ("clear", "Cleared") if whole.items else ("delete", "Deleted")
        return Reply(
            f"{done} {your(now.name)}.",
            undo=partial(self._restore, removal, now.name),
            undo_question=partial(self._shall_restore, removal, f"{did} {your(now.name)}"),
        )

    async def _restore(self, removal: str, name: str) -> Reply:
        back = await asyncio.to_thread(self._removed.restore, removal)
        if not back:
            return Reply(spoken_replies.NOTHING_TO_UNDO)
        return Reply(f"All right, {your(name)} is back as it was.")

    async def _shall_restore(self, removal: str, did: str) -> str:
        return last_done(did, BRING_BACK) if self._removed.kept(removal) else ""


def _undo_arguments(added: Added) -> tuple[list[str], list[str], str]:
    new, reopened = ([each.id for each in some] for some in (added.new, added.reopened))
    return new, reopened, added.to.id if added.created else ""


def _added(added: Added, changed: Sequence[Item], there: Sequence[str]) -> str:
    """Return the sentence that says what was added. A list that is new beside others is called so,
    because its name may have been misheard."""
    new = "new " if added.created and added.beside else ""
    texts = [each.text for each in changed]
    text = f"Added {spoken_lists.items(texts)} to your {new}{added.to.name} list."
    return f"{text} {spoken_lists.already(there, 'it')}" if there else text
