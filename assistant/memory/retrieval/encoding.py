"""Encodes questions and memories as vectors, and caches the vectors.

A query is encoded on a separate thread, so that recall can go on without the vector when its
deadline is reached. A vector that comes too late is still cached, in case the question is asked
again. On a busy machine, waking a thread takes longer than encoding. So if the last encodings were
fast, the query is encoded on the caller's thread. Documents are always encoded on the caller's
thread, so that no query has to wait for them.

While the user is still speaking, the words heard so far are *drafts*: they may still change.
Vectors of drafts are cached separately, and dropped when the turn ends. Another thread encodes
drafts ahead of time.
"""

import statistics
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np

from assistant.errors import ModelFailed
from assistant.memory.records.arrays import Vector, Vectors
from assistant.memory.records.memory import LONGEST_READ
from assistant.memory.records.validation import LONGEST_TEXT
from assistant.memory.retrieval.deadline import LAST
from models.interfaces import SentenceEncoder

DRAFTS_KEPT, QUERIES_KEPT, DOCUMENTS_KEPT = 4, 1_000, 500
RECENT = LAST
"""Number of recent query encodings that predict how long the next one takes."""
LONGEST_QUERY = LONGEST_READ
"""Maximum number of characters of a query that are encoded: about two minutes of speech. Only the
end of a longer text is used, because the question is usually there."""
LONGEST_DOCUMENT = LONGEST_TEXT
"""Maximum number of characters of a document that are encoded: more than any encoder reads. Only
the beginning of a longer text is used."""


class VectorCache:
    """Caches the `size` most recently used vectors by their text. Thread-safe; the vectors are
    read-only.

    A vector is not added if something was forgotten after the vector was requested, because it may
    be the vector of the forgotten words.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._vectors: OrderedDict[str, Vector] = OrderedDict()
        self._lock = threading.Lock()
        self.epoch = 0
        """Number that changes when something is forgotten. Read it when you request a vector, and
        pass it to `put`."""

    def get(self, text: str) -> Vector | None:
        with self._lock:
            vector = self._vectors.get(text)
            if vector is not None:
                self._vectors.move_to_end(text)
            return vector

    def put(self, text: str, vector: Vector, epoch: int) -> None:
        with self._lock:
            if epoch != self.epoch:
                return
            self._vectors[text] = vector
            self._vectors.move_to_end(text)
            while len(self._vectors) > self._size:
                self._vectors.popitem(last=False)

    def forget(self, texts: Iterable[str]) -> None:
        with self._lock:
            self.epoch += 1
            for text in texts:
                self._vectors.pop(text, None)

    def clear(self) -> None:
        with self._lock:
            self.epoch += 1
            self._vectors.clear()

    def newest(self) -> Vector | None:
        """Return the most recently used vector; None if the cache is empty."""
        with self._lock:
            return next(reversed(self._vectors.values()), None)

    def texts(self) -> list[str]:
        """Return the cached texts, least recently used first. Forgetting searches them for the
        forgotten words."""
        with self._lock:
            return list(self._vectors)


class QueryEncoder:
    """Encodes queries and documents for recall, and caches the vectors.

    Args:
        queries: encodes questions; fast.
        documents: encodes memories into the same vector space; default: `queries`.
        stronger: another encoder, which finds more but takes longer and has its own vector space.
            Recall uses this object's vectors whenever those of `stronger` are not ready. Drafts and
            forgetting are passed on to `stronger`.
        rest: frees the memory that encoding documents uses. It is called when no more documents are
            expected for a while.

    `load` loads `queries` and `documents` unless they are loaded already. It doesn't load
    `stronger`.
    """

    def __init__(
        self,
        queries: SentenceEncoder,
        documents: SentenceEncoder | None = None,
        *,
        stronger: "QueryEncoder | None" = None,
        rest: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.stronger = stronger
        self._both = (self,) if stronger is None else (self, stronger)
        self.rest = rest
        self.loaded = False
        """Whether `load` has completed."""
        self._queries = queries
        self._documents = documents or queries
        self._query_cache = VectorCache(QUERIES_KEPT)
        self._document_cache = VectorCache(DOCUMENTS_KEPT)
        self._drafts = VectorCache(DRAFTS_KEPT)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="query-encoder")
        self._thread_ahead = ThreadPoolExecutor(1, thread_name_prefix="query-encoder-ahead")
        self._ahead: tuple[str, Future[Vector]] | None = None
        self._ahead_since = 0.0
        self._clock = clock
        self._took: deque[float] = deque(maxlen=RECENT)

    @property
    def name(self) -> str:
        """The model's name. Vectors of different models can't be compared."""
        return self._documents.name

    @property
    def epoch(self) -> int:
        """A number that changes whenever something is forgotten."""
        return self._query_cache.epoch

    @property
    def dimensions(self) -> int:
        """Number of dimensions of the vectors; known after `load`."""
        return self._queries.dimensions

    def load(self) -> None:
        """Load the models of both encoders. Blocking.

        Raises:
            ModelError: a model can't be loaded.
        """
        self._queries.load()
        self._documents.load()
        self.loaded = True

    def submit(self, text: str, *, draft: bool = False, at_once_s: float = 0.0) -> "Future[Vector]":
        """Encode a query; return a future of its unit vector, shape (dimensions,). The future is
        done already if the vector is cached.

        Cancel the future if the vector is no longer needed; the job is then dropped unless it has
        begun. The future raises ModelFailed if the encoder fails.

        Args:
            draft: whether the words may still change (until `settle` is called).
            at_once_s: encode on the caller's thread if each of the last few encodings took less
                than this many seconds.
        """
        query = query_key(text)
        if self._ahead is not None:
            text_ahead, job = self._ahead
            if text_ahead == query and job.running():
                return job  # the running job ends sooner than a new one
            job.cancel()
        cache = self._drafts if draft else self._query_cache
        if len(self._took) == RECENT and max(self._took) < at_once_s:
            return self._at_once(query, cache)
        return self._submit(self._thread, query, cache)

    def ahead(self, text: str) -> None:
        """Encode a draft in the background. Only one draft is encoded at a time: a new one replaces
        a draft whose encoding has not begun. `submit` and `encode_query` don't wait for drafts."""
        query = query_key(text)
        if self._ahead is None or self._ahead[0] != query:
            if self._ahead is not None:
                self._ahead[1].cancel()
            job = self._submit(self._thread_ahead, query, self._drafts)
            job.add_done_callback(_seen)
            self._ahead, self._ahead_since = (query, job), self._clock()
        if self.stronger is not None and self.stronger.loaded:
            self.stronger.ahead(text)

    def expected_s(self, text: str) -> float:
        """Return the expected seconds until the query's vector is ready, estimated from the last
        encodings. Return 0 if the vector is cached or there is no estimate."""
        query = query_key(text)
        took = list(self._took)
        if not took or self._known_query(query) is not None:
            return 0.0
        begun = self._ahead is not None and self._ahead[0] == query and self._ahead[1].running()
        since = self._clock() - self._ahead_since if begun else 0.0
        return max(0.0, statistics.median(took) - since)

    def under_way(self, text: str) -> "Future[Vector] | None":
        """Return the job that encodes this query ahead, if it has begun; otherwise None. A job that
        has not begun is cancelled."""
        if self._ahead is None:
            return None
        query, job = self._ahead
        if query == query_key(text) and not job.cancel():
            return job
        job.cancel()
        return None

    def settle(self, text: str | None = None) -> None:
        """Drop all drafts. Call this when the turn's words are final, or when there was no turn.

        Args:
            text: the final words. If a draft with the same words was encoded, its vector is cached
                like that of any other query.
        """
        epoch = self._query_cache.epoch
        if text is not None:
            query = query_key(text)
            vector = self._drafts.get(query)
            if vector is not None:
                self._query_cache.put(query, vector, epoch)
        self._drop_drafts()
        if self.stronger is not None:
            self.stronger.settle(text)

    def draft(self) -> Vector | None:
        return self._drafts.newest()

    def known(self, text: str) -> Vector | None:
        """Return the cached vector of a document or query with this text; None if it is not cached.
        Nothing is encoded."""
        known = self._document_cache.get(document_key(text))
        return known if known is not None else self._query_cache.get(query_key(text))

    def encode_query(self, text: str) -> Vector:
        """Encode a query, and wait for its vector.

        Raises:
            ModelFailed: the encoder fails.
        """
        return self.submit(text).result()

    def encode_documents(self, texts: Sequence[str]) -> Vectors:
        """Return the unit vectors of documents, shape (len(texts), dimensions).

        Raises:
            ModelFailed: the encoder fails.
        """
        epoch = self._document_cache.epoch
        keys = [document_key(text) for text in texts]
        known = {key: self._document_cache.get(key) for key in keys}
        vectors = {key: vector for key, vector in known.items() if vector is not None}
        unknown = [key for key in known if key not in vectors]
        if unknown:
            for key, row in zip(unknown, self._documents.encode(unknown), strict=True):
                vectors[key] = _own(row)
                self._document_cache.put(key, vectors[key], epoch)
        if not keys:
            return np.empty((0, self.dimensions), np.float32)
        return np.stack([vectors[key] for key in keys])

    def encode_apart(self, texts: Sequence[str]) -> Vectors:
        """Encode documents like `encode_documents`, but without reading or filling the cache."""
        return self._documents.encode([document_key(text) for text in texts])

    def _submit(
        self, thread: ThreadPoolExecutor, query: str, cache: VectorCache
    ) -> "Future[Vector]":
        known = self._known_query(query)
        done: Future[Vector] = Future()
        if known is not None:
            done.set_result(known)
            return done
        try:
            return thread.submit(self._encode_one, query, cache, cache.epoch)
        except RuntimeError:  # the thread has ended
            done.set_exception(ModelFailed(f"The encoder {self.name} was closed."))
            return done

    def _at_once(self, query: str, cache: VectorCache) -> "Future[Vector]":
        done: Future[Vector] = Future()
        try:
            done.set_result(self._encode_one(query, cache, cache.epoch))
        except ModelFailed as error:
            done.set_exception(error)
        return done

    def _encode_one(self, query: str, cache: VectorCache, epoch: int) -> Vector:
        # An equal query earlier in the queue may have been encoded just now.
        vector = self._known_query(query)
        if vector is None:
            began = self._clock()
            vector = _own(self._queries.encode([query])[0])
            self._took.append(self._clock() - began)
        cache.put(query, vector, epoch)
        return vector

    def _known_query(self, query: str) -> Vector | None:
        known = self._query_cache.get(query)
        return known if known is not None else self._drafts.get(query)

    def _drop_drafts(self) -> None:
        ahead, self._ahead = self._ahead, None
        if ahead is not None:
            ahead[1].cancel()
        self._drafts.clear()

    def forget(self, texts: Iterable[str]) -> None:
        """Drop the cached vectors of these documents, and those of all queries. Any query may have
        asked about the forgotten words, and comparing texts would not show it."""
        gone = [document_key(text) for text in texts]
        if gone:
            self.forget_queries()
            for each in self._both:
                each._document_cache.forget(gone)

    def forget_queries(self) -> None:
        for each in self._both:
            each._query_cache.clear()
            each._drop_drafts()

    def clear(self) -> None:
        self.forget_queries()
        for each in self._both:
            each._document_cache.clear()

    def texts(self) -> list[str]:
        return [
            text
            for each in self._both
            for cache in (each._query_cache, each._drafts, each._document_cache)
            for text in cache.texts()
        ]

    def close(self) -> None:
        """End the threads, dropping pending work. May be called repeatedly."""
        for each in self._both:
            each._thread.shutdown(wait=False, cancel_futures=True)
            each._thread_ahead.shutdown(wait=False, cancel_futures=True)
            each.rest()


def _seen(job: "Future[Vector]") -> None:
    """Ignore a failure to encode ahead of time. It will occur again, and be reported, when the
    vector is needed."""
    if not job.cancelled():
        job.exception()


def query_key(text: str) -> str:
    """Return the part of a query that is encoded. It is also the query's key in the cache."""
    return _plain(text[-LONGEST_QUERY:])


def document_key(text: str) -> str:
    """Return the part of a document that is encoded. It is also the document's key in the cache."""
    return _plain(text[:LONGEST_DOCUMENT])


def _plain(text: str) -> str:
    """Replace NUL characters with spaces, and characters that can't be encoded in UTF-8 with
    question marks; then strip the text."""
    return text.replace("\0", " ").encode("utf-8", "replace").decode("utf-8").strip()


def _own(vector: Vector) -> Vector:
    """Return a read-only copy of one row of a batch. The row itself would keep the whole batch in
    RAM."""
    copy = vector.copy()
    copy.flags.writeable = False
    return copy
