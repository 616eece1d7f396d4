"""Forms and plans in the organiser, on a real store."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, closing
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from textual.pilot import Pilot
from textual.widgets import Input

from assistant.memory import microseconds
from assistant.memory.transcript.database import Transcript
from assistant.state import Entry, EntryKind, StateRequests, StateStore
from tests.support.pilots import shown, until
from tests.support.screens import READY, ToldSession, opened, settled
from ui.screen.app import AssistantScreen
from ui.screen.widgets.dialogs import LineDialog
from ui.screen.widgets.lists import Listing

NOW = datetime.now().astimezone()


class StoreSession(ToldSession):
    """Answers requests about the state from a store, and tells its events."""

    def __init__(self, transcript: Transcript) -> None:
        super().__init__(READY)
        self.store = StateStore(transcript, "me", self.tell)
        self._requests = StateRequests(transcript, self.store, "me")

    async def ask(self, request: Mapping[str, Any]) -> list[dict[str, Any]]:
        self.asked.append(dict(request))
        await asyncio.sleep(0)
        return list(self._requests.answer({**request, "user": "me"}))

    def form(self, key: str, closed: bool = False, minute: int = 0, **values: Any) -> Entry:
        """Add a form with these values by the names of their slots."""
        at = microseconds(NOW + timedelta(minutes=minute))
        title = key.replace("_", " ").capitalize()
        content = {"form": key, "title": title, "opened": at, "asked": "", "closed": closed}
        [form] = self.store.add(EntryKind.FORM, [content])
        slots = [{"slot": name, "label": name, "value": value} for name, value in values.items()]
        self.store.add(EntryKind.SLOT, slots, form.id)
        return form

    def task(self, name: str, *lines: str, days: int = 0, **more: int) -> Entry:
        """Add a plan of so many days ago."""
        at = microseconds(NOW - timedelta(days=days))
        content = {"name": name, "opened": at, "used_at": at, **more}
        [task] = self.store.add(EntryKind.TASK, [content])
        contents = [{"text": line, "said_at": at, "exchange": ""} for line in lines]
        self.store.add(EntryKind.LINE, contents, task.id)
        return task

    def slot(self, form: Entry, name: str) -> Entry:
        slots = self.store.entries(EntryKind.SLOT, form.id)
        return next(each for each in slots if each.content["slot"] == name)

    def values(self, form: Entry) -> dict[str, Any]:
        slots = self.store.entries(EntryKind.SLOT, form.id)
        return {each.content["slot"]: each.content["value"] for each in slots}


Opened = tuple[StoreSession, AssistantScreen, Pilot[int]]


@asynccontextmanager
async def organiser(folder: Path, size: tuple[int, int] = (120, 40)) -> AsyncIterator[Opened]:
    with closing(Transcript.in_ram()) as transcript:
        session = StoreSession(transcript)
        async with opened(session, folder, size) as (app, pilot):
            await pilot.press("6")
            yield session, app, pilot


async def at(app: AssistantScreen, pilot: Pilot[int], key: str, *keys: str) -> None:
    """Put the cursor on an entry, and press keys."""
    await settled(pilot)
    rows = app.query_one("OrganiserTab Listing", Listing)
    rows.highlighted = rows.get_option_index(key)
    await pilot.pause()
    await pilot.press(*keys)
    await pilot.pause()


async def write(app: AssistantScreen, pilot: Pilot[int], text: str) -> None:
    """Write a text into the dialog, and confirm it."""
    await until(pilot, lambda: isinstance(app.screen, LineDialog))
    app.screen.query_one(Input).value = text
    await pilot.press("enter")
    await pilot.pause()


async def told(app: AssistantScreen, pilot: Pilot[int], sentence: str) -> None:
    """Wait until a sentence is shown."""
    await until(pilot, lambda: sentence in shown(app))


def rows_of(app: AssistantScreen) -> list[str]:
    return [line.strip() for line in shown(app).splitlines()[3:-1] if line.strip()]


async def test_open_forms_come_first_with_what_is_missing_and_finished_ones_last(
    tmp_path: Path,
) -> None:
    async with organiser(tmp_path) as (session, app, pilot):
        session.form("appointment", closed=True, online=True, day="2026-11-20")
        session.form("shopping_trip", minute=1, shop="the market")
        session.form("medical_intake", minute=2, since="2026-11-09", born="unknown", allergies=[])
        session.store.add(EntryKind.NOTE, [{"text": "The boiler is from 2009."}])
        session.task("the garden party", "on Friday", closed_at=microseconds(NOW))
        session.task("the trip to Lisbon", "fly on the third of May", "not the hostel")
        await settled(pilot)
        assert rows_of(app) == [
            "Forms",
            "Medical intake  3 of 9",
            "reason             –",
            "since              Monday 9 November 2026",
            "severity           –",
            "temperature        –",
            "medicines          –",
            "allergies          none",
            "smoker             –",
            "born               not known",
            "emergency contact  –",
            "Shopping trip  1 of 7",
            *("shop        the market", "day         –", "time        –", "items       –"),
            *("budget      –", "transport   –", "going with  –"),
            "Plans",
            *("the trip to Lisbon", "· fly on the third of May", "· not the hostel"),
            *("the garden party  closed", "· on Friday"),
            *("Notes", "The boiler is from 2009."),
            "Finished forms",
            "Appointment  today",
            *("day     Friday 20 November 2026", "online  yes"),
        ]


async def test_an_answer_is_edited_as_it_would_be_said_and_the_old_one_stays_in_its_history(
    tmp_path: Path,
) -> None:
    async with organiser(tmp_path) as (session, app, pilot):
        form = session.form("medical_intake", severity=4, since="2026-11-09")
        slot = session.slot(form, "severity")
        await at(app, pilot, slot.id, "e")
        await told(app, pilot, "How bad is it, from zero to ten?")
        await write(app, pilot, "twelve")
        await told(app, pilot, "This must be a number from 0 to 10.")
        assert session.values(form)["severity"] == 4
        await write(app, pilot, "about seven")
        await until(pilot, lambda: session.values(form)["severity"] == 7)
        assert [each.content["value"] for each in session.store.changes(slot.id)] == [4]
        await settled(pilot)
        assert "severity           7" in rows_of(app)

        await at(app, pilot, session.slot(form, "since").id, "enter")
        assert app.screen.query_one(Input).value == "2026-11-09"
        await pilot.press("enter")  # unchanged, so nothing is asked of the assistant
        await until(pilot, lambda: len(app.screen_stack) == 1)
        assert len(session.asked) == 1


async def test_an_empty_question_is_answered_and_its_answer_removed_and_brought_back(
    tmp_path: Path,
) -> None:
    async with organiser(tmp_path) as (session, app, pilot):
        form = session.form("appointment")
        await at(app, pilot, f"{form.id}/online", "d")
        await at(app, pilot, f"{form.id}/online", "e")
        await write(app, pilot, "it depends")
        await told(app, pilot, "This must be yes or no.")
        await write(app, pilot, "It is.")
        await until(pilot, lambda: session.values(form) == {"online": True})
        await at(app, pilot, session.slot(form, "online").id, "d")
        await until(pilot, lambda: session.values(form) == {})
        await pilot.press("u")
        await until(pilot, lambda: session.values(form) == {"online": True})
        acts = [each["act"] for each in session.asked]
        assert acts == ["state.add", "state.remove", "state.import"]  # none for the empty one


async def test_a_form_is_removed_with_its_answers_and_brought_back(tmp_path: Path) -> None:
    async with organiser(tmp_path) as (session, app, pilot):
        form = session.form("appointment", closed=True, day="2026-11-20", place="the clinic")
        before = session.values(form)
        await at(app, pilot, form.id, "d")
        await until(pilot, lambda: not session.store.entries(EntryKind.FORM))
        assert session.store.entries(EntryKind.SLOT) == []
        await settled(pilot)
        assert not any("Appointment" in row for row in rows_of(app))
        await pilot.press("u")
        await until(pilot, lambda: session.values(form) == before)


async def test_a_form_is_exported_as_markdown_or_json_to_a_file_that_is_new(tmp_path: Path) -> None:
    async with organiser(tmp_path) as (session, app, pilot):
        session.form("shopping_trip", shop="the market")
        form = session.form("appointment", day="2026-11-20", minutes=30)
        await at(app, pilot, form.id, "E")
        proposed = app.screen.query_one(Input).value
        assert proposed == f"~/appointment-{NOW:%Y-%m-%d}.md"
        await write(app, pilot, str(tmp_path / "form.md"))
        await until(pilot, (tmp_path / "form.md").exists)
        assert (tmp_path / "form.md").read_text().splitlines() == [
            *("# Appointment", ""),
            *("- **day**: Friday 20 November 2026", "- **minutes**: 30 minutes"),
        ]
        await at(app, pilot, session.slot(form, "day").id, "E")
        await write(app, pilot, str(tmp_path / "form.json"))
        await until(pilot, (tmp_path / "form.json").exists)
        rows = [json.loads(line) for line in (tmp_path / "form.json").read_text().splitlines()]
        assert [row["kind"] for row in rows] == ["form", "slot", "slot"]
        assert rows[0]["id"] == form.id
        await at(app, pilot, form.id, "E")
        await write(app, pilot, str(tmp_path / "form.md"))
        await until(pilot, lambda: app.state.trouble is not None)
        assert "already exists" in str(app.state.trouble)


async def test_own_forms_are_known_and_without_its_definition_a_form_shows_what_is_stored(
    tmp_path: Path,
) -> None:
    (tmp_path / "forms").mkdir()
    (tmp_path / "forms" / "bike.toml").write_text(
        'title = "Bike"\nslots = [{name = "size", type = "choice", ask = "Which size?",'
        ' label = "frame size", choices = ["small", "medium", "large"]}]'
    )
    async with organiser(tmp_path) as (session, app, pilot):
        bike, gone = session.form("bike", minute=1), session.form("gone", bought="2026-11-09")
        await settled(pilot)
        assert rows_of(app)[1:] == [
            *("Bike  0 of 1", "frame size  –"),
            *("Gone  1 of 1", "bought  2026-11-09"),
        ]
        await at(app, pilot, f"{bike.id}/size", "e")
        await write(app, pilot, "huge")
        await told(app, pilot, "This must be small, medium or large.")
        await pilot.press("escape")
        await at(app, pilot, session.slot(gone, "bought").id, "e")
        assert len(app.screen_stack) == 1
        assert session.asked == []


async def test_on_a_small_terminal_a_long_text_continues_below_itself(tmp_path: Path) -> None:
    async with organiser(tmp_path, (80, 24)) as (session, app, pilot):
        reason = "a rash on my left arm that itches, mostly at night and after a day in the sun"
        session.form("appointment", about=reason, bring=["pen"])
        session.store.add(EntryKind.NOTE, [{"text": f"The doctor spoke of {reason}."}])
        await settled(pilot)
        lines = shown(app).splitlines()
        first = next(line for line in lines if "a rash on" in line)
        following = lines[lines.index(first) + 1]
        assert following.index(following.split()[0]) == first.index("a rash on")
        assert " ".join(f"{first} {following}".split()) == f"about {reason}"
        assert "…" not in "".join(lines[3:-1])


async def test_every_act_on_forms_is_in_the_palette(tmp_path: Path) -> None:
    async with organiser(tmp_path) as (session, app, pilot):
        await at(app, pilot, session.form("appointment").id)
        offered = {command.title for command in app.get_system_commands(app.screen)}
        assert {"Edit", "Remove", "Export form", "Undo"} <= offered


async def test_a_line_of_a_plan_stays_true_on_later_days_and_after_it_was_edited(
    tmp_path: Path,
) -> None:
    async with organiser(tmp_path) as (session, app, pilot):
        task = session.task("the trip to Lisbon", "fly tomorrow", days=2)
        session.task("the garden party", "buy the wine tomorrow")
        await settled(pilot)
        day = NOW.date() - timedelta(days=1)
        shown_then = f"fly on {day:%A} {day.day} {day:%B} {day.year}"
        assert rows_of(app) == [
            *("Plans", "the garden party", "· buy the wine tomorrow"),
            *("the trip to Lisbon  closed", f"· {shown_then}"),
        ]
        [line] = session.store.entries(EntryKind.LINE, task.id)
        await at(app, pilot, line.id, "e")
        assert app.screen.query_one(Input).value == shown_then
        await write(app, pilot, "take the train tomorrow")
        await told(app, pilot, "· take the train tomorrow")
        assert [each.content["text"] for each in session.store.changes(line.id)] == ["fly tomorrow"]
        await at(app, pilot, task.id, "d")
        await until(pilot, lambda: len(session.store.entries(EntryKind.TASK)) == 1)
        await pilot.press("u")
        await told(app, pilot, "· take the train tomorrow")
