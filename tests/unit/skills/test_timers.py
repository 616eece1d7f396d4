"""Timers: set, changed, read and told apart."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from assistant.events import ForgettingBegan
from assistant.intents.command import CommandKind as Kind
from assistant.skills.due.timers import GONE, HOW_LONG, HOW_MUCH, NONE, NONE_PAUSED, Timers
from assistant.state import EntryKind
from tests.support.due import START, Bench


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path / "t.db", lambda watch, off: [Timers(watch.entries, off)])
    yield bench
    bench.transcript.close()


async def test_a_timer_is_set_read_and_rings(here: Bench) -> None:
    assert await here.say(Kind.TIMER_SET, when="ten minutes") == "Ten minutes, starting now."
    here.set_by_hand.pass_(350)
    left = await here.say(Kind.TIMER_LEFT)
    assert left == "Four minutes and ten seconds left."
    assert await here.wait(240) == []
    assert await here.wait(20) == ["The ten minute timer is done."]
    assert here.ringer.rang[-1][1], "a timer rings until it is silenced"
    assert await here.wait(600) == []
    assert await here.say(Kind.TIMER_LEFT) == NONE


async def test_a_named_timer_is_called_by_its_name(here: Bench) -> None:
    said = await here.say(Kind.TIMER_SET, when="nine minutes", name="the pasta")
    assert said == "Pasta timer: nine minutes."
    left = await here.say(Kind.TIMER_LEFT)
    assert left == "The pasta timer has nine minutes left."
    assert await here.say(Kind.TIMER_CANCEL, name="pasta") == "Cancelled the pasta timer."
    assert await here.say(Kind.TIMER_CANCEL) == NONE


async def test_much_time_is_told_roughly(here: Bench) -> None:
    await here.say(Kind.TIMER_SET, when="an hour and a half")
    here.set_by_hand.pass_(17)
    assert await here.say(Kind.TIMER_LEFT) == "About an hour and a half left."


async def test_a_missing_duration_is_asked_for(here: Bench) -> None:
    assert await here.say(Kind.TIMER_SET, name="tea") == HOW_LONG
    assert await here.answer("four") == "Tea timer: four minutes."
    assert await here.say(Kind.TIMER_SET, when="a while") == HOW_LONG
    assert await here.answer("the weather is nice") is None
    assert len(here.contents(EntryKind.TIMER)) == 1


async def test_which_of_several_is_meant_is_asked(here: Bench) -> None:
    await here.say(Kind.TIMER_SET, when="nine minutes", name="pasta")
    await here.say(Kind.TIMER_SET, when="ten minutes")
    assert await here.say(Kind.TIMER_PAUSE) == "Which one: pasta, or ten minutes?"
    assert await here.answer("the ten minute one") == "Paused the ten minute timer."
    left = await here.say(Kind.TIMER_LEFT)
    assert left == (
        "The pasta timer has nine minutes left and the ten minute timer is paused"
        " with ten minutes left."
    )
    here.set_by_hand.pass_(60)
    resumed = await here.say(Kind.TIMER_RESUME)
    assert resumed == "The ten minute timer has ten minutes left."
    assert await here.say(Kind.TIMER_CANCEL, name="ten minute") == "Cancelled the ten minute timer."


async def test_all_timers_are_cancelled_at_once_and_brought_back(here: Bench) -> None:
    await here.say(Kind.TIMER_SET, when="nine minutes", name="pasta")
    await here.say(Kind.TIMER_SET, when="ten minutes")
    before = here.contents(EntryKind.TIMER)
    said = await here.say(Kind.TIMER_CANCEL, name="all my timers", every=True)
    assert said == "Cancelled the pasta timer and the ten minute timer."
    assert here.contents(EntryKind.TIMER) == []
    await here.undo()
    assert here.contents(EntryKind.TIMER) == before


async def test_every_change_can_be_undone(here: Bench) -> None:
    await here.say(Kind.TIMER_SET, when="five minutes")
    content = here.contents(EntryKind.TIMER)
    added = await here.say(Kind.TIMER_ADD, when="two minutes")
    assert added == "Added two minutes. Seven minutes left."
    await here.undo()
    assert here.contents(EntryKind.TIMER) == content
    taken = await here.say(Kind.TIMER_TAKE, when="one minute")
    assert taken == "Took off one minute. Four minutes left."
    await here.undo()
    assert here.contents(EntryKind.TIMER) == content
    await here.say(Kind.TIMER_PAUSE)
    assert await here.undo() == "The five minute timer has five minutes left."
    assert here.contents(EntryKind.TIMER) == content
    assert await here.undo() == "Cancelled the five minute timer."
    assert here.contents(EntryKind.TIMER) == []


async def test_added_time_is_taken_off_again_after_a_pause(here: Bench) -> None:
    await here.say(Kind.TIMER_SET, when="ten minutes")
    await here.say(Kind.TIMER_ADD, when="five minutes")
    await here.say(Kind.TIMER_PAUSE)
    assert await here.wait(1800) == []
    await here.say(Kind.TIMER_RESUME)
    assert await here.undo() == "Paused the ten minute timer."
    assert await here.undo() == "The ten minute timer has about fifteen minutes left."
    assert await here.undo() == "The ten minute timer has ten minutes left."


async def test_added_time_that_has_begun_is_not_taken_off(here: Bench) -> None:
    await here.say(Kind.TIMER_SET, when="one minute")
    await here.say(Kind.TIMER_ADD, when="five minutes")
    here.set_by_hand.pass_(120)
    left = await here.undo()
    assert left == "The one minute timer has only four minutes left, so I left it alone."
    assert await here.wait(200) == []


async def test_a_timer_that_had_rung_is_done_again_after_undo(here: Bench) -> None:
    await here.say(Kind.TIMER_SET, when="one minute")
    await here.wait(70)
    await here.say(Kind.TIMER_ADD, when="two minutes")
    assert await here.undo() == "The one minute timer is done."
    assert await here.wait(200) == []


async def test_more_is_not_taken_than_is_left(here: Bench) -> None:
    await here.say(Kind.TIMER_SET, when="one minute", name="Anna")
    said = await here.say(Kind.TIMER_TAKE, when="two minutes")
    assert said == "The Anna timer has only one minute left."
    assert await here.say(Kind.TIMER_ADD) == HOW_MUCH
    assert await here.answer("two") == "Added two minutes. The Anna timer has three minutes left."


async def test_what_rang_may_go_on(here: Bench) -> None:
    await here.say(Kind.TIMER_SET, when="one minute", name="potatoes")
    assert await here.wait(70) == ["The potatoes timer is done."]
    said = await here.say(Kind.TIMER_ADD, when="two more minutes", name="the potatoes")
    assert said == "Added two minutes. The potatoes timer has two minutes left."
    assert await here.wait(130) == ["The potatoes timer is done."]


async def test_a_paused_timer_does_not_ring(here: Bench) -> None:
    await here.say(Kind.TIMER_SET, when="one minute")
    await here.say(Kind.TIMER_PAUSE)
    assert await here.wait(3600) == []
    assert await here.say(Kind.TIMER_PAUSE) == "No timer is running."
    await here.say(Kind.TIMER_RESUME)
    assert await here.wait(60) == ["The one minute timer is done."]
    assert await here.say(Kind.TIMER_RESUME) == NONE


async def test_a_timer_of_another_name_is_not_touched(here: Bench) -> None:
    await here.say(Kind.TIMER_SET, when="one minute", name="egg")
    assert await here.say(Kind.TIMER_CANCEL, name="the rice") == "There's no rice timer."
    assert await here.say(Kind.TIMER_RESUME) == NONE_PAUSED
    assert len(here.contents(EntryKind.TIMER)) == 1


async def test_the_only_unnamed_timer_is_meant_by_any_name(here: Bench) -> None:
    await here.say(Kind.TIMER_SET, when="one minute")
    assert await here.say(Kind.TIMER_LEFT, name="the rice") == "One minute left."


async def test_two_of_the_same_length_are_told_apart(here: Bench) -> None:
    await here.say(Kind.TIMER_SET, when="ten minutes")
    here.set_by_hand.pass_(240)
    await here.say(Kind.TIMER_SET, when="ten minutes")
    asked = await here.say(Kind.TIMER_CANCEL)
    assert asked == (
        "Which one: ten minutes with six minutes left, or ten minutes with ten minutes left?"
    )
    assert await here.answer("the first one") == "Cancelled the ten minute timer."
    assert await here.say(Kind.TIMER_LEFT) == "Ten minutes left."


async def test_two_that_sound_the_same_are_told_apart_by_their_order(here: Bench) -> None:
    for length in ("one minute", "one minute", "ten minutes"):
        await here.say(Kind.TIMER_SET, when=length)
    asked = await here.say(Kind.TIMER_CANCEL, name="one minute")
    assert asked == "Which one: the first to end, or the second to end?"
    assert await here.answer("the second") == "Cancelled the one minute timer."


async def test_a_timer_of_another_name_is_changed_only_after_a_question(here: Bench) -> None:
    await here.say(Kind.TIMER_SET, when="ten minutes", name="chicken")
    asked = await here.say(Kind.TIMER_ADD, when="two minutes", name="chicken soup")
    assert asked == "Shall I add two minutes to the chicken timer?"
    assert await here.answer("yes") == (
        "Added two minutes. The chicken timer has about twelve minutes left."
    )
    assert await here.undo() == "The chicken timer has ten minutes left."


async def test_a_timer_that_has_rung_cannot_be_undone(here: Bench) -> None:
    await here.say(Kind.TIMER_SET, when="one minute")
    await here.wait(60)
    assert await here.undo() == "That has rung already."


async def test_an_unsure_command_is_asked_about(here: Bench) -> None:
    asked = await here.say(Kind.TIMER_SET, when="5 minutes", sure=False)
    assert asked == "Shall I set a timer for five minutes?"
    assert here.contents(EntryKind.TIMER) == []
    assert await here.answer("yes") == "Five minutes, starting now."
    assert await here.say(Kind.TIMER_SET, sure=False) is None
    asked = await here.say(Kind.TIMER_CANCEL, sure=False)
    assert asked == "Shall I cancel the five minute timer?"
    assert await here.answer("no") == "All right."
    assert len(here.contents(EntryKind.TIMER)) == 1


async def test_off_the_record_a_timer_gets_no_name(here: Bench) -> None:
    here.off_record = True
    said = await here.say(Kind.TIMER_SET, when="5 minutes", name="Anna's injection")
    assert said == "Five minutes, starting now."
    assert here.contents(EntryKind.TIMER)[0]["name"] == ""


async def test_many_timers_are_read_up_to_five(here: Bench) -> None:
    for minutes in range(1, 8):
        await here.say(Kind.TIMER_SET, when=f"{minutes} minutes")
    said = await here.say(Kind.TIMER_LEFT)
    assert said is not None
    assert said.count("timer has") == 5
    assert said.endswith(", and two more.")
    asked = await here.say(Kind.TIMER_CANCEL)
    assert asked == (
        "Which one: one minute, two minutes, three minutes, four minutes, or five minutes?"
    )


@pytest.mark.parametrize("hours", [1, -1])
async def test_a_timer_set_right_after_the_clock_was_corrected_is_right(
    here: Bench, hours: int
) -> None:
    await here.wait(60)
    here.set_by_hand.now += timedelta(hours=hours)
    await here.say(Kind.TIMER_SET, when="five minutes")
    assert await here.wait(290) == []
    assert await here.wait(10) == ["The five minute timer is done."]


@pytest.mark.parametrize("hours", [1, -1])
async def test_a_timer_read_right_after_the_clock_was_corrected_is_right(
    here: Bench, hours: int
) -> None:
    await here.say(Kind.TIMER_SET, when="five minutes")
    await here.wait(60)
    here.set_by_hand.now += timedelta(hours=hours)
    assert await here.say(Kind.TIMER_LEFT) == "Four minutes left."
    assert await here.wait(230) == []


async def test_a_cancelled_timer_does_not_come_back_when_its_time_has_passed(here: Bench) -> None:
    await here.say(Kind.TIMER_SET, when="five minutes")
    await here.say(Kind.TIMER_CANCEL)
    await here.wait(400)
    assert await here.undo() == "The five minute timer would be done by now."
    assert await here.wait(60) == []


async def test_a_cancelled_timer_is_gone_for_good_once_anything_is_forgotten(here: Bench) -> None:
    await here.say(Kind.TIMER_SET, when="five minutes", name="Anna's injection")
    await here.say(Kind.TIMER_CANCEL)
    here.watch.watch(ForgettingBegan("f", (), (), START))
    assert await here.undo() == GONE
    assert here.contents(EntryKind.TIMER) == []


async def test_what_can_be_undone_keeps_no_name_of_a_timer(here: Bench) -> None:
    await here.say(Kind.TIMER_SET, when="five minutes", name="Anna's injection")
    await here.say(Kind.TIMER_ADD, when="two minutes")
    await here.say(Kind.TIMER_PAUSE)
    await here.say(Kind.TIMER_RESUME)
    await here.say(Kind.TIMER_CANCEL)
    assert len(here.skills._undos) == 5
    assert "injection" not in repr([each.act for each in here.skills._undos])
