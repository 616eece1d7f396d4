"""Requests of other processes about the user's state, on a real store."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from assistant.errors import SettingsError, StoreError
from assistant.events import StateChanged
from assistant.memory.records.hidden import HiddenItems
from assistant.state import EntryKind
from tests.support.state_session import Session, filled_in

NOW = datetime(2026, 11, 18, 10, 20, tzinfo=UTC)


def test_a_list_is_created_once_and_shown_before_its_items(session: Session) -> None:
    added = session.ask("add", kind="list", name="To-do", items=["call  Anna", "vote"])
    assert [row["kind"] for row in added] == ["list", "item", "item"]
    [again] = session.ask("add", kind="list", name="to do", items=["rest"])
    session.ask("add", kind="list", name="shopping")
    assert again["parent"] == added[0]["id"]
    assert session.contents("list") == [
        {"name": "To-do"},
        {"text": "call Anna", "done": False},
        {"text": "vote", "done": False},
        {"text": "rest", "done": False},
        {"name": "shopping"},
    ]
    assert session.ask("list", kind="list")[-1] == {"event": "listed", "kind": "list", "count": 5}


def test_items_are_ticked_off_and_texts_changed(session: Session) -> None:
    _, milk, eggs = session.ask("add", kind="list", name="shopping", items=["milk", "eggs"])
    [changed] = session.ask("change", ids=[milk["short"]], done=True)
    assert changed["content"] == {"text": "milk", "done": True}
    session.ask("change", ids=[eggs["id"]], text="six eggs")
    assert session.contents("item") == [
        {"text": "milk", "done": True},
        {"text": "six eggs", "done": False},
    ]
    [note] = session.ask("add", kind="note", text="The boiler is old.")
    session.ask("change", ids=[note["id"]], text="The boiler is new.")
    assert session.contents("note") == [{"text": "The boiler is new."}]


def test_a_change_that_does_not_fit_one_of_the_entries_changes_none(session: Session) -> None:
    top, milk = session.ask("add", kind="list", name="shopping", items=["milk"])
    for other in (top, *session.ask("add", kind="note", text="Old.")):
        with pytest.raises(SettingsError, match="can't be changed this way"):
            session.ask("change", ids=[milk["id"], other["id"]], done=True)
    assert session.contents("item") == [{"text": "milk", "done": False}]


def test_all_timers_or_all_items_of_a_list_are_cleared(session: Session) -> None:
    session.store.add(EntryKind.TIMER, [{"name": "", "length_s": 60}, {"name": "", "length_s": 9}])
    session.ask("add", kind="list", name="shopping", items=["milk"])
    session.ask("add", kind="list", name="other", items=["tea"])
    assert len(session.ask("clear", kind="timer")) == 2
    assert [row["content"]["text"] for row in session.ask("clear", kind="list", name="SHOPPING")]
    assert session.contents("list") == [
        {"name": "shopping"},
        {"name": "other"},
        {"text": "tea", "done": False},
    ]


def test_off_the_record_nothing_is_added_for_the_sessions_user(session: Session) -> None:
    _, milk = session.ask("add", kind="list", name="shopping", items=["milk"])
    rows = session.ask("export")
    session.off_record = True
    for act, more in (
        ("add", {"kind": "note", "text": "Secret."}),
        ("add", {"kind": "list", "name": "shopping", "items": ["rope"]}),
        ("change", {"ids": [milk["id"]], "text": "rope"}),
        ("import", {"rows": rows}),
    ):
        with pytest.raises(StoreError, match="off the record, so nothing is added"):
            session.ask(act, **more)
    assert session.ask("change", ids=[milk["id"]], done=True)
    assert session.ask("add", "bob", kind="note", text="His.")
    assert session.contents("note") == []
    assert session.contents("item") == [{"text": "milk", "done": True}]


def test_each_user_sees_and_changes_only_their_own_entries(session: Session) -> None:
    [mine] = session.ask("add", kind="note", text="Mine.")
    session.ask("add", "bob", kind="note", text="His.")
    assert session.contents("note", "bob") == [{"text": "His."}]
    with pytest.raises(StoreError):
        session.ask("remove", "bob", ids=[mine["id"]])
    session.ask("clear", "bob", kind="note")
    assert session.contents("note") == [{"text": "Mine."}]


def test_what_is_being_forgotten_is_not_shown_without_a_session(session: Session) -> None:
    [note] = session.ask("add", "bob", kind="note", text="Secret.")
    due = NOW + timedelta(minutes=1)
    session.transcript.hide(HiddenItems("h", "bob", NOW, due, (), (note["id"],)))
    assert session.contents("note", "bob") == []
    with pytest.raises(StoreError):
        session.ask("change", "bob", ids=[note["id"]], text="Shown.")


def test_a_session_tells_what_there_is_and_what_requests_change(session: Session) -> None:
    session.ask("add", kind="list", name="shopping", items=["milk"])
    assert [each.kind for each in session.events if isinstance(each, StateChanged)] == [
        "list",
        "item",
    ]
    session.events.clear()
    session.store.tell()
    told = {each.kind: each.entries for each in session.events if isinstance(each, StateChanged)}
    assert {kind: [each.content for each in entries] for kind, entries in told.items()} == {
        "list": [{"name": "shopping"}],
        "item": [{"text": "milk", "done": False}],
    }


def test_a_changed_slot_keeps_what_it_contained(session: Session) -> None:
    form, day = filled_in(session)
    [changed] = session.ask("change", ids=[day], value="2026-11-25")
    assert (changed["content"]["value"], changed["content"]["said"]) == ("2026-11-25", "")
    rows = session.ask("history", ids=[form])
    assert [(row["content"]["value"], row["by"]) for row in rows] == [
        ("2026-11-20", "y"),
        ("2026-11-23", ""),
    ]
    assert session.ask("history", ids=[day]) == rows
    for unusable in ({"a": 1}, [1], None, float("nan")):
        with pytest.raises(SettingsError, match="is not a value of a slot"):
            session.ask("change", ids=[day], value=unusable)
    with pytest.raises(SettingsError, match="can't be changed this way"):
        session.ask("change", ids=[form], value="x")


@pytest.mark.parametrize(
    ("act", "more", "error", "sentence"),
    [
        ("add", {"kind": "note", "text": " "}, SettingsError, "The text is empty."),
        ("add", {"kind": "note", "text": "a\ud800"}, SettingsError, "invalid character"),
        ("add", {"kind": "timer"}, SettingsError, "Timers can only be set by asking"),
        ("add", {"kind": "voice", "text": "x"}, SettingsError, "There is no kind 'voice'."),
        ("add", {"kind": "list", "name": "a", "items": "bc"}, SettingsError, "must be a list"),
        ("list", {}, SettingsError, "There is no kind None."),
        ("change", {"ids": ["012345"], "done": True}, StoreError, "There is no entry '012345'."),
        ("remove", {"ids": ["0123"]}, SettingsError, "'0123' is too short"),
        ("remove", {}, SettingsError, "The request has no `ids`."),
        ("clear", {"kind": "list", "name": "gifts"}, StoreError, "There is no list 'gifts'."),
        ("fly", {}, SettingsError, "does not know this request"),
        ("import", {}, SettingsError, "There is nothing to import."),
    ],
)
def test_malformed_requests_are_refused_with_one_sentence(
    session: Session, act: str, more: dict[str, Any], error: type[Exception], sentence: str
) -> None:
    with pytest.raises(error, match=sentence.replace(".", r"\.")):
        session.ask(act, **more)
    assert session.ask("export") == []


def a_form(session: Session) -> str:
    content = {"form": "appointment", "title": "Appointment", "opened": 0, "closed": False}
    [form] = session.store.add(EntryKind.FORM, [content])
    return form.id


def test_an_empty_slot_is_filled_and_one_that_was_filled_meanwhile_keeps_its_history(
    session: Session,
) -> None:
    form = a_form(session)
    slot = {"kind": "slot", "form": form[:8], "slot": "day", "label": "day"}
    [added] = session.ask("add", **slot, value="2026-11-20")
    assert (added["event"], added["parent"]) == ("added", form)
    [again] = session.ask("add", **slot, value="2026-11-21")
    assert again["id"] == added["id"]
    [earlier] = session.ask("history", ids=[form])
    assert earlier["content"]["value"] == "2026-11-20"
    assert [each["value"] for each in session.contents("slot")] == ["2026-11-21"]


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"form": "0123456789"}, "There is no entry"),
        ({"form": "x"}, "too short"),
        ({"value": {"day": 1}}, "`value` is not a value"),
        ({"slot": 7}, "not a string"),
        ({"label": None}, "not a string"),
    ],
)
def test_a_slot_is_filled_only_with_a_value_and_in_a_form(
    session: Session, more: dict[str, Any], why: str
) -> None:
    slot = {"kind": "slot", "form": a_form(session), "slot": "day", "label": "day", "value": "x"}
    with pytest.raises((SettingsError, StoreError), match=why):
        session.ask("add", **{**slot, **more})
    assert session.contents("slot") == []
