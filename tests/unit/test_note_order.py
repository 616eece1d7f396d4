"""Notes that may contradict each other: the newest first, with their dates."""

from datetime import UTC, datetime, timedelta

from assistant.context.note import ASSISTANT, Note
from assistant.context.note_order import newest_first
from assistant.context.notes import NotesBudget, QuestionCues, notes_block

NOW = datetime(2026, 4, 10, 12, tzinfo=UTC)


def note(text: str, days_ago: float, *, kind: str = "fact", speaker: str = "user") -> Note:
    return Note(text, text, NOW - timedelta(days=days_ago), speaker, kind)


def order(*notes: Note) -> list[str]:
    return [each.text for each in newest_first(notes)[0]]


def test_the_newest_of_those_about_the_same_takes_the_first_place_of_them() -> None:
    blue = note("My favourite colour is blue.", 30)
    lisbon = note("I live near the harbour in Lisbon.", 90)
    green = note("My favourite colour is green.", 2)
    yellow = note("My favourite colour is yellow.", 9)
    found, rivals = newest_first([blue, lisbon, yellow, green])
    assert found == [green, lisbon, yellow, blue]
    assert rivals == {blue.id, green.id, yellow.id}


def test_what_is_about_something_else_or_from_somebody_else_stays_where_it_is() -> None:
    notes = (
        note("My favourite colour is blue.", 30),
        note("My favourite song is a waltz.", 2),
        note("My favourite colour is green.", 1, speaker=ASSISTANT),
        note("Ok.", 0),
        note("Ok!", 0),
    )
    assert order(*notes) == [each.text for each in notes]
    assert newest_first(notes)[1] == frozenset()


def test_what_something_newer_stands_for_comes_last_the_newest_first() -> None:
    porto = Note("I live in Porto.", "porto", NOW - timedelta(days=50), superseded_by="lisbon")
    faro = Note("I live in Faro.", "faro", NOW - timedelta(days=20), superseded_by="lisbon")
    lisbon = Note("I moved to Lisbon.", "lisbon", NOW - timedelta(days=3))
    found, rivals = newest_first([porto, faro, lisbon])
    assert [each.id for each in found] == ["lisbon", "faro", "porto"]
    assert rivals == {"lisbon", "faro", "porto"}


def test_facts_that_may_contradict_each_other_say_when_they_were_told() -> None:
    notes = [
        note("The user's favourite colour is blue.", 30),
        note("The user is vegan.", 30),
        note("The user's favourite colour is green.", 1),
    ]
    block = notes_block(
        notes, NOW, lambda text: len(text.split()), NotesBudget(200, 200), QuestionCues()
    )
    assert block.text.splitlines()[1:] == [
        "- yesterday: The user's favourite colour is green.",
        "- The user is vegan.",
        "- 4 weeks ago: The user's favourite colour is blue.)",
    ]
