"""Pictures of the screen: a recorded conversation at several sizes, in dark and light.

`./scripts/test tests/ui/test_snapshots.py --snapshot-update` stores the current pictures. Check
them by eye.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.strip import Strip

from assistant.events import (
    Event,
    Latency,
    Phase,
    PhaseChanged,
    StateChanged,
    StateEntry,
    TurnEnded,
)
from assistant.memory import microseconds
from assistant.memory.transcript.conversation_recordings import Recordings
from assistant.paths import Home
from assistant.settings import load as load_settings
from data import located
from tests.support.pilots import until
from tests.support.snapshots import difference, normal
from ui.screen.replay_screen import ReplayScreen
from ui.session.replay import PlayableRecording, Replay, load

SIZES = ((80, 24), (120, 40), (200, 50))
THEMES = {"dark": "ansi-dark", "light": "textual-light"}
TABS = {"talk": "1", "latency": "3"}
BEGAN = datetime(2026, 11, 18, 10, 20, tzinfo=UTC)
TURNS = 3
"""Number of turns played: the last one has memories, the one before it was interrupted."""


@pytest.fixture
def update(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--snapshot-update"))


@pytest.fixture
def colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)


async def settled(pilot: Pilot[int], app: ReplayScreen) -> str:
    """The picture, once all events are drawn and the layout is stable."""
    before: list[Strip] = []
    while True:
        await pilot.pause(0.1)
        drawn = app.screen._compositor.render_strips()
        if app.up_to_date and drawn == before:
            return normal(app.export_screenshot())
        before = drawn


@asynccontextmanager
async def opened(
    replay: Replay, folder: Path, size: tuple[int, int]
) -> AsyncIterator[tuple[ReplayScreen, Pilot[int]]]:
    """A screen that starts with the last of the themes, which is not the default."""
    home = Home(folder)
    loaded = load_settings(
        home.settings_file, environment={}, flags={"screen.theme": list(THEMES.values())[-1]}
    )
    app = ReplayScreen(replay, home, loaded, now=lambda: replay.now.astimezone(UTC))
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: replay.started)
        yield app, pilot


async def differences(
    app: ReplayScreen, pilot: Pilot[int], tab: str, size: tuple[int, int], *, update: bool
) -> dict[str, str]:
    """How the tab differs from its stored pictures, by their names."""
    different = {}
    assert app.theme in THEMES.values()
    for name, theme in sorted(THEMES.items(), key=lambda each: each[1] != app.theme):
        app.theme = theme
        picture = f"{tab}_{size[0]}x{size[1]}_{name}"
        if lines := difference(picture, await settled(pilot, app), update=update):
            different[picture] = lines
    return different


@pytest.mark.usefixtures("colours")
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_the_demo_looks_as_in_the_stored_pictures(
    tmp_path: Path, update: bool, size: tuple[int, int]
) -> None:
    path = located("recordings/demo.jsonl")
    replay = Replay(load(Recordings(tmp_path), path), paused=True)
    different: dict[str, str] = {}
    async with opened(replay, tmp_path, size) as (app, pilot):
        await pilot.press(*["n"] * TURNS)
        for tab, key in TABS.items():
            await pilot.press(key)
            different |= await differences(app, pilot, tab, size, update=update)
    assert different == {}


def kept(seconds: int) -> tuple[tuple[datetime, Event], ...]:
    """A recording that begins with entries of each kind. A timer was set for ten minutes
    so many seconds earlier."""
    lists = [("shopping", ("two pints of milk", "eggs")), ("to-do", ("call the dentist",))]
    ends = microseconds(BEGAN + timedelta(minutes=10))
    rest = microseconds(BEGAN + timedelta(minutes=75))
    timer = {"name": "pasta", "length_s": 600, "ends_at": ends}
    dough = {"name": "dough", "length_s": 4500, "ends_at": rest}
    alarm = {"name": "", "at": microseconds(BEGAN + timedelta(hours=20))}
    reminder = {"words": "water the plants", "at": microseconds(BEGAN + timedelta(days=3))}
    items = [
        StateEntry(f"{name}{number}", name, {"text": text, "done": number == 1})
        for name, texts in lists
        for number, text in enumerate(texts)
    ]
    events: tuple[Event, ...] = (
        PhaseChanged(Phase.LISTENING),
        StateChanged("timer", (StateEntry("t", "", timer), StateEntry("t2", "", dough))),
        StateChanged("alarm", (StateEntry("a", "", alarm),)),
        StateChanged("reminder", (StateEntry("r", "", reminder),)),
        StateChanged("list", tuple(StateEntry(name, "", {"name": name}) for name, _ in lists)),
        StateChanged("item", tuple(items)),
        StateChanged("note", (StateEntry("n", "", {"text": "The boiler is from 2009."}),)),
        *forms(),
        *plan(),
        TurnEnded(1, "Thanks.", "You're welcome.", False, Latency()),
    )
    return tuple((BEGAN + timedelta(seconds=seconds), event) for event in events)


def forms() -> tuple[Event, ...]:
    """A form that is being filled in, and one that is finished."""
    opened = {
        "medical_intake": ("Medical intake", BEGAN, False),
        "appointment": ("Appointment", BEGAN - timedelta(days=2), True),
    }
    filled: dict[str, list[tuple[str, str, object]]] = {
        "medical_intake": [
            ("severity", "severity", 4),
            (
                "reason",
                "reason",
                "a rash on my left arm that itches, mostly at night and in the sun",
            ),
            ("since", "since", "2026-11-09"),
            ("allergies", "allergies", []),
            ("born", "date of birth", "unknown"),
        ],
        "appointment": [
            ("with", "with", "Dr Brown"),
            ("day", "day", "2026-11-20"),
            ("time", "time", "14:30"),
            ("minutes", "length", 30),
            ("online", "online", True),
            ("bring", "to bring", ["passport", "the letter from the clinic"]),
        ],
    }
    entries = [
        StateEntry(
            key,
            "",
            {
                "form": key,
                "title": title,
                "opened": microseconds(at),
                "asked": "",
                "closed": closed,
            },
        )
        for key, (title, at, closed) in opened.items()
    ]
    slots = [
        StateEntry(f"{form}-{name}", form, {"slot": name, "label": label, "value": value})
        for form, answers in filled.items()
        for name, label, value in answers
    ]
    return StateChanged("form", tuple(entries)), StateChanged("slot", tuple(slots))


def plan() -> tuple[Event, ...]:
    """What is being planned."""
    now = microseconds(BEGAN)
    lines = ("fly on the third of May", "the budget is eight hundred euros", "not the hostel")
    rows = tuple(
        StateEntry(text, "p", {"text": text, "said_at": now, "exchange": ""}) for text in lines
    )
    task = {"name": "the trip to Lisbon", "opened": now, "used_at": now}
    return (
        StateChanged("task", (StateEntry("p", "", task),)),
        StateChanged("line", rows),
    )


@pytest.mark.usefixtures("colours")
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_the_organiser_of_a_recording_looks_as_in_the_stored_pictures(
    tmp_path: Path, update: bool, size: tuple[int, int]
) -> None:
    replay = Replay(PlayableRecording(BEGAN, kept(seconds=50)), paused=True)
    async with opened(replay, tmp_path, size) as (app, pilot):
        await pilot.press("n", "6")
        assert await differences(app, pilot, "organiser", size, update=update) == {}


def test_a_difference_between_pictures_is_detected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.support.snapshots.KEPT", tmp_path)
    assert "there is no x.svg" in difference("x", "<svg>terminal-12</svg>", update=False)
    assert difference("x", "<svg>terminal-12</svg>", update=True) == ""
    assert difference("x", "<svg>terminal-99</svg>", update=False) == ""
    assert "+<svg>another</svg>" in difference("x", "<svg>another</svg>", update=False)
