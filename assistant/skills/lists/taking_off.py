"""Ticks items off a list or removes them, once it is clear which are meant."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from assistant.language.enumerations import joined
from assistant.language.second_person import spoken_topic
from assistant.memory import spoken_replies
from assistant.skills.lists import spoken_lists
from assistant.skills.lists.spoken_lists import your
from assistant.skills.lists.stored_lists import Item, StoredLists, UserList
from assistant.skills.removed_entries import RemovedEntries
from assistant.skills.skill import BRING_BACK, UNDO_IT, Choice, Reply, last_done

GONE = "That list is gone."
ITEMS_GONE = "That's no longer on the list."


@dataclass(frozen=True, slots=True)
class ItemsMeant:
    """A request to tick items off a list (`tick`) or to remove them, while the items that are meant
    are being found.

    `wanted` are words for items that have yet to be found, `found` are the ids of items, and
    `missing` are the words that fit nothing. `done` are the texts of items that were ticked off
    before. If the request is not `sure`, the user is asked before anything is done.
    """

    tick: bool
    wanted: tuple[str, ...]
    found: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    done: tuple[str, ...] = ()
    sure: bool = True


class TakingOff:
    """Finds the items that are meant, asks if that is unclear, and ticks them off or removes them.

    Args:
        used: is called with the id of each list that is used.
    """

    def __init__(
        self, lists: StoredLists, removed: RemovedEntries, used: Callable[[str], object]
    ) -> None:
        self._lists = lists
        self._removed = removed
        self._used = used

    async def find(self, off: ItemsMeant, key: str) -> Reply:
        """Find the items that are meant, then tick them off or remove them. If words fit several
        items, ask which of them is meant."""
        whole = await asyncio.to_thread(self._lists.get, key)
        if whole is None:
            return Reply(GONE)
        self._used(key)
        while off.wanted:
            words, rest = off.wanted[0], off.wanted[1:]
            left = replace(off, wanted=rest)
            found = self._lists.fitting(words, whole.open)
            if found and (len(found) == 1 or {each.id for each in found} <= set(off.found)):
                off = replace(left, found=(*off.found, *(each.id for each in found)))
            elif found:
                return self._which_item(left, key, found)
            elif done := self._lists.fitting(words, whole.items):
                texts = tuple(each.text for each in done)
                ids = () if off.tick else tuple(each.id for each in done)
                done_before = (*off.done, *texts) if off.tick else off.done
                off = replace(left, found=(*off.found, *ids), done=done_before)
            else:
                off = replace(left, missing=(*off.missing, words))
        return await self._finish(off, whole)

    def _which_item(self, off: ItemsMeant, key: str, found: Sequence[Item]) -> Reply:
        def choose(some: Sequence[Item]) -> Callable[[], Awaitable[Reply]]:
            ids = tuple(each.id for each in some)
            return partial(self.find, replace(off, found=(*off.found, *ids), sure=True), key)

        choices = [Choice(spoken_topic(each.text), choose([each])) for each in found]
        text = f"Which do you mean: {joined([each.name for each in choices], 'or')}?"
        return Reply(text, choices=(*choices, Choice("", choose(found))))

    # -- inside ---------------------------------------------------------------------------------

    async def _finish(self, off: ItemsMeant, whole: UserList) -> Reply:
        where = your(whole.name)
        also = [spoken_lists.ticked_before(off.done)] if off.done else []
        also += [spoken_lists.missing(each, where) for each in off.missing]
        if not off.found:
            return Reply(" ".join(also))
        if not off.sure:
            texts = await asyncio.to_thread(self._lists.texts, off.found)
            names = spoken_lists.known(texts)
            question = f"tick off {names}" if off.tick else f"take {names} off {where}"
            act = partial(self.find, replace(off, sure=True), whole.id)
            return Reply(f"Shall I {question}?", if_yes=act)
        reply = await (self._tick(off) if off.tick else self._remove(off, whole))
        return replace(reply, text=" ".join([reply.text, *also]))

    async def _tick(self, off: ItemsMeant) -> Reply:
        ticked = await asyncio.to_thread(partial(self._lists.mark, off.found, done=True))
        if not ticked:
            return Reply(ITEMS_GONE)
        ids = [each.id for each in ticked]
        return Reply(
            f"Ticked off {spoken_lists.known([each.text for each in ticked])}.",
            undo=partial(self._untick, ids),
            undo_question=partial(self._shall_undo, "tick off", ids),
        )

    async def _untick(self, ids: Sequence[str]) -> Reply:
        back = await asyncio.to_thread(partial(self._lists.mark, ids, done=False))
        return _back([each.text for each in back])

    async def _remove(self, off: ItemsMeant, whole: UserList) -> Reply:
        removal, gone = await asyncio.to_thread(self._removed.remove, off.found)
        if not gone:
            return Reply(ITEMS_GONE)
        texts = [str(each.content["text"]) for each in gone]
        return Reply(
            f"Removed {spoken_lists.known(texts)} from {your(whole.name)}.",
            undo=partial(self._restore, removal),
            undo_question=partial(self._shall_restore, whole.id, removal),
        )

    async def _shall_undo(self, did: str, keys: Sequence[str]) -> str:
        left = await asyncio.to_thread(self._lists.texts, keys)
        return last_done(f"{did} {spoken_lists.known(left)}", UNDO_IT) if left else ""

    async def _restore(self, removal: str) -> Reply:
        back = await asyncio.to_thread(self._removed.restore, removal)
        return _back([str(each.content["text"]) for each in back])

    async def _shall_restore(self, key: str, removal: str) -> str:
        texts = [str(each.content["text"]) for each in self._removed.kept(removal)]
        whole = await asyncio.to_thread(self._lists.get, key)
        if whole is None or not texts:
            return ""
        what = f"remove {spoken_lists.known(texts)} from {your(whole.name)}"
        return last_done(what, BRING_BACK)


def _back(texts: Sequence[str]) -> Reply:
    if not texts:
        return Reply(spoken_replies.NOTHING_TO_UNDO)
    return Reply(f"All right, {spoken_lists.are(texts)} back on the list.")
