"""An undo after other turns first names what it would take back, and asks."""

import pytest

from assistant.events import WishTaken
from assistant.intents.command import Command, CommandKind
from tests.support.forgetting import Bench

CODE = "My locker code is 4471."
DOG = "My dog is called Max."
UNDO = Command(CommandKind.UNDO)
THAT = Command(CommandKind.FORGET_THAT)
LOCKER = Command(CommandKind.FORGET_ABOUT, "my locker")
BACK = "Brought back: your locker code is 4471."


async def later(here: Bench) -> None:
    """Another turn passes."""
    here.skills.turn_began()
    await here.tell_all("It rains.")


@pytest.mark.parametrize(
    ("command", "what"),
    [
        (THAT, "this: your locker code is 4471"),
        (LOCKER, "what you told me about your locker"),
        (Command(CommandKind.FORGET_CONVERSATION), "this conversation"),
        (Command(CommandKind.FORGET_PERIOD, "the last ten minutes"),
         "what was said in the last ten minutes"),
        (Command(CommandKind.FORGET_ALL), "everything I knew about you"),
    ],
)  # fmt: skip
async def test_what_was_forgotten_is_named_before_it_is_brought_back(
    here: Bench, command: Command, what: str
) -> None:
    await here.tell_all(CODE)
    await here.obey(command)
    await here.answer("Yes.")
    await later(here)
    question = f"The last thing I did was forget {what}. Shall I bring that back?"
    assert await here.obey(UNDO) == question
    assert await here.answer("No.") == "All right, I'll leave it as it is."
    assert CODE not in await here.recalled("locker code")
    assert await here.obey(UNDO) == question
    assert await here.answer("Yes, please.") == BACK
    assert CODE in await here.recalled("locker code")


async def test_right_after_the_act_it_is_undone_at_once_and_named(here: Bench) -> None:
    await here.tell_all(CODE)
    await here.obey(LOCKER)
    assert await here.obey(UNDO) == BACK


async def test_undo_is_a_yes_to_the_question_and_going_on_drops_it(here: Bench) -> None:
    await here.tell_all(CODE)
    await here.obey(THAT)
    await later(here)
    await here.obey(UNDO)
    await later(here)
    assert await here.answer("Yes.") is None
    await here.obey(UNDO)
    assert await here.obey(UNDO) == BACK


async def test_what_is_gone_for_good_is_neither_named_nor_offered(here: Bench) -> None:
    await here.tell_all(CODE, DOG)
    await here.obey(Command(CommandKind.REMEMBER, "my sister lives in Graz"))
    await later(here)
    await here.obey(LOCKER)
    await later(here)
    assert await here.purge_later()
    assert await here.obey(UNDO) == (
        "The last thing I did was remember that your sister lives in Graz. Shall I undo that?"
    )
    assert await here.answer("Yes.") == "All right, I won't keep that."
    assert await here.obey(UNDO) == "There is nothing left to bring back."
    assert await here.obey(UNDO, sure=False) is None


async def test_what_was_forgotten_elsewhere_meanwhile_is_not_taken_for_it(here: Bench) -> None:
    [_, dog] = await here.tell_all(CODE, DOG)
    await here.obey(LOCKER)
    await later(here)
    await here.forgetting.hide([dog.id], ())
    assert await here.obey(UNDO) == "Shall I bring back what I forgot last?"
    assert await here.answer("Yes.") == "Brought back: your dog is called Max."


async def test_corrections_and_wishes_are_named(here: Bench) -> None:
    await here.tell_all("My sister is called Hannah.")
    await here.obey(Command(CommandKind.CORRECT, "my sister is called Anna"))
    await later(here)
    assert await here.obey(UNDO) == (
        "The last thing I did was note that your sister is called Anna. Shall I undo that?"
    )
    assert await here.answer("Yes.") == "All right: your sister is called Hannah, as before."

    await here.tell_all("Always answer in one sentence.")
    [taken] = [each for each in here.events if isinstance(each, WishTaken)]
    remark = await here.lifting.noted(taken)
    assert remark is not None
    here.skills.note(remark)
    await later(here)
    assert await here.obey(UNDO) == (
        "The last thing I did was note this: always answer in one sentence. Shall I undo that?"
    )
    await here.answer("Yes.")
    assert not here.memory.profile()
    await later(here)
    assert await here.obey(UNDO) == "There is nothing left to bring back.", "undo is no toggle"

    await here.tell_all("Always answer in one sentence.")
    await here.obey(Command(CommandKind.LIFT, "one sentence"))
    await later(here)
    assert await here.obey(UNDO) == (
        "The last thing I did was drop your instruction “always answer in one sentence”."
        " Shall I bring that back?"
    )
    await here.answer("Yes.")
    assert len(here.memory.profile()) == 1


async def test_a_likely_undo_names_it_too_if_it_was_not_done_just_now(here: Bench) -> None:
    await here.tell_all(CODE)
    await here.obey(THAT)
    assert await here.obey(UNDO, sure=False) == "Shall I undo that?"
    await later(here)
    assert await here.obey(UNDO, sure=False) == (
        "The last thing I did was forget this: your locker code is 4471. Shall I bring that back?"
    )
    assert await here.answer("Yes.") == BACK
