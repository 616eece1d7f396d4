"""A recorded conversation, as it may be shown."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path

from assistant.encryption import MasterKey
from assistant.memory.forgetting.redaction import without_hidden
from assistant.memory.transcript.conversation_recordings import Recording, Recordings
from assistant.memory.transcript.database import Transcript
from assistant.paths import Home


def read_recording(home: Home, path: Path, key: MasterKey | None) -> Recording:
    """Without what is to be forgotten, and is not yet gone.

    Args:
        key: of the home; not needed for a file that is not sealed.

    Raises:
        StoreError: it can't be read.
    """
    recording = Recordings(home.recordings, key).read(path)
    # One that is not sealed was not made in an encrypted home.
    if not home.transcript.exists() or (key is None and home.key_file.exists()):
        return recording
    with closing(Transcript.open(home.transcript, key)) as transcript:
        rows = without_hidden(transcript, recording.header.conversation, recording.rows)
    return replace(recording, rows=tuple(rows))
