"""Runs language models in MLX format with mlx-lm, in a thread.

MLX is made for Apple Silicon. On other processors it runs slowly.
"""

import asyncio
import threading
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from assistant.errors import (
    ModelCorrupt,
    ModelError,
    ModelFailed,
    ModelMissing,
    ModelUnavailable,
)
from models.hardware import require_free_memory
from models.interfaces import Chunk, Generation, Lane, Message
from models.llm.token_counting import TokenCounter

if TYPE_CHECKING:
    from models.llm.mlx_engine import MlxEngine

FILES = ("config.json", "tokenizer.json", "tokenizer_config.json")
WORKING_BYTES = 500 << 20
JOIN_SECONDS = 1.5
WANTED = ["*.json", "*.safetensors", "*.model", "*.jinja", "*.txt"]
"""Patterns of the files to download from a model's repository on the Hugging Face hub."""

Piece = Chunk | ModelError | None


@dataclass(eq=False, slots=True)
class _Job:
    """A request, and the queue through which the thread answers it.

    Attributes:
        pieces: the pieces of the answer, then None or an error.
    """

    request: Generation
    loop: asyncio.AbstractEventLoop
    pieces: asyncio.Queue[Piece] = field(default_factory=asyncio.Queue)
    cancelled: threading.Event = field(default_factory=threading.Event)

    def tell(self, piece: Piece) -> None:
        """Pass a piece of the answer from the thread to the event loop.

        If the loop has ended, nobody needs the answer any more, so the request is cancelled.
        """
        try:
            self.loop.call_soon_threadsafe(self.pieces.put_nowait, piece)
        except RuntimeError:
            self.cancelled.set()


class MlxModel:
    """A `LanguageModel` that mlx-lm runs in a thread.

    MLX has a single work queue per device, so one thread serves both lanes. After every token and
    every piece of a prompt, background work lets requests from the conversation go first.
    """

    def __init__(
        self,
        folder: Path,
        *,
        name: str | None = None,
        context_tokens: int = 8192,
    ) -> None:
        """Prepare the model; `load` loads it.

        Args:
            folder: holds the config, safetensors and tokenizer files, as mlx-community publishes
                them.
            name: the user's name for the model; default: the folder's name.
            context_tokens: desired window; capped at the model's own.
        """
        self.folder = folder
        self.name = name or folder.name
        self._context_tokens = context_tokens
        self._engine: MlxEngine | None = None
        self._counter: TokenCounter | None = None
        self._thread: threading.Thread | None = None
        self._loaded: Future[None] | None = None
        self._work = threading.Condition()
        self._waiting: dict[Lane, deque[_Job]] = {lane: deque() for lane in Lane}
        self._closing = False

    @property
    def context_tokens(self) -> int:
        return self._context_tokens

    async def load(self) -> None:
        """Load the model.

        Raises:
            ModelMissing: the folder or a file in it is missing.
            ModelCorrupt: a file is damaged.
            ModelTooLarge: the model needs more memory than is free.
            ModelFailed: mlx-lm is not installed, or does not support this kind of model.
        """
        if self._loaded is None:
            await asyncio.to_thread(self._require_folder_and_memory)
        if self._loaded is None:
            self._loaded, self._closing = Future(), False
            self._thread = threading.Thread(
                target=self._live, args=(self._loaded,), name="mlx", daemon=True
            )
            self._thread.start()
        loading = self._loaded
        try:
            await asyncio.shield(asyncio.wrap_future(loading))
        except ModelError:
            if self._loaded is loading:
                self._loaded = None  # the next call tries again
            raise

    async def close(self) -> None:
        with self._work:
            self._closing = True
            for lane in self._waiting.values():
                for job in lane:
                    job.cancelled.set()
            self._work.notify()
        thread, self._thread = self._thread, None
        if thread is not None:
            await asyncio.to_thread(thread.join, JOIN_SECONDS)
        self._loaded = None

    async def stream(self, request: Generation) -> AsyncGenerator[Chunk]:
        await self.load()
        job = _Job(request, asyncio.get_running_loop())
        with self._work:
            self._waiting[request.lane].append(job)
            self._work.notify()
        try:
            while (piece := await job.pieces.get()) is not None:
                if isinstance(piece, ModelError):
                    raise piece
                yield piece
        finally:
            job.cancelled.set()

    def hold(self) -> AbstractContextManager[None]:
        """Return a context manager that does nothing: on Apple Silicon, the model runs on the
        GPU."""
        return nullcontext()

    def count(self, text: str) -> int:
        return self._counting().count(text)

    def count_messages(self, messages: Sequence[Message]) -> int:
        return self._counting().count_messages(messages)

    def _counting(self) -> TokenCounter:
        if self._counter is None:
            raise ModelFailed(f"The language model {self.name} is not loaded yet.")
        return self._counter

    def _require_folder_and_memory(self) -> None:
        weights = list(self.folder.glob("*.safetensors"))
        if not weights or any(not (self.folder / name).is_file() for name in FILES):
            raise ModelMissing(
                f"There is no MLX model in {self.folder}.", mend="assistant models pull"
            )
        needed = sum(path.stat().st_size for path in weights) + WORKING_BYTES
        require_free_memory(self.name, needed, "Close other programs, or choose a smaller model.")

    def _live(self, loaded: Future[None]) -> None:
        """Load the model and process requests. This is the main function of the thread.

        All of this runs on one thread, because MLX's arrays belong to the thread that created them.
        """
        loaded.set_running_or_notify_cancel()  # so that nobody can cancel `loaded`
        try:
            engine = self._open()
        except ModelError as error:
            loaded.set_exception(error)
            return
        self._engine = engine
        self._counter = engine.counter
        self._context_tokens = min(self._context_tokens, engine.context_tokens)
        loaded.set_result(None)
        while (job := self._next()) is not None:
            self._run(engine, job)
        self._engine = None

    def _open(self) -> "MlxEngine":
        try:
            from models.llm.mlx_engine import MlxEngine
        except ImportError as error:
            raise ModelFailed(
                f"MLX models need mlx-lm, which is not installed: {error}.",
                mend="Choose a GGUF model (`llm.model`), or install mlx-lm.",
            ) from error
        try:
            return MlxEngine(self.folder)
        except ModelError:
            raise
        except Exception as error:
            raise ModelCorrupt(
                f"mlx-lm can't load {self.folder}: {error}.", mend="assistant models verify"
            ) from error

    def _next(self) -> _Job | None:
        """Wait for a request and return it. Requests from the conversation come first.

        Returns None once the model is being closed.
        """
        with self._work:
            self._work.wait_for(lambda: self._closing or any(self._waiting.values()))
            if not self._closing:
                return next(lane.popleft() for lane in self._waiting.values() if lane)
            for lane in self._waiting.values():
                while lane:
                    lane.popleft().tell(self._closed())
            return None

    def _closed(self) -> ModelFailed:
        return ModelFailed(f"The language model {self.name} is closed.")

    def _run(self, engine: "MlxEngine", job: _Job) -> None:
        def goes_on() -> bool:
            """Run any waiting requests from the conversation, then return whether this request
            should continue."""
            if job.request.lane is Lane.BACKGROUND:
                while (urgent := self._urgent()) is not None:
                    self._run(engine, urgent)
            return not (job.cancelled.is_set() or self._closing)

        try:
            for chunk in engine.generate(job.request, self._context_tokens, goes_on):
                job.tell(chunk)
            closed = self._closing and not job.cancelled.is_set()
            job.tell(self._closed() if closed else None)
        except ModelError as error:
            job.tell(error)

    def _urgent(self) -> _Job | None:
        with self._work:
            lane = self._waiting[Lane.CONVERSATION]
            return lane.popleft() if lane else None


def repository(name: str) -> Path:
    """Return the folder of the model repository `owner/name`, such as mlx-community/NAME.

    The first call downloads it from the hub, and later calls find it in the hub's local cache.
    Unlike the catalogue's models, it has no fixed version: the newest version is downloaded.

    Raises:
        ModelUnavailable: the model is not on this machine and can't be downloaded.
    """
    from huggingface_hub import snapshot_download  # slow to import
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    try:
        with suppress(LocalEntryNotFoundError):
            return Path(snapshot_download(name, allow_patterns=WANTED, local_files_only=True))
        return Path(snapshot_download(name, allow_patterns=WANTED))
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        raise ModelUnavailable(
            f"The model {name} is not on this machine, and could not be downloaded from"
            " Hugging Face.",
            mend="Check its name and the connection, or unset llm.model.",
        ) from error
