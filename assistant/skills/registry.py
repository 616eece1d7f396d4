"""Finds the skill for a command, and keeps the question that the user has yet to answer."""

import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from functools import partial

from assistant.errors import StoreError
from assistant.events import Event
from assistant.intents import ALL, CommandKind, Intent, chosen, yes_or_no
from assistant.skills.skill import Reply, Skill
from assistant.skills.spoken_errors import failed

ANSWER_S = 30.0
"""Seconds after which a question lapses."""
UNDOS = 20
"""Number of commands that can be undone one after the other."""
WHICH = "Which one do you mean?"
SHALL_UNDO = "Shall I undo that?"

Act = Callable[[], Awaitable[Reply]]


class SkillRegistry:
    """Dispatches commands to the skills of a session. Use it only on the event loop.

    A question of a skill waits for its answer. Another command, an ordinary turn, or `ANSWER_S`
    drops it. Commands that can be undone are undone newest first, whichever skill they belong to.

    Args:
        emit: emits the notices that belong to replies.
    """

    def __init__(
        self, skills: Iterable[Skill], emit: Callable[[Event], object] = lambda _: None
    ) -> None:
        self._skills = {kind: skill for skill in skills for kind in skill.kinds}
        self._emit = emit
        self._asked: Reply | None = None
        self._asked_at = float("-inf")
        self._undos: deque[Act] = deque(maxlen=UNDOS)
        self.may_be_undone = False
        """Whether something was done that can be undone, and no turn has begun since."""

    @property
    def waits_for_answer(self) -> bool:
        """Whether a question waits for the user's answer."""
        return self._asked is not None and time.monotonic() - self._asked_at < ANSWER_S

    def turn_began(self) -> None:
        """Drop the question: the user went on to something else."""
        self._asked = None
        self.may_be_undone = False

    def answer(
        self, text: str, names: tuple[str, ...] = (), *, explained: bool = False
    ) -> Act | None:
        """Return what to do if `text` answers the question that waits; otherwise None.

        Args:
            explained: as for `yes_or_no`.
        """
        asked = self._asked
        if asked is None or not self.waits_for_answer:
            return None
        options = tuple(each.name for each in asked.choices if each.name)
        place = chosen(text, options, names) if options else None
        if place is not None and (place != ALL or not asked.choices[ALL].name):
            return partial(self._settle, asked, asked.choices[place].act)
        yes = yes_or_no(text, names, explained=explained)
        if yes is None:
            return None
        if not yes:
            return partial(self._settle, asked, partial(_said, Reply(asked.if_no)))
        again = partial(_said, replace(asked, text=WHICH))
        return partial(self._settle, asked, asked.if_yes or again)

    async def carry_out(self, intent: Intent) -> Reply | None:
        """Carry out a command, or ask whether it is meant. Return the reply, or None if the
        language model should answer the turn."""
        asked, kind = self._asked if self.waits_for_answer else None, intent.command.kind
        self._asked = None
        if kind is CommandKind.UNDO and self._undos:
            return await self._undo(sure=intent.sure)
        skill = self._skills.get(kind)
        if skill is None:
            return None
        reply: Reply | None = asked
        try:
            if kind is not CommandKind.REPEAT or asked is None:
                do = skill.carry_out if intent.sure else skill.ask
                reply = await do(intent.command)
        except StoreError as error:
            reply = failed(error)
        if reply is not None:
            self._note(reply)
        return reply

    async def _undo(self, *, sure: bool) -> Reply:
        if not sure:
            question = Reply(SHALL_UNDO, if_yes=self._undos[-1])
            self._note(question)
            return question
        self.may_be_undone = False
        return await self._act(self._undos.pop())

    async def _settle(self, asked: Reply, act: Act) -> Reply:
        """Do what the user's answer asks for, unless an earlier answer has settled the question."""
        if self._asked is not asked:
            return Reply("")
        return await self._act(act)

    async def _act(self, act: Act) -> Reply:
        self._asked = None
        if act in self._undos:
            self._undos.remove(act)
        try:
            reply = await act()
        except StoreError as error:
            reply = failed(error)
        self._note(reply)
        return reply

    def _note(self, reply: Reply) -> None:
        """Remember the question and the undo of a reply, and show its notice."""
        if reply.asks:
            self._asked, self._asked_at = reply, time.monotonic()
        if reply.undo is not None:
            self._undos.append(reply.undo)
            self.may_be_undone = True
        if reply.notice is not None:
            self._emit(reply.notice)


async def _said(reply: Reply) -> Reply:
    return reply
