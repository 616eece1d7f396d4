"""The skill that tells what is remembered."""

import asyncio

from assistant.errors import StoreError
from assistant.intents import Command, CommandKind
from assistant.memory import Resolver, spoken_replies
from assistant.skills.skill import Reply


class Explaining:
    """Tells the user what is known. It changes nothing.

    Args:
        english: whether the language is English, so that replies may rephrase what was said.
    """

    kinds = frozenset({CommandKind.KNOW})

    def __init__(self, resolver: Resolver, *, english: bool = True) -> None:
        self._resolver = resolver
        self._english = english

    async def carry_out(self, command: Command) -> Reply | None:
        text = await asyncio.to_thread(self._known, command.words)
        return Reply(text) if text is not None else None

    async def ask(self, command: Command) -> Reply | None:
        """Never ask: if it isn't sure that this is meant, the language model's answer is as
        good."""
        del command
        return None

    def _known(self, topic: str | None) -> str | None:
        """Return a reply that tells what is known about a topic, or the newest memories if the
        topic is None. Return None if nothing is known, so that the language model answers. Blocks.
        """
        if topic is None:
            return spoken_replies.known(None, self._resolver.newest(), english=self._english)
        try:
            facts = self._resolver.about(topic)
        except StoreError:
            return None
        return spoken_replies.known(topic, facts, english=self._english) if facts else None
