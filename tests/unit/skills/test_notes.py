"""Notes that the user dictates, asks for and removes, in a real store in a real file."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from assistant.events import ForgettingBegan
from assistant.intents import CommandKind
from assistant.skills import Notes
from assistant.skills.spoken_statements import OFF_RECORD
from assistant.state import EntryKind
from tests.support.state_skills import SkillBench, skill_bench

ADD, READ, REMOVE = CommandKind.NOTE_ADD, CommandKind.NOTE_READ, CommandKind.NOTE_REMOVE
BOILER = "my boiler was serviced in May"
CODE = "the code of the shed is 4471"
GARDEN = "the boiler in the garden house leaks"
FORGOTTEN = ForgettingBegan("f", (), (), datetime(2026, 11, 21, tzinfo=UTC))


@pytest.fixture
def here(tmp_path: Path) -> Iterator[SkillBench]:
    with skill_bench(tmp_path, Notes) as bench:
        yield bench


def notes(here: SkillBench) -> list[str]:
    return [str(each["text"]) for each in here.contents(EntryKind.NOTE)]


async def later(here: SkillBench, *given: str) -> None:
    """Note these, and let ten minutes pass."""
    for each in given:
        await here.obey(ADD, each)
    here.clock[0] += 600


# -- adding ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "text", "said"),
    [
        (BOILER, "My boiler was serviced in May.", "Noted: your boiler was serviced in May."),
        (f"that {CODE}", "The code of the shed is 4471.", "Noted: the code of the shed is 4471."),
        ("to call Anna", "Call Anna.", 'Noted: "Call Anna".'),
    ],
)
async def test_a_note_is_stored_as_a_sentence(
    here: SkillBench, words: str, text: str, said: str
) -> None:
    assert await here.obey(ADD, words) == said
    assert notes(here) == [text]
    assert await here.undo() == "All right, I've dropped that note."
    assert notes(here) == []


async def test_without_words_it_asks_what_to_note(here: SkillBench) -> None:
    assert await here.obey(ADD) == "What should I note?"
    assert await here.answer("My boiler was serviced in May.") == (
        "Noted: your boiler was serviced in May."
    )
    for answer in ("Nothing.", "I don't know."):
        await here.obey(ADD)
        assert await here.answer(answer) == "All right."
    assert len(notes(here)) == 1


async def test_off_the_record_nothing_is_noted(here: SkillBench) -> None:
    await here.obey(ADD)
    here.off_record[0] = True
    assert await here.answer(BOILER) == OFF_RECORD
    assert await here.obey(ADD, BOILER) == OFF_RECORD
    assert await here.obey(ADD) == OFF_RECORD
    assert await here.obey(ADD, BOILER, sure=False) is None
    assert notes(here) == []


async def test_if_in_doubt_it_asks_before_noting(here: SkillBench) -> None:
    said = await here.obey(ADD, BOILER, sure=False)
    assert said == "Shall I note that your boiler was serviced in May?"
    assert notes(here) == []
    assert await here.answer("Yes.") == "Noted: your boiler was serviced in May."
    assert await here.obey(ADD, sure=False) == "Shall I take a note?"
    assert await here.answer("Yes.") == "What should I note?"
    assert await here.answer(CODE) == "Noted: the code of the shed is 4471."


# -- reading --------------------------------------------------------------------------------------


async def test_notes_are_read_newest_first(here: SkillBench) -> None:
    assert await here.obey(READ) == "You don't have any notes."
    await here.obey(ADD, BOILER)
    assert await here.obey(READ) == "You noted: Your boiler was serviced in May."
    await here.obey(ADD, CODE)
    assert await here.obey(READ) == (
        "You have two notes, the newest first."
        " The code of the shed is 4471. Your boiler was serviced in May."
    )
    assert await here.obey(READ, "my latest note") == "You noted: The code of the shed is 4471."


async def test_at_most_three_notes_are_read(here: SkillBench) -> None:
    for number in range(1, 9):
        await here.obey(ADD, f"shelf number {number}")
    assert await here.obey(READ, "all of them") == (
        "You have eight notes, the newest first."
        " Shelf number 8. Shelf number 7. Shelf number 6. And five more."
    )


async def test_a_long_note_is_read_to_its_end(here: SkillBench) -> None:
    long = "the spare key is under the third pot on the left of the back door by the old pear tree"
    await here.obey(ADD, long)
    assert await here.obey(READ) == f"You noted: T{long[1:]}."


@pytest.mark.parametrize(
    ("subject", "said"),
    [
        ("the shed", "You noted: The code of the shed is 4471."),
        ("4471", "You noted: The code of the shed is 4471."),
        ("my boiler's service", "You noted: Your boiler was serviced in May."),
        ("about my car", "I have no note about your car."),
        (
            "boilers",
            "You have two notes about boilers, the newest first."
            " The boiler in the garden house leaks. Your boiler was serviced in May.",
        ),
    ],
)
async def test_notes_are_read_by_subject(here: SkillBench, subject: str, said: str) -> None:
    await later(here, BOILER, CODE, GARDEN)
    assert await here.obey(READ, subject) == said


async def test_if_in_doubt_it_asks_before_reading(here: SkillBench) -> None:
    assert await here.obey(READ, sure=False) is None
    await here.obey(ADD, BOILER)
    assert await here.obey(READ, sure=False) == "Shall I read your notes?"
    assert await here.obey(READ, "the car", sure=False) is None
    said = await here.obey(READ, "my boiler", sure=False)
    assert said == "Shall I read what you noted about your boiler?"
    assert await here.answer("Yes.") == "You noted: Your boiler was serviced in May."


# -- removing -------------------------------------------------------------------------------------


async def test_a_note_is_removed_by_its_subject_and_brought_back(here: SkillBench) -> None:
    await later(here, BOILER, CODE)
    before = here.store.entries(EntryKind.NOTE)
    assert await here.obey(REMOVE, "the shed") == (
        "Removed this note: the code of the shed is 4471."
    )
    assert notes(here) == ["My boiler was serviced in May."]
    assert await here.undo() == (
        "All right, I've brought back this note: the code of the shed is 4471."
    )
    assert here.store.entries(EntryKind.NOTE) == before
    assert await here.obey(REMOVE, "my car") == "I have no note about your car."


@pytest.mark.parametrize("words", [None, "that note", "it"])
async def test_that_note_is_the_one_that_was_just_added_or_read(
    here: SkillBench, words: str | None
) -> None:
    await later(here, BOILER)
    await here.obey(ADD, CODE)
    assert await here.obey(REMOVE, words) == "Removed this note: the code of the shed is 4471."
    await here.undo()
    here.clock[0] += 600
    await here.obey(READ, "my boiler")
    assert await here.obey(REMOVE, words) == "Removed this note: your boiler was serviced in May."


async def test_if_no_note_is_named_it_asks_which(here: SkillBench) -> None:
    assert await here.obey(REMOVE) == "You don't have any notes."
    await later(here, BOILER)
    said = await here.obey(REMOVE)
    assert said == "Shall I remove this note: your boiler was serviced in May?"
    assert await here.answer("No.") == "All right, I'll keep it."
    await later(here, CODE)
    assert await here.obey(REMOVE) == "Which note shall I remove?"
    assert await here.answer("Nice weather today") is None
    await here.obey(REMOVE)
    assert await here.answer("The one about the shed.") == (
        "Removed this note: the code of the shed is 4471."
    )


@pytest.mark.parametrize(
    ("answer", "left"),
    [
        ("The second one.", [GARDEN, CODE]),
        ("the garden house", [BOILER, CODE]),
        ("Both.", [CODE]),
        ("No.", [BOILER, GARDEN, CODE]),
    ],
)
async def test_of_several_notes_the_user_chooses(
    here: SkillBench, answer: str, left: list[str]
) -> None:
    await later(here, BOILER, GARDEN, CODE)
    assert await here.obey(REMOVE, "the boiler") == (
        "Which of these do you mean: the boiler in the garden house leaks;"
        " or your boiler was serviced in May?"
    )
    await here.answer(answer)
    assert [each.lower() for each in notes(here)] == [f"{each.lower()}." for each in left]


async def test_a_note_that_shares_one_word_is_removed_only_after_a_question(
    here: SkillBench,
) -> None:
    await here.obey(ADD, "the car needs a new battery")
    said = await here.obey(REMOVE, "about the car insurance")
    assert said == "Shall I remove this note: the car needs a new battery?"
    assert await here.answer("No.") == "All right, I'll keep it."
    assert len(here.contents(EntryKind.NOTE)) == 1


async def test_all_notes_are_removed_after_a_question(here: SkillBench) -> None:
    await later(here, BOILER, CODE)
    said = await here.obey(REMOVE, "all my notes")
    assert said == "That's two notes. Shall I remove them all?"
    assert await here.answer("Yes.") == "Removed two notes."
    assert notes(here) == []
    assert await here.undo() == "All right, I've brought back two notes."
    assert len(notes(here)) == 2


async def test_the_last_note_is_the_newest(here: SkillBench) -> None:
    await later(here, BOILER, CODE)
    assert await here.obey(REMOVE, "the last one") == (
        "Removed this note: the code of the shed is 4471."
    )


async def test_if_in_doubt_it_asks_before_removing(here: SkillBench) -> None:
    assert await here.obey(REMOVE, "the shed", sure=False) is None
    await here.obey(ADD, CODE)
    said = await here.obey(REMOVE, sure=False)
    assert said == "Shall I remove this note: the code of the shed is 4471?"
    assert len(notes(here)) == 1
    assert await here.answer("Yes.") == "Removed this note: the code of the shed is 4471."


# -- what is gone meanwhile -----------------------------------------------------------------------


async def test_a_note_may_be_gone_when_the_user_answers_or_undoes(here: SkillBench) -> None:
    await here.obey(ADD, CODE)
    await here.obey(REMOVE, "the shed", sure=False)
    here.store.remove([each.id for each in here.store.entries(EntryKind.NOTE)])
    assert await here.answer("Yes.") == "That note is gone."
    assert await here.undo() == "That note is gone."


async def test_what_was_removed_stays_gone_after_something_is_forgotten(here: SkillBench) -> None:
    await here.obey(ADD, CODE)
    await here.obey(REMOVE, "the shed")
    here.emit(FORGOTTEN)
    assert await here.undo() == "There is nothing left to bring back."
    assert notes(here) == []


async def test_after_other_turns_undo_says_what_it_would_undo(here: SkillBench) -> None:
    await here.obey(ADD, CODE)
    await here.obey(REMOVE, "the shed")
    here.registry.turn_began()
    assert await here.undo() == (
        "The last thing I did was remove this note: the code of the shed is 4471."
        " Shall I bring that back?"
    )
    await here.answer("Yes.")
    here.registry.turn_began()
    assert await here.undo() == (
        "The last thing I did was note this: the code of the shed is 4471. Shall I undo that?"
    )
