"""Runs language models in GGUF files with llama.cpp, in a worker process."""

import asyncio
import os
import sys
import threading
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractContextManager, aclosing, nullcontext, suppress
from pathlib import Path
from typing import Any

from assistant.errors import ModelFailed
from models.hardware import require_free_memory, usable_cores
from models.interfaces import Chunk, Generation, Lane, Message
from models.llm.gguf import Header, read_header
from models.llm.llama_process import LORA, Worker, WorkerConfig, WorkerDied, WorkerRefused
from models.llm.special_tokens import engine_messages
from models.llm.token_counting import (
    NO_THINKING,
    ChatTemplate,
    EngineCounter,
    TokenCounter,
    VocabularyCounter,
    agree,
    vocabulary_from,
)

SLOTS = {Lane.CONVERSATION: 0, Lane.BACKGROUND: 1}
RESTARTS_PER_MINUTE = 3
LOAD_SECONDS = 180.0
BATCH_TOKENS = 32
"""Number of prompt tokens that the engine reads per step. A cancelled request ends after one or two
steps. Most turns fit into one step. Prompts are read at 85 to 90 % of the speed that 128 tokens
per step would give."""
HOLDS = sys.platform == "linux" and (os.cpu_count() or 1) <= 4
"""Whether `hold` pauses the worker. With more than 4 cores, one core is always free anyway. On
systems other than Linux, a suspended worker would stay suspended if its parent died."""
WORKING_BYTES = 200 << 20
"""Bytes of memory that the engine needs in addition to the weights and the KV cache: for the graph,
the logits and the interpreter."""
LESS_MEMORY = "Close other programs, choose a smaller model, or lower `llm.context_tokens`."


class _Description:
    """The metadata of a GGUF file. Its token lists are dropped once the token counter has been
    built."""

    def __init__(self, path: Path, wished_context: int) -> None:
        """Read the metadata.

        Raises:
            ModelMissing: the file does not exist.
            ModelCorrupt: the file is not a GGUF file, or its header is damaged.
        """
        header = read_header(path)
        self.context_tokens = min(wished_context, header.context_tokens or wished_context)
        self.memory_bytes = (
            header.file_bytes
            + header.kv_bytes_per_token * self.context_tokens * len(SLOTS)
            + WORKING_BYTES
        )
        self._template = str(header.values.get("tokenizer.chat_template", ""))
        self._header: Header | None = header
        self._counter: TokenCounter | None = None
        self._lock = threading.Lock()

    def counter(self) -> TokenCounter | None:
        """Return the token counter; None if only the engine can count this model's tokens.

        The first call takes 0.1–0.5 s.
        """
        with self._lock:
            header, self._header = self._header, None
            vocabulary = vocabulary_from(header) if header is not None and self._template else None
            if vocabulary is not None:
                with suppress(ModelFailed):  # then the engine counts: it has its own parser
                    template = ChatTemplate(self._template, bos=vocabulary.bos, eos=vocabulary.eos)
                    self._counter = VocabularyCounter(vocabulary, template)
            return self._counter


class LlamaCpp:
    """A `LanguageModel` that llama.cpp runs in a child process.

    `load` starts the child, and the child ends with this process. If the child dies, it is
    restarted. A request that has not yielded any text by then is run once more.
    """

    def __init__(
        self,
        path: Path,
        *,
        name: str | None = None,
        context_tokens: int = 8192,
        threads: int | None = None,
        adapter: Path | None = None,
        log: Path | None = None,
        on_restart: Callable[[str], None] = lambda _sentence: None,
    ) -> None:
        """Prepare the model; `load` starts it.

        Args:
            path: the GGUF file.
            name: the user's name for the model; default: the file's name.
            context_tokens: desired window; capped at the model's own.
            threads: number of threads for generation. The default is one fewer than there are
                cores. On the last core, a thread would often have to wait for other work, which
                costs more time than the thread saves.
            adapter: a GGUF file with a low-rank adapter of the model for the requests of the
                conversation; default: none.
            log: file for the output of native code; default: discarded.
            on_restart: called with a sentence for the user after the process has died. The sentence
                says whether the process was restarted.
        """
        self.path = path
        self.name = name or path.stem
        self._on_restart = on_restart
        self._wished_context = context_tokens
        # More threads than cores would spin while they wait for each other.
        self._threads = threads or max(1, usable_cores() - 1)
        self._adapter = adapter
        self._log = log
        self._described: _Description | None = None
        self._engine_counter: EngineCounter | None = None
        self._counter: TokenCounter | None = None
        self._worker: Worker | None = None
        self._starting: asyncio.Task[Worker] | None = None
        self._restarts: deque[float] = deque(maxlen=RESTARTS_PER_MINUTE)
        self._closed = False

    @property
    def context_tokens(self) -> int:
        return self._describe().context_tokens

    @property
    def worker_pid(self) -> int | None:
        """Id of the process that holds the model; None if no process is running."""
        return self._worker.pid if self._worker else None

    async def load(self) -> None:
        """Start the process and load the model.

        Raises:
            ModelMissing: the file does not exist.
            ModelCorrupt: the file is damaged.
            ModelTooLarge: the model needs more memory than is free.
            ModelFailed: the model was not ready in time, or its process died.
        """
        self._closed = False
        await self._running()

    async def close(self) -> None:
        self._closed = True
        starting, self._starting = self._starting, None
        if starting is not None:
            starting.cancel()
            await asyncio.wait([starting])
        worker, self._worker = self._worker, None
        if worker is not None:
            await worker.stop()
        if self._engine_counter is not None:
            self._engine_counter.close()

    async def stream(self, request: Generation) -> AsyncGenerator[Chunk]:
        body = self._body(request)
        beside = request.lane is Lane.BACKGROUND and not request.urgent
        streamed = False
        for last_try in (False, True):
            worker = await self._running()
            try:
                async with aclosing(worker.run(body, in_pieces=beside)) as chunks:
                    async for chunk in chunks:
                        streamed = True
                        yield chunk
                return
            except WorkerRefused as refusal:
                raise self._explained(refusal) from refusal
            except WorkerDied as death:
                if streamed or last_try or self._closed:
                    raise ModelFailed(
                        f"The language model {self.name} stopped in the middle of its answer "
                        f"({death})."
                    ) from death

    def hold(self) -> AbstractContextManager[None]:
        """Pause the worker process during the block.

        If two "cores" share a physical one, speech synthesis takes twice as long while tokens are
        generated (320 instead of 160 ms for a clause). This matters because the user is waiting for
        the first clause.
        """
        worker = self._worker if HOLDS else None
        return worker.paused() if worker is not None else nullcontext()

    def count(self, text: str) -> int:
        return self._counting().count(text)

    def count_messages(self, messages: Sequence[Message]) -> int:
        return self._counting().count_messages(messages)

    def _body(self, request: Generation) -> dict[str, Any]:
        """Convert the request to the form that llama.cpp takes."""
        body: dict[str, Any] = {
            "messages": engine_messages(request.messages),
            "max_tokens": request.max_tokens,
            "temperature": request.temperature,
            "id_slot": SLOTS[request.lane],
            "cache_prompt": True,
            "stream": True,
            # Makes the engine report after every batch of the prompt. A request can be cancelled
            # only when the engine reports.
            "return_progress": True,
            "chat_template_kwargs": NO_THINKING,
        }
        if self._adapter is not None and request.lane is Lane.CONVERSATION:
            body |= LORA
        if request.json_schema is not None:
            body["response_format"] = {
                "type": "json_schema",
                "json_schema": {"schema": dict(request.json_schema)},
            }
        return body

    def _explained(self, refusal: WorkerRefused) -> ModelFailed:
        if refusal.kind == "exceed_context_size_error":
            return ModelFailed(
                f"The conversation ({refusal.prompt_tokens} tokens) is longer than "
                f"{self.name} can hold ({self.context_tokens} tokens)."
            )
        return ModelFailed(f"The language model {self.name} refused the request: {refusal}.")

    async def _running(self) -> Worker:
        """Return the running worker; start one first if there is none."""
        if self._closed:
            raise ModelFailed(f"The language model {self.name} is closed.")
        if self._worker is not None:
            return self._worker
        if self._starting is None:
            self._starting = self._begin()
        # Shielded: one caller's cancellation must not abort the start that others wait for.
        return await asyncio.shield(self._starting)

    async def _start(self) -> Worker:
        try:
            described = await asyncio.to_thread(self._describe)
            require_free_memory(self.name, described.memory_bytes, LESS_MEMORY)
            config = WorkerConfig(
                path=str(self.path),
                context_tokens=described.context_tokens,
                lanes=len(SLOTS),
                threads=self._threads,
                # Nothing else has work while a prompt is read, and two cores read twice as fast as
                # one (127 instead of 236 ms to the first token, SmolLM2, 18 new tokens).
                batch_threads=usable_cores(),
                batch=BATCH_TOKENS,
                adapter=str(self._adapter or ""),
            )
            worker = Worker(config, log=self._log, on_end=self._on_end)
            try:
                await self._bring_up(worker, described)
            except BaseException:
                await worker.stop()
                raise
            self._worker = worker
            return worker
        finally:
            self._starting = None

    async def _bring_up(self, worker: Worker, described: _Description) -> None:
        try:
            # Read the vocabulary while the engine loads.
            await asyncio.gather(worker.start(LOAD_SECONDS), asyncio.to_thread(described.counter))
            await asyncio.to_thread(self._choose_counter, described, worker)
            if worker.ended:
                raise WorkerDied(worker.ended)
        except WorkerDied as error:
            raise ModelFailed(
                f"The language model {self.name} stopped while it was being loaded ({error})."
            ) from error
        except TimeoutError as error:
            raise ModelFailed(
                f"The language model {self.name} was not ready after {LOAD_SECONDS:g} s."
            ) from error

    def _on_end(self, worker: Worker) -> None:
        """Start another worker after `worker` has ended.

        Nothing is started if the model has been closed. If workers keep dying, the next one is
        started only when it is needed.
        """
        if self._worker is worker:
            self._worker = None
        if self._closed or self._starting is not None:
            return
        now = time.monotonic()
        full = len(self._restarts) == RESTARTS_PER_MINUTE
        if full and now - self._restarts[0] < 60:
            self._on_restart(f"{_ended(worker)} again; it will be restarted when next needed.")
            return
        self._restarts.append(now)
        self._starting = self._begin()
        self._starting.add_done_callback(lambda start: self._report_restart(start, worker))

    def _begin(self) -> asyncio.Task[Worker]:
        start = asyncio.create_task(self._start())
        # Callers that wait for the task get its exception. It is also retrieved here, because
        # asyncio would complain about an exception that nobody retrieved.
        start.add_done_callback(lambda done: done.cancelled() or done.exception())
        return start

    def _report_restart(self, start: asyncio.Task[Worker], worker: Worker) -> None:
        if not start.cancelled():
            error = start.exception()
            outcome = "was restarted" if error is None else f"can't be restarted: {error}"
            self._on_restart(f"{_ended(worker)} and {outcome.rstrip('.')}.")

    def _describe(self) -> _Description:
        if self._described is None:
            self._described = _Description(self.path, self._wished_context)
        return self._described

    def _choose_counter(self, described: _Description, worker: Worker) -> None:
        """Choose how tokens are counted.

        Tokens are counted in this process if the counts agree with the engine's. Otherwise, the
        engine counts them.
        """
        if self._engine_counter is not None:
            self._engine_counter.close()
        self._engine_counter = EngineCounter(worker.http())
        if self._counter is None or isinstance(self._counter, EngineCounter):
            ours = described.counter()
            agrees = ours is not None and agree(ours, self._engine_counter)
            self._counter = ours if agrees else self._engine_counter

    def _counting(self) -> TokenCounter:
        counter = self._counter or self._describe().counter()
        if counter is None:
            raise ModelFailed(f"The language model {self.name} is not loaded yet.")
        return counter


def _ended(worker: Worker) -> str:
    return f"The language model's process ended ({worker.ended})"
