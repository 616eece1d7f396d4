"""Lists the files of a home with their owners, i.e. the parts of the program that write them.

Code that creates a new kind of file in a home must add it here. A test and `assistant memory
verify-forgotten` report files that are not listed. A new store of user text must also register a
`DataLocation` with the transcript, so that it is purged and searched.

In RAM, user text is in these places: the context window and its summary, the index, the encoder's
cache, memories and events waiting to be written to disk, the profile, and the language model's
cache of the prompt.
"""

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path

from assistant.paths import Home

MEMORIES = "memories"
ASIDE = "damaged"

DATA_INVENTORY: Mapping[str, tuple[str, ...]] = {
    # Files that contain user text.
    "transcript": tuple(
        f"transcript.sqlite3{ending}" for ending in ("", "-wal", "-shm", "-journal")
    ),
    MEMORIES: ("memories/memories.lance/*", "memories/.lock", "memories/.writer"),
    ASIDE: ("memories.damaged*", "transcript.sqlite3.damaged*"),
    "settings": ("settings.toml", "settings.new"),
    "conversion": ("converting/*", "converted/*"),  # copies made while encrypting or decrypting
    "recordings": ("recordings/*.jsonl", "recordings/*.new", "recordings/.lock"),
    # Files without user text.
    "marker": ("memories/forgotten.lance/*",),  # ids of what was forgotten
    "reading": ("memories.reading",),  # exists while the memories are being read
    "saving": ("memories.saving",),  # names of damaged stores that are yet to be recovered
    "key": ("encryption.json", "encryption.new"),
    "receipts": ("receipts.jsonl", "receipts.new"),
    "ledger": ("ledger.jsonl",),  # times of turns
    "logs": ("logs/assistant.log", "logs/assistant.log.[123]", "logs/native.log"),
    "door": ("door/address", "door/address.new", "door/socket"),  # to find the running assistant
    "finder": (".DS_Store", "*/.DS_Store"),  # how macOS shows a folder
    "use": (".in-use",),  # the lock of a data folder in use
}
"""File patterns relative to the home, by the name of the files' owner. `*` also matches slashes.
Receipts contain these names.
"""


def set_aside(home: Home) -> list[Path]:
    """Return the folders and files that this program or the user set aside as damaged."""
    return sorted(path for pattern in DATA_INVENTORY[ASIDE] for path in home.root.glob(pattern))


def files(home: Home, folder: Path | None = None) -> Iterator[tuple[Path, str | None]]:
    """Yield each file of a home with the name of its owner in `DATA_INVENTORY`; None if it has no
    owner.

    Symbolic links are not followed, and have no owner.

    Args:
        folder: the folder with the memories, if it is not the home's own.
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
    """Yield all files and links below a folder. `rglob` doesn't follow links."""
    if folder.is_dir():
        yield from sorted(
            path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()
        )
