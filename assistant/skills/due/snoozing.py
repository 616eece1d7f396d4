"""The skill that snoozes what rings."""

from collections.abc import Sequence
from datetime import timedelta
from functools import partial

from assistant.intents import Command, CommandKind
from assistant.language.durations import seconds
from assistant.language.spoken_times import spoken_duration
from assistant.skills.due.due import DueWatch
from assistant.skills.due.due_entries import rung
from assistant.skills.due.due_times import Content
from assistant.skills.skill import Reply
from assistant.state import Entry

USUAL_S = 600.0
"""Seconds for which an entry is snoozed if the user doesn't say for how long."""
HOW_LONG = "For how long?"
NOTHING_RINGS = "Nothing has rung in the last ten minutes."
NOT_AGAIN = "All right, the snooze is off."


class Snoozing:
    """Snoozes what rings now or rang in the last ten minutes, so that it rings again later."""

    kinds = frozenset({CommandKind.SNOOZE})

    def __init__(self, watch: DueWatch) -> None:
        self._watch = watch

    async def carry_out(self, command: Command) -> Reply | None:
        length = seconds(command.when, bare_minutes=True) if command.when else USUAL_S
        if length is None:
            return Reply(HOW_LONG, if_said=self._told)
        return await self._snooze(length)

    async def ask(self, command: Command) -> Reply | None:
        length = seconds(command.when, bare_minutes=True) if command.when else USUAL_S
        if length is None or not await self._watch.can_snooze():
            return None
        question = f"Shall I ring again in {spoken_duration(length)}?"
        return Reply(question, if_yes=partial(self._snooze, length))

    async def _told(self, words: str) -> Reply | None:
        length = seconds(words, bare_minutes=True)
        return await self._snooze(length) if length is not None else None

    async def _snooze(self, length: float) -> Reply:
        clocks = self._watch.entries.clocks
        changes = await self._watch.snooze(clocks.now() + timedelta(seconds=length))
        if not changes:
            return Reply(NOTHING_RINGS)
        text = f"I'll ring again in {spoken_duration(length)}."
        return Reply(text, undo=partial(self._let_be, [each.before.id for each in changes]))

    async def _let_be(self, keys: Sequence[str]) -> Reply:
        """Undo a snooze. The entries count as rung, and don't ring again."""
        entries = self._watch.entries
        now = entries.clocks.now()

        def edit(entry: Entry) -> Content | None:
            return rung(entry.content, now) if "snoozed_until" in entry.content else None

        back = await entries.change(keys, edit)
        return Reply(NOT_AGAIN if back else NOTHING_RINGS)
