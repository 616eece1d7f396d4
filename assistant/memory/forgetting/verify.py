"""Searches a home for deleted words while these words are still in RAM.

The search covers every file of the home, every version of the table of memories, and every row of
the transcript. The table's text is encoded on disk, so a search of the table's files can only find
vectors; the text is searched through LanceDB. If the transcript is unencrypted, its pages are
searched directly, including free pages and the log. If it is encrypted, only its rows are searched.
"""

import subprocess
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from assistant.encryption import PLAIN_HEADER, header_of
from assistant.errors import StoreError
from assistant.events import Searched
from assistant.memory.forgetting import data_inventory
from assistant.memory.forgetting.pattern_search import SearchPatterns
from assistant.memory.forgetting.receipts import Receipt
from assistant.memory.records.serialization import LISTS
from assistant.memory.store.lance_queries import IDS_AT_ONCE
from assistant.memory.store.lance_schema import Batch, vector_fields
from assistant.memory.store.open_table import folder_of
from assistant.memory.store.table import MemoryTable
from assistant.memory.transcript.database import Transcript
from assistant.paths import Home

READ_AT_ONCE = 1 << 20
"""Number of bytes read at once. Searching them takes about 10 ms."""
NOBODY = "nobody"
COPY = "import shutil, sys; shutil.copyfileobj(open(sys.argv[1], 'rb'), sys.stdout.buffer)"
TEXTS = ("id", "user_id", "text", "context", "speaker", "conversation", *sorted(LISTS))
"""Columns of the table that may contain user text."""
OTHERS = (
    "Other machines that share this store also forget these things when they next open it. Whether"
    " they have done so, and what copies contain, can't be known here."
)

Yield = Callable[[], object]


def patterns_of(
    transcript: Transcript,
    user: str,
    exchanges: Collection[str],
    table: MemoryTable | None = None,
    deleted: Collection[str] = (),
    changed: Collection[str] = (),
) -> SearchPatterns:
    """Create the patterns that verify the deletion of these exchanges and memories.

    Must be called before the deletion. Words that also occur in remaining texts don't count as
    traces.

    Args:
        table: None if there are no memories.
        deleted: ids of the memories to delete.
        changed: ids of memories that will no longer quote deleted texts.

    Raises:
        StoreError: something can't be read.
    """
    gone = frozenset(exchanges)
    words: list[str] = []
    kept: list[str] = []
    blobs: list[bytes] = []
    # `exchange_ids` leaves out hidden exchanges, and most exchanges to delete are hidden already.
    for _, exchange in transcript.exchanges(user, transcript.exchange_ids(user) | gone):
        (words if exchange.id in gone else kept).extend(
            (exchange.user_text, exchange.assistant_text)
        )
    for location in tuple(transcript.locations):
        going, staying = location.words(user, gone, deleted)
        words, kept = words + going, kept + staying
    if table is not None:
        contexts: set[str] = set()
        leaving, columns = {*deleted, *changed}, ("id", "text", "context")
        for batch in table.scan(user, columns):
            for key, text, context in zip(*map(batch.values, columns), strict=True):
                if key not in leaving:
                    kept.append(text)
                    contexts.add(context)
        for texts, vectors in _deleted(table, user, deleted, kept, contexts):
            words += texts
            blobs += vectors
    return SearchPatterns.of(words, blobs, kept)


def _deleted(
    table: MemoryTable,
    user: str,
    ids: Collection[str],
    kept: Iterable[str],
    contexts: Collection[str],
) -> Iterator[tuple[list[str], list[bytes]]]:
    """Yield the texts and vectors of memories to delete.

    A vector is left out if a remaining memory has the same text and therefore the same vector.
    """
    asked, encoders, staying = list(ids), tuple(table.encoders()), {text.strip() for text in kept}
    for at in range(0, len(asked), IDS_AT_ONCE):
        some = asked[at : at + IDS_AT_ONCE]
        for batch in table.scan(user, ("text", "context"), encoders, some):
            texts = batch.values("text")
            alone = np.array([text.strip() not in staying for text in texts], np.bool_)
            quoted = [context for context in batch.values("context") if context not in contexts]
            vectors: list[bytes] = []
            for encoder in encoders:
                stored, present = batch.stored_vectors(encoder)
                vectors += [vector.tobytes() for vector in stored[present & alone]]
            yield [*texts, *quoted], vectors


def verify_gone(
    patterns: SearchPatterns,
    transcript: Transcript,
    table: MemoryTable | None,
    *,
    exchanges: int = 0,
    memories: int = 0,
    breathe: Yield = lambda: None,
) -> Receipt:
    """Search all stores for the patterns. Blocks for some seconds.

    The home to search is the transcript's folder.

    Args:
        table: None if there are no memories.
        exchanges, memories: numbers of forgotten items, for the receipt.
        breathe: called between pieces of work that take a few milliseconds each.

    Raises:
        StoreError: something can't be read.
    """
    home = Home(transcript.path.parent)
    folder = folder_of(table.uri) if table is not None else None
    searched = [*search_files(home, patterns, folder, breathe)]
    if table is not None:
        searched += [search_table(table, patterns, breathe), search_tombstones(table, patterns)]
    searched.append(search_transcript(transcript, patterns))
    for location in tuple(transcript.locations):
        searched += location.search(patterns)
    unprovable = tuple(what_cannot_be_proved(transcript, table, patterns))
    return Receipt(datetime.now(UTC), exchanges, memories, tuple(searched), unprovable)


def search_files(
    home: Home, patterns: SearchPatterns, folder: Path | None = None, breathe: Yield = lambda: None
) -> Iterator[Searched]:
    """Search the raw bytes of every file of a home. Yields one result per owner of files.

    Raises:
        StoreError: a file can't be read.
    """
    by_owner: dict[str, list[Path]] = {}
    for path, owner in data_inventory.files(home, folder):
        if path.is_file() and not path.is_symlink():
            by_owner.setdefault(owner or NOBODY, []).append(path)
    for name, paths in by_owner.items():
        found, total = [], 0
        for path in paths:
            hits: set[int] = set()
            for piece, fresh in _pieces(path, patterns.overlap):
                hits |= patterns.found_in(piece)
                total += fresh
                breathe()
            if hits:
                found.append(_named(path, home))
        yield Searched(f"files of {name}", files=len(paths), bytes=total, found=tuple(found))


def search_table(
    table: MemoryTable, patterns: SearchPatterns, breathe: Yield = lambda: None
) -> Searched:
    """Search the texts and vectors in every version of the table.

    Raises:
        StoreError: the table can't be read.
    """
    found: dict[int, None] = {}
    seen: set[int] = set()
    total = 0
    for version, batch in table.versions():
        seen.add(version)
        size, hits = _search_batch(batch, patterns, breathe)
        total += size
        if hits:
            found[version] = None
        breathe()
    places = tuple(f"version {version} of the memories" for version in found)
    return Searched("memories", versions=len(seen), bytes=total, found=places)


def search_tombstones(table: MemoryTable, patterns: SearchPatterns) -> Searched:
    """Search every version of the tombstones.

    Raises:
        StoreError: the tombstones can't be read.
    """
    versions = [[text for row in rows for text in row] for rows in table.forgotten.versions()]
    texts = [text for version in versions for text in version]
    found = ("the list of what was forgotten",) if patterns.found_in_text(texts) else ()
    size = sum(map(len, texts))
    return Searched("marker", versions=len(versions), bytes=size, found=found)


def search_transcript(transcript: Transcript, patterns: SearchPatterns) -> Searched:
    """Search every row of every table in the transcript.

    Raises:
        StoreError: the transcript can't be read.
    """
    texts = transcript.texts()
    found = ("a row of the transcript",) if patterns.found_in_text(texts) else ()
    return Searched("transcript", versions=1, bytes=sum(map(len, texts)), found=found)


def what_cannot_be_proved(
    transcript: Transcript, table: MemoryTable | None, patterns: SearchPatterns
) -> Iterator[str]:
    """Yield sentences about what the search can't prove."""
    home = Home(transcript.path.parent)
    if table is not None:
        yield from _of_the_store(home, table)
    if header_of(home.transcript) not in (b"", PLAIN_HEADER):
        yield (
            "The files are encrypted. Rows were searched after decryption; neither this search nor"
            " anybody without the key can read anything else in the files."
        )
    marked = table.layout().marked if table is not None else 0
    if marked:
        rows = "1 row" if marked == 1 else f"{marked:,} rows"
        yield f"The table still contains the encoded bytes of {rows} that were changed or removed."
    aside = list(home.root.glob("*.damaged*"))
    if aside:
        were, their = ("was", "its") if len(aside) == 1 else ("were", "their")
        yield (
            f"{', '.join(sorted(path.name for path in aside))} {were} set aside as damaged; {their}"
            " text can't be read."
        )
    if patterns.common:
        occur = "occurs" if patterns.common == 1 else "occur"
        yield f"{patterns.common} of the texts also {occur} in texts that are kept."
    if patterns.short:
        were = "was" if patterns.short == 1 else "were"
        yield f"{patterns.short} of the texts {were} too short to search for."
    for location in tuple(transcript.locations):
        yield from location.limits()


def _of_the_store(home: Home, table: MemoryTable) -> Iterator[str]:
    folder = folder_of(table.uri)
    if folder is None:
        yield (
            "Data that the provider of the object store keeps (backups, versions of objects,"
            " aborted uploads) can't be searched."
        )
    if folder is None or not folder.is_relative_to(home.root):
        yield OTHERS


# -- inside -------------------------------------------------------------------------------------


def _search_batch(batch: Batch, patterns: SearchPatterns, breathe: Yield) -> tuple[int, set[int]]:
    names = [name for name in TEXTS if name in batch.columns.schema.names]
    values = [value for name in names for value in _strings(batch.values(name))]
    hits, size = patterns.found_in_text(values), sum(map(len, values))
    for encoder in vector_fields(batch.columns.schema):
        vectors, _ = batch.stored_vectors(encoder)
        content = np.ascontiguousarray(vectors, "<f4").tobytes()
        for start in range(0, len(content), READ_AT_ONCE):
            hits |= patterns.found_in(content[start : start + READ_AT_ONCE + patterns.overlap])
            breathe()
        size += len(content)
    return size, hits


def _strings(values: Iterable[Any]) -> Iterator[str]:
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, tuple):
            yield from value


def _pieces(path: Path, overlap: int) -> Iterator[tuple[bytes, int]]:
    """Yield the pieces of a file, each with its number of new bytes.

    Each piece begins with the last bytes of the previous one. A missing file has no pieces.
    """
    kept = b""
    try:
        for content in _read(path):
            piece = kept + content
            yield piece, len(content)
            kept = piece[len(piece) - overlap :] if overlap else b""
    except FileNotFoundError:
        return
    except OSError as error:
        raise StoreError(f"The file {path} can't be searched: {error.strerror}.") from error


def _read(path: Path) -> Iterator[bytes]:
    if ".sqlite3" in path.name:
        yield from _read_elsewhere(path)
        return
    with path.open("rb") as file:
        while content := file.read(READ_AT_ONCE):
            yield content


def _read_elsewhere(path: Path) -> Iterator[bytes]:
    """Read a file in a separate process.

    If this process opened and closed an SQLite file itself, it would lose all its locks on the
    file, even those of an open connection.
    """
    reader = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", COPY, str(path)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert reader.stdout is not None
    try:
        while content := reader.stdout.read(READ_AT_ONCE):
            yield content
        if reader.wait() and path.exists():
            raise StoreError(f"The file {path} can't be searched.")
    finally:
        with suppress(OSError):
            reader.kill()
        reader.stdout.close()
        reader.wait()


def _named(path: Path, home: Home) -> str:
    return str(path.relative_to(home.root)) if path.is_relative_to(home.root) else str(path)
