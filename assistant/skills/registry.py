"""Finds the skill for a command, and keeps the question that the user has yet to answer."""

import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from assistant.errors import StoreError
from assistant.events import Event, ForgettingBegan, RecordChanged
from assistant.intents import (
    ABOUT_OPEN,
    ALL,
    BY_MEANING,
    Command,
    CommandKind,
    Intent,
    chosen,
    refused,
    sounds_like_undo,
    yes_or_no,
)
from assistant.language.dialogue_acts import is_courtesy, is_question
from assistant.memory import spoken_replies
from assistant.skills.skill import UNDO_IT, Act, Reply, Skill, TakesTurns, said
from assistant.skills.spoken_errors import failed

ANSWER_S = 30.0
"""Seconds after which a question lapses."""
UNDOS = 20
"""Number of commands that can be undone one after the other."""
WHICH = "Which one do you mean?"
YES_OR_NO = "Is that a yes or a no?"
NOT_UNDONE = "All right, I'll leave it as it is."
OUTRANKED = BY_MEANING | {CommandKind.REMEMBER, CommandKind.CORRECT}
"""If an utterance is only probably a command of one of these kinds, it is first offered to the open
form or task."""
STATING = frozenset({CommandKind.REMEMBER, CommandKind.CORRECT})
"""Commands that state something. If a form is open, the statement is first offered to the form."""
LIKELY_STATING = STATING | {CommandKind.LIST_ADD, CommandKind.LIST_REMOVE}
"""While a form or a task is open, an utterance that is only probably such a command is taken as a
statement about the form or the task."""


class SkillRegistry:
    """Dispatches commands to the skills of a session. Use it only on the event loop.

    A skill's question waits for the user's answer. It lapses with another command or an ordinary
    turn, or after `ANSWER_S` seconds. Commands that can be undone are undone newest first,
    whichever skill they belong to. If other turns have passed since, the assistant first names what
    it would undo, and asks.

    Args:
        emit: emits the notices that belong to replies.
    """

    def __init__(
        self, skills: Sequence[Skill], emit: Callable[[Event], object] = lambda _: None
    ) -> None:
        self._takers = [each for each in skills if isinstance(each, TakesTurns)]
        self._skills = {kind: skill for skill in skills for kind in skill.kinds}
        self._emit = emit
        self._asked: Reply | None = None
        self._asked_at = float("-inf")
        self._undos: deque[_Undoable] = deque(maxlen=UNDOS)
        self._offer: Reply | None = None
        """The last reply to "undo" or "say that again". If it is a question, the same command again
        means yes."""
        self._offered: CommandKind | None = None
        """The command to which `_offer` replies."""
        self._turns = 0
        self._steps = 0
        """Number of commands, answers and turns so far. If it changes while a reply is being made,
        the conversation has gone on meanwhile."""
        self._hint: Reply | None = None
        """The last reply, if it told the user to say "undo" and nothing has been said since."""
        self._hinted_at = float("-inf")

    @property
    def waits_for_answer(self) -> bool:
        """Whether a question waits for the user's answer."""
        return self._asked is not None and time.monotonic() - self._asked_at < ANSWER_S

    def note(self, reply: Reply) -> None:
        """Remember the question and the undo of a reply, and show its notice. Also called for
        replies that no command asked for."""
        if reply.asks:
            self._asked, self._asked_at = reply, time.monotonic()
        if reply.undo is not None:
            undo = _Undoable(reply.undo, reply.undo_question, self._turns, reply.undo_deletes)
            self._undos.append(undo)
        self._hint = reply if reply.offers_undo else None
        self._hinted_at = time.monotonic()
        if reply.notice is not None:
            self._emit(reply.notice)

    def misheard_undo(self, text: str) -> Intent | None:
        """Return the intent to undo if `text` sounds like "undo" and comes right after the user was
        told to say "undo"; otherwise None. If undoing would delete something for good, the intent
        isn't sure, since the text may also be ordinary talk."""
        hint = self._hint
        late = time.monotonic() - self._hinted_at >= ANSWER_S
        if hint is None or late or not sounds_like_undo(text):
            return None
        return Intent(Command(CommandKind.UNDO), sure=not hint.undo_deletes)

    def turn_began(self) -> None:
        """Drop the question: the user went on to something else."""
        self._steps += 1
        self._turns += 1
        self._asked = self._hint = None

    def watch(self, event: Event) -> None:
        """Receive an event from the event bus. When something is forgotten, or the session goes off
        or on the record, the waiting question is dropped. It may quote what is forgotten, or ask
        for words that must not be stored."""
        if isinstance(event, ForgettingBegan | RecordChanged):
            self._asked = self._offer = None

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
        place = chosen(text, options, names, deletes=asked.deletes) if options else None
        if place is not None and (place != ALL or not asked.choices[ALL].name):
            return partial(self._settle, asked, asked.choices[place].act)
        if len(options) > 1 and (place := refused(text, options, names)) is not None:
            return partial(self._settle, asked, partial(said, _without(asked, place)))
        for_words = asked.if_said is not None
        yes = yes_or_no(
            text, names, explained=explained, deletes=asked.deletes, for_words=for_words
        )
        if yes is None:
            return None
        if not yes:
            return partial(self._settle, asked, _declined(asked))
        return partial(self._settle, asked, asked.if_yes or partial(said, _again(asked)))

    @property
    def expected(self) -> frozenset[CommandKind]:
        """The kinds of commands that are likelier now than usual: those about what is open."""
        return ABOUT_OPEN if any(each.listens for each in self._takers) else frozenset()

    async def takes(self, text: str, intent: Intent | None) -> Act | None:
        """Return the act that answers an utterance that is not a command, or None if the language
        model should answer.

        Args:
            intent: the command that the utterance may be.
        """
        if intent is not None:
            kind = intent.command.kind
            if kind not in (STATING if intent.sure else OUTRANKED):
                return None
        for each in self._takers:
            if (act := await each.takes(text)) is not None:
                return partial(self._take, act)
        return None

    async def _take(self, act: Act) -> Reply:
        return await self._settled(act) or Reply("")

    def takes_words(self, text: str) -> bool:
        """Whether the question that waits asks for words, and `text` may be these words."""
        asked = self._asked if self.waits_for_answer else None
        if asked is None or asked.if_said is None:
            return False
        return not (is_question(text) or is_courtesy(text))

    async def said(self, text: str) -> Reply | None:
        """Take the words that a question asked for. Return the reply. Return None if the words were
        not an answer; the language model should then answer the turn."""
        asked, self._asked = self._asked, None
        if asked is None or asked.if_said is None:
            return None
        return await self._settled(partial(asked.if_said, text))

    async def carry_out(
        self, intent: Intent, text: str = "", names: tuple[str, ...] = ()
    ) -> Reply | None:
        """Carry out a command, or ask whether it is meant. Return the reply, or None if the
        language model should answer the turn.

        If the command is only likely and there is nothing to ask about, `text` may still answer the
        question that waits.
        """
        asked, kind = self._asked if self.waits_for_answer else None, intent.command.kind
        offered = self._offer is asked and self._offered is kind
        if offered and asked is not None and asked.if_yes and intent.sure:
            return await self._settled(asked.if_yes)
        if kind is CommandKind.REPEAT and asked is not None:
            return await self._settled(partial(said, asked))
        if kind is CommandKind.FORGET_THAT and asked is not None:  # "that" is the question
            if not intent.sure and (no := self.answer(text, names, explained=True)) is not None:
                return await no()
            declined = intent.sure and not asked.deletes
            return await self._settled(
                _declined(asked) if declined else partial(said, _again(asked))
            )
        if kind is CommandKind.UNDO:
            reply = await self._settled(partial(self._undo_or_ask, intent))
            self._offer, self._offered = reply, kind
            return reply
        skill = self._skills.get(kind)
        for_form = not intent.sure and kind in LIKELY_STATING
        if for_form and any(each.listens for each in self._takers):
            skill = None
        if skill is None:
            self._asked = self._hint = None
            return None
        if intent.sure:
            return await self._settled(partial(skill.carry_out, intent.command))
        step = self._steps + 1
        reply = await self._settled(partial(skill.ask, intent.command))
        if kind is CommandKind.REPEAT:
            self._offer, self._offered = reply, kind
        gone_on = step != self._steps or kind is CommandKind.STOP
        if reply is None and asked is not None and not gone_on:
            return await self._answered(asked, text, names)
        return reply

    async def _answered(self, asked: Reply, text: str, names: tuple[str, ...]) -> Reply | None:
        """Take `text`, which turned out not to be a command, as an answer to the question that
        waited."""
        self._asked = asked
        if self.takes_words(text):
            return await self.said(text)
        if (no := self.answer(text, names, explained=True)) is not None:
            return await no()
        self._asked = None
        return None

    async def _undo_or_ask(self, intent: Intent) -> Reply | None:
        """Undo what was done last. If other turns have passed since, or the user may not have meant
        to undo, ask first."""
        while self._undos:
            last = self._undos[-1]
            late = last.turn < self._turns
            if intent.sure and not late:
                return await self._undo(last)
            ask = last.question if late else None
            text = await ask() if ask is not None else UNDO_IT
            if text:
                return Reply(text, if_yes=partial(self._undo, last), if_no=NOT_UNDONE)
            self._drop(last)  # it is gone for good
        skill = self._skills.get(CommandKind.UNDO)
        if skill is None:
            return None
        return await (skill.carry_out if intent.sure else skill.ask)(intent.command)

    async def _undo(self, last: "_Undoable") -> Reply:
        """Undo something. If that fails, the user can try again."""
        reply = await last.act()
        self._drop(last)
        return replace(reply, lasts=not last.deletes)  # the reply may name what is deleted

    def _drop(self, undone: "_Undoable") -> None:
        if undone in self._undos:
            self._undos.remove(undone)

    async def _settle(self, asked: Reply, act: Act) -> Reply:
        """Do what the user's answer asks for, unless an earlier answer has settled the question."""
        if self._asked is not asked:
            return Reply("")
        return await self._settled(act) or Reply("")

    async def _settled(self, act: "Callable[[], Awaitable[Reply | None]]") -> Reply | None:
        """Drop the question that waits, act, and note the reply. If the conversation has gone on
        meanwhile, a question comes too late and is not asked."""
        self._asked = self._hint = None
        self._steps += 1
        step = self._steps
        try:
            reply = await act()
        except StoreError as error:
            reply = failed(error)
        if reply is not None and reply.asks and step != self._steps:
            return Reply("")
        if reply is not None:
            self.note(reply)
        return reply


@dataclass(frozen=True, slots=True, eq=False)
class _Undoable:
    """Something that was done and can be undone. Two objects are unequal even if the same function
    undoes both."""

    act: Act
    question: Callable[[], Awaitable[str]] | None
    turn: int
    """Number of turns that had begun when it was done."""
    deletes: bool
    """Whether undoing it deletes something for good. The reply then says what."""


def _declined(asked: Reply) -> Act:
    """Return what to do when the user answers no."""
    return asked.then_no or partial(said, Reply(asked.if_no))


def _again(asked: Reply) -> Reply:
    """Return the question again, after an answer that was unclear."""
    if asked.if_yes is not None:
        return replace(asked, text=YES_OR_NO)
    return replace(asked, text=WHICH) if asked.choices else asked


def _without(asked: Reply, place: int) -> Reply:
    """Return the question again, without the thing that the user has refused."""
    left = tuple(each for at, each in enumerate(asked.choices) if each.name and at != place)
    if len(left) > 1:
        text = spoken_replies.either([each.name for each in left])
        return replace(asked, text=text, choices=left)
    text, deletes = f"Then this one: {left[0].name}?", min(asked.deletes, 1)
    return replace(asked, text=text, choices=left, if_yes=left[0].act, deletes=deletes)
