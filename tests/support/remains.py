"""Searches the disk for traces of forgotten texts, independently of the product's own search, in
every byte of every file and every row of every version of every table."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import lancedb
import numpy as np

from assistant.memory.store.table import MemoryTable
from tests.support.memories import stored


def pages(home: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(home.rglob("*")):
        if path.is_file():
            yield str(path.relative_to(home)), path.read_bytes()


def versions(home: Path) -> Iterator[str]:
    """Every row of every version of every table, as text."""
    db = lancedb.connect(str(home / "memories"))
    for name in db.list_tables().tables:
        table = db.open_table(name)
        for version in table.list_versions():
            table.checkout(version["version"])
            yield from (str(row) for row in table.search().to_arrow().to_pylist())


def rows(home: Path) -> Iterator[str]:
    """Every row of the transcript, whatever table it is in."""
    with closing(sqlite3.connect(home / "transcript.sqlite3")) as db:
        names = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type='table'")]
        for name in names:
            yield from (str(row) for row in db.execute(f'SELECT * FROM "{name}"'))


def marked(home: Path) -> set[str]:
    """Ids of the forgotten exchanges, from which no memory must be created again."""
    with closing(sqlite3.connect(home / "transcript.sqlite3")) as db:
        return {row[0] for row in db.execute("SELECT exchange FROM forgotten")}


def found(home: Path, sentences: set[str], vectors: list[bytes]) -> list[str]:
    """The files that contain any of the sentences or vectors, and the kinds of such rows."""
    forms = {text.encode(code) for text in sentences for code in ("utf-8", "utf-16-le")}
    hits = [name for name, data in pages(home) if any(form in data for form in forms)]
    hits += [name for name, data in pages(home) if any(each in data for each in vectors)]
    for kind, every in (("version", versions(home)), ("row", rows(home))):
        hits += [kind for text in every if any(sentence in text for sentence in sentences)]
    return hits


def vectors_of(home: Path, sentences: set[str]) -> list[bytes]:
    with closing(MemoryTable.open(str(home / "memories"))) as table:
        wanted = [each.id for each in stored(table) if each.text in sentences]
        scan = table.scan("ada", ("id",), tuple(table.encoders()), wanted)
        return [
            np.asarray(vector, np.float32).tobytes()
            for batch in scan
            for encoder in table.encoders()
            for vector in batch.vectors(encoder)[0]
            if vector.any()
        ]
