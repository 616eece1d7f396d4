"""A home from plain to encrypted, or back: all of it or nothing, whenever the process is killed.

A copy is written to a folder of its own and compared with what it was made of. Renaming that folder
is the moment in which it counts: before it, what is left over is thrown away; after it,
`finish_or_roll_back` goes on putting the new files in the old ones' place, as often as it takes.
Both is done by whoever uses the home next.
"""

import json
import shutil

from assistant.errors import StoreError
from assistant.paths import Home, flush_to_disk

UNFINISHED = "converting"
FINISHED = "converted"
PLAN = "plan.json"


def is_unfinished(home: Home) -> bool:
    """Whether a conversion was begun and not brought to its end."""
    return (home.root / UNFINISHED).exists() or is_committed(home)


def is_committed(home: Home) -> bool:
    """Whether a conversion is past the moment in which it can be taken back."""
    return (home.root / FINISHED).exists()


def finish_or_roll_back(home: Home) -> None:
    """Finish a conversion, or take it back. The caller has the home alone.

    Raises:
        StoreError: the folder can't be written.
    """
    try:
        if (home.root / UNFINISHED).exists():
            shutil.rmtree(home.root / UNFINISHED)
        fresh = home.root / FINISHED
        if (fresh / PLAN).exists():
            _swap(home, Home(fresh))
        if fresh.exists():
            shutil.rmtree(fresh)
    except OSError as error:
        raise StoreError(
            f"The conversion of {home.root} can't be brought to its end: {error.strerror}.",
            mend="Make the folder writable, or free some space, and try again.",
        ) from error


def _swap(home: Home, fresh: Home) -> None:
    """Each step may be the last before a kill, and is done or left out the next time."""
    flush_to_disk([home.root])
    encrypted = bool(json.loads((fresh.root / PLAN).read_text("utf-8"))["encrypted"])
    if fresh.transcript.exists():
        for ending in ("-wal", "-shm"):
            home.transcript.with_name(home.transcript.name + ending).unlink(missing_ok=True)
        fresh.transcript.replace(home.transcript)
    if fresh.memories.exists():
        if home.memories.exists():
            shutil.rmtree(home.memories)
        fresh.memories.rename(home.memories)
    if fresh.recordings.exists():
        if home.recordings.exists():
            shutil.rmtree(home.recordings)
        fresh.recordings.rename(home.recordings)
    if fresh.key_file.exists():
        fresh.key_file.replace(home.key_file)
    elif not encrypted:
        home.key_file.unlink(missing_ok=True)
    flush_to_disk([home.root])
    (fresh.root / PLAN).unlink()
