"""Opens the transcript, and goes on with the last conversation."""

import time
from datetime import timedelta

from assistant.context.conversation import Conversation
from assistant.encryption.keys import MasterKey
from assistant.errors import StoreBusy, StoreError
from assistant.events import EventBus, Notice, Severity
from assistant.memory.transcript.database import Transcript
from assistant.paths import Home
from assistant.settings import Settings

TRANSCRIPT_WAIT_S = 20.0
"""For a program that holds the transcript; after that nothing of the session is kept."""


def _transcript(home: Home, bus: EventBus, key: MasterKey | None) -> Transcript:
    """A program that holds it, as a backup does, is waited for.

    Raises:
        StoreError: as `Transcript.open`.
    """
    until, told = time.monotonic() + TRANSCRIPT_WAIT_S, False
    while True:
        try:
            return Transcript.open(home.transcript, key)
        except StoreBusy as error:
            if time.monotonic() > until:
                raise
            if not told:
                bus.emit(Notice(f"{error} Waiting for it.", Severity.WARNING, error.mend))
                told = True


def open_conversation(
    home: Home, settings: Settings, bus: EventBus, key: MasterKey | None
) -> tuple[Transcript | None, Conversation]:
    """The transcript, and where the last session left off, if that was not long ago.

    A transcript that can't be read costs the thread and the keeping, not the conversation.
    """
    user = settings.general.user
    try:
        transcript = _transcript(home, bus, key)
    except StoreError as error:
        bus.emit(Notice(f"{error} This conversation is not kept.", Severity.WARNING, error.mend))
        return None, Conversation.begin(user)
    within = timedelta(hours=settings.context.resume_within_h)
    try:
        resumed = transcript.resume(user, within)
    except StoreError as error:
        bus.emit(Notice(str(error), Severity.WARNING, error.mend))
        resumed = None
    return transcript, resumed or transcript.begin_conversation(user)
