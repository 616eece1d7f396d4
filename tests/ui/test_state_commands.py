"""`assistant lists …`, `notes …`, `timers …` and the like as a user types them, with and without a
running assistant."""

import json
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, time, timedelta
from pathlib import Path

import pytest

from assistant.forms import FormLibrary, OpenForm, Proposal
from assistant.ipc.server import RequestServer
from assistant.language.calendar import local_day
from assistant.memory import microseconds
from assistant.memory.transcript.database import Transcript
from assistant.paths import Home
from assistant.state import EntryKind, StateRequests, StateStore
from tests.support.command_line import Run, objects
from ui.commands import entries as command


@pytest.fixture
def attended(home: Home, monkeypatch: pytest.MonkeyPatch) -> Iterator[StateStore]:
    """The state of a running assistant, which answers requests. The command must not open it."""

    def opened(*_: object) -> None:
        raise AssertionError("the command has opened the home itself")

    monkeypatch.setattr(command, "unlock", opened)
    with closing(Transcript.open(home.create().transcript)) as transcript:
        store = StateStore(transcript, "me")
        answer = StateRequests(transcript, store, "me").answer
        with closing(RequestServer(home.door, answer)):
            yield store


def test_nothing_is_created_by_looking(run: Run, home: Home) -> None:
    assert run("timers")[1] == ["No timers are running."]
    assert run("lists", "list")[1][0].startswith("There are no lists yet.")
    assert not home.transcript.exists()


def filled_ticked_and_cleared(run: Run) -> None:
    code, out, err = run("lists", "add", "shopping", "milk", "brown bread")
    assert (code, out, err) == (
        0,
        ["Added the list “shopping”.", "Added milk.", "Added brown bread."],
        [],
    )
    shown = run("lists")[1]
    assert [line[10:] for line in shown] == ["shopping", "  [ ] milk", "  [ ] brown bread"]
    milk = shown[1].split()[0]
    assert run("lists", "tick", milk)[1] == [f"{milk}    [x] milk"]
    assert run("lists", "tick", milk, "--undo")[1] == [f"{milk}    [ ] milk"]
    assert run("lists", "remove", milk)[1] == ["Removed milk."]
    assert run("lists", "clear", "Shopping")[1] == ["Removed brown bread."]
    assert [row["kind"] for row in objects(run("lists", "--json")[1])] == ["list", "list"]
    assert run("notes", "add", "The", "boiler", "is old.")[1] == [
        "Added the note: The boiler is old."
    ]
    assert run("notes", "clear")[1] == ["Removed the note: The boiler is old."]


def test_lists_and_notes_without_a_running_assistant(run: Run) -> None:
    filled_ticked_and_cleared(run)


def test_lists_and_notes_through_a_running_assistant(run: Run, attended: StateStore) -> None:
    filled_ticked_and_cleared(run)
    assert len(attended.entries(EntryKind.LIST)) == 1


def test_timers_alarms_and_reminders_are_shown_and_removed(run: Run, attended: StateStore) -> None:
    ends = microseconds(datetime.now(UTC) + timedelta(hours=2, seconds=-30))
    tomorrow = datetime.combine(
        local_day(datetime.now(UTC)) + timedelta(days=1), time(6, 30)
    ).isoformat()
    repeat = {"every": 1, "unit": "day"}
    alarm = {"name": "", "local": tomorrow, "repeat": repeat, "since": ends}
    attended.add(EntryKind.TIMER, [{"name": "pasta", "length_s": 7200, "ends_at": ends}])
    attended.add(EntryKind.TIMER, [{"name": "", "length_s": 90, "left_s": 61.2}])
    attended.add(EntryKind.ALARM, [alarm])
    attended.add(EntryKind.REMINDER, [{"words": "call Anna", "local": tomorrow}])
    pasta, paused = run("timers")[1]
    assert " pasta, 1:59:" in pasta
    assert paused.endswith("  1:02 left (paused)")
    assert " 06:30, every day" in run("alarms")[1][0]
    assert run("reminders")[1][0].endswith("  tomorrow 06:30  call Anna")
    assert run("timers", "remove", pasta.split()[0])[1] == ["Removed the timer “pasta”."]
    assert run("alarms", "clear")[1] == ["Removed the alarm."]
    assert attended.entries(EntryKind.ALARM) == []


def test_an_export_can_be_imported_elsewhere(run: Run, tmp_path: Path) -> None:
    run("lists", "add", "shopping", "milk")
    run("notes", "add", "Old.")
    file = tmp_path / "lists.jsonl"
    assert run("lists", "export", str(file))[1] == [f"2 entries written to {file}."]
    assert [json.loads(line)["kind"] for line in file.read_text().splitlines()] == ["list", "item"]
    run("lists", "remove", run("lists")[1][0].split()[0])
    assert run("lists", "import", str(file))[1] == ["2 entries imported."]
    assert [line[10:] for line in run("lists")[1]] == ["shopping", "  [ ] milk"]
    assert objects(run("notes", "export", "-")[1])[0]["content"] == {"text": "Old."}


PARCEL = """title = "Parcel"
[[slots]]
name = "weight"
type = "number"
ask = "How heavy is it?"
unit = "kilograms"
"""


def fill_in(store: StateStore) -> OpenForm:
    form = FormLibrary(Path("/nonexistent")).get("appointment")
    assert form is not None
    opened = OpenForm.begin(store, form)
    opened.put([Proposal("day", "2026-11-20", "on Friday"), Proposal("with", "*Bob*", "Bob")], "x1")
    opened.put([Proposal("day", "2026-11-23", "no, Monday")], "x2")
    return opened


def test_forms_are_listed_with_those_that_can_be_filled_in(run: Run, home: Home) -> None:
    home.forms.mkdir(parents=True)
    (home.forms / "parcel.toml").write_text(PARCEL)
    (home.forms / "broken.toml").write_text("title = 3")
    code, out, err = run("forms")
    assert (code, out[0], err) == (0, "No form has been filled in yet.", [])
    assert "  parcel: Parcel (1 question, 1 required)" in out
    assert any("broken.toml" in line for line in out)
    rows = objects(run("forms", "--json")[1])
    assert [row["event"] for row in rows] == ["listed", *4 * ["definition"], "problem"]


def test_a_definition_is_checked(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "parcel.toml"
    file.write_text(PARCEL)
    assert run("forms", "check", str(file))[1][0].startswith(
        "The form is all right. parcel: Parcel"
    )
    file.write_text(PARCEL.replace("number", "amount"))
    code, _, err = run("forms", "check", str(file))
    assert code == 2
    assert "slot `weight`: `type` takes text, number" in err[0]


def test_a_filled_in_form_is_shown_changed_and_removed(run: Run, attended: StateStore) -> None:
    opened = fill_in(attended)
    key, day = opened.key[:8], opened.filled[0].id[:8]
    assert [line[10:] for line in run("forms", "show", key)[1]] == [
        "Appointment (open)",
        "  day: 2026-11-23",
        "  with: *Bob*",
    ]
    [line] = run("forms", "history", key)[1]
    assert line.endswith('day was 2026-11-20, from "on Friday"')
    run("forms", "change", day, "the", "24th of December 2026")
    assert len(run("forms", "history", day)[1]) == 2
    assert opened.reload()
    assert opened.values()["day"] == "2026-12-24"
    code, _, err = run("forms", "change", day, "whenever")
    assert code == 2
    assert "is not a valid date: On which day?" in err[0]
    assert run("forms", "remove", day)[1] == ["Removed the answer to “day”."]
    assert run("forms", "clear")[1] == [
        "Removed the form “Appointment”.",
        "Removed the answer to “with”.",
    ]
    assert run("forms", "show", key)[0] == 5


def test_a_form_is_exported_as_json_and_as_markdown(
    run: Run, attended: StateStore, tmp_path: Path
) -> None:
    opened = fill_in(attended)
    assert run("forms", "export", "-", "--markdown")[1] == [
        "# Appointment",
        "",
        "- **day**: Monday 23 November 2026",
        r"- **with**: \*Bob\*",
    ]
    file = tmp_path / "form.md"
    run("forms", "export", str(file), opened.key[:8], "--markdown")
    assert file.read_text().splitlines()[0] == "# Appointment"
    rows = objects(run("forms", "export", "-", opened.key[:8])[1])
    assert [row["kind"] for row in rows] == ["form", "slot", "slot"]
    file = tmp_path / "form.jsonl"
    run("forms", "export", str(file))
    run("forms", "clear")
    assert run("forms", "import", str(file))[1] == ["3 entries imported."]
    assert opened.reload()
    assert opened.values() == {"day": "2026-11-23", "with": "*Bob*"}


def test_a_task_is_shown_changed_exported_and_removed(
    run: Run, attended: StateStore, tmp_path: Path
) -> None:
    assert run("tasks")[1][0].startswith("There are no tasks.")
    now = microseconds(datetime.now(UTC))
    [trip] = attended.add(EntryKind.TASK, [{"name": "plan a trip", "opened": 1, "used_at": now}])
    content = {"text": "take the train", "said_at": now, "exchange": "x"}
    [train] = attended.add(EntryKind.LINE, [content], trip.id)
    shown = [f"{trip.id[:8]}  plan a trip (open)", f"{train.id[:8]}    take the train"]
    assert run("tasks")[1] == run("tasks", "show", trip.id[:6])[1] == shown
    file = tmp_path / "tasks.jsonl"
    assert run("tasks", "export", str(file))[1] == [f"2 entries written to {file}."]
    changed = run("tasks", "change", train.id[:8], "take", "the bus")[1]
    assert changed == [f"{train.id[:8]}    take the bus"]
    [was] = run("tasks", "history", trip.id[:8])[1]
    assert was.endswith("  take the train")
    assert run("tasks", "remove", train.id[:8])[1] == ["Removed the line: take the bus."]
    assert run("tasks", "clear")[1] == ["Removed the task: plan a trip."]
    assert run("tasks", "import", str(file))[1] == ["2 entries imported."]
    attended.add(EntryKind.TASK, [{"name": "old", "opened": 1, "used_at": 1, "closed_at": 2}])
    assert [line[10:] for line in run("tasks")[1]] == [
        *("plan a trip (open)", "  take the train", "old (closed)"),
    ]
    assert run("tasks", "show", "0123456")[2][0] == "There is no task '0123456'."


def test_the_setting_says_whose_lists_they_are(run: Run) -> None:
    run("notes", "add", "Mine.")
    assert run("notes", "--user", "bob")[1][0].startswith("There are no notes yet.")


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["lists", "remove", "0123456789"], 5, "There is no entry '0123456789'."),
        (["lists", "tick", "0123"], 2, "'0123' is too short: give 6 or more characters of an id."),
        (["lists", "clear", "gifts"], 5, "There is no list 'gifts'."),
        (["notes", "add", " "], 2, "The text is empty."),
        (["notes", "import", "/nowhere/at/all"], 5, None),
        (["timers", "add", "x"], 2, None),
        (["notes", "tick", "012345"], 2, None),
    ],
)
def test_errors_give_one_sentence_and_advice(
    run: Run, words: list[str], code: int, sentence: str | None
) -> None:
    ended, out, err = run(*words)
    assert (ended, out, len(err)) == (code, [], 2)
    assert sentence is None or err[0] == sentence
    assert err[1].startswith("→ ")
