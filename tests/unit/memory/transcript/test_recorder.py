"""Which events of a conversation are recorded, and which are not."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from assistant.errors import StoreError
from assistant.event_bus import EventBus
from assistant.events import (
    AnswerHeard,
    AnswerText,
    CommandHeard,
    Event,
    ForgettingBegan,
    ForgettingDone,
    ForgettingUndone,
    IdleWork,
    Latency,
    Loading,
    MemoriesCounted,
    MemoriesRead,
    MemoryUsed,
    MicrophoneLevel,
    ModelsReady,
    Notice,
    PartialTranscript,
    Phase,
    PhaseChanged,
    ProfileChanged,
    PromptBuilt,
    PromptSection,
    Recalled,
    RecordChanged,
    RecordingChanged,
    Remarked,
    RingingChanged,
    SessionEnded,
    Severity,
    SoundReady,
    SpeechIgnored,
    StateChanged,
    StateEntry,
    TurnEnded,
    TurnHeard,
    TurnStarted,
    UserSensed,
    WishTaken,
)
from assistant.ipc import Row, event_json
from assistant.memory.forgetting.pattern_search import SearchPatterns
from assistant.memory.forgetting.redaction import Redaction
from assistant.memory.transcript.conversation_recordings import Recordings
from assistant.memory.transcript.recorder import Recorder
from assistant.paths import Home
from tests.support.recorded import gone
from ui.session.replay import Replay, load

AT = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)
SECRET = "The silver parrot sleeps under the third brick."
MEMORY = MemoryUsed("m", "I like tea.", 0.5, said=AT, parts=(("words", 0.5),), words=("tea",))
EVERY: tuple[Event, ...] = (
    PhaseChanged(Phase.LISTENING),
    Loading("llm", "a model"),
    SoundReady("a microphone", None),
    ModelsReady({"llm": "a model"}),
    MemoriesRead(3),
    MemoriesCounted(4),
    WishTaken(("e1-0-wish",)),
    StateChanged("list", (StateEntry("s1", "", {"name": "shopping"}),)),
    ProfileChanged(1),
    MicrophoneLevel(-20.0),
    Notice("Careful.", Severity.WARNING, "assistant doctor"),
    TurnStarted(1),
    PartialTranscript(1, "what do"),
    Recalled(1, (MEMORY,), missed=False),
    TurnHeard(1, "What do I like?"),
    PromptBuilt(1, (PromptSection("system", "You are Ada.", 3),), 100, (("m", "over budget"),)),
    AnswerText(1, "Tea."),
    AnswerHeard(1, "Tea."),
    TurnEnded(1, "What do I like?", "Tea.", True, Latency(1.0, 2.0), (MEMORY,), 9, 3, 5.0, "e1"),
    SpeechIgnored("noise"),
    RingingChanged(rings=True),
    Remarked("Good night."),
    ForgettingBegan("f", ("e1",), ("m",), AT),
    ForgettingUndone("f"),
    ForgettingDone("f", 3, 100, clean=True),
    RecordChanged(off=False),
    IdleWork("describe", 12),
    SessionEnded(1),
)


class Bench:
    """A recorder on a bus, with a clock that advances by a second with every event."""

    def __init__(self, home: Home) -> None:
        self.bus = EventBus()
        self.heard: list[Event] = []
        self.bus.subscribe(self.heard.append)
        self._seconds = 0
        self.recordings = Recordings(home.recordings)
        self.recorder = Recorder(self.bus, self._now)
        self.recorder.keep_in(self.recordings, lambda: "talk")

    def _now(self) -> datetime:
        self._seconds += 1
        return AT + timedelta(seconds=self._seconds)

    def tell(self, *events: Event) -> None:
        for event in events:
            self.bus.emit(event)

    @property
    def path(self) -> Path:
        [path] = self.recordings.paths()
        return path

    def events(self) -> list[Event]:
        """The events in the only recording."""
        return [
            event_json.event_from_json(row["event"]) for row in self.recordings.read(self.path).rows
        ]


@pytest.fixture
def bench(home: Home) -> Bench:
    return Bench(home)


@asynccontextmanager
async def recording(bench: Bench) -> AsyncIterator[None]:
    await bench.recorder.start()
    yield
    await bench.recorder.stop()


async def test_every_event_is_recorded_and_replayed(bench: Bench) -> None:
    names = {kind.__name__ for kind in Event.__subclasses__()}
    assert {type(event).__name__ for event in EVERY} == names - {
        CommandHeard.__name__,
        RecordingChanged.__name__,
        UserSensed.__name__,
    }
    async with recording(bench):
        bench.tell(*EVERY)
    reel = load(bench.recordings, bench.path)
    replay = Replay(reel, paused=True)
    heard: list[tuple[Event, datetime]] = []
    await replay.start(lambda event, at: heard.append((event, at)), lambda _: None)
    replay.to_the_end()
    await replay.close()
    assert [event for event, _ in heard if not isinstance(event, PartialTranscript)] == [
        event for event in EVERY if not isinstance(event, PartialTranscript)
    ]
    assert PartialTranscript(1, "what do") in [event for event, _ in heard]
    assert [at for _, at in heard] == sorted(at for _, at in heard)
    assert all(at > AT for _, at in heard)


async def test_recording_is_off_by_default(bench: Bench, home: Home) -> None:
    bench.tell(*EVERY)
    assert not home.recordings.exists()
    await bench.recorder.stop()
    assert bench.heard == list(EVERY)


async def test_a_recording_begins_with_the_current_state(bench: Bench) -> None:
    bench.tell(ModelsReady({"llm": "x"}), PhaseChanged(Phase.STARTING), MemoriesRead(3))
    bench.tell(PhaseChanged(Phase.LISTENING), TurnHeard(1, "before"))
    lists, empty = (
        StateChanged("list", (StateEntry("s", "", {"name": "s"}),)),
        StateChanged("note", ()),
    )
    bench.tell(StateChanged("list", ()), lists, empty)
    async with recording(bench):
        assert bench.heard[-1] == RecordingChanged(str(bench.path))
        await bench.recorder.start()  # it is recording already
    assert bench.heard[-1] == RecordingChanged(None)
    state = ModelsReady({"llm": "x"}), PhaseChanged(Phase.LISTENING), MemoriesRead(3), lists, empty
    assert set(map(str, bench.events())) == set(map(str, state))


async def test_nothing_is_recorded_off_the_record(bench: Bench) -> None:
    async with recording(bench):
        bench.tell(TurnHeard(1, "on"), TurnEnded(1, "on", "yes", False, Latency()))
        bench.tell(RecordChanged(off=True))
        bench.tell(Remarked(SECRET), TurnStarted(2), TurnHeard(2, SECRET), AnswerText(2, SECRET))
        bench.tell(TurnEnded(2, SECRET, SECRET, False, Latency()), Notice(SECRET))
        bench.tell(RecordChanged(off=False), TurnStarted(3), TurnHeard(3, "on again"))
        bench.tell(PromptBuilt(3, (PromptSection("history", "on", 1),), 9))
    assert b"parrot" not in bench.path.read_bytes()
    kinds = [type(event).__name__ for event in bench.events()]
    assert kinds == [
        *("TurnHeard", "TurnEnded", "RecordChanged", "RecordChanged", "TurnStarted", "TurnHeard"),
        "PromptBuilt",
    ]


async def test_going_off_the_record_removes_turns_in_progress(bench: Bench) -> None:
    async with recording(bench):
        bench.tell(TurnHeard(1, "on"), TurnEnded(1, "on", "yes", False, Latency()))
        bench.tell(TurnStarted(2), TurnHeard(2, SECRET), AnswerText(2, "Ah"), TurnStarted(3))
        bench.tell(RecordChanged(off=True))
        bench.tell(AnswerText(2, "!"), TurnEnded(2, SECRET, "Ah!", False, Latency()))
    assert b"parrot" not in bench.path.read_bytes()
    assert {getattr(event, "turn", 1) for event in bench.events()} == {1}


async def test_a_prompt_built_off_the_record_is_never_recorded(bench: Bench) -> None:
    async with recording(bench):
        bench.tell(RecordChanged(off=True), TurnStarted(2), RecordChanged(off=False))
        bench.tell(PromptBuilt(2, (PromptSection("history", SECRET, 1),), 9), TurnHeard(2, "hm"))
    assert b"parrot" not in bench.path.read_bytes()
    assert TurnHeard(2, "hm") in bench.events()


async def test_a_recording_started_off_the_record_contains_only_that_state(bench: Bench) -> None:
    bench.tell(RecordChanged(off=True))
    async with recording(bench):
        bench.tell(TurnHeard(1, SECRET))
    assert bench.events() == [RecordChanged(off=True)]


async def test_speech_that_did_not_become_a_turn_is_not_recorded(bench: Bench) -> None:
    async with recording(bench):
        bench.tell(TurnStarted(1), PartialTranscript(1, SECRET), SpeechIgnored("echo", SECRET))
        bench.tell(TurnStarted(1), PartialTranscript(1, SECRET), CommandHeard(SECRET))
        bench.tell(Remarked("All right."), SpeechIgnored("command"))
        bench.tell(TurnStarted(1), PartialTranscript(1, "hel"), TurnHeard(1, "hello"))
    assert bench.events() == [
        TurnStarted(1),
        SpeechIgnored("echo"),
        TurnStarted(1),
        Remarked("All right."),
        SpeechIgnored("command"),
        TurnStarted(1),
        PartialTranscript(1, "hel"),
        TurnHeard(1, "hello"),
    ]


async def test_microphone_levels_are_thinned_out(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assistant.memory.transcript.recorder.LEVEL_S", 10.0)
    async with recording(bench):
        bench.tell(*(MicrophoneLevel(-float(n)) for n in range(40)))
    assert 2 <= len(bench.events()) <= 5


async def test_events_waiting_to_be_written_are_purged_too(bench: Bench) -> None:
    redaction = Redaction("me", frozenset(["e1"]), frozenset(), {}, SearchPatterns.of([SECRET]))
    async with recording(bench):
        for _ in range(50):
            bench.tell(Notice(SECRET), TurnHeard(1, SECRET))
        bench.tell(TurnEnded(1, SECRET, "Ah.", False, Latency(), exchange="e1"))
        assert await asyncio.to_thread(bench.recordings.purge, redaction) == 1
        assert b"parrot" not in bench.path.read_bytes()
        bench.tell(TurnHeard(2, "and it goes on"))
    assert bench.events()[-1] == TurnHeard(2, "and it goes on")


@pytest.fixture
def disk_works(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """After each event, the disk does nothing until this is set."""
    append, works = bench.recordings.append, threading.Event()

    def slowly(path: Path, rows: Iterable[Row]) -> None:
        append(path, rows)
        works.wait()

    monkeypatch.setattr(bench.recordings, "append", slowly)
    monkeypatch.setattr("assistant.memory.transcript.recorder.CLOSING_S", 0.1)
    yield works
    works.set()
    for thread in writing():
        thread.join(60)


def writing() -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name == "recorder"]


async def written(path: Path, text: str) -> None:
    while text not in path.read_text():
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("texts", [(SECRET, "Careful."), ("Careful.", SECRET)])
async def test_a_stopped_recording_is_purged_until_its_last_event_is_written(
    bench: Bench, tmp_path: Path, disk_works: threading.Event, texts: tuple[str, str]
) -> None:
    mine = tmp_path / "mine.jsonl"
    await bench.recorder.start(mine)
    [thread] = writing()
    bench.tell(*map(Notice, texts))
    await written(mine, texts[0])
    await bench.recorder.stop()
    with pytest.raises(StoreError, match="not on the disk yet"):
        await asyncio.to_thread(bench.recordings.purge, gone([SECRET]))
    disk_works.set()
    await asyncio.to_thread(thread.join)
    assert bench.recordings.purge(gone([SECRET])) == 1
    assert b"parrot" not in mine.read_bytes()
    assert b"Careful." in mine.read_bytes()
    assert bench.recordings.purge(gone(["Careful."])) == 0, "the file belongs to the user now"


async def test_a_purge_waits_for_each_recording_that_is_still_being_written(
    bench: Bench, disk_works: threading.Event
) -> None:
    await bench.recorder.start()
    old, [thread] = bench.path, writing()
    bench.tell(Notice("Careful."), Notice(SECRET))
    await written(old, "Careful.")
    await bench.recorder.stop()
    await bench.recorder.start()
    with pytest.raises(StoreError, match=old.stem):
        await asyncio.to_thread(bench.recordings.purge, gone([SECRET]))
    disk_works.set()
    await asyncio.to_thread(thread.join)
    assert await asyncio.to_thread(bench.recordings.purge, gone([SECRET])) == 1
    assert b"parrot" not in old.read_bytes()
    await bench.recorder.stop()


async def test_a_purge_does_not_wait_for_a_thread_that_has_written_all(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assistant.memory.transcript.recorder.CLOSING_S", 0.0)
    end, purged = bench.recordings.end, list[int]()

    def purge_first(path: Path) -> None:
        purged.append(bench.recordings.purge(gone([SECRET])))
        end(path)

    monkeypatch.setattr(bench.recordings, "end", purge_first)
    await bench.recorder.start()
    [thread] = writing()
    bench.tell(Notice(SECRET))
    await bench.recorder.stop()
    await asyncio.to_thread(thread.join)
    assert purged == [1]


@pytest.mark.parametrize("error", [StoreError("The disk is full."), ValueError("unforeseen")])
async def test_a_recording_that_fails_ends(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    mine = tmp_path / "mine.jsonl"
    await bench.recorder.start(mine)
    [thread] = writing()
    bench.tell(Notice(SECRET))
    await written(mine, SECRET)

    def fail(path: Path, rows: Iterable[Row]) -> None:
        raise error

    monkeypatch.setattr(bench.recordings, "append", fail)
    bench.tell(Notice("Careful."))
    await asyncio.to_thread(thread.join, 60)
    assert not thread.is_alive()
    await asyncio.sleep(0)
    assert bench.heard[-1] == RecordingChanged(None)
    assert bench.recordings.purge(gone([SECRET])) == 0, "the file belongs to the user now"


async def test_a_write_error_ends_the_recording_but_not_the_conversation(
    bench: Bench,
) -> None:
    async with recording(bench):
        bench.path.unlink()
        bench.tell(TurnHeard(1, "one"))
        while bench.recorder.path is not None:
            await asyncio.sleep(0.01)
        bench.tell(TurnHeard(2, "two"))
    [notice] = [event for event in bench.heard if isinstance(event, Notice)]
    assert notice.severity is Severity.WARNING
    assert "Recording has stopped" in notice.text
    assert RecordingChanged(None) in bench.heard


async def test_recording_needs_a_transcript() -> None:
    with pytest.raises(StoreError, match="could not be deleted from the recording"):
        await Recorder(EventBus()).start()


async def test_a_recording_can_be_given_a_path(bench: Bench, tmp_path: Path) -> None:
    await bench.recorder.start(tmp_path / "mine.jsonl")
    assert bench.recorder.path == tmp_path / "mine.jsonl"
    await bench.recorder.stop()
    assert json.loads((tmp_path / "mine.jsonl").read_text().splitlines()[0])["recording"] == 1
    with pytest.raises(StoreError, match="already exists"):
        await bench.recorder.start(tmp_path / "mine.jsonl")
