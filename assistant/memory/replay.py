"""Reads a recorded conversation for display, without the exchanges that the user has asked to
forget."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path

from assistant.encryption import MasterKey
from assistant.memory.forgetting.redaction import without_hidden
from assistant.memory.transcript.conversation_recordings import Recording, Recordings
from assistant.memory.transcript.database import Transcript
from assistant.paths import Home


def read_recording(home: Home, path: Path, key: MasterKey | None) -> Recording:
    """Read a recording, leaving out exchanges that are hidden but not yet purged.

    Args:
        key: the home's key; not needed for an unencrypted recording.

    Raises:
        StoreError: the recording or the transcript can't be read.
    """
    recording = Recordings(home.recordings, key).read(path)
    # Encrypted homes only contain encrypted recordings.
    if not home.transcript.exists() or (key is None and home.key_file.exists()):
        return recording
    with closing(Transcript.open(home.transcript, key)) as transcript:
        rows = without_hidden(transcript, recording.header.conversation, recording.rows)
    return replace(recording, rows=tuple(rows))
