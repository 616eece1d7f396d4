"""Lists the files of a home, with their owners. In RAM, words are in the window and its summary,
the index, the encoder's cache, memories and events on their way to the disk, the profile, and the
language model's cache of the prompt.

Code that creates a new file in a home must add it here; a test and `assistant memory
verify-forgotten` report files that are not listed. A store that must be purged and searched as well
registers a `DataLocation` with the transcript.
"""

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path

from assistant.paths import Home

MEMORIES = "memories"
ASIDE = "damaged"

DATA_INVENTORY: Mapping[str, tuple[str, ...]] = {
    # Files with a person's words.
    "transcript": tuple(
        f"transcript.sqlite3{ending}" for ending in ("", "-wal", "-shm", "-journal")
    ),
    MEMORIES: ("memories/memories.lance/*", "memories/.lock", "memories/.writer"),
    ASIDE: ("memories.damaged*", "transcript.sqlite3.damaged*"),
    "settings": ("settings.toml", "settings.new"),
    "conversion": ("converting/*", "converted/*"),  # a copy, while a home is encrypted or decrypted
    "recordings": ("recordings/*.jsonl", "recordings/*.new", "recordings/.lock"),
    # Files without such words.
    "marker": ("memories/forgotten.lance/*",),  # ids of what was forgotten
    "reading": ("memories.reading",),  # says that the memories are being read
    "saving": ("memories.saving",),  # names of stores set aside, to recover memories from
    "key": ("encryption.json", "encryption.new"),
    "receipts": ("receipts.jsonl", "receipts.new"),
    "ledger": ("ledger.jsonl",),  # times of turns
    "logs": ("logs/assistant.log", "logs/assistant.log.[123]", "logs/native.log"),
    "door": ("door/address", "door/address.new", "door/socket"),  # for commands to find it
    "finder": (".DS_Store", "*/.DS_Store"),  # how macOS shows a folder
    "use": (".in-use",),  # the lock of a data folder in use
}
"""File patterns relative to the home, by the name of their owner; `*` also matches folders.
Receipts contain these names."""


def set_aside(home: Home) -> list[Path]:
    """Folders and files that were set aside as damaged, by this program or the user."""
    return sorted(path for pattern in DATA_INVENTORY[ASIDE] for path in home.root.glob(pattern))


def files(home: Home, folder: Path | None = None) -> Iterator[tuple[Path, str | None]]:
    """Each file of a home, with the name of its owner in `DATA_INVENTORY`; None if it has none.
    Links are not followed, and have no owner.

    Args:
        folder: where the memories are, if not in the home's own folder.
    """
    own = folder is None or folder == home.memories
    inside = not own and folder is not None and folder.is_relative_to(home.root)
    for path in _below(home.root):
        if inside and folder is not None and path.is_relative_to(folder):
            continue
        yield path, _name_of(path, path.relative_to(home.root))
    if not own and folder is not None:
        for path in _below(folder):
            yield path, _name_of(path, Path(MEMORIES) / path.relative_to(folder))


def _name_of(path: Path, relative: Path) -> str | None:
    if path.is_symlink():
        return None
    file = relative.as_posix()
    return next(
        (
            name
            for name, patterns in DATA_INVENTORY.items()
            if any(fnmatchcase(file, pattern) for pattern in patterns)
        ),
        None,
    )


def _below(folder: Path) -> Iterator[Path]:
    """All files and links below a folder; `rglob` doesn't follow links."""
    if folder.is_dir():
        yield from sorted(
            path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()
        )
