"""The skill that tells the user what is remembered, what an answer was based on, and when they said
something."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import partial

from assistant.errors import StoreError
from assistant.events import Event, Remarked, TurnEnded
from assistant.intents import DELETING, Command, CommandKind
from assistant.language.second_person import spoken_topic
from assistant.language.speakers import USER
from assistant.memory import (
    AnsweredTurn,
    AnsweredTurns,
    MemoryKind,
    Resolver,
    Things,
    ToldItem,
    spoken_replies,
)
from assistant.skills.memory import spoken_sources
from assistant.skills.skill import Reply

NOTHING_SAID = "I haven't said anything yet."
FROM_MODEL = "That came from the language model, not from anything you've told me."
FIXED = (
    "That's what I always say when I can't know something. It came neither from the language model"
    " nor from anything you've told me."
)
BESIDE_NOTES = (
    "As far as I can tell, that came from the language model, not from anything you've told me."
)
IN_REPLY = (
    "That was the language model's reply to what you'd just said. Nothing you told me before went"
    " into it."
)
NOT_TOLD = "My last answer wasn't based on anything you've told me."
LOOKED_UP = "You asked me what I know, so I looked in my memory."
SHALL_SAY_WHY = "Do you want to know why I said that?"
SHALL_SAY_WHEN = "Do you want to know when you told me that?"
ASKED = {
    CommandKind.UNDO: "undo something",
    CommandKind.OFF_RECORD: "go off the record",
    CommandKind.ON_RECORD: "go back on the record",
    CommandKind.REMEMBER: "remember something",
    CommandKind.CORRECT: "correct something",
    CommandKind.LIFT: "stop following an instruction or using a name",
}
"""Kind of command → what the user asked the assistant to do."""
READING = frozenset({CommandKind.KNOW, CommandKind.WHEN_TOLD})
"""Commands that read out memories. If asked "why" after one of them, the assistant says when the
user told it these things."""
BY_THE_WAY = frozenset(
    {
        *(CommandKind.STOP, CommandKind.SLEEP, CommandKind.WAKE, CommandKind.REPEAT),
        *(CommandKind.WHY, CommandKind.WHEN_TOLD),
    }
)
"""Commands after which "why" still refers to what the assistant said before the command, unless the
command has read out a memory."""


class Explaining:
    """Tells the user what is known and why something was said. It changes nothing.

    Args:
        turns: the turns of the running conversation.
        now: returns the local wall time.
        english: whether the language is English, so that replies may rephrase what was said.
    """

    kinds = frozenset({CommandKind.KNOW, CommandKind.WHY, CommandKind.WHEN_TOLD})

    def __init__(
        self,
        resolver: Resolver,
        turns: AnsweredTurns,
        now: Callable[[], datetime] = lambda: datetime.now().astimezone(),
        *,
        english: bool = True,
    ) -> None:
        self._resolver = resolver
        self._turns = turns
        self._now = now
        self._english = english
        self._obeyed: CommandKind | None = None
        """The kind of the last command since the model's last answer, not counting `BY_THE_WAY`;
        None if there was none."""

    def watch(self, event: Event) -> None:
        """Receive an event from the event bus."""
        if isinstance(event, TurnEnded):
            self._obeyed = None
        elif isinstance(event, Remarked) and event.command:
            kind = CommandKind(event.command)
            if kind not in BY_THE_WAY:
                self._obeyed = kind

    async def carry_out(self, command: Command) -> Reply | None:
        # Reading would block the event loop for too long, so it runs in a thread. The thread gets a
        # copy, because the loop may change the original.
        turns = [turn for turn in self._turns.all() if not turn.exchange.open]
        named = self._turns.named
        if command.kind is CommandKind.WHY:
            text, things = await asyncio.to_thread(self._why, self._obeyed, named, turns)
        elif command.kind is CommandKind.KNOW:
            text, things = await asyncio.to_thread(self._known, command.words)
        else:
            text, things = await asyncio.to_thread(self._when, command.words, named, turns)
        self._turns.spoke_of(things)
        if things and command.kind in READING:
            self._obeyed = command.kind
        return Reply(text) if text is not None else None

    async def ask(self, command: Command) -> Reply | None:
        """Ask only if there is something to tell. Otherwise the language model answers."""
        turns = [turn for turn in self._turns.all() if not turn.exchange.open]
        try:
            text = await asyncio.to_thread(
                self._question, command, self._obeyed, self._turns.named, turns
            )
        except StoreError:
            return None
        return Reply(text, if_yes=partial(self._agreed, command)) if text else None

    async def _agreed(self, command: Command) -> Reply:
        return await self.carry_out(command) or Reply(spoken_replies.NOTHING_ABOUT)

    # -- inside; these block --------------------------------------------------------------------

    def _question(
        self,
        command: Command,
        obeyed: CommandKind | None,
        named: Things,
        turns: Sequence[AnsweredTurn],
    ) -> str:
        """Return a question that asks whether the command is meant; empty if there is nothing to
        tell."""
        explaining, topic = self._resolver.explaining, command.words
        what = spoken_topic(topic, english=self._english) if topic is not None else "you"
        if command.kind is CommandKind.KNOW:
            _, things = self._known(topic)
            return f"Do you want to know what I remember about {what}?" if things else ""
        if command.kind is CommandKind.WHEN_TOLD and topic is not None:
            told = explaining.told_about(topic, turns)
            return f"Do you want to know when you told me about {what}?" if told else ""
        last = explaining.last(turns)
        if command.kind is CommandKind.WHEN_TOLD:
            sources = last.sources if last is not None else ()
            given = self._told(named, turns) if named else sources
            return SHALL_SAY_WHEN if any(each.speaker == USER for each in given) else ""
        return SHALL_SAY_WHY if last is not None or obeyed is not None else ""

    def _known(self, topic: str | None) -> "_Said":
        """Tell what is known about a topic, or the newest memories if the topic is None. If nothing
        is known, the text is None, so that the language model answers."""
        if topic is None:
            found = self._resolver.newest()
        else:
            try:
                found = self._resolver.about(topic)
            except StoreError:
                return None, ()
            if not found:
                return None, ()
        things = self._things(spoken_replies.stated(found))
        return spoken_replies.known(topic, found, english=self._english), things

    def _why(
        self, obeyed: CommandKind | None, named: Things, turns: Sequence[AnsweredTurn]
    ) -> "_Said":
        explaining, now = self._resolver.explaining, self._now()
        if obeyed in READING:
            told = self._told(named, turns)
            return self._each(told, now) if told else (LOOKED_UP, ())
        if obeyed is not None:
            return f"I said that because you asked {_asked(obeyed)}.", ()
        found = explaining.last(turns)
        if found is None:
            return NOTHING_SAID, ()
        if found.fixed:
            return FIXED, ()
        if found.sources:
            return self._each(found.sources, now)
        if found.told:
            return IN_REPLY, ()
        at_hand = any(each.left_out is None for each in found.recalled)
        return BESIDE_NOTES if at_hand else FROM_MODEL, ()

    def _when(self, topic: str | None, named: Things, turns: Sequence[AnsweredTurn]) -> "_Said":
        explaining, now = self._resolver.explaining, self._now()
        if topic is not None:
            told = explaining.told_about(topic, turns)
            what = spoken_topic(topic, english=self._english)
            if not told:
                return f"I don't remember you telling me about {what}.", ()
            return self._told_then(told, now)
        told = [each for each in self._told(named, turns) if each.speaker == USER]
        if len(told) > 1:
            return self._each(told, now)
        if not told and named:
            return spoken_replies.NOTHING_ABOUT, ()
        if not told:
            found = explaining.last(turns)
            if found is None:
                return NOTHING_SAID, ()
            told = [each for each in found.sources if each.speaker == USER][:1]
        return self._told_then(told, now) if told else (NOT_TOLD, ())

    def _each(self, told: Sequence[ToldItem], now: datetime) -> "_Said":
        """Say when each of these was told."""
        return spoken_sources.told(told, now, english=self._english), self._things(told)

    def _told_then(self, told: Sequence[ToldItem], now: datetime) -> "_Said":
        """Say when something was last told, and when first."""
        text = spoken_sources.told_then(told, now, english=self._english)
        return text, self._things((told[0], told[-1]))

    def _things(self, told: Iterable[ToldItem]) -> Things:
        return spoken_sources.things(told, english=self._english)

    def _told(self, named: Things, turns: Sequence[AnsweredTurn]) -> list[ToldItem]:
        """Return the first few of these things, as the user told them."""
        found = self._resolver.named(named, turns)[: spoken_replies.NAMED]
        return [next((each for each in thing if _verbatim(each)), thing[0]) for thing in found]


def _verbatim(told: ToldItem) -> bool:
    return told.memory is None or told.memory.kind is MemoryKind.EXCHANGE


_Said = tuple[str | None, Things]
"""The text of a reply, and the things that it names."""


def _asked(kind: CommandKind) -> str:
    """Return what follows "you asked"."""
    if kind in DELETING:
        return "me to forget something"
    return f"me to {ASKED[kind]}" if kind in ASKED else "for it"
