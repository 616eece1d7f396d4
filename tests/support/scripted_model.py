"""A language model with scripted answers, which counts words as tokens."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import pairwise

from models.interfaces import Chunk, Generation, Message, Usage

ROLE_MARKS = 4
OPENING = 3


class ScriptedModel:
    """Gives `answers` in order, or raises them if they are exceptions; then it repeats the last.

    With `waits_for`, an answer pauses after its first piece until that event is set.
    """

    name = "scripted"

    def __init__(
        self,
        answers: Sequence[str | Exception] = ("Yes.",),
        *,
        context_tokens: int = 8192,
        waits_for: asyncio.Event | None = None,
    ) -> None:
        self.answers = list(answers)
        self.requests: list[Generation] = []
        self.cancelled = 0
        self.waits_for = waits_for
        self.writing = asyncio.Event()
        self._context_tokens = context_tokens

    @property
    def context_tokens(self) -> int:
        return self._context_tokens

    async def load(self) -> None:
        pass

    async def stream(self, request: Generation) -> AsyncGenerator[Chunk]:
        self.requests.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        try:
            for place, word in enumerate(answer.split(" ")):
                yield Chunk(word if place == 0 else f" {word}")
                self.writing.set()
                if self.waits_for is not None:
                    await self.waits_for.wait()
            yield Chunk("", Usage(self.count_messages(request.messages), 0, len(answer.split())))
        except (GeneratorExit, asyncio.CancelledError):
            self.cancelled += 1
            raise

    def hold(self) -> AbstractContextManager[None]:
        return nullcontext()

    def count(self, text: str) -> int:
        return len(text.split())

    def count_messages(self, messages: Sequence[Message]) -> int:
        for one, two in pairwise(messages):
            assert one.role != two.role, "a template may refuse two messages of one role in a row"
        return OPENING + sum(ROLE_MARKS + self.count(message.content) for message in messages)

    async def close(self) -> None:
        pass
