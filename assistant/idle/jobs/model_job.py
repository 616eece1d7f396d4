"""What a job that asks the language model has in common with every other such job.

For each subject, one after the other:

    read    what there is of it; None where nothing is to be made
    make    ask the model, check what it says
    read    again: what was forgotten or put right meanwhile is let be
    keep    change the memories first, then note that it was done

A job adds its `prompt`, its `schema` and these three steps; `fact_extraction.py` is an example.
It may be cancelled at any `await` and begins the subject anew then. So `keep` has to come to the
same when it is repeated: what is noted last is what makes the subject done.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar

from assistant.idle.jobs.structured_output import FewShotPrompt, ask_for_json
from assistant.language.stemming import TextAnalyzer
from assistant.memory import Transcript, UserMemory
from assistant.memory.curation import DerivedOutput, DerivedOutputs, rewrite
from models.interfaces import LanguageModel

Source = TypeVar("Source")
Made = TypeVar("Made")


def utc_now() -> datetime:
    return datetime.now(UTC)


class ModelJob(ABC, Generic[Source, Made]):
    """One user's. Needs English: of other languages nothing is taken.

    Args:
        llm: None leaves to the rules what they can do alone.
        now: wall time, UTC.
    """

    kind: str
    priority: int
    schema: Mapping[str, Any]
    """Of the model's answer."""
    max_tokens: int
    """Of the model's answer."""
    recurs = False
    rules = 1
    """The version of the job's rules and its prompt."""

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
        """With a model it is another one than without."""

    # -- what a job adds ------------------------------------------------------------------------

    @abstractmethod
    def prompt(self) -> FewShotPrompt:
        """Before every question, the same from one to the next."""

    @abstractmethod
    def read(self, subject: str) -> Source | None:
        """What there is of it now, of which nothing is hidden; None where nothing is to be made of
        it, or it was made. Equal to what was read before as long as nothing has changed. Blocks."""

    @abstractmethod
    async def make(self, source: Source) -> Made:
        """What becomes of it, as far as the words bear it out. Changes nothing.

        Raises:
            ModelFailed: the model failed, or did not answer the question.
        """

    @abstractmethod
    async def keep(self, source: Source, made: Made) -> None:
        """Change the memories, then `note` it. Raises StoreError."""

    # -- what it has ----------------------------------------------------------------------------

    @property
    def light(self) -> bool:
        return self._llm is None

    @property
    def model(self) -> str:
        return self._llm.name if self._llm is not None else ""

    async def missing(self, limit: int) -> Sequence[str]:
        return await asyncio.to_thread(self.lacking, limit)

    def lacking(self, limit: int) -> Sequence[str]:
        """Exchanges; a job of other subjects has its own. Blocks."""
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
        """What the model answers, in the form of `schema`. Raises ModelFailed."""
        assert self._llm is not None
        return await ask_for_json(self._llm, self._prompt, question, self.schema, self.max_tokens)

    async def note(self, output: DerivedOutput, memories: Sequence[str] = ()) -> bool:
        """It was done. Says whether that was kept: where something of it was forgotten meanwhile it
        is not, and the memories with these ids are taken back. Raises StoreError."""
        if await asyncio.to_thread(self.noted, output, self.model):
            return True
        await asyncio.to_thread(self._take_back, memories)
        return False

    def noted(self, output: DerivedOutput, model: str) -> bool:
        """Blocks; raises StoreError."""
        return self._derived.keep(self.kind, self.version, model, output, self._now())

    def _take_back(self, memories: Sequence[str]) -> None:
        """Nothing of them stays, not in the store's older versions either."""
        made = self._memory.table.get(self._user, memories) if memories else []
        if made:
            self._memory.delete(made)
            rewrite(self._memory.table)
