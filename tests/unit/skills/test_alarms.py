"""Alarms: set, listed, cancelled and snoozed."""

from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest

from assistant.intents.command import CommandKind as Kind
from assistant.skills.due.alarms import GONE, NO_SUCH, NONE, NONE_THEN, WHAT_TIME, Alarms
from assistant.skills.due.snoozing import HOW_LONG, NOT_AGAIN, NOTHING_RINGS, Snoozing
from assistant.skills.due.timers import Timers
from assistant.state import EntryKind
from tests.support.due import Bench

DAY_S = 86_400.0


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(
        tmp_path / "t.db",
        lambda watch, off: [
            Alarms(watch.entries, off),
            Timers(watch.entries, off),
            Snoozing(watch),
        ],
    )
    yield bench
    bench.transcript.close()


@pytest.mark.parametrize(
    ("when", "said"),
    [
        ("tomorrow at half past seven", "Alarm set for half past seven tomorrow."),
        ("7", "Alarm set for seven tomorrow."),
        ("on Saturday at 7:30", "Alarm set for Saturday at half past seven."),
        ("7:30 every weekday", "Alarm set to ring every weekday at half past seven."),
        ("in twenty minutes", "Alarm set for twenty to eleven this morning."),
    ],
)
async def test_an_alarm_is_set(here: Bench, when: str, said: str) -> None:
    assert await here.say(Kind.ALARM_SET, when=when) == said
    assert await here.undo() is not None
    assert here.contents(EntryKind.ALARM) == []


async def test_the_second_undo_takes_back_the_step_before(here: Bench) -> None:
    await here.say(Kind.ALARM_SET, when="6:30")
    await here.say(Kind.ALARM_SET, when="7:30")
    assert await here.undo() == "Cancelled your alarm for half past seven tomorrow."
    assert await here.undo() == "Cancelled your alarm for half past six tomorrow morning."
    assert here.contents(EntryKind.ALARM) == []


async def test_an_alarm_after_a_duration_is_told_as_one(here: Bench) -> None:
    here.set_by_hand.pass_(17)
    assert await here.say(Kind.ALARM_SET, when="in 20 minutes") == (
        "Alarm set to ring in twenty minutes."
    )
    assert await here.wait(1190) == []
    assert await here.wait(10) == ["It's twenty to eleven."]


async def test_an_alarm_has_a_name(here: Bench) -> None:
    said = await here.say(Kind.ALARM_SET, when="5 a.m.", name="the airport")
    assert said == "Airport alarm set for five tomorrow morning."
    assert await here.say(Kind.ALARM_LIST) == "Your airport alarm is set for five tomorrow morning."
    here.set_by_hand.pass_(DAY_S * 0.75)
    await here.watch.check()
    assert await here.wait(2400) == ["It's five o'clock. This is your airport alarm."]


async def test_a_missing_or_unclear_time_is_asked_for(here: Bench) -> None:
    assert await here.say(Kind.ALARM_SET) == WHAT_TIME
    assert await here.answer("seven") == "Alarm set for seven tomorrow."
    assert await here.say(Kind.ALARM_SET, when="when the cock crows") == WHAT_TIME
    assert await here.answer("you know, early") is None
    assert len(here.contents(EntryKind.ALARM)) == 1


async def test_alarms_are_listed_soonest_first(here: Bench) -> None:
    assert await here.say(Kind.ALARM_LIST) == NONE
    await here.say(Kind.ALARM_SET, when="9:00 on Saturday")
    await here.say(Kind.ALARM_SET, when="7:30 every weekday")
    said = await here.say(Kind.ALARM_LIST)
    assert said == "Your alarms: every weekday at half past seven; and Saturday at nine."
    said = await here.say(Kind.ALARM_LIST, when="Saturday morning")
    assert said == "Your alarm is set for Saturday at nine."
    said = await here.say(Kind.ALARM_LIST, when="on Friday")
    assert said == "Your alarm is set to ring every weekday at half past seven."
    assert await here.say(Kind.ALARM_LIST, when="on Sunday") == NONE_THEN


async def test_which_alarm_is_told_by_its_time(here: Bench) -> None:
    await here.say(Kind.ALARM_SET, when="tomorrow at eight")
    await here.say(Kind.ALARM_SET, when="tomorrow at seven")
    assert await here.say(Kind.ALARM_CANCEL, when="9 o'clock") == NO_SUCH
    said = await here.say(Kind.ALARM_CANCEL, when="eight o'clock")
    assert said == "Cancelled your alarm for eight tomorrow."
    assert await here.say(Kind.ALARM_CANCEL) == "Cancelled your alarm for seven tomorrow."
    assert await here.undo() == "Your alarm for seven tomorrow is on again."
    assert await here.undo() == "Your alarm for eight tomorrow is on again."
    assert len(here.contents(EntryKind.ALARM)) == 2


async def test_an_evening_alarm_is_found_without_its_half_of_the_day(here: Bench) -> None:
    await here.say(Kind.ALARM_SET, when="7 p.m.")
    said = await here.say(Kind.ALARM_CANCEL, when="seven o'clock")
    assert said == "Cancelled your alarm for seven this evening."


async def test_several_alarms_are_asked_about_or_cancelled_together(here: Bench) -> None:
    await here.say(Kind.ALARM_SET, when="tomorrow at eight")
    await here.say(Kind.ALARM_SET, when="tomorrow at seven")
    asked = await here.say(Kind.ALARM_CANCEL)
    assert asked == "Which one: seven tomorrow, or eight tomorrow?"
    assert await here.answer("neither") == "All right, I'll leave it as it is."
    said = await here.say(Kind.ALARM_CANCEL, every=True)
    assert said == "Cancelled your alarm for seven tomorrow and your alarm for eight tomorrow."


async def test_one_day_of_a_repetition_is_left_out(here: Bench) -> None:
    await here.say(Kind.ALARM_SET, when="7:30 every weekday")
    said = await here.say(Kind.ALARM_CANCEL, when="tomorrow")
    assert said == "Your alarm that rings every weekday at half past seven is off until Friday."
    rang = await here.wait(DAY_S * 2)
    assert rang == ["It's half past seven."]
    asked = await here.say(Kind.ALARM_CANCEL, when="Tuesday")
    assert (
        asked == "Shall I cancel your alarm that rings every weekday at half past seven altogether?"
    )
    assert (
        await here.answer("yes")
        == "Cancelled your alarm that rings every weekday at half past seven."
    )


async def test_all_alarms_of_a_day_are_off_whether_they_repeat_or_not(here: Bench) -> None:
    await here.say(Kind.ALARM_SET, when="every day at 7:00")
    await here.say(Kind.ALARM_SET, when="tomorrow at 8:00")
    before = here.contents(EntryKind.ALARM)
    assert await here.say(Kind.ALARM_CANCEL, when="tomorrow", every=True) == (
        "Cancelled your alarm for eight tomorrow. "
        "Your alarm that rings every day at seven is off until Friday."
    )
    assert await here.undo() == (
        "Your alarm for eight tomorrow is on again. "
        "Your alarm that rings every day at seven is on again."
    )
    assert sorted(map(str, here.contents(EntryKind.ALARM))) == sorted(map(str, before))
    await here.say(Kind.ALARM_CANCEL, when="tomorrow", every=True)
    assert await here.wait(DAY_S) == []


async def test_a_repetition_that_is_also_due_later_is_asked_about(here: Bench) -> None:
    await here.say(Kind.ALARM_SET, when="every day at 7:00")
    await here.say(Kind.ALARM_SET, when="Friday at 8:00")
    said = await here.say(Kind.ALARM_CANCEL, when="Friday", every=True)
    assert said is not None
    assert said.startswith("Cancelled your alarm for Friday at eight")
    assert said.endswith(" Shall I cancel your alarm that rings every day at seven altogether?")
    assert await here.answer("no") == "All right."
    assert len(here.contents(EntryKind.ALARM)) == 1


@pytest.mark.parametrize(
    ("when", "day", "until"),
    [
        ("every Thursday at 7:00", "tomorrow", "Thursday, the twenty-sixth of November"),
        (
            "on the 26th of every month at nine",
            "the 26th",
            "Saturday, the twenty-sixth of December",
        ),
        ("every three hours", "today", "twenty past four this afternoon"),
    ],
)
async def test_it_says_until_when_a_repetition_is_off(
    here: Bench, when: str, day: str, until: str
) -> None:
    await here.say(Kind.ALARM_SET, when=when)
    said = await here.say(Kind.ALARM_CANCEL, when=day)
    assert said is not None
    assert said.endswith(f" is off until {until}.")


async def test_a_skipped_day_is_brought_back(here: Bench) -> None:
    await here.say(Kind.ALARM_SET, when="7:30 every weekday")
    before = here.contents(EntryKind.ALARM)
    await here.say(Kind.ALARM_CANCEL, when="tomorrow")
    assert (
        await here.undo() == "Your alarm that rings every weekday at half past seven is on again."
    )
    assert here.contents(EntryKind.ALARM) == before


async def test_an_unsure_alarm_is_asked_about(here: Bench) -> None:
    asked = await here.say(Kind.ALARM_SET, when="7 tomorrow", sure=False)
    assert asked == "Shall I set an alarm for seven tomorrow?"
    assert await here.answer("yes") == "Alarm set for seven tomorrow."
    asked = await here.say(Kind.ALARM_CANCEL, when="tomorrow", sure=False)
    assert asked == "Shall I cancel your alarm for seven tomorrow?"
    assert await here.answer("yes") == "Cancelled your alarm for seven tomorrow."
    assert await here.say(Kind.ALARM_CANCEL, sure=False) is None


async def test_off_the_record_an_alarm_gets_no_name(here: Bench) -> None:
    here.off_record = True
    await here.say(Kind.ALARM_SET, when="7", name="the clinic")
    assert here.contents(EntryKind.ALARM)[0]["name"] == ""


async def test_an_alarm_of_another_name_is_cancelled_only_after_a_question(here: Bench) -> None:
    await here.say(Kind.ALARM_SET, when="5 a.m.", name="the airport")
    asked = await here.say(Kind.ALARM_CANCEL, name="airport bus")
    assert asked == "Shall I cancel your airport alarm for five tomorrow morning?"
    assert await here.answer("no") == "All right."
    assert len(here.contents(EntryKind.ALARM)) == 1


async def test_alarms_that_sound_alike_are_cancelled_together(here: Bench) -> None:
    await here.say(Kind.ALARM_SET, when="7:00")
    await here.say(Kind.ALARM_SET, when="7:00")
    await here.say(Kind.ALARM_CANCEL)
    assert here.contents(EntryKind.ALARM) == []


async def test_what_has_rung_cannot_be_undone(here: Bench) -> None:
    await here.say(Kind.ALARM_SET, when="10:30")
    await here.wait(620)
    assert await here.undo() == "That has rung already."


async def test_an_alarm_that_vanished_is_gone(here: Bench) -> None:
    await here.say(Kind.ALARM_SET, when="tomorrow at eight")
    await here.say(Kind.ALARM_SET, when="tomorrow at seven")
    await here.say(Kind.ALARM_CANCEL)
    here.store.remove([each.id for each in here.store.entries(EntryKind.ALARM)])
    assert await here.answer("the first one") == GONE


# -- snoozing -----------------------------------------------------------------------------------


async def test_what_rang_is_snoozed(here: Bench) -> None:
    await here.say(Kind.ALARM_SET, when="10:30")
    assert await here.say(Kind.SNOOZE) == NOTHING_RINGS
    await here.wait(630)
    assert await here.say(Kind.SNOOZE) == "I'll ring again in ten minutes."
    assert await here.wait(590) == []
    assert await here.wait(20) == ["It's twenty to eleven."]
    assert await here.say(Kind.SNOOZE, when="five more minutes") == (
        "I'll ring again in five minutes."
    )
    assert await here.wait(310) == ["It's quarter to eleven."]
    await here.wait(700)
    assert await here.say(Kind.SNOOZE) == NOTHING_RINGS


async def test_a_snooze_is_undone(here: Bench) -> None:
    await here.say(Kind.ALARM_SET, when="10:30")
    await here.wait(630)
    await here.say(Kind.SNOOZE)
    assert await here.undo() == NOT_AGAIN
    assert await here.wait(1200) == []


async def test_a_repeating_alarm_goes_on_after_a_snooze(here: Bench) -> None:
    await here.say(Kind.ALARM_SET, when="every day at 10:30")
    await here.wait(630)
    await here.say(Kind.SNOOZE, when="half an hour")
    rang = await here.wait(DAY_S + 600)
    assert rang == ["It's eleven o'clock.", "It's half past ten."]


async def test_a_snoozed_alarm_is_named_by_its_new_time(here: Bench) -> None:
    await here.say(Kind.ALARM_SET, when="10:30")
    here.set_by_hand.pass_(7)
    await here.wait(610)
    await here.say(Kind.SNOOZE)
    assert await here.say(Kind.ALARM_LIST) == "Your alarm is set to ring in ten minutes."
    said = await here.say(Kind.ALARM_CANCEL)
    assert said == "Cancelled your alarm for twenty to eleven this morning."


async def test_cancelling_a_snoozed_repetition_drops_only_the_snooze(here: Bench) -> None:
    await here.say(Kind.ALARM_SET, when="every day at 10:30")
    await here.wait(630)
    await here.say(Kind.SNOOZE)
    snoozed = here.contents(EntryKind.ALARM)
    assert await here.say(Kind.ALARM_LIST) == (
        "Your alarm is set to ring every day at half past ten, and again in ten minutes."
    )
    off = "Your alarm that rings every day at half past ten won't ring again today."
    assert await here.say(Kind.ALARM_CANCEL) == off
    assert await here.undo() == "Your alarm that rings every day at half past ten is on again."
    assert here.contents(EntryKind.ALARM) == snoozed
    assert await here.say(Kind.ALARM_CANCEL, when="today") == off
    assert await here.wait(DAY_S) == ["It's half past ten."]


async def test_cancelling_all_alarms_cancels_a_snoozed_repetition_too(here: Bench) -> None:
    await here.say(Kind.ALARM_SET, when="every day at 10:30")
    await here.wait(630)
    await here.say(Kind.SNOOZE)
    said = await here.say(Kind.ALARM_CANCEL, every=True)
    assert said == "Cancelled your alarm that rings every day at half past ten."
    assert here.contents(EntryKind.ALARM) == []


async def test_only_what_rang_last_is_snoozed(here: Bench) -> None:
    await here.say(Kind.TIMER_SET, when="one minute", name="egg")
    await here.say(Kind.TIMER_SET, when="five minutes", name="rice")
    await here.wait(310)
    await here.say(Kind.SNOOZE, when="two minutes")
    assert await here.wait(600) == ["The rice timer is done."]


async def test_what_is_snoozed_while_it_rings_is_not_taken_as_rung(here: Bench) -> None:
    await here.say(Kind.ALARM_SET, when="10:30")
    here.set_by_hand.pass_(600)

    async def ring(words: object, *, insistent: bool) -> bool:
        assert callable(words)
        assert words() == "It's half past ten."
        assert await here.say(Kind.SNOOZE) == "I'll ring again in ten minutes."
        return True

    with patch.object(here.ringer, "ring", ring):
        await here.watch.check()
    assert here.ringer.silenced == 1
    assert await here.wait(590) == []
    assert await here.wait(10) == ["It's twenty to eleven."]


async def test_how_long_to_snooze_is_asked_if_unclear(here: Bench) -> None:
    await here.say(Kind.ALARM_SET, when="10:30")
    await here.wait(630)
    assert await here.say(Kind.SNOOZE, when="a bit") == HOW_LONG
    assert await here.answer("twenty") == "I'll ring again in twenty minutes."
    assert await here.say(Kind.SNOOZE, when="five more minutes", sure=False) is None
