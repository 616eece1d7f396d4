"""Asks a language model as idle work does, and caches its answers."""

import asyncio
import hashlib
import json
import time
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from assistant.context.structured_output import FewShotPrompt, ask_for_json
from assistant.errors import ModelFailed
from assistant.paths import models_cache
from models import catalogue
from models.download.cache import ModelStore
from models.interfaces import Chunk, Generation, Lane, LanguageModel, Message
from models.llm.llama import LlamaCpp
from scripts.common.rows import read_text

THREADS = 2
CONTEXT_TOKENS = 2048


@asynccontextmanager
async def language_model(
    name: str,
    threads: int = THREADS,
    context_tokens: int = CONTEXT_TOKENS,
    *,
    adapted: bool = False,
) -> AsyncIterator[LlamaCpp]:
    """A loaded language model. If `adapted`, conversations have its adapter for answers if there is
    one, and its name says so. Raises ModelError: it doesn't exist, or has to be pulled first."""
    store = ModelStore(models_cache(), catalogue.read())
    answers = store.catalogue.get(name).answers if adapted else None
    llm = LlamaCpp(
        store.weights(name),
        name=f"{name}, adapted" if answers else name,
        adapter=answers.path if answers else None,
        context_tokens=context_tokens,
        threads=threads,
    )
    try:
        await llm.load()
        yield llm
    finally:
        await llm.close()


class Answers:
    """Answers by model, prompt and question, stored in a file if one is given. Lines are
    appended one by one, so the process may be killed at any time."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self.rows: dict[str, dict[str, Any]] = {}
        for line in read_text(file).splitlines() if file and file.exists() else ():
            row = _row(line)
            if row:
                self.rows[row["key"]] = row

    def keep(self, key: str, row: Mapping[str, Any]) -> None:
        self.rows[key] = {"key": key, **row}
        if self._file is not None:
            with self._file.open("a", encoding="utf-8") as file:
                file.write(json.dumps(self.rows[key], ensure_ascii=False) + "\n")


async def written(llm: LanguageModel, request: Generation, answers: Answers) -> str:
    """The model's answer to a request; the same request is sent only once. Raises ModelFailed."""
    parts = [llm.name, request.max_tokens, request.temperature]
    parts += [[each.role, each.content] for each in request.messages]
    key = hashlib.sha256(json.dumps(parts).encode()).hexdigest()
    if key not in answers.rows:
        text = "".join([chunk.text async for chunk in llm.stream(request)])
        await asyncio.to_thread(answers.keep, key, {"answer": text})
    return str(answers.rows[key]["answer"])


def key_of(model: str, prompt: FewShotPrompt, asked: str) -> str:
    parts = [model, prompt.instructions, list(prompt.examples), asked]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _row(line: str) -> dict[str, Any] | None:
    """The row of a line, or None if the line was cut off."""
    try:
        row = json.loads(line)
    except ValueError:
        return None
    return row if isinstance(row, dict) and "key" in row else None


class Remembered:
    """A language model whose answers are cached: each request is sent to it only once.

    Requests run on the conversation's lane, which reads prompts faster; the answers are the same.
    """

    def __init__(self, llm: LanguageModel, answers: Answers) -> None:
        self._llm = llm
        self._answers = answers
        self.name = llm.name
        self.asked = 0
        self.seconds = 0.0

    @property
    def context_tokens(self) -> int:
        return self._llm.context_tokens

    async def load(self) -> None:
        await self._llm.load()

    async def stream(self, request: Generation) -> AsyncGenerator[Chunk]:
        """Yield the answer in one piece. Raises ModelFailed."""
        parts = [self.name, request.json_schema, *(asdict(each) for each in request.messages)]
        key = hashlib.sha256(json.dumps(parts).encode()).hexdigest()
        if key not in self._answers.rows:
            self.asked += 1
            begun = time.perf_counter()
            pieces = [
                chunk.text
                async for chunk in self._llm.stream(replace(request, lane=Lane.CONVERSATION))
            ]
            self.seconds += time.perf_counter() - begun
            self._answers.keep(key, {"answer": "".join(pieces)})
        yield Chunk(self._answers.rows[key]["answer"])

    def count(self, text: str) -> int:
        return self._llm.count(text)

    def count_messages(self, messages: Sequence[Message]) -> int:
        return self._llm.count_messages(messages)

    def hold(self) -> AbstractContextManager[None]:
        return self._llm.hold()

    async def close(self) -> None:
        await self._llm.close()


@dataclass
class Asking:
    """Asks a model for JSON unless the answer is cached; `seconds` counts only new answers."""

    llm: LanguageModel
    prompt: FewShotPrompt
    schema: Mapping[str, Any]
    max_tokens: int
    answers: Answers = field(default_factory=lambda: Answers(None))
    seconds: float = 0.0
    asked: int = 0

    async def answer(self, question: str) -> Any:
        """The answer, or None if the model failed or its answer was not JSON."""
        key = key_of(self.llm.name, self.prompt, question)
        if key not in self.answers.rows:
            self.asked += 1
            begun = time.perf_counter()
            try:
                answer = await ask_for_json(
                    self.llm, self.prompt, question, self.schema, self.max_tokens
                )
            except ModelFailed:
                answer = None
            self.seconds += time.perf_counter() - begun
            self.answers.keep(key, {"answer": answer})
        return self.answers.rows[key]["answer"]
