"""The base class of idle jobs that ask the language model.

A job processes its subjects one by one, each in these steps:

    read    load the subject; None if there is nothing to do
    make    ask the model and check its answer
    read    load again, and skip the subject if it was forgotten or corrected in the meantime
    keep    first change the memories, then record that the subject is done

A job defines its `prompt`, its `schema` and these three methods; `fact_extraction.py` is an
example. A job may be cancelled at any `await`, and later starts again with the same subject. So
`keep` must be idempotent, and must change the memories before it records that the subject is done.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar

from assistant.context import FewShotPrompt, ask_for_json
from assistant.language.stemming import TextAnalyzer
from assistant.memory import Transcript, UserMemory
from assistant.memory.curation import DerivedOutput, DerivedOutputs, rewrite
from models.interfaces import LanguageModel

Source = TypeVar("Source")
Made = TypeVar("Made")


def utc_now() -> datetime:
    return datetime.now(UTC)


class ModelJob(ABC, Generic[Source, Made]):
    """An idle job for one user's memories. It supports only English, and is not created for other
    languages.

    Args:
        llm: if None, the job only uses rules.
        now: wall time, UTC.
    """

    kind: str
    priority: int
    schema: Mapping[str, Any]
    """JSON schema of the model's answer."""
    max_tokens: int
    """Maximum number of tokens of the model's answer."""
    recurs = False
    rules = 1
    """Version of the job's rules and prompt."""

    def __init__(
        self,
        transcript: Transcript,
        memory: UserMemory,
        llm: LanguageModel | None,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._transcript = transcript
        self._memory = memory
        self._user = memory.user_id
        self._derived = DerivedOutputs(transcript, memory.user_id)
        self._llm = llm
        self._prompt = self.prompt()
        self._lexicon = TextAnalyzer("en")
        self._now = now
        self.version = 2 * self.rules + (llm is not None)
        """Version of the job's output. It differs with and without a model."""

    # -- to be implemented by a job -------------------------------------------------------------

    @abstractmethod
    def prompt(self) -> FewShotPrompt:
        """Return the instructions and examples that precede every question; always the same
        ones."""

    @abstractmethod
    def read(self, subject: str) -> Source | None:
        """Load the words from which the subject's output is derived, without hidden parts. Return
        None if there is nothing to derive, or if the output exists already. Repeated calls return
        equal values until the words change. Blocks."""

    @abstractmethod
    async def make(self, source: Source) -> Made:
        """Create the output, limited to what the words support. Has no side effects.

        Raises:
            ModelFailed: the model failed, or did not answer the question.
        """

    @abstractmethod
    async def keep(self, source: Source, made: Made) -> None:
        """Change the memories, then record the output with `note`. Raises StoreError."""

    # -- provided -------------------------------------------------------------------------------

    @property
    def light(self) -> bool:
        return self._llm is None

    @property
    def model(self) -> str:
        return self._llm.name if self._llm is not None else ""

    async def missing(self, limit: int) -> Sequence[str]:
        return await asyncio.to_thread(self.lacking, limit)

    def lacking(self, limit: int) -> Sequence[str]:
        """Return the exchanges that have no output. A job with other subjects overrides this.
        Blocks."""
        return self._derived.missing(self.kind, self.version, limit)

    async def run(self, subjects: Sequence[str]) -> None:
        for subject in subjects:
            source = await asyncio.to_thread(self.read, subject)
            if source is None:
                continue
            made = await self.make(source)
            if await asyncio.to_thread(self.read, subject) == source:
                await self.keep(source, made)

    async def ask(self, question: str) -> Any:
        """Ask the model, and return its answer as parsed JSON in the form of `schema`. Raises
        ModelFailed."""
        assert self._llm is not None
        return await ask_for_json(self._llm, self._prompt, question, self.schema, self.max_tokens)

    async def note(self, output: DerivedOutput, memories: Sequence[str] = ()) -> bool:
        """Record the output. If some of its sources were forgotten in the meantime, record nothing,
        remove the memories with the ids `memories`, and return False. Raises StoreError."""
        if await asyncio.to_thread(self.noted, output, self.model):
            return True
        await asyncio.to_thread(self._take_back, memories)
        return False

    def noted(self, output: DerivedOutput, model: str) -> bool:
        """Record the output. Return whether it was recorded. Blocks. Raises StoreError."""
        return self._derived.keep(self.kind, self.version, model, output, self._now())

    def _take_back(self, memories: Sequence[str]) -> None:
        """Remove the memories completely, including from older versions of the store."""
        made = self._memory.table.get(self._user, memories) if memories else []
        if made:
            self._memory.delete(made)
            rewrite(self._memory.table)
