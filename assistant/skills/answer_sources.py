"""Says what an answer was based on, and when the user told something.

Every sentence is made from the log of recalls and from what is stored, never by the language model.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from datetime import datetime

from assistant.context import Conversation
from assistant.errors import StoreError
from assistant.events import Event, TurnEnded
from assistant.intents import Command, CommandKind
from assistant.language.second_person import spoken_phrase, spoken_topic
from assistant.language.speakers import USER
from assistant.memory import (
    ADDED_BY_USER,
    Explanation,
    LoggedMemory,
    MemoryKind,
    Resolver,
    ToldItem,
    logged_memories,
)
from assistant.skills.skill import Reply
from assistant.skills.spoken_times import briefly, precisely

TURNS = 50
"""Number of turns whose recalls are known although they may not be stored."""
NAMED = 3
"""Maximum number of sources that a reply names."""
NOTHING_SAID = "I haven't said anything yet."
FROM_MODEL = "That came from the model. Nothing that you told me was behind it."
BESIDE_NOTES = (
    "As far as I can tell, that came from the model: nothing in it is from what you told me before."
)
IN_REPLY = (
    "That came from the model, in reply to what you had just said. Nothing that you told me before"
    " was behind it."
)
NOT_TOLD = "My last answer wasn't based on anything that you told me."
ASKED = {
    CommandKind.UNDO: "undo something",
    CommandKind.OFF_RECORD: "go off the record",
    CommandKind.ON_RECORD: "go back on the record",
    CommandKind.REMEMBER: "remember something",
    CommandKind.CORRECT: "correct something",
    CommandKind.LIFT: "drop something that you had told me",
}
FORGETTING = "forget something"
SILENT = frozenset(
    {
        *(CommandKind.STOP, CommandKind.SLEEP, CommandKind.WAKE, CommandKind.REPEAT),
        *(CommandKind.WHY, CommandKind.WHEN_TOLD),
    }
)
"""Commands whose replies are not explained: "why" after them refers to what was said before."""


class AnswerSources:
    """Explains the answers of one session. Use it only on the event loop.

    Args:
        conversation: returns the running conversation.
        now: returns the local wall time.
        english: whether the language is English, so that replies may rephrase what was said.
    """

    kinds = frozenset({CommandKind.WHY, CommandKind.WHEN_TOLD})

    def __init__(
        self,
        resolver: Resolver,
        conversation: Callable[[], Conversation],
        now: Callable[[], datetime] = lambda: datetime.now().astimezone(),
        *,
        english: bool = True,
    ) -> None:
        self._resolver = resolver
        self._conversation = conversation
        self._now = now
        self._english = english
        self._log: deque[tuple[str, Sequence[LoggedMemory]]] = deque(maxlen=TURNS)
        self._obeyed: Command | None = None
        """The command whose reply was said since the last answer."""

    def watch(self, event: Event) -> None:
        """Receive an event from the event bus."""
        if isinstance(event, TurnEnded):
            self._log.append((event.exchange, logged_memories(event.memories, event.near_misses)))
            self._obeyed = None

    def obeyed(self, command: Command) -> None:
        """Note that a command was carried out, and that a reply to it was said."""
        if command.kind not in SILENT:
            # What is to be forgotten must not be held here.
            words = command.words if command.kind is CommandKind.KNOW else None
            self._obeyed = Command(command.kind, words)

    async def carry_out(self, command: Command) -> Reply | None:
        # Reading takes longer than the voice may wait, so it runs in a thread, on a copy of data
        # that the loop may change.
        conversation, log = self._conversation(), dict(self._log)
        exchanges = [each for each in conversation.exchanges if not each.open]

        def explained() -> Explanation | None:
            return self._resolver.explaining.last(exchanges, log)

        def about(topic: str | None) -> list[ToldItem]:
            return self._resolver.explaining.told_about(topic, exchanges)

        try:
            if command.kind is CommandKind.WHEN_TOLD:
                text = await asyncio.to_thread(self._when, command.words, explained, about)
            else:
                text = await asyncio.to_thread(self._why, self._obeyed, explained, about)
        except StoreError as error:
            text = f"{error} {error.mend or ''}".strip()
        return Reply(text)

    async def ask(self, command: Command) -> Reply | None:
        """Return None: an explanation does no harm, so it is never asked about."""
        del command
        return None

    # -- inside; these block --------------------------------------------------------------------

    def _why(
        self,
        obeyed: Command | None,
        explained: Callable[[], Explanation | None],
        about: Callable[[str | None], list[ToldItem]],
    ) -> str:
        if obeyed is not None and obeyed.kind is CommandKind.KNOW:
            told = about(obeyed.words)
            return self._told(told) if told else self._obeying(obeyed)
        if obeyed is not None:
            return self._obeying(obeyed)
        found = explained()
        if found is None:
            return NOTHING_SAID
        if found.sources:
            return self._told(found.sources)
        if found.told:
            return IN_REPLY
        at_hand = any(each.left_out is None for each in found.recalled)
        return BESIDE_NOTES if at_hand else FROM_MODEL

    def _when(
        self,
        topic: str | None,
        explained: Callable[[], Explanation | None],
        about: Callable[[str | None], list[ToldItem]],
    ) -> str:
        if topic is None:
            found = explained()
            if found is None:
                return NOTHING_SAID
            told = [each for each in found.sources if each.speaker == USER]
            told.sort(key=lambda each: each.when, reverse=True)
        else:
            told = about(topic)
        if not told:
            what = spoken_topic(topic, english=self._english) if topic is not None else ""
            return f"I don't remember that you told me about {what}." if what else NOT_TOLD
        newest, first, now = told[0], told[-1], self._now()
        text = self._said_then(newest, "", now)
        if topic is not None and first.when != newest.when:
            text += f" {self._said_then(first, 'the first time was ', now)}"
        return text

    def _said_then(self, told: ToldItem, opening: str, now: datetime) -> str:
        phrase = spoken_phrase(told.text, english=self._english)
        text = f"{opening}{precisely(told.when, now)}: {_ended(phrase)}"
        return f"{text[:1].upper()}{text[1:]}"

    def _told(self, sources: Sequence[ToldItem]) -> str:
        now = self._now()
        each_once: dict[str, ToldItem] = {}  # a fact and its source may say the same
        for each in sources:
            phrase = spoken_phrase(each.text, each.speaker, english=self._english)
            each_once.setdefault(phrase, each)
        named = list(each_once.values())[:NAMED]
        first, *others = [self._sentence(each, now) for each in named]
        return " ".join([first, *(_continued(each) for each in others)])

    def _sentence(self, told: ToldItem, now: datetime) -> str:
        """Return a sentence that names a source and says when it was told."""
        memory, phrase = told.memory, spoken_phrase(told.text, told.speaker, english=self._english)
        when = briefly(told.when, now)
        then = f" {when}" if when else ""
        quoted = phrase.startswith('"')
        if told.speaker != USER or phrase.startswith("your question"):
            return f"That goes back to {phrase}{f', {when}' if when else ''}."
        if memory is not None and ADDED_BY_USER in memory.sources:
            return (
                f"You asked me{then} to remember {'this: ' if quoted else 'that '}{_ended(phrase)}"
            )
        if memory is not None and memory.kind is not MemoryKind.EXCHANGE:
            how = "summarised" if memory.kind is MemoryKind.SUMMARY else "noted"
            return f"I {how} that from what you told me{then}: {_ended(phrase)}"
        if quoted:
            return f"You said{then}: {_ended(phrase)}"
        return f"You told me{then} that {_ended(phrase)}"

    def _obeying(self, command: Command) -> str:
        if command.kind is CommandKind.KNOW:
            return "You asked me what I know. I looked, and no model was involved."
        what = ASKED.get(command.kind, FORGETTING)
        return f"I said that because you asked me to {what}. It only says what came of that."


def _continued(sentence: str) -> str:
    """Join a sentence to the one before it: "You told me" → "And you told me"."""
    small = sentence if sentence.startswith("I ") else sentence[:1].lower() + sentence[1:]
    return f"And {small}"


def _ended(text: str) -> str:
    return text if text.endswith("…") else f"{text}."
