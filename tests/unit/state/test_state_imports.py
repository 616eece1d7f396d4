"""Imports of exported entries of the state, on a real store."""

from datetime import UTC, datetime
from typing import Any

import pytest

from assistant.errors import SettingsError
from assistant.memory.forgetting.redaction import Redaction
from assistant.memory.forgetting.verify import patterns_of
from assistant.memory.records.hidden import HiddenItems
from assistant.state import EntryKind, StoredWords
from assistant.state.contents import check_content
from tests.support.state_session import Session, filled_in

NOW = datetime(2026, 11, 18, 10, 20, tzinfo=UTC)


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


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"kind": "voice"}, "there is no kind 'voice'"),
        ({"id": 7}, "an id is not a string"),
        ({"content": []}, "the field `content` is not a JSON object"),
        ({"content": {"text": 3}}, "a name or text field is not a string"),
        ({"content": {"text": "a\ud800"}}, "it contains an invalid character"),
        ({"created": "2026-11-18"}, "a time has no zone"),
        ({"changed": "soon"}, "the field `changed` is not a time"),
        ({"changed": 7}, "the field `changed` is not a time"),
        ({"parent": "nowhere"}, "its list is missing"),
    ],
)
def test_an_import_with_one_unusable_row_imports_nothing(
    session: Session, changes: dict[str, Any], why: str
) -> None:
    rows = [session.ask("add", kind="note", text=text)[0] for text in ("One.", "Two.")]
    session.ask("clear", kind="note")
    with pytest.raises(SettingsError, match=f"Line 2 can't be imported: {why}"):
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
    with pytest.raises(ValueError, match=r"the field|not a string"):
        check_content(kind, content)
