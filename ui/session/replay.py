"""A session that replays the events of a recorded conversation, instead of running an assistant."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from assistant.errors import StoreError
from assistant.events import Event, MicrophoneLevel, Notice, RecordingChanged, Severity, TurnEnded
from assistant.ipc import Request, Row, event_from_json
from assistant.memory import Recording, Recordings
from assistant.settings import Settings
from ui.session.session import Ended, Heard

LONGEST_GAP_S = 4.0
"""Maximum number of seconds between two events. Longer silences in the recording are shortened."""
SPEEDS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
AFTER = timedelta(milliseconds=50)
"""Time after the end of a turn within which events still belong to that turn, e.g. the change of
phase to listening."""
NOBODY = "This is a recording: there is no assistant that could do this."


@dataclass(frozen=True, slots=True)
class PlayableRecording:
    """The events of a recording that this version of the program can show.

    Attributes:
        left_out: number of events left out, because they are damaged or from another version.
    """

    began: datetime
    events: tuple[tuple[datetime, Event], ...]
    left_out: int = 0

    @classmethod
    def of(cls, recording: Recording, path: Path) -> "PlayableRecording":
        """Return the events of a recording that this version can show.

        Raises:
            StoreError: the recording contains no such events.
        """
        events, left_out = [], recording.damaged
        for row in recording.rows:
            known = _event(row)
            if known is None:
                left_out += 1
            else:
                events.append(known)
        if not events:
            what = "nothing that this version can show" if left_out else "nothing"
            raise StoreError(f"The recording {path} contains {what}.", mend="assistant replay")
        events.sort(key=lambda each: each[0])
        return cls(events[0][0], tuple(events), left_out)

    @property
    def notice(self) -> Notice | None:
        """A notice about the number of events left out; None if all events can be shown."""
        if not self.left_out:
            return None
        what = "1 event" if self.left_out == 1 else f"{self.left_out:,} events"
        were = "was" if self.left_out == 1 else "were"
        text = f"{what} of this recording {were} left out: damaged, or from another version."
        return Notice(text, Severity.WARNING)


def _event(row: Row) -> tuple[datetime, Event] | None:
    """Parse a row of a recording; return None if it is damaged or from another version."""
    try:
        at = datetime.fromisoformat(str(row["at"]))
        return (at, event_from_json(row["event"])) if at.tzinfo is not None else None
    except (StoreError, ValueError):
        return None


def load(recordings: Recordings, path: Path) -> PlayableRecording:
    """Load a recording.

    Raises:
        StoreError: the recording can't be read, or contains no event that can be shown.
    """
    return PlayableRecording.of(recordings.read(path), path)


class Replay:
    """A `Session` that replays recorded events. Not thread-safe.

    Args:
        speed: 1.0 for the original speed, 2.0 for twice as fast.
        paused: whether the replay starts paused.
    """

    live = False

    def __init__(
        self, recording: PlayableRecording, speed: float = 1.0, *, paused: bool = False
    ) -> None:
        self._recording = recording
        self.speed = speed
        self.paused = paused
        self.place = 0
        """The number of events played so far."""
        self.refused: Callable[[str], None] = lambda _: None
        """Called with a sentence for the user when a command or a typed turn is refused."""
        self._hear: Heard | None = None
        self._ended: Ended | None = None
        self._changed = asyncio.Event()
        self._playing: asyncio.Task[None] | None = None

    # -- as a session ---------------------------------------------------------------------------

    async def start(self, hear: Heard, ended: Ended) -> None:
        self._hear, self._ended = hear, ended
        if self._recording.notice is not None:
            hear(self._recording.notice, self._recording.began)
        self._playing = asyncio.create_task(self._play())

    def do(self, command: str) -> None:
        del command
        self.refused(NOBODY)

    def say(self, text: str) -> None:
        del text
        self.refused(NOBODY)

    async def ask(self, request: Request) -> list[Row]:
        del request
        raise StoreError(NOBODY)

    async def restart(self, settings: Settings) -> None:
        del settings
        raise StoreError(NOBODY)

    async def close(self) -> None:
        if self._playing is not None:
            self._playing.cancel()
            await asyncio.wait({self._playing})

    # -- as a player ----------------------------------------------------------------------------

    @property
    def started(self) -> bool:
        """Whether `start` has been called. Before that, no event is played."""
        return self._hear is not None

    @property
    def over(self) -> bool:
        return self.place >= len(self._recording.events)

    @property
    def now(self) -> datetime:
        """The time at which the most recently played event was recorded."""
        return self._recording.events[max(self.place - 1, 0)][0]

    def clock(self) -> datetime:
        """Return, in local time, when the most recently played event was recorded."""
        return self.now.astimezone()

    @property
    def seconds(self) -> tuple[float, float]:
        """The position and the length of the recording, in seconds since its first event."""
        began, ended = self._recording.began, self._recording.events[-1][0]
        return (self.now - began).total_seconds(), (ended - began).total_seconds()

    def pause(self) -> None:
        """Pause the replay, or continue it if it is paused."""
        self.paused = not self.paused
        self._changed.set()

    def faster(self, steps: int) -> None:
        """Speed up the replay by this number of steps of SPEEDS. A negative number slows down."""
        nearest = min(range(len(SPEEDS)), key=lambda at: abs(SPEEDS[at] - self.speed))
        self.speed = SPEEDS[min(max(nearest + steps, 0), len(SPEEDS) - 1)]
        self._changed.set()

    def next_event(self) -> None:
        """Pause the replay, and play the next event that isn't a microphone level."""
        self.paused = True
        while self.started and not self.over:
            if not isinstance(self._tell_next(), MicrophoneLevel):
                break
        self._changed.set()

    def next_turn(self) -> None:
        """Play all events up to the end of the next turn at once. A paused replay stays paused."""
        while self.started and not self.over:
            if isinstance(self._tell_next(), TurnEnded):
                break
        ended = self.now
        while (
            self.started and not self.over and self._recording.events[self.place][0] < ended + AFTER
        ):
            self._tell_next()
        self._changed.set()

    def to_the_end(self) -> None:
        """Play all remaining events at once."""
        while self.started and not self.over:
            self._tell_next()
        self._changed.set()

    # -- inside ---------------------------------------------------------------------------------

    async def _play(self) -> None:
        while not self.over:
            self._changed.clear()
            if self.paused:
                await self._changed.wait()
                continue
            at, place = self._recording.events[self.place][0], self.place
            gap = min((at - self.now).total_seconds(), LONGEST_GAP_S)
            try:
                async with asyncio.timeout(max(gap, 0.0) / self.speed):
                    await self._changed.wait()
            except TimeoutError:
                if self.place == place and not self.paused:
                    self._tell_next()
        if self._ended is not None:
            self._ended(None)

    def _tell_next(self) -> Event:
        at, event = self._recording.events[self.place]
        self.place += 1
        if self._hear is not None and not isinstance(event, RecordingChanged):
            self._hear(event, at)
        return event
