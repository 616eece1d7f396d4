"""Reminders: set with what is missing asked for, listed and cancelled."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from assistant.events import ForgettingBegan
from assistant.intents.command import CommandKind as Kind
from assistant.skills.due.reminders import (
    GONE,
    NO_SUCH,
    NONE,
    NONE_THEN,
    OF_WHAT,
    WHEN,
    WHEN_EXACTLY,
    Reminders,
)
from assistant.skills.spoken_statements import OFF_RECORD
from assistant.state import EntryKind
from tests.support.due import START, Bench


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path / "t.db", lambda watch, off: [Reminders(watch.entries, off)])
    yield bench
    bench.transcript.close()


async def test_a_reminder_is_set_and_told_once(here: Bench) -> None:
    said = await here.say(Kind.REMINDER_SET, "call my sister", when="tomorrow at nine")
    assert said == "I'll remind you at nine tomorrow to call your sister."
    assert here.contents(EntryKind.REMINDER)[0]["words"] == "call my sister"
    assert await here.wait(22 * 3600) == []
    assert await here.wait(3600) == ["Here's your reminder to call your sister."]
    assert not here.ringer.rang[0][1]


async def test_a_duration_counts_from_now(here: Bench) -> None:
    here.set_by_hand.pass_(13)
    said = await here.say(Kind.REMINDER_SET, "move the car", when="In twenty minutes")
    assert said == "I'll remind you in twenty minutes to move the car."
    assert await here.wait(1190) == []
    assert await here.wait(10) == ["Here's your reminder to move the car."]


async def test_a_repetition_is_named(here: Bench) -> None:
    said = await here.say(Kind.REMINDER_SET, "the recycling", when="every Monday at 7 p.m.")
    assert said == "I'll remind you every Monday at seven in the evening about the recycling."


async def test_what_is_missing_is_asked_for(here: Bench) -> None:
    assert await here.say(Kind.REMINDER_SET) == OF_WHAT
    assert await here.answer("to water the tomatoes") == WHEN
    said = await here.answer("in the evening")
    assert said == "I'll remind you at six this evening to water the tomatoes."
    assert await here.say(Kind.REMINDER_SET, when="tomorrow at nine") == OF_WHAT
    assert await here.answer("the bins") == "I'll remind you at nine tomorrow about the bins."
    assert await here.say(Kind.REMINDER_SET, "the bins") == WHEN
    assert await here.answer("I have two cats") is None


async def test_not_knowing_what_of_sets_nothing(here: Bench) -> None:
    assert await here.say(Kind.REMINDER_SET, when="tomorrow at nine") == OF_WHAT
    assert await here.answer("I don't know.") == "All right."
    assert await here.say(Kind.REMINDER_LIST) == "You have no reminders."


async def test_a_time_that_is_not_understood_is_asked_for(here: Bench) -> None:
    said = await here.say(Kind.REMINDER_SET, "call Anna", when="when I get home")
    assert said == WHEN_EXACTLY
    assert await here.answer("at six") == "I'll remind you at six this evening to call Anna."


async def test_off_the_record_nothing_is_noted(here: Bench) -> None:
    assert await here.say(Kind.REMINDER_SET, "call Anna") == WHEN
    here.off_record = True
    assert await here.answer("at six") == OFF_RECORD
    assert await here.say(Kind.REMINDER_SET, "call Anna", when="at six") == OFF_RECORD
    assert here.contents(EntryKind.REMINDER) == []


async def test_a_reminder_that_was_set_is_undone(here: Bench) -> None:
    await here.say(Kind.REMINDER_SET, "call Anna", when="at six")
    assert await here.undo() == "Cancelled the reminder to call Anna."
    assert here.contents(EntryKind.REMINDER) == []


async def test_after_other_turns_it_is_asked_before_it_is_undone(here: Bench) -> None:
    await here.say(Kind.REMINDER_SET, "call Anna", when="at six")
    here.skills.turn_began()
    asked = await here.undo()
    assert asked == ("The last thing I did was set a reminder to call Anna. Shall I undo that?")
    assert await here.answer("yes") == "Cancelled the reminder to call Anna."


async def test_reminders_are_listed_soonest_first(here: Bench) -> None:
    assert await here.say(Kind.REMINDER_LIST) == NONE
    await here.say(Kind.REMINDER_SET, "the bins", when="every Monday at eight")
    said = await here.say(Kind.REMINDER_LIST)
    assert said == "You have one reminder, every Monday at eight about the bins."
    await here.say(Kind.REMINDER_SET, "call my sister", when="tomorrow at nine")
    said = await here.say(Kind.REMINDER_LIST)
    assert said == (
        "Your reminders: at nine tomorrow, call your sister; and every Monday at eight, the bins."
    )
    said = await here.say(Kind.REMINDER_LIST, when="tomorrow")
    assert said == "You have one reminder, at nine tomorrow to call your sister."
    assert await here.say(Kind.REMINDER_LIST, when="on Saturday") == NONE_THEN


async def test_of_many_reminders_five_are_told(here: Bench) -> None:
    for hour in range(1, 9):
        await here.say(Kind.REMINDER_SET, f"call number {hour}", when=f"tomorrow at {hour} p.m.")
    said = await here.say(Kind.REMINDER_LIST)
    assert said is not None
    assert said.count("call number") == 5
    assert said.endswith("; and three more.")


async def test_which_reminder_is_told_by_its_words(here: Bench) -> None:
    await here.say(Kind.REMINDER_SET, "call Anna about the trip", when="tomorrow at nine")
    await here.say(Kind.REMINDER_SET, "call the surgery", when="tomorrow at ten")
    assert await here.say(Kind.REMINDER_CANCEL, "the plumber") == NO_SUCH
    asked = await here.say(Kind.REMINDER_CANCEL, "the call")
    assert asked == (
        "Which one: call Anna about the trip, at nine tomorrow,"
        " or call the surgery, at ten tomorrow?"
    )
    assert await here.answer("the surgery") == "Cancelled the reminder to call the surgery."
    assert await here.say(Kind.REMINDER_CANCEL, "calling Anna") == (
        "Cancelled the reminder to call Anna about the trip."
    )
    await here.undo()
    assert len(here.contents(EntryKind.REMINDER)) == 1


async def test_a_reminder_that_shares_one_word_is_cancelled_only_after_a_question(
    here: Bench,
) -> None:
    await here.say(Kind.REMINDER_SET, "wash the car", when="tomorrow at nine")
    asked = await here.say(Kind.REMINDER_CANCEL, "the car insurance")
    assert asked == "Shall I cancel the reminder to wash the car?"
    assert await here.answer("no") == "All right."
    await here.say(Kind.REMINDER_CANCEL, "the car insurance")
    assert await here.answer("yes") == "Cancelled the reminder to wash the car."


async def test_a_reminder_that_was_told_cannot_be_undone(here: Bench) -> None:
    await here.say(Kind.REMINDER_SET, "call Anna", when="in one minute")
    await here.wait(60)
    assert await here.undo() == "That has rung already."


async def test_all_reminders_of_a_day_are_cancelled(here: Bench) -> None:
    await here.say(Kind.REMINDER_SET, "call Anna", when="on Thursday at nine")
    await here.say(Kind.REMINDER_SET, "the bins", when="on Thursday at ten")
    await here.say(Kind.REMINDER_SET, "the rent", when="on Friday")
    said = await here.say(Kind.REMINDER_CANCEL, when="Thursday", every=True)
    assert said == "Cancelled the reminder to call Anna and the reminder about the bins."
    assert [each["words"] for each in here.contents(EntryKind.REMINDER)] == ["the rent"]


async def test_an_unsure_reminder_is_asked_about(here: Bench) -> None:
    asked = await here.say(Kind.REMINDER_SET, "phone the bank", when="at two", sure=False)
    assert asked == "Shall I remind you at two this afternoon to phone the bank?"
    said = await here.answer("yes")
    assert said == "I'll remind you at two this afternoon to phone the bank."
    assert await here.say(Kind.REMINDER_SET, when="at two", sure=False) is None


async def test_a_cancelled_reminder_stays_off_when_its_time_has_passed(here: Bench) -> None:
    await here.say(Kind.REMINDER_SET, "call Anna", when="tomorrow at nine")
    await here.say(Kind.REMINDER_CANCEL)
    await here.wait(48 * 3600)
    said = await here.undo()
    assert said == "The reminder to call Anna stays off, because its time has passed."
    assert await here.wait(60) == []


async def test_a_cancelled_repetition_goes_on_with_its_next_time(here: Bench) -> None:
    await here.say(Kind.REMINDER_SET, "call Anna", when="every day at nine")
    await here.say(Kind.REMINDER_CANCEL)
    await here.wait(48 * 3600)
    assert await here.undo() == "The reminder to call Anna is on again."
    assert await here.wait(60) == []
    assert len(await here.wait(24 * 3600)) == 1


async def test_a_skipped_time_that_has_passed_does_not_ring_after_undo(here: Bench) -> None:
    await here.say(Kind.REMINDER_SET, "call Anna", when="every day at nine")
    await here.say(Kind.REMINDER_CANCEL, when="tomorrow")
    await here.wait(23 * 3600)
    assert await here.undo() == "The reminder to call Anna is on again."
    assert await here.wait(60) == []


async def test_a_cancelled_reminder_is_gone_for_good_once_anything_is_forgotten(
    here: Bench,
) -> None:
    await here.say(Kind.REMINDER_SET, "call Dr Meyer", when="tomorrow at nine")
    await here.say(Kind.REMINDER_CANCEL)
    here.watch.watch(ForgettingBegan("f", (), (), START))
    assert await here.undo() == GONE
    assert here.contents(EntryKind.REMINDER) == []


async def test_what_can_be_undone_keeps_no_words_of_a_reminder(here: Bench) -> None:
    await here.say(Kind.REMINDER_SET, "call Dr Meyer", when="every day at nine")
    await here.say(Kind.REMINDER_CANCEL, when="tomorrow")
    await here.say(Kind.REMINDER_CANCEL)
    assert len(here.skills._undos) == 3
    assert "Meyer" not in repr([(each.act, each.question) for each in here.skills._undos])
