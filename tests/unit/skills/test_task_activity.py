"""Planning something over several turns, on a real store in a real file."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from assistant.events import ForgettingBegan
from assistant.intents import CommandKind
from assistant.skills.remembering import OFF_RECORD
from assistant.skills.skill import Reply
from assistant.skills.task_activity import GONE
from assistant.state import EntryKind
from tests.support.tasks import START, TRIP, Session, session

OPEN, STATUS, READ = CommandKind.TASK_OPEN, CommandKind.FORM_STATUS, CommandKind.FORM_READ
CANCEL, DONE, UNDO = CommandKind.FORM_CANCEL, CommandKind.FORM_DONE, CommandKind.UNDO


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Session]:
    async with session(tmp_path) as opened:
        yield opened


async def planned(here: Session) -> None:
    """Open the trip, and settle two things."""
    await here.obey(OPEN, TRIP)
    await here.talk("Let's fly on the third of May.", "Fine.", "The budget is eight hundred euros.")


# -- opening --------------------------------------------------------------------------------------


async def test_a_task_is_opened_and_what_is_settled_is_told(here: Session) -> None:
    assert await here.obey(OPEN, TRIP) == (
        "Okay, let's plan the trip to Lisbon. What have you got so far?"
    )
    await here.talk("Let's fly on the third of May.", "Good. What's the budget?", "800 euros.")
    assert here.lines() == ["fly on the third of May", "800 euros"]
    assert await here.obey(STATUS) == "So far: fly on the third of May and 800 euros. What's next?"
    assert await here.obey(READ) == (
        "For the trip to Lisbon, we've settled this: fly on the third of May and 800 euros."
    )


async def test_it_asks_what_to_plan_and_takes_the_answer(here: Session) -> None:
    assert await here.obey(OPEN) == "What shall we plan?"
    assert await here.answer("My retirement party.") == (
        "Okay, let's plan your retirement party. What have you got so far?"
    )
    await here.obey(OPEN)
    assert await here.answer("I don't know.") == "All right."


async def test_if_in_doubt_it_asks_before_a_task_is_opened(here: Session) -> None:
    assert await here.obey(OPEN, TRIP, sure=False) == "Shall we plan the trip to Lisbon?"
    assert here.activity.opened is None
    assert (await here.answer("Yes.")).startswith("Okay, let's plan the trip to Lisbon.")
    assert here.activity.name == "the plan for the trip to Lisbon"


async def test_a_task_is_resumed_by_a_part_of_its_name(here: Session) -> None:
    await planned(here)
    await here.obey(OPEN, "plan Leo's birthday party")
    assert "Leo" in here.activity.block()
    said = await here.obey(OPEN, "the Lisbon trip")
    assert said == (
        "Okay, back to planning the trip to Lisbon. So far: fly on the third of May and the budget "
        "is eight hundred euros. What's next?"
    )
    assert len(here.store.entries(EntryKind.TASK)) == 2
    assert await here.obey(OPEN, TRIP) == await here.obey(STATUS)


async def test_opening_is_undone_and_what_was_open_before_is_open_again(here: Session) -> None:
    await planned(here)
    await here.obey(OPEN, "plan the party")
    assert await here.obey(UNDO) == "All right, we'll leave it."
    assert "Lisbon" in here.activity.block()
    await here.talk("Thanks.", "You're welcome.")
    assert await here.obey(UNDO) == ""  # what was settled since keeps the trip


async def test_a_plan_without_a_line_can_be_undone_some_turns_later(here: Session) -> None:
    await here.obey(OPEN, TRIP)
    await here.talk("What's the weather like?", "Sunny.")
    assert await here.obey(UNDO) == (
        "The last thing I did was begin planning the trip to Lisbon. Shall I undo that?"
    )
    assert await here.answer("Yes.") == "All right, we'll leave it."
    assert here.store.entries(EntryKind.TASK) == []


# -- hearing --------------------------------------------------------------------------------------


async def test_a_newer_line_takes_the_place_of_an_older_one_with_a_trace(here: Session) -> None:
    await planned(here)
    await here.talk("Actually, make it the fourth.", "The fourth.")
    assert here.lines() == ["fly on the fourth of May", "the budget is eight hundred euros"]
    first = here.store.entries(EntryKind.LINE)[0]
    [change] = here.store.changes(first.id)
    assert change.content["text"] == "fly on the third of May"
    assert (change.exchange, first.content["exchange"]) == ("x3", "x3")


async def test_what_is_not_settled_by_the_user_is_not_taken(here: Session) -> None:
    await here.obey(OPEN, TRIP)
    await here.talk(
        *("Could we stay in a hostel?", "The hostel costs twenty euros. Let's take the hostel."),
        *("My sister is flying to Rome in June.", "How nice."),
        *("If it rains we could visit a museum.", "There are many."),
        *("How much is the train?", "Ten euros."),
        *("Maybe the night train.", "It leaves at nine."),
    )
    assert here.lines() == []
    assert here.activity.block() == (
        "You are working on a task with the user: plan the trip to Lisbon. Nothing is settled yet."
    )


async def test_a_yes_settles_what_the_assistant_has_proposed(here: Session) -> None:
    await here.obey(OPEN, TRIP)
    await here.talk("Which day is cheapest?", "Tuesday. Shall we say Tuesday?", "Yes, please.")
    await here.talk("Where could we stay in Lisbon?", "How about the Ritz?", "No.")
    assert here.lines() == ["Tuesday", "not the Ritz"]


@pytest.mark.parametrize(
    "offer", ["Would you like a joke?", "Does a joke sound good?", "Shall we play a game?"]
)
async def test_a_yes_to_an_offer_that_has_nothing_to_do_with_the_plan_settles_nothing(
    here: Session, offer: str
) -> None:
    await planned(here)
    await here.talk("I'm a bit bored.", offer, "Yes, please.", "Fine. Another one?", "No.")
    assert here.lines() == ["fly on the third of May", "the budget is eight hundred euros"]
    await here.talk("Hm.", "Would you like a bigger budget?", "Yes.")
    assert here.lines()[-1] == "a bigger budget"


async def test_off_the_record_nothing_is_taken(here: Session) -> None:
    await planned(here)
    here.off_record = True
    await here.talk("We'll take the night train. Shall we?", "Shall we say Friday?")
    assert await here.obey(OPEN, "plan the party") == OFF_RECORD
    here.off_record = False
    await here.talk("Yes.")
    assert here.lines() == ["fly on the third of May", "the budget is eight hundred euros"]


async def test_hearing_an_exchange_twice_changes_nothing(here: Session) -> None:
    await here.obey(OPEN, TRIP)
    exchange = here.exchange("Let's fly on the third of May, but not at night.", "Fine.")
    for _ in range(2):
        await here.activity.hear(exchange)
    assert here.lines() == ["fly on the third of May", "not at night"]
    assert here.activity.heard == exchange.id


async def test_the_users_own_plans_count_without_a_word_of_the_task(here: Session) -> None:
    await here.obey(OPEN, TRIP)
    await here.talk("We need a cot.", "Noted.", "I want a haircut.", "Oh.")
    assert here.lines() == ["need a cot"]


# -- closing --------------------------------------------------------------------------------------


async def test_when_done_what_was_settled_becomes_a_memory_if_the_user_says_so(
    here: Session,
) -> None:
    await planned(here)
    assert await here.obey(DONE) == "All right. Shall I remember what we settled?"
    assert here.activity.opened is None
    assert await here.answer("Yes.") == "I'll remember what we settled for the trip to Lisbon."
    assert list(here.memory.texts.values()) == [
        "For the trip to Lisbon, we settled this: fly on the third of May; the budget is eight "
        "hundred euros."
    ]
    assert here.lines() == []
    assert await here.obey(UNDO) == "All right, it's a plan again."
    assert here.memory.texts == {}
    assert here.lines() == ["fly on the third of May", "the budget is eight hundred euros"]


async def test_remembering_is_undone_some_turns_later_only_while_the_memory_exists(
    here: Session,
) -> None:
    await planned(here)
    await here.obey(DONE)
    await here.answer("Yes.")
    await here.talk("Thanks.", "You're welcome.")
    assert await here.obey(UNDO) == (
        "The last thing I did was remember the plan for the trip to Lisbon. Shall I undo that?"
    )
    await here.talk("What time is it?", "Ten.")
    here.memory.texts.clear()
    assert await here.obey(UNDO) == ""


async def test_when_done_it_goes_if_the_user_says_no_and_can_be_brought_back(here: Session) -> None:
    await planned(here)
    await here.obey(DONE)
    assert await here.answer("No, thanks.") == "All right, I've let it go."
    assert (here.lines(), here.memory.texts) == ([], {})
    assert await here.obey(UNDO) == "All right, the plan for the trip to Lisbon is back."
    assert len(here.lines()) == 2


async def test_without_an_answer_it_stays_for_a_week_and_then_goes(tmp_path: Path) -> None:
    async with session(tmp_path) as here:
        await planned(here)
        await here.obey(DONE)
        await here.talk("What's the capital of Norway?", "Oslo.")
        late = here.now
    for days, left in ((6, 1), (8, 0)):
        async with session(tmp_path) as here:
            here.now = late + timedelta(days=days)
            await here.activity.load()
            assert len(here.store.entries(EntryKind.TASK)) == left
            assert await here.activity.ask_on() is None  # the user was asked


async def test_a_plan_with_lines_is_thrown_away_only_after_a_yes(here: Session) -> None:
    await planned(here)
    assert await here.obey(CANCEL) == "Shall I throw away what we settled for the trip to Lisbon?"
    assert await here.answer("No.") == "All right, I'll keep it."
    assert here.activity.opened is not None
    await here.obey(CANCEL)
    assert await here.answer("Yes.") == "All right, I've thrown it away."
    await here.talk("Thanks.", "You're welcome.")
    assert await here.obey(UNDO) == (
        "The last thing I did was throw away the plan for the trip to Lisbon. "
        "Shall I bring that back?"
    )
    assert await here.answer("Yes.") == "All right, the plan for the trip to Lisbon is back."
    assert here.activity.opened is not None


async def test_a_plan_without_lines_is_simply_left(here: Session) -> None:
    await here.obey(OPEN, TRIP)
    assert await here.obey(CANCEL) == "All right, we'll leave it."
    await here.obey(OPEN, TRIP)
    assert await here.obey(DONE) == ("All right. Nothing was settled, so there's nothing to keep.")
    assert here.store.entries(EntryKind.TASK) == []


async def test_after_a_removal_elsewhere_the_answer_says_that_it_is_gone(here: Session) -> None:
    await planned(here)
    await here.obey(DONE)
    here.store.remove([each.id for each in here.store.entries(EntryKind.TASK)])
    assert await here.answer("Yes.") == GONE
    assert here.memory.texts == {}


async def test_what_is_forgotten_is_not_brought_back_by_undo(here: Session) -> None:
    await planned(here)
    await here.obey(CANCEL)
    await here.answer("Yes.")
    await here.talk("Fine.", "Good.")
    here.activity.watch(ForgettingBegan("f", (), (), START))
    assert await here.obey(UNDO) == ""
    assert here.lines() == []


# -- across sessions ------------------------------------------------------------------------------


async def test_a_task_goes_on_after_a_restart(tmp_path: Path) -> None:
    async with session(tmp_path) as here:
        await planned(here)
        before = here.activity.block()
        now = here.now
    async with session(tmp_path) as here:
        here.now = now
        assert here.activity.block() == before
        assert here.activity.heard == "x2"


async def test_after_twelve_hours_without_a_word_it_is_closed_and_asked_about_once(
    here: Session,
) -> None:
    await planned(here)
    here.now += timedelta(hours=11)
    await here.talk("Let's also see Sintra.", "Sure.")
    here.now += timedelta(hours=11)
    assert here.activity.opened is not None
    assert await here.activity.ask_on() is None
    here.now += timedelta(hours=2)
    assert not here.activity.opened
    assert (here.activity.block(), here.activity.name) == ("", "")
    reply = await here.activity.ask_on()
    assert reply is not None
    assert reply.text == (
        "We never finished planning the trip to Lisbon. Shall I remember what we settled?"
    )
    again = await here.activity.ask_on()  # nobody has heard the first one
    assert again is not None
    assert again.when_heard is not None
    await again.when_heard()
    assert await here.activity.ask_on() is None
    assert await _yes(reply) == "I'll remember what we settled for the trip to Lisbon."


async def _yes(reply: Reply) -> str:
    assert reply.if_yes is not None
    return (await reply.if_yes()).text


async def test_what_was_not_asked_about_stays(here: Session) -> None:
    await planned(here)
    here.now += timedelta(days=30)
    await here.activity.load()
    assert len(here.lines()) == 2
    assert (await here.obey(OPEN, TRIP)).startswith("Okay, back to planning the trip to Lisbon.")


async def test_on_a_later_day_relative_days_are_told_as_dates(here: Session) -> None:
    await here.obey(OPEN, TRIP)
    await here.talk("Let's fly tomorrow.", "Tomorrow it is.")
    assert await here.obey(STATUS) == "So far: fly tomorrow. What's next?"
    assert "fly on Tuesday 17 November 2026" in here.activity.block()
    here.now += timedelta(hours=11)
    await here.talk("Okay, the trip to Lisbon.", "Yes?")
    here.now += timedelta(hours=11)
    assert await here.obey(STATUS) == (
        "So far: fly on Tuesday the seventeenth of November. What's next?"
    )
