"""Tells the user once that alarms, reminders, lists and notes last only as long as the session."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial

from assistant.intents import Command, CommandKind
from assistant.skills.skill import Choice, Reply, Skill

ONLY_NOW = "I'll only know this until I'm switched off."
MEANT_TO_LAST = frozenset(
    {
        *(CommandKind.ALARM_SET, CommandKind.REMINDER_SET),
        *(CommandKind.LIST_ADD, CommandKind.NOTE_ADD),
    }
)


class OnlyNow:
    """The skills of a session whose state is only in RAM, because the transcript can't be opened.
    They say so once, when the user first sets up something that may be needed later."""

    def __init__(self, skills: Sequence[Skill]) -> None:
        self._skills = {kind: skill for skill in skills for kind in skill.kinds}
        self.kinds = frozenset(self._skills)
        self._told = False

    async def carry_out(self, command: Command) -> Reply | None:
        return self._telling(command, await self._skills[command.kind].carry_out(command))

    async def ask(self, command: Command) -> Reply | None:
        return self._telling(command, await self._skills[command.kind].ask(command))

    def _telling(self, command: Command, reply: Reply | None) -> Reply | None:
        """Return the reply, with `ONLY_NOW` if something was set up. If the reply is a question,
        the sentence may instead be added to the reply to the user's answer."""
        if reply is None or self._told or command.kind not in MEANT_TO_LAST:
            return reply
        if reply.undo is not None:
            self._told = True
            return replace(reply, text=f"{reply.text} {ONLY_NOW}")

        def after(act: Callable[[], Awaitable[Reply]]) -> Callable[[], Awaitable[Reply]]:
            return partial(self._acted, command, act)

        if_yes = after(reply.if_yes) if reply.if_yes is not None else None
        if_said = partial(self._said, command, reply.if_said) if reply.if_said else None
        choices = tuple(Choice(each.name, after(each.act)) for each in reply.choices)
        return replace(reply, if_yes=if_yes, if_said=if_said, choices=choices)

    async def _acted(self, command: Command, act: Callable[[], Awaitable[Reply]]) -> Reply:
        reply = await act()
        return self._telling(command, reply) or reply

    async def _said(
        self, command: Command, take: Callable[[str], Awaitable[Reply | None]], words: str
    ) -> Reply | None:
        return self._telling(command, await take(words))
