"""Requests of other processes about the user's state, on a real store."""

import json
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from assistant.errors import SettingsError, StoreError
from assistant.events import Event, StateChanged
from assistant.memory import microseconds
from assistant.memory.forgetting.redaction import Redaction
from assistant.memory.forgetting.verify import patterns_of
from assistant.memory.records.hidden import HiddenItems
from assistant.memory.transcript.database import Transcript
from assistant.state import EntryKind, StateRequests, StateStore, StoredWords
from assistant.state.contents import check_content

NOW = datetime(2026, 11, 18, 10, 20, tzinfo=UTC)


class Session:
    """A running session of the user "me"."""

    def __init__(self, transcript: Transcript) -> None:
        self.transcript = transcript
        self.events: list[Event] = []
        self.store = StateStore(transcript, "me", self.events.append)
        self.off_record = False
        self.requests = StateRequests(transcript, self.store, "me", lambda: self.off_record)

    def ask(self, act: str, user: str = "me", **more: Any) -> list[dict[str, Any]]:
        rows = list(self.requests.answer({"act": f"state.{act}", "user": user, **more}))
        json.dumps(rows)
        return rows

    def imported(self, rows: list[dict[str, Any]], user: str = "me") -> int:
        [row] = self.ask("import", user, rows=rows)
        assert row == {"event": "imported", "count": row["count"], "forgotten": 0}
        return int(row["count"])

    def contents(self, kind: str, user: str = "me") -> list[dict[str, Any]]:
        return [row["content"] for row in self.ask("list", user, kind=kind)[:-1]]


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with closing(Transcript.open(tmp_path / "transcript.sqlite")) as transcript:
        yield Session(transcript)


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
        with pytest.raises(SettingsError, match="can't be changed like this"):
            session.ask("change", ids=[milk["id"], other["id"]], done=True)
    assert session.contents("item") == [{"text": "milk", "done": False}]


def test_what_was_removed_can_be_imported_again_as_it_was(session: Session) -> None:
    rows = session.ask("add", kind="list", name="shopping", items=["milk", "eggs"])
    session.ask("change", ids=[rows[1]["id"]], done=True)
    before = session.ask("export", kind="list")
    gone = session.ask("remove", ids=[rows[0]["id"]], kind="list")
    assert sorted(row["id"] for row in gone) == sorted(row["id"] for row in rows)
    assert session.contents("list") == []
    assert session.imported(gone) == 3
    assert session.ask("export", kind="list") == before
    assert session.imported(before) == 0


def test_what_another_user_exported_is_imported_with_ids_of_its_own(session: Session) -> None:
    session.ask("add", kind="list", name="shopping", items=["milk"])
    rows = session.ask("export")
    assert session.imported(rows, "bob") == 2
    assert session.contents("list", "bob") == session.contents("list")
    assert session.imported(rows, "bob") == 0
    session.ask("clear", kind="list", name="shopping")
    assert {"text": "milk", "done": False} in session.contents("list", "bob")


def test_an_import_does_not_count_what_is_being_forgotten(session: Session) -> None:
    [note] = session.ask("add", kind="note", text="Old.")
    rows = session.ask("export")
    session.store.hide(HiddenItems.of("me", (), (note["id"],), NOW))
    assert session.imported(rows) == 0


def forgetting(session: Session, *memories: str, user: str = "me") -> Redaction:
    patterns = patterns_of(session.transcript, user, (), None, memories)
    return Redaction.of(session.transcript, user, (), memories, patterns)


def test_an_import_does_not_bring_back_what_was_purged(session: Session) -> None:
    shopping, milk, _ = session.ask("add", kind="list", name="shopping", items=["milk", "eggs"])
    [note] = session.ask("add", kind="note", text="The rash itches.")
    rows = session.ask("export")
    StoredWords(session.transcript).purge(forgetting(session, milk["id"], note["id"]))
    session.ask("remove", ids=[shopping["id"]])
    [told] = session.ask("import", rows=rows)
    assert told == {"event": "imported", "count": 2, "forgotten": 2}
    assert session.contents("list") == [{"name": "shopping"}, {"text": "eggs", "done": False}]
    assert session.contents("note") == []
    assert session.ask("import", "bob", rows=rows)[0]["forgotten"] == 0, "bob forgot nothing"


def test_an_import_brings_back_nothing_of_a_list_that_was_purged(session: Session) -> None:
    shopping, milk, _ = session.ask("add", kind="list", name="shopping", items=["milk", "eggs"])
    rows = session.ask("export")
    session.ask("remove", ids=[milk["id"]])
    StoredWords(session.transcript).purge(forgetting(session, shopping["id"]))
    assert session.ask("import", rows=rows)[0]["forgotten"] == 3
    assert session.ask("export") == []


def test_an_import_keeps_to_what_its_user_has_purged_under_other_ids(session: Session) -> None:
    [note] = session.ask("add", kind="note", text="The rash itches.")
    rows = session.ask("export")
    session.ask("import", "bob", rows=rows)
    [his] = session.ask("export", "bob")
    StoredWords(session.transcript).purge(forgetting(session, his["id"], user="bob"))
    assert session.ask("import", "bob", rows=rows)[0]["forgotten"] == 1
    session.ask("remove", ids=[note["id"]])  # its id is free again
    assert session.ask("import", "bob", rows=rows)[0]["forgotten"] == 1
    assert session.contents("note", "bob") == []


def test_an_import_does_not_bring_back_what_a_purged_exchange_gave_to_a_form(
    session: Session,
) -> None:
    _, day = filled_in(session)
    rows = session.ask("export", kind="form")
    rows[1]["content"]["exchange"] = "x"  # as it was before it was changed
    session.ask("remove", ids=[day])
    session.transcript.delete_exchanges("me", ["x"])
    assert session.ask("import", rows=rows)[0]["forgotten"] == 1
    assert [each["slot"] for each in session.contents("slot")] == ["bring"]


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


def filled_in(session: Session) -> tuple[str, str]:
    """Fill in a form. Return the ids of the form and of its first slot."""
    form = {"form": "appointment", "title": "Appointment", "opened": microseconds(NOW)}
    [entry] = session.store.add(EntryKind.FORM, [form])
    day = {"slot": "day", "label": "day", "value": "2026-11-20", "said": "Friday", "exchange": "x"}
    bring = {"slot": "bring", "label": "to bring", "value": ["a pen"]}
    slots = session.store.add(EntryKind.SLOT, [day, bring], entry.id)
    session.store.change(slots[0].id, {**day, "value": "2026-11-23"}, "y", logged=True)
    return entry.id, slots[0].id


def test_a_form_is_shown_before_its_slots_and_exported_and_imported_with_them(
    session: Session,
) -> None:
    form, day = filled_in(session)
    rows = session.ask("list", kind="form")
    assert [row["kind"] for row in rows[:-1]] == ["form", "slot", "slot"]
    before = session.ask("export", kind="form")
    assert len(session.ask("remove", ids=[form], kind="form")) == 3
    assert session.imported(before) == 3
    assert session.ask("export", kind="form") == before
    assert [row["id"] for row in session.ask("remove", ids=[day])] == [day]
    with pytest.raises(SettingsError, match="its form is missing"):
        session.ask("import", "bob", rows=before[1:])


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
    with pytest.raises(SettingsError, match="can't be changed like this"):
        session.ask("change", ids=[form], value="x")


@pytest.mark.parametrize(
    ("act", "more", "error", "sentence"),
    [
        ("add", {"kind": "note", "text": " "}, SettingsError, "The text is empty."),
        ("add", {"kind": "note", "text": "a\ud800"}, SettingsError, "invalid character"),
        ("add", {"kind": "timer"}, SettingsError, "A timer can only be set by asking"),
        ("add", {"kind": "voice", "text": "x"}, SettingsError, "There is no kind 'voice'."),
        ("add", {"kind": "list", "name": "a", "items": "bc"}, SettingsError, "must be texts"),
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


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"kind": "voice"}, "There is no kind 'voice'"),
        ({"id": 7}, "an id is not a text"),
        ({"content": []}, "the field `content` is not a JSON object"),
        ({"content": {"text": 3}}, "a name or a text is not a text"),
        ({"content": {"text": "a\ud800"}}, "invalid character"),
        ({"created": "2026-11-18"}, "a time has no zone"),
        ({"changed": "soon"}, "Invalid isoformat"),
        ({"parent": "nowhere"}, "its list is missing"),
    ],
)
def test_an_import_with_one_unusable_row_imports_nothing(
    session: Session, changes: dict[str, Any], why: str
) -> None:
    rows = [session.ask("add", kind="note", text=text)[0] for text in ("One.", "Two.")]
    session.ask("clear", kind="note")
    with pytest.raises(SettingsError, match=f"Line 2 can't be imported: .*{why}"):
        session.ask("import", rows=[rows[0], {**rows[1], **changes}])
    assert session.contents("note") == []


@pytest.mark.parametrize(
    ("kind", "content", "why"),
    [
        ("note", {}, "the field `text` is missing"),
        ("list", {}, "the field `name` is missing"),
        ("reminder", {"local": "2026-11-19T09:00"}, "the field `words` is missing"),
        ("timer", {"name": "", "length_s": 60}, "the field `ends_at` or `left_s` is missing"),
        ("timer", {"name": "", "length_s": "x", "left_s": 1}, "`length_s` is not a usable number"),
        ("timer", {"name": "", "length_s": 60, "ends_at": 10**30}, "`ends_at` is not a moment"),
        ("alarm", {}, "the field `at` or `local` is missing"),
        ("alarm", {"local": "soon"}, "`local` is not a local time"),
        ("alarm", {"at": 1, "rang_at": "x"}, "`rang_at` is not a moment"),
        ("alarm", {"local": "2026-11-19T09:00", "repeat": {}}, "needs the fields"),
        (
            "alarm",
            {"local": "2026-11-19T09:00", "since": 1, "repeat": {"every": 1, "unit": "eon"}},
            "`repeat` is not a repetition",
        ),
        (
            "alarm",
            {
                "local": "2026-11-19T09:00",
                "since": 1,
                "repeat": {"every": 1, "unit": "month", "nth": 2},
            },
            "`repeat` is not a repetition",
        ),
    ],
)
def test_what_no_skill_could_read_is_not_imported(
    session: Session, kind: str, content: dict[str, Any], why: str
) -> None:
    [row] = session.ask("add", kind="note", text="One.")
    with pytest.raises(SettingsError, match=f"Line 1 can't be imported: .*{why}"):
        session.ask("import", rows=[{**row, "id": "other", "kind": kind, "content": content}])
    assert session.contents(kind) == ([row["content"]] if kind == "note" else [])


def test_an_item_without_done_is_not_imported(session: Session) -> None:
    rows = session.ask("add", kind="list", name="shopping", items=["milk"])
    session.ask("clear", kind="list")
    with pytest.raises(SettingsError, match="Line 2 can't be imported: the field `done` is miss"):
        session.ask("import", rows=[rows[0], {**rows[1], "content": {"text": "milk"}}])


def test_tasks_are_shown_with_their_lines_changed_with_a_trace_and_imported(
    session: Session,
) -> None:
    task = {"name": "plan the trip", "opened": 1, "used_at": 1}
    [trip] = session.store.add(EntryKind.TASK, [task])
    line: dict[str, Any] = {"text": "take the train", "said_at": 1, "exchange": "x1"}
    [train] = session.store.add(EntryKind.LINE, [line], trip.id)
    assert session.contents("task") == [task, line]
    session.ask("change", ids=[train.id], text="take the bus")
    [changed] = session.contents("line")
    assert changed == {**changed, "text": "take the bus", "exchange": ""}
    assert changed["said_at"] > line["said_at"]  # "tomorrow" is counted from now on
    [earlier] = session.ask("history", ids=[trip.id])
    assert (earlier["kind"], earlier["content"]) == ("line", line)
    exported = session.ask("export", kind="task")
    session.ask("remove", ids=[trip.id])
    assert session.imported(exported) == 2
    assert len(session.contents("task")) == 2


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        (EntryKind.TASK, {"name": "plan the trip", "opened": 1}),
        (EntryKind.TASK, {"name": "plan the trip", "opened": 1, "used_at": "today"}),
        (EntryKind.TASK, {"name": 7, "opened": 1, "used_at": 1}),
        (EntryKind.LINE, {"text": "take the train", "said_at": 1}),
        (EntryKind.LINE, {"text": "take the train", "said_at": 1e9, "exchange": ""}),
    ],
)
def test_tasks_and_lines_that_no_skill_can_read_are_not_imported(
    kind: EntryKind, content: dict[str, Any]
) -> None:
    with pytest.raises(ValueError, match=r"the field|not a text"):
        check_content(kind, content)


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
        ({"slot": 7}, "not a text"),
        ({"label": None}, "not a text"),
    ],
)
def test_a_slot_is_filled_only_with_a_value_and_in_a_form(
    session: Session, more: dict[str, Any], why: str
) -> None:
    slot = {"kind": "slot", "form": a_form(session), "slot": "day", "label": "day", "value": "x"}
    with pytest.raises((SettingsError, StoreError), match=why):
        session.ask("add", **{**slot, **more})
    assert session.contents("slot") == []
