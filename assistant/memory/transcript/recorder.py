"""Records a conversation's events to a file as they happen. Off by default.

Recording runs in the assistant's process, not in the screen's. So the command line can record too,
and a crash of the screen loses nothing. The assistant's process also has the encryption key, and
deletes what the user wants to forget. A thread writes the file, so that no event waits for the
disk.

A recording contains nothing that is said off the record, and no speech that did not become a turn.
"""

import asyncio
import logging
import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from assistant.errors import StoreError
from assistant.event_bus import EventBus
from assistant.events import (
    CommandHeard,
    Event,
    ForgettingBegan,
    MemoriesCounted,
    MemoriesRead,
    MicrophoneLevel,
    ModelsReady,
    Notice,
    PartialTranscript,
    PhaseChanged,
    PromptBuilt,
    Recalled,
    RecordChanged,
    RecordingChanged,
    Severity,
    SpeechIgnored,
    StateChanged,
    TurnEnded,
    TurnHeard,
    TurnStarted,
    UserSensed,
)
from assistant.ipc import event_to_json
from assistant.memory.transcript.conversation_recordings import Recordings

logger = logging.getLogger(__name__)

LEVEL_S = 0.25
"""Minimum number of seconds between two recorded microphone levels; a meter needs no more."""
CLOSING_S = 5.0
"""Maximum number of seconds to wait for the writing thread."""
STATE = (ModelsReady, MemoriesRead, MemoriesCounted, PhaseChanged, StateChanged)
"""Types of events that describe a lasting state. A recording begins with the latest event of each
type, or, for `StateChanged`, of each kind of entry."""

Job = Callable[[Path], None]
"""A function that changes the recording at the given path. It is called between two writes."""


@dataclass(frozen=True, slots=True)
class RecordedEvent:
    """An event and the time at which it happened."""

    at: datetime
    event: Event


class Recorder:
    """Records the events on a bus. Use it only on the event loop.

    Args:
        bus: provides the events. It also gets an event when a recording begins or ends.
        now: returns the wall time, in UTC.
    """

    def __init__(
        self, bus: EventBus, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._bus = bus
        self._now = now
        self._recordings: Recordings | None = None
        self._conversation: Callable[[], str] = str
        self._writer: RecordingWriter | None = None
        self._changing = asyncio.Lock()
        self._state: dict[tuple[type[Event], str], Event] = {}
        self._off = False
        self._open: set[int] = set()
        """Turns in progress. A turn can begin while the last one is still being answered, so there
        may be two."""
        self._stale: set[int] = set()
        """Turns whose prompt may contain something that must not be recorded. The prompt was built
        before the user asked to forget something, or went on or off the record."""
        self._partials: list[RecordedEvent] = []
        self._level_at = datetime.min.replace(tzinfo=UTC)
        bus.subscribe(self._hear)

    def keep_in(self, recordings: Recordings, conversation: Callable[[], str]) -> None:
        """Set where recordings are stored.

        Args:
            conversation: returns the id of the running conversation.
        """
        self._recordings, self._conversation = recordings, conversation

    @property
    def path(self) -> Path | None:
        """The file being written; None if nothing is being recorded."""
        return self._writer.path if self._writer is not None else None

    async def start(self, path: Path | None = None) -> None:
        """Start recording, unless a recording is already being written.

        Args:
            path: the new file; default: a file in the home folder.

        Raises:
            StoreError: the file exists or can't be written, or the transcript can't be opened.
        """
        async with self._changing:
            if self._writer is not None:
                return
            if self._recordings is None:
                raise StoreError(
                    "Recording is not possible: the transcript can't be opened, so anything that"
                    " you ask to be forgotten could not be deleted from the recording.",
                    mend="assistant doctor",
                )
            made = await asyncio.to_thread(self._recordings.begin, self._conversation(), path)
            loop = asyncio.get_running_loop()
            self._writer = RecordingWriter(self._recordings, made, loop, self._failed)
            for event in self._state.values():
                self._write(event)
            if self._off:
                self._write(RecordChanged(off=True))
        self._bus.emit(RecordingChanged(str(made)))

    async def stop(self) -> None:
        """Stop recording. On return, the file contains all events received so far, unless the disk
        is very slow (see `RecordingWriter.close`). Idempotent."""
        async with self._changing:
            writer, self._writer = self._writer, None
            self._partials.clear()
            if writer is None:
                return
            await asyncio.to_thread(writer.close)
        self._bus.emit(RecordingChanged(None))

    # -- inside ---------------------------------------------------------------------------------

    def _hear(self, event: Event) -> None:
        if isinstance(event, STATE):
            kind = event.kind if isinstance(event, StateChanged) else ""
            self._state[type(event), kind] = event
        self._follow(event)
        if isinstance(event, RecordChanged):
            self._off = event.off
            self._go_off(event) if event.off else self._write(event)
        elif not self._off and self._writer is not None:
            self._take(event)

    def _follow(self, event: Event) -> None:
        """Keep track of the turns in progress."""
        if isinstance(event, TurnEnded):
            self._open.discard(event.turn)
        elif isinstance(turn := getattr(event, "turn", None), int):
            self._open.add(turn)
            if isinstance(event, TurnStarted):  # its prompt has yet to be built
                self._stale.discard(turn)
        elif isinstance(event, RecordChanged | ForgettingBegan):
            self._stale = set(self._open)

    def _go_off(self, event: RecordChanged) -> None:
        """Delete the turns in progress from the recording, because even their beginnings count as
        off the record."""
        self._partials.clear()
        turns, writer = frozenset(self._open), self._writer
        if writer is not None and turns:
            writer.put(lambda path: writer.recordings.delete_turns(path, turns))
        self._write(event)

    def _take(self, event: Event) -> None:
        if isinstance(event, RecordingChanged | UserSensed | CommandHeard):
            return
        if isinstance(event, PromptBuilt | Recalled) and event.turn in self._stale:
            return
        if isinstance(event, MicrophoneLevel):
            now = self._now()
            if (now - self._level_at).total_seconds() < LEVEL_S:
                return
            self._level_at = now
        elif isinstance(event, PartialTranscript):
            self._partials.append(RecordedEvent(self._now(), event))
            return
        elif isinstance(event, TurnHeard):  # the partial transcripts now belong to a turn
            for line in self._partials:
                self._put(line)
            self._partials.clear()
        elif isinstance(event, TurnStarted | SpeechIgnored):
            self._partials.clear()
            event = replace(event, text="") if isinstance(event, SpeechIgnored) else event
        self._write(event)

    def _write(self, event: Event) -> None:
        self._put(RecordedEvent(self._now(), event))

    def _put(self, line: RecordedEvent) -> None:
        if self._writer is not None:
            self._writer.put(line)

    def _failed(self, writer: "RecordingWriter", error: StoreError) -> None:
        """Warn the user that recording has stopped. The conversation goes on without it."""
        if self._writer is writer:
            self._writer = None
            self._bus.emit(Notice(f"{error} Recording has stopped.", Severity.WARNING, error.mend))
            self._bus.emit(RecordingChanged(None))


class RecordingWriter:
    """Writes one recording on its own thread, from construction to `close` or an error.

    Args:
        failed: called once, on `loop`, when writing fails. Nothing is written afterwards.
    """

    def __init__(
        self,
        recordings: Recordings,
        path: Path,
        loop: asyncio.AbstractEventLoop,
        failed: Callable[["RecordingWriter", StoreError], None],
    ) -> None:
        self.recordings = recordings
        self.path = path
        self._loop = loop
        self._failed = failed
        self._jobs: queue.SimpleQueue[RecordedEvent | Job | None] = queue.SimpleQueue()
        self._put = 0
        self._done = 0
        self._over = False
        self._progress = threading.Condition()
        """Notified when `_done` or `_over` changes."""
        recordings.settle_with(path, self.settle)
        self._thread = threading.Thread(target=self._run, name="recorder", daemon=True)
        self._thread.start()

    def put(self, job: RecordedEvent | Job) -> None:
        """Queue a job after all others. Call this only on the event loop."""
        self._put += 1  # first, so that `settle` never misses a job
        self._jobs.put(job)

    def settle(self) -> None:
        """Wait until the file contains all events put so far, or nothing more will be written. A
        purge calls this from another thread.

        Raises:
            StoreError: this takes longer than `CLOSING_S` seconds.
        """
        with self._progress:
            put = self._put
            if not self._progress.wait_for(lambda: self._over or self._done >= put, CLOSING_S):
                raise StoreError(
                    f"Some events of the recording {self.path} are not on the disk yet.",
                    mend="Wait until the disk is less busy, and try again.",
                )

    def close(self) -> None:
        """Write all events put so far, then end the recording. Blocks for at most `CLOSING_S`
        seconds; if writing takes longer, the thread ends the recording when it has finished."""
        self._jobs.put(None)
        self._thread.join(CLOSING_S)

    def _run(self) -> None:
        try:
            while (job := self._jobs.get()) is not None:
                self._carry_out(job)
                with self._progress:
                    self._done += 1
                    self._progress.notify_all()
        except StoreError as error:
            logger.warning("a recording ended: %s", error)
            self._tell(error)
        except Exception:  # the user must learn of it, whatever the error
            logger.exception("a recording ended")
            self._tell(StoreError(f"The recording {self.path} can't be continued."))
        finally:
            with self._progress:
                self._over = True
                self._progress.notify_all()
            self.recordings.end(self.path)

    def _carry_out(self, job: RecordedEvent | Job) -> None:
        if isinstance(job, RecordedEvent):
            row = {"at": job.at.isoformat(), "event": event_to_json(job.event)}
            self.recordings.append(self.path, [row])
        else:
            job(self.path)

    def _tell(self, error: StoreError) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._failed, self, error)
