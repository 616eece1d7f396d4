"""Recorded conversations played back: by keys on the screen, and by the command line."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from assistant.context.conversation import Conversation
from assistant.encryption.keys import KeyFile, MasterKey
from assistant.errors import StoreError
from assistant.events import (
    AnswerHeard,
    AnswerText,
    Event,
    Latency,
    MemoryUsed,
    MicrophoneLevel,
    Phase,
    PhaseChanged,
    PromptBuilt,
    PromptSection,
    Recalled,
    RecordingChanged,
    TurnEnded,
    TurnHeard,
)
from assistant.ipc import event_to_json
from assistant.memory.records.hidden import HiddenItems
from assistant.memory.transcript.conversation_recordings import Recordings
from assistant.memory.transcript.database import Transcript
from assistant.paths import Home
from assistant.settings import load as load_settings
from tests.support import homes, told
from tests.support.command_line import Run, objects
from tests.support.pilots import until
from tests.support.screens import ToldSession
from tests.support.screens import screen as told_screen
from ui.screen.replay_screen import ReplayScreen
from ui.screen.status_line import StatusLine
from ui.session.replay import NOBODY, PlayableRecording, Replay, load

AT = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)
MEMORY = MemoryUsed("m", "My dog is called Max.", 0.9, said=AT - timedelta(days=1))


def turn(number: int) -> list[Event]:
    said, answer = f"Question {number}?", f"Answer {number}."
    return [
        TurnHeard(number, said),
        Recalled(number, (MEMORY,), missed=False),
        PromptBuilt(number, (PromptSection("newest message", said, 4),), 100),
        MicrophoneLevel(-30.0),
        AnswerText(number, answer),
        AnswerHeard(number, answer),
        TurnEnded(number, said, answer, False, Latency(1, 2, 3, 4, 5), (MEMORY,)),
    ]


EVENTS = [PhaseChanged(Phase.LISTENING), *turn(1), *turn(2), *turn(3)]


def record(recordings: Recordings, events: list[Event], seconds: float = 1.0) -> Path:
    """Record these events, `seconds` apart."""
    path = recordings.begin("talk")
    rows = [
        {
            "at": (AT + timedelta(seconds=n * seconds)).isoformat(),
            "event": event_to_json(event),
        }
        for n, event in enumerate(events)
    ]
    recordings.append(path, rows)
    return path


@pytest.fixture
def reel(home: Home) -> PlayableRecording:
    recordings = Recordings(home.recordings)
    return load(recordings, record(recordings, EVENTS))


@asynccontextmanager
async def playing(
    replay: Replay, home: Home, size: tuple[int, int] = (80, 24)
) -> AsyncIterator[tuple[ReplayScreen, Pilot[int]]]:
    """A screen that has started to play."""
    app = ReplayScreen(replay, home, load_settings(home.settings_file, environment={}))
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: app.replay.started)
        yield app, pilot


# -- keys ---------------------------------------------------------------------------------------


async def test_keys_step_through_a_recording(home: Home, reel: PlayableRecording) -> None:
    replay = Replay(reel, paused=True)
    async with playing(replay, home, size=(120, 40)) as (app, pilot):
        assert replay.place == 0
        await pilot.press("right", "right")
        assert (replay.place, app.state.turn and app.state.turn.user) == (2, "Question 1?")
        assert app.now() == AT + timedelta(seconds=1)
        await pilot.press("n")
        await until(pilot, lambda: app.up_to_date)
        assert app.state.turn is not None
        assert (app.state.turn.number, app.state.turn.over) == (1, True)
        picture = app.export_screenshot()
        assert "Answer&#160;1." in picture
        assert "yesterday" in picture
        assert "replay" in picture
        await pilot.press("right", "right", "right", "right")
        assert replay.place == 8 + 5  # an event with only a level is not a step
        await pilot.press("n", "n", "n")
        assert replay.over
        assert [each.heard for each in app.state.turns] == [f"Answer {n}." for n in (1, 2, 3)]


async def test_a_recording_plays_to_its_end_at_its_own_pace(home: Home) -> None:
    recordings = Recordings(home.recordings)
    replay = Replay(load(recordings, record(recordings, EVENTS, seconds=0.01)))
    async with playing(replay, home) as (app, pilot):
        await until(pilot, lambda: replay.over)
        assert len(app.state.turns) == 3


async def test_space_pauses_and_plus_and_minus_change_the_speed(
    home: Home, reel: PlayableRecording
) -> None:
    replay = Replay(reel)
    async with playing(replay, home) as (_, pilot):
        await pilot.press("space")
        place, paused = replay.place, replay.paused
        assert paused
        await pilot.press("plus", "plus", "minus")
        assert replay.speed == 2.0
        await pilot.press(*["minus"] * 4)
        assert replay.speed == 0.25
        await pilot.press(*["plus"] * 7)
        assert replay.speed == 16.0
        assert replay.place == place
        await pilot.press("space")
        await until(pilot, lambda: replay.over)


def notices(app: ReplayScreen, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The list of all notifications that the app shows from now on."""
    shown: list[str] = []
    monkeypatch.setattr(app, "notify", lambda message, **_: shown.append(message))
    return shown


async def test_keys_that_need_an_assistant_show_one_sentence(
    home: Home, reel: PlayableRecording, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with playing(Replay(reel, paused=True), home) as (app, pilot):
        shown = notices(app, monkeypatch)
        await pilot.press("n")
        for times, key in enumerate("xsortu", 1):
            await pilot.press(key)
            await pilot.pause()
            assert shown == [NOBODY] * times, key


async def test_letters_in_the_input_line_are_text(
    home: Home, reel: PlayableRecording, monkeypatch: pytest.MonkeyPatch
) -> None:
    replay = Replay(reel, paused=True)
    async with playing(replay, home) as (app, pilot):
        shown = notices(app, monkeypatch)
        await pilot.press("i", "n", "space", "n")
        assert (replay.place, app.query_one("#typed", Input).value) == (0, "n n")
        await pilot.press("enter")
        await pilot.pause()
        assert shown == [NOBODY]


# -- recording on the screen --------------------------------------------------------------------


async def test_r_starts_a_recording_and_the_status_line_shows_it(tmp_path: Path) -> None:
    session = ToldSession([PhaseChanged(Phase.LISTENING)])
    app = told_screen(session, tmp_path)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: session.begun)
        await pilot.press("r")
        assert session.done == ["record"]
        for path, shown in (("/x/y.jsonl", True), (None, False)):
            session.tell(RecordingChanged(path))
            await until(pilot, lambda: app.up_to_date)
            status = str(app.query_one(StatusLine).render())
            assert ("recording" in status) == shown


# -- the command --------------------------------------------------------------------------------


@pytest.fixture
def run(run: Run) -> Run:
    return partial(run, "replay")


def test_without_a_terminal_the_recording_is_printed(run: Run, home: Home) -> None:
    path = record(Recordings(home.recordings), EVENTS)
    code, out, err = run(str(path))
    assert (code, err) == (0, [])
    assert "you: Question 2?\nAda: Answer 2.  (0.0 s)" in "\n".join(out)
    assert run(path.stem) == (0, out, [])
    rows = objects(run(path.stem, "--json")[1])
    assert [row["event"] for row in rows] == [event_to_json(event) for event in EVENTS]


def test_exchanges_being_forgotten_are_not_shown(run: Run, home: Home) -> None:
    kept, hidden = (told.exchange(f"x{n}", f"Question {n}?", f"Answer {n}.", AT, n) for n in (1, 2))
    ended = [
        replace(event, exchange=f"x{event.turn}") if isinstance(event, TurnEnded) else event
        for event in EVENTS
    ]
    path = record(Recordings(home.recordings), ended)
    with closing(Transcript.open(home.transcript)) as transcript:
        talk = Conversation.begin("user")
        for each in (kept, hidden):
            transcript.store(talk, each)
        transcript.hide(HiddenItems.of("user", [hidden.id], [], AT))
        shown = "\n".join(run(path.stem)[1])
        assert ("Answer 1." in shown, "2" in shown) == (True, False)
        transcript.unhide("user", transcript.hidden("user")[0].id)
    assert "Answer 2." in "\n".join(run(path.stem)[1])


def test_recordings_are_listed(run: Run, home: Home) -> None:
    code, out, _ = run()
    assert (code, out[0].startswith("No recordings yet.")) == (0, True)
    path = record(Recordings(home.recordings), EVENTS)
    assert run()[1][0].startswith(path.stem)
    assert objects(run("--json")[1]) == [{"event": "recording", "path": str(path)}]


def test_the_demo_is_included_and_plays(run: Run) -> None:
    code, out, err = run("demo")
    assert (code, err) == (0, [])
    assert all(words in "".join(out) for words in ("Forgotten: ", "interrupted"))


NOT_ONE = "hello\n"
EMPTY = '{"recording": 1, "id": "", "began": "", "conversation": "", "key": ""}\n'


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["bad.jsonl"], 5, "is not a recording."),
        (["empty.jsonl"], 5, "nothing."),
        (["nothing"], 5, "There is no recording nothing."),
        (["/tmp"], 5, "There is no recording /tmp."),
        *((["demo", f"--speed={x}"], 2, "The speed must be") for x in ("0", "fast", "nan", "1e9")),
    ],
)
def test_errors_give_one_sentence_and_advice(
    run: Run, home: Home, words: list[str], code: int, sentence: str
) -> None:
    home.recordings.mkdir()
    (home.recordings / "bad.jsonl").write_text(NOT_ONE)
    (home.recordings / "empty.jsonl").write_text(EMPTY)
    ended, out, err = run(*words)
    assert (ended, out, len(err)) == (code, [], 2)
    assert sentence in err[0]


def test_events_of_another_version_are_left_out_and_counted_once(run: Run, home: Home) -> None:
    recordings = Recordings(home.recordings)
    path = record(recordings, turn(1))
    strange = {"at": AT.isoformat(), "event": {"type": "TeaMade", "cups": 2}}
    recordings.append(path, [strange, {"at": "noon", "event": event_to_json(turn(2)[0])}])
    with path.open("ab") as file:
        file.write(b"\x00garbage\n" + path.read_bytes().splitlines()[1][:40])
    code, out, err = run(str(path))
    assert (code, err) == (0, [])
    shown = "\n".join(out)
    assert shown.count("3 events of this recording were left out") == 1
    assert "Answer 1." in shown


def test_a_recording_encrypted_with_another_key_is_reported(
    run: Run, home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, other = MasterKey.new(), MasterKey.new()
    foreign = record(Recordings(tmp_path / "elsewhere", other), EVENTS)
    code, _, err = run(str(foreign))
    assert (code, "is encrypted, and there is no key." in err[0]) == (5, True)
    monkeypatch.setattr("assistant.encryption.keys.ARGON2", homes.CHEAP_ARGON2)
    KeyFile.locked(mine, "passphrase", homes.PASSPHRASE).write(home.key_file)
    monkeypatch.setenv("ASSISTANT_PASSPHRASE", homes.PASSPHRASE)
    code, _, err = run(str(foreign))
    assert (code, "is encrypted with another key." in err[0]) == (5, True)
    own = record(Recordings(home.recordings, mine), EVENTS)
    code, out, _ = run(str(own))
    assert (code, "Answer 3." in "".join(out)) == (0, True)


async def test_a_replay_refuses_requests_as_no_assistant_runs(
    reel: PlayableRecording,
) -> None:
    replay = Replay(reel)
    assert not replay.live
    with pytest.raises(StoreError, match="This is a recording"):
        await replay.ask({"act": "list"})
