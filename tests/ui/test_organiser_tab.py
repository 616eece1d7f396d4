"""The tab with timers, alarms, reminders, forms, plans, lists and notes."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from assistant.errors import StoreError
from assistant.events import Event, ForgettingBegan, StateChanged, StateEntry
from assistant.memory import microseconds
from tests.support.pilots import shown, until
from tests.support.screens import AT, READY, ToldSession, opened, settled
from ui.screen.app import AssistantScreen
from ui.screen.organiser.tab import OrganiserTab
from ui.screen.widgets.lists import Listing

SHOPPING = StateEntry("shopping-id", "", {"name": "shopping"})
MILK = StateEntry("milk-id", SHOPPING.id, {"text": "milk", "done": False})
EGGS = StateEntry("eggs-id", SHOPPING.id, {"text": "eggs", "done": True})
NOTE = StateEntry("note-id", "", {"text": "The boiler is from 2009."})
KEPT: tuple[Event, ...] = (
    StateChanged("list", (SHOPPING,)),
    StateChanged("item", (MILK, EGGS)),
    StateChanged("note", (NOTE,)),
)


def timer(seconds: float, name: str = "pasta", since: datetime | None = None) -> StateChanged:
    ends = (since or datetime.now(UTC)) + timedelta(seconds=seconds)
    content = {"name": name, "length_s": 600, "ends_at": microseconds(ends)}
    return StateChanged("timer", (StateEntry("timer-id", "", content),))


def on(key: str) -> Callable[[AssistantScreen, Pilot[int]], Any]:
    """Put the cursor on an entry."""

    async def put(app: AssistantScreen, pilot: Pilot[int]) -> None:
        rows = app.query_one("OrganiserTab Listing", Listing)
        rows.highlighted = rows.get_option_index(key)
        await pilot.pause()

    return put


async def test_everything_is_shown_on_a_small_terminal_what_is_due_soonest_first(
    tmp_path: Path,
) -> None:
    day = datetime.now().astimezone().date() + timedelta(days=1)
    late, early = f"{day}T09:00:00", f"{day}T06:30:00"
    session = ToldSession(
        (
            *READY,
            *KEPT,
            timer(600),
            StateChanged("reminder", (StateEntry("r", "", {"words": "call Anna", "local": late}),)),
            StateChanged("alarm", (StateEntry("a", "", {"name": "", "local": early}),)),
        )
    )
    async with opened(session, tmp_path, (80, 24)) as (app, pilot):
        await pilot.press("6")
        await settled(pilot)
        lines = [line.strip() for line in shown(app).splitlines()]
        wanted = [
            *("Timers", "Alarms and reminders"),
            *("tomorrow 06:30  alarm", "tomorrow 09:00  call Anna"),
            *("Lists", "shopping", "[ ] milk", "[x] eggs", "Notes", "The boiler is from 2009."),
        ]
        assert [line for line in lines if line in wanted] == wanted
        assert any(line.startswith("pasta, ") and line.endswith(" left") for line in lines)


async def test_timers_count_down_while_they_are_seen(tmp_path: Path) -> None:
    session = ToldSession(READY)
    async with opened(session, tmp_path) as (app, pilot):
        app.query_one(OrganiserTab)._now = lambda: now
        now = AT
        await pilot.press("6")
        session.tell(timer(600, since=AT))
        await settled(pilot)
        assert "pasta, 10:00 left" in shown(app)
        now = AT + timedelta(seconds=1)
        await until(pilot, lambda: "pasta, 9:59 left" in shown(app))
        await pilot.press("1")
        await until(pilot, lambda: not app.query_one(OrganiserTab)._clock._active.is_set())
        now = AT + timedelta(seconds=601)
        await pilot.press("6")
        await until(pilot, lambda: "pasta, over" in shown(app))


async def test_keys_tick_remove_bring_back_edit_and_add(tmp_path: Path) -> None:
    session = ToldSession((*READY, *KEPT))
    gone = [{"event": "removed", "id": MILK.id}]
    session.answers |= {"state.remove": gone, "state.import": [{"event": "imported", "count": 1}]}
    async with opened(session, tmp_path) as (app, pilot):
        await pilot.press("6")
        await settled(pilot)
        for here, keys, request in (
            (MILK, ["space"], {"act": "state.change", "ids": [MILK.id], "done": True}),
            (EGGS, ["enter"], {"act": "state.change", "ids": [EGGS.id], "done": False}),
            (MILK, ["d"], {"act": "state.remove", "ids": [MILK.id]}),
            (MILK, ["u"], {"act": "state.import", "rows": gone}),
            (MILK, ["u"], {"act": "undo"}),
            (NOTE, ["e", *"!?", "enter"], _edited(f"{NOTE.content['text']}!?")),
            (EGGS, ["a", *"tea", "enter"], _added("list", name="shopping", items=["tea"])),
            (NOTE, ["n", *"hm", "enter"], _added("note", text="hm")),
            (NOTE, ["L", *"gifts", "enter"], _added("list", name="gifts")),
        ):
            await on(here.id)(app, pilot)
            await pilot.press(*keys)
            await until(pilot, partial(session.has_asked, request))
        assert session.done == []  # space and other letters were no commands of the voice


def _edited(text: str) -> dict[str, Any]:
    return {"act": "state.change", "ids": [NOTE.id], "text": text}


def _added(kind: str, **more: Any) -> dict[str, Any]:
    return {"act": "state.add", "kind": kind, **more}


async def test_the_cursor_stays_on_its_entry_when_others_appear_above(tmp_path: Path) -> None:
    session = ToldSession((*READY, *KEPT))
    async with opened(session, tmp_path) as (app, pilot):
        await pilot.press("6")
        await settled(pilot)
        await on(EGGS.id)(app, pilot)
        session.tell(timer(600))
        await settled(pilot)
        assert app.query_one("OrganiserTab Listing", Listing).here == EGGS.id


async def test_what_is_forgotten_cannot_be_brought_back_here(tmp_path: Path) -> None:
    session = ToldSession((*READY, *KEPT))
    session.answers["state.remove"] = [{"event": "removed", "id": NOTE.id}]
    async with opened(session, tmp_path) as (app, pilot):
        await pilot.press("6")
        await settled(pilot)
        await on(NOTE.id)(app, pilot)
        await pilot.press("d")
        await until(pilot, lambda: app.query_one(OrganiserTab)._removed)
        session.tell(ForgettingBegan("f", (), (NOTE.id,), AT))
        await settled(pilot)
        await pilot.press("u")
        await until(pilot, lambda: session.has_asked({"act": "undo"}))


async def test_a_failed_request_is_shown_and_without_entries_the_tab_says_what_it_is_for(
    tmp_path: Path,
) -> None:
    class Refusing(ToldSession):
        async def ask(self, request: Any) -> Any:
            await asyncio.sleep(0)
            raise StoreError("The disk is full.")

    session = Refusing(READY)
    async with opened(session, tmp_path, (80, 24)) as (app, pilot):
        await pilot.press("6")
        await settled(pilot)
        assert "Timers, alarms, reminders, forms, plans, lists and notes" in shown(app)
        await pilot.press("n", "x", "enter")
        await until(pilot, lambda: app.state.trouble is not None)
        assert "The disk is full." in str(app.state.trouble)


async def test_every_act_is_in_the_palette(tmp_path: Path) -> None:
    async with opened(ToldSession((*READY, *KEPT)), tmp_path) as (app, pilot):
        await pilot.press("6")
        await settled(pilot)
        offered = {command.title for command in app.get_system_commands(app.screen)}
        assert {"Tick off", "Remove", "Add item", "Note", "New list", "Edit", "Undo"} <= offered
