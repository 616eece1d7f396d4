"""Vectors of what is asked and of what is remembered, with caches of both.

A query is encoded in a thread of its own, so that recall can go on without it at its deadline; a
result that comes late still lands in the cache, where the same question finds it. To wake a thread
and to be woken by it takes longer than the encoding where the machine is busy: so one that was
quick lately runs in the caller's thread. Documents are encoded in the caller's thread too: a query
never waits behind them.

Words that may yet change (the user still speaks) are *drafts*. They are kept apart, and dropped
when the turn is decided; what is encoded ahead of the end has a thread of its own.
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

DRAFTS_KEPT = 4
RECENT = LAST
"""Encodings of queries by which it is told how long the next one will take."""
LONGEST_QUERY = LONGEST_READ
"""Characters; of a longer one the end is taken, where the question is. Two minutes of speech."""
LONGEST_DOCUMENT = LONGEST_TEXT
"""Characters; of a longer one the beginning is taken. More than an encoder reads."""


class VectorCache:
    """The last `size` used vectors by text. Thread-safe; the vectors are read-only.

    Nothing is added that was asked for before something was forgotten: the work may have begun on
    the very words that had to go.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._vectors: OrderedDict[str, Vector] = OrderedDict()
        self._lock = threading.Lock()
        self._forgotten = 0

    @property
    def epoch(self) -> int:
        """To be noted when a vector is asked for, and given to `put`."""
        return self._forgotten

    def get(self, text: str) -> Vector | None:
        with self._lock:
            vector = self._vectors.get(text)
            if vector is not None:
                self._vectors.move_to_end(text)
            return vector

    def put(self, text: str, vector: Vector, epoch: int) -> None:
        with self._lock:
            if epoch != self._forgotten:
                return
            self._vectors[text] = vector
            self._vectors.move_to_end(text)
            while len(self._vectors) > self._size:
                self._vectors.popitem(last=False)

    def forget(self, texts: Iterable[str]) -> None:
        with self._lock:
            self._forgotten += 1
            for text in texts:
                self._vectors.pop(text, None)

    def clear(self) -> None:
        with self._lock:
            self._forgotten += 1
            self._vectors.clear()

    def newest(self) -> Vector | None:
        """The one that was used last."""
        with self._lock:
            return next(reversed(self._vectors.values()), None)

    def texts(self) -> list[str]:
        """What it holds, oldest first: forgetting looks through them."""
        with self._lock:
            return list(self._vectors)


class QueryEncoder:
    """Encodes for recall, and remembers what it has encoded.

    Args:
        queries: encodes what is asked; quick.
        documents: encodes what is remembered, into the same space; the same one where None.
        stronger: finds more and takes longer, with vectors of its own; this one is quick, always
            there, and stands in for it. What is told to this one of drafts and of forgetting is
            told to it as well.
        rest: see the method.

    Both may be loaded already; `load` does it otherwise, but not for the stronger one.
    """

    def __init__(
        self,
        queries: SentenceEncoder,
        documents: SentenceEncoder | None = None,
        *,
        stronger: "QueryEncoder | None" = None,
        rest: Callable[[], None] = lambda: None,
        queries_kept: int = 1_000,
        documents_kept: int = 500,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.stronger = stronger
        self._rest = rest
        self.loaded = False
        """Set by `load`."""
        self._queries = queries
        self._documents = documents or queries
        self._query_cache = VectorCache(queries_kept)
        self._document_cache = VectorCache(documents_kept)
        self._drafts = VectorCache(DRAFTS_KEPT)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="query-encoder")
        self._thread_ahead = ThreadPoolExecutor(1, thread_name_prefix="query-encoder-ahead")
        self._ahead: tuple[str, Future[Vector]] | None = None
        self._ahead_since = 0.0
        self._clock = clock
        self._took: deque[float] = deque(maxlen=RECENT)

    @property
    def name(self) -> str:
        """Of the model whose vectors these are; another name's vectors can't be compared."""
        return self._documents.name

    @property
    def epoch(self) -> int:
        """Another one after anything was forgotten."""
        return self._query_cache.epoch

    @property
    def dimensions(self) -> int:
        """Known after `load`."""
        return self._queries.dimensions

    def load(self) -> None:
        """Blocking. Raises as the encoders' own `load`."""
        self._queries.load()
        self._documents.load()
        self.loaded = True

    def submit(self, text: str, *, draft: bool = False, at_once_s: float = 0.0) -> "Future[Vector]":
        """The unit vector of a query, shape (dimensions,); done at once where it is known.

        Cancel what nobody waits for any more: what hasn't begun is dropped. The future raises
        ModelFailed where the encoder failed.

        Args:
            draft: the words may yet change; `settle` says when they no longer do.
            at_once_s: encode it before returning, if each of the last few took less than that.
        """
        query = query_key(text)
        if self._ahead is not None:
            text_ahead, job = self._ahead
            if text_ahead == query and job.running():
                return job  # what is begun is done sooner than what would begin now
            job.cancel()
        cache = self._drafts if draft else self._query_cache
        if len(self._took) == RECENT and max(self._took) < at_once_s:
            return self._at_once(query, cache)
        return self._submit(self._thread, query, cache)

    def ahead(self, text: str) -> None:
        """Encode a draft while nobody waits for it: one at a time, in place of what still waits to
        be begun. Neither `submit` nor `encode_query` waits for it."""
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
        """Seconds until the vector of a query is there, by what the last ones took; 0 where it is
        known, and where nothing is known of that."""
        query = query_key(text)
        took = list(self._took)
        if not took or self._known_query(query) is not None:
            return 0.0
        begun = self._ahead is not None and self._ahead[0] == query and self._ahead[1].running()
        since = self._clock() - self._ahead_since if begun else 0.0
        return max(0.0, statistics.median(took) - since)

    def under_way(self, text: str) -> "Future[Vector] | None":
        """What was begun ahead for this query; what still waits to be begun is given up."""
        if self._ahead is None:
            return None
        query, job = self._ahead
        if query == query_key(text) and not job.cancel():
            return job
        job.cancel()
        return None

    def settle(self, text: str | None = None) -> None:
        """The words are final, or there are none: all drafts go, and the vector of `text`, where
        there is one, is kept as that of any other query."""
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
        """The vector of the newest draft."""
        return self._drafts.newest()

    def known(self, text: str) -> Vector | None:
        """The vector of what was lately encoded, as a document or as a query; nothing is encoded
        for it."""
        known = self._document_cache.get(document_key(text))
        return known if known is not None else self._query_cache.get(query_key(text))

    def rest(self) -> None:
        """No documents are to be encoded for a while: what that took is given back."""
        self._rest()

    def encode_query(self, text: str) -> Vector:
        """As `submit`, waiting for it. Raises ModelFailed."""
        return self.submit(text).result()

    def encode_documents(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors, shape (len(texts), dimensions). Raises ModelFailed."""
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
        """As `encode_documents`, and nothing is kept of them."""
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
        # An equal one that waited before this one has just been encoded.
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
        """Drop what is kept of these texts as documents, and all queries: which of them asked for
        what has to go, no comparison of texts can tell."""
        gone = list(texts)
        if gone:
            self._query_cache.clear()
            self._drop_drafts()
            self._document_cache.forget(map(document_key, gone))
        if self.stronger is not None:
            self.stronger.forget(gone)

    def forget_queries(self) -> None:
        """Drop what is kept of queries."""
        self._query_cache.clear()
        self._drop_drafts()
        if self.stronger is not None:
            self.stronger.forget_queries()

    def clear(self) -> None:
        """Drop all that is kept."""
        self.forget_queries()
        self._document_cache.clear()
        if self.stronger is not None:
            self.stronger.clear()

    def texts(self) -> list[str]:
        """All texts of which something is kept."""
        caches = (self._query_cache, self._drafts, self._document_cache)
        own = [text for cache in caches for text in cache.texts()]
        return own + (self.stronger.texts() if self.stronger is not None else [])

    def close(self) -> None:
        """End the threads; what waits is dropped. Idempotent."""
        for thread in (self._thread, self._thread_ahead):
            thread.shutdown(wait=False, cancel_futures=True)
        self._rest()
        if self.stronger is not None:
            self.stronger.close()


def _seen(job: "Future[Vector]") -> None:
    """What fails ahead fails again, and is told, when it is asked for."""
    if not job.cancelled():
        job.exception()


def query_key(text: str) -> str:
    """What of a query is encoded."""
    return _plain(text[-LONGEST_QUERY:])


def document_key(text: str) -> str:
    """What of a document is encoded."""
    return _plain(text[:LONGEST_DOCUMENT])


def _plain(text: str) -> str:
    """Without what can't be written as UTF-8, and without NUL, which means nothing to anybody."""
    return text.replace("\0", " ").encode("utf-8", "replace").decode("utf-8").strip()


def _own(vector: Vector) -> Vector:
    """A copy of one row that can't be changed; the row itself would keep its whole batch alive."""
    copy = vector.copy()
    copy.flags.writeable = False
    return copy
