"""Everything that contains, or might contain, a person's words: files of a home, and parts of RAM.

Code that creates a new file in a home must add it here; a test and `assistant memory
verify-forgotten` report files that are not listed. A store that must be purged and searched as well
registers a `DataLocation` with the transcript.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from assistant.paths import Home


@dataclass(frozen=True, slots=True)
class DataLocation:
    """`paths` are file patterns relative to the home; `*` also matches folders. Without any, it is
    only in RAM."""

    name: str
    what: str
    paths: tuple[str, ...]
    holds_words: bool


MEMORIES = "memories"
TRANSCRIPT = "transcript"
ASIDE = "damaged"
LOGS = "logs"
RECORDINGS = "recordings"

DATA_INVENTORY: tuple[DataLocation, ...] = (
    DataLocation(
        TRANSCRIPT,
        "what was said, and its log",
        tuple(f"transcript.sqlite3{ending}" for ending in ("", "-wal", "-shm", "-journal")),
        True,
    ),
    DataLocation(
        MEMORIES,
        "the table of memories, and its locks",
        ("memories/memories.lance/*", "memories/.lock", "memories/.writer"),
        True,
    ),
    DataLocation("marker", "ids of what was forgotten", ("memories/forgotten.lance/*",), False),
    DataLocation(
        "reading",
        "says that the memories are being read",
        ("memories.reading",),
        False,
    ),
    DataLocation(
        "saving",
        "names of stores that were set aside and are still to be brought over",
        ("memories.saving",),
        False,
    ),
    DataLocation(
        ASIDE,
        "stores that were set aside",
        ("memories.damaged*", "transcript.sqlite3.damaged*"),
        True,
    ),
    DataLocation(
        "settings",
        "settings with the user's instructions",
        ("settings.toml", "settings.new"),
        True,
    ),
    DataLocation("key", "the locked key", ("encryption.json", "encryption.new"), False),
    DataLocation(
        "conversion",
        "a copy of the data folder while it is encrypted or decrypted",
        ("converting/*", "converted/*"),
        True,
    ),
    DataLocation(
        RECORDINGS,
        "recorded conversations, and their lock",
        ("recordings/*.jsonl", "recordings/*.new", "recordings/.lock"),
        True,
    ),
    DataLocation("receipts", "what was forgotten when", ("receipts.jsonl", "receipts.new"), False),
    DataLocation("ledger", "times of turns", ("ledger.jsonl",), False),
    DataLocation(
        LOGS,
        "errors, without words",
        ("logs/assistant.log", "logs/assistant.log.[123]", "logs/native.log"),
        False,
    ),
    DataLocation(
        "door",
        "where commands reach the assistant",
        ("door/address", "door/address.new", "door/socket"),
        False,
    ),
    DataLocation("finder", "what macOS knows of a folder", (".DS_Store", "*/.DS_Store"), False),
    DataLocation("use", "the lock of a data folder in use", (".in-use",), False),
    DataLocation("window", "the conversation in the prompt, and its summary", (), True),
    DataLocation("index", "memories, their words and vectors", (), True),
    DataLocation("encoder", "vectors of questions and texts, by their words", (), True),
    DataLocation("link", "memories that wait for the store", (), True),
    DataLocation("profile", "what is always in the prompt", (), True),
    DataLocation("recorder", "events on their way to a recording", (), True),
    DataLocation("model", "the language model's cache of the prompt", (), True),
)
"""The files first, then what is only in RAM."""


def set_aside(home: Home) -> list[Path]:
    """Folders and files that were set aside as damaged, by this program or the user."""
    patterns = next(holder.paths for holder in DATA_INVENTORY if holder.name == ASIDE)
    return sorted(path for pattern in patterns for path in home.root.glob(pattern))


def files(home: Home, folder: Path | None = None) -> Iterator[tuple[Path, DataLocation | None]]:
    """Each file of a home, with its entry in `DATA_INVENTORY`; None if it has none. Links are not
    followed, and have no entry.

    Args:
        folder: where the memories are, if elsewhere.
    """
    own = folder is None or folder == home.memories
    inside = not own and folder is not None and folder.is_relative_to(home.root)
    for path in _below(home.root):
        if inside and folder is not None and path.is_relative_to(folder):
            continue
        yield path, None if path.is_symlink() else _claimed(path.relative_to(home.root))
    if not own and folder is not None:
        for path in _below(folder):
            relative = Path(MEMORIES) / path.relative_to(folder)
            yield path, None if path.is_symlink() else _claimed(relative)


def _claimed(relative: Path) -> DataLocation | None:
    name = relative.as_posix()
    return next(
        (h for h in DATA_INVENTORY if any(fnmatchcase(name, pattern) for pattern in h.paths)), None
    )


def _below(folder: Path) -> Iterator[Path]:
    """Everything but folders; `rglob` follows no links."""
    if folder.is_dir():
        yield from sorted(
            path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()
        )
