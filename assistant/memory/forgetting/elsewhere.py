"""Removes from the running conversation the exchanges that were forgotten on another machine."""

from collections.abc import Callable

from assistant.events import Event, ForgettingBegan, ForgettingDone, Notice
from assistant.memory.forgetting.executor import LiveConversation
from assistant.memory.records.hidden import HiddenItems


def forgotten_elsewhere(
    items: HiddenItems, live: LiveConversation, emit: Callable[[Event], None]
) -> None:
    """Remove items from the conversation, and tell the user that they were forgotten elsewhere."""
    live.hide(items)
    live.purged(items, clean=True)
    emit(ForgettingBegan(items.id, items.exchanges, (), items.due))
    emit(ForgettingDone(items.id))
    what = "1 exchange" if len(items.exchanges) == 1 else f"{len(items.exchanges):,} exchanges"
    emit(Notice(f"Forgotten on another machine, and now here as well: {what}."))
