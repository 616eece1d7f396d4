"""What "that" means once the assistant has named memories aloud, on a real transcript, a real table
and a real index."""

from pathlib import Path

import pytest

from assistant.events import Latency, RecordChanged, TurnEnded
from assistant.intents.command import Command, CommandKind
from tests.support.forgetting import Bench, bench, kept
from tests.support.remains import found

CODE = "My locker code is 4471."
ANNA = "Anna is pregnant."
GRAZ = "Anna lives in Graz."
KNOW = Command(CommandKind.KNOW, "Anna")
WHEN = Command(CommandKind.WHEN_TOLD, "Anna")
WHY = Command(CommandKind.WHY)
FORGET = Command(CommandKind.FORGET_THAT)
UNDO = Command(CommandKind.UNDO)
WRONG = Command(CommandKind.CORRECT)
GONE = "Forgotten: Anna is pregnant. Say undo to keep it."
WHICH = "Which of these do you mean: Anna lives in Graz; or Anna is pregnant?"


def remember(words: str) -> Command:
    return Command(CommandKind.REMEMBER, words)


async def tell(here: Bench, *said: str) -> None:
    """Tell these, one second after the other."""
    for each in said:
        await here.tell_all(each)
        here.pass_time(1)


@pytest.mark.parametrize("asked", [KNOW, WHEN])
async def test_after_a_reading_that_is_what_was_read_out(tmp_path: Path, asked: Command) -> None:
    async with bench(tmp_path) as here:
        await tell(here, ANNA, CODE)
        assert "Anna is pregnant" in str(await here.obey(asked))
        assert await here.obey(FORGET) == GONE
        assert here.current() == {CODE}
        assert await here.purge_later()
    assert found(tmp_path, {"pregnant"}, []) == []
    assert kept(tmp_path)[0] == {CODE}


async def test_without_any_turn_that_is_what_was_read_out(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await tell(here, ANNA)
    async with bench(tmp_path) as again:
        await again.obey(KNOW)
        assert await again.obey(FORGET) == GONE


async def test_after_an_explanation_that_is_what_it_named(here: Bench) -> None:
    await tell(here, CODE)
    await here.obey(remember(ANNA))
    await tell(here, GRAZ)
    await here.ask("Where does Anna live?", "In Graz.")
    await here.obey(remember("my bike is red"))
    await tell(here, "It rains.")
    await here.ask("Where does Anna live?", "In Graz.")
    assert await here.obey(WHY) == "You told me a moment ago that Anna lives in Graz."
    assert await here.obey(FORGET) == "Forgotten: Anna lives in Graz. Say undo to keep it."
    assert here.current() == {CODE, ANNA, "My bike is red.", "It rains."}


@pytest.mark.parametrize(
    ("answer", "left"),
    [
        ("The first one.", {ANNA, CODE}),
        ("The one about Graz.", {ANNA, CODE}),
        ("Both.", {CODE}),
        ("No.", {ANNA, GRAZ, CODE}),
    ],
)
async def test_if_several_were_read_out_it_asks_which(
    here: Bench, answer: str, left: set[str]
) -> None:
    await tell(here, ANNA, GRAZ, CODE)
    await here.obey(KNOW)
    assert await here.obey(FORGET) == WHICH
    assert await here.answer(answer) is not None
    assert here.current() == left


async def test_once_one_of_them_is_forgotten_that_is_what_is_left(here: Bench) -> None:
    await tell(here, ANNA, GRAZ, CODE)
    await here.obey(KNOW)
    await here.obey(FORGET)
    await here.answer("The one about Graz.")
    assert await here.obey(FORGET) == GONE


async def test_a_correction_concerns_what_was_read_out(here: Bench) -> None:
    await tell(here, GRAZ, CODE)
    await here.obey(KNOW)
    said = await here.obey(Command(CommandKind.CORRECT, "it's Linz"))
    assert said == "Got it: Anna lives in Linz, not Graz."
    assert here.current() == {"Anna lives in Linz.", CODE}
    assert await here.obey(FORGET) == (
        "That's 2 things: Anna lives in Linz; Anna lives in Graz. Forget them all?"
    )
    await here.answer("Yes.")
    assert here.current() == {CODE}


async def test_after_a_correction_is_undone_that_is_what_holds_again(here: Bench) -> None:
    await tell(here, GRAZ, CODE)
    await here.obey(KNOW)
    await here.obey(Command(CommandKind.CORRECT, "it's Linz"))
    assert await here.obey(UNDO) == "All right: Anna lives in Graz, as before."
    assert await here.obey(FORGET) == "Forgotten: Anna lives in Graz. Say undo to keep it."
    assert here.current() == {CODE}


async def test_that_it_is_wrong_concerns_what_was_read_out(here: Bench) -> None:
    await tell(here, GRAZ, CODE)
    await here.obey(WHEN)
    assert await here.obey(WRONG, sure=False) == "Did I get this wrong: Anna lives in Graz?"


async def test_why_and_when_concern_what_was_read_out(here: Bench) -> None:
    await tell(here, ANNA)
    here.pass_time(3 * 24 * 3600)
    await tell(here, CODE)
    await here.obey(WHEN)
    told = "You told me on Saturday that Anna is pregnant."
    assert await here.obey(WHY) == told
    assert await here.obey(WHY) == told, "the explanation named the same"
    when = "That was on Saturday, 21 November, in the morning: Anna is pregnant."
    assert await here.obey(Command(CommandKind.WHEN_TOLD)) == when
    await here.obey(remember("Anna is away"))
    assert await here.obey(Command(CommandKind.WHEN_TOLD)) == "That was a moment ago: Anna is away."


async def test_of_several_things_the_time_of_each_is_told(here: Bench) -> None:
    await tell(here, ANNA, GRAZ)
    await here.obey(KNOW)
    assert await here.obey(Command(CommandKind.WHEN_TOLD)) == (
        "You told me a moment ago that Anna lives in Graz."
        " And you told me a moment ago that Anna is pregnant."
    )


async def test_what_was_read_out_is_kept_and_of_several_things_it_asks_which(here: Bench) -> None:
    await tell(here, ANNA, CODE)
    await here.obey(KNOW)
    keep = Command(CommandKind.REMEMBER)
    assert await here.obey(keep) == "I'll remember that Anna is pregnant."
    await tell(here, GRAZ, CODE)
    await here.obey(KNOW)
    assert await here.obey(keep) == WHICH
    assert await here.answer("Both.") == (
        "I'll remember that Anna lives in Graz, and that Anna is pregnant."
    )
    assert await here.obey(UNDO) == "All right, I'll treat it like anything else you've told me."
    await here.obey(KNOW)
    assert await here.obey(keep) == WHICH
    assert await here.answer("The first one.") == "I'll remember that Anna lives in Graz."


async def test_several_things_that_were_kept_are_not_forgotten_unasked(here: Bench) -> None:
    await tell(here, ANNA, GRAZ, CODE)
    await here.obey(KNOW)
    await here.obey(Command(CommandKind.REMEMBER))
    await here.answer("Both.")
    assert await here.obey(FORGET) == WHICH
    await here.answer("No.")
    await here.obey(UNDO)
    assert await here.obey(FORGET) == (
        "That's 2 things: Anna lives in Graz; Anna is pregnant. Forget them all?"
    )
    assert here.current() == {ANNA, GRAZ, CODE}


async def test_a_command_that_names_nothing_leaves_it(here: Bench) -> None:
    await tell(here, CODE)
    await here.obey(remember(ANNA))
    assert await here.obey(WHY) == "I said that because you asked me to remember something."
    await here.obey(Command(CommandKind.WHEN_TOLD, "the leak"))
    await here.obey(Command(CommandKind.KNOW, "Rome"))
    assert await here.obey(FORGET) == GONE


async def test_once_another_turn_has_passed_that_is_the_turn(here: Bench) -> None:
    await tell(here, ANNA)
    await here.obey(KNOW)
    await tell(here, CODE)
    assert await here.obey(FORGET) == "Forgotten: your locker code is 4471. Say undo to keep it."
    await here.obey(KNOW)
    here.turns.watch(TurnEnded(9, "Hm.", "Yes?", False, Latency()))
    assert here.turns.named == ()


async def test_off_the_record_that_is_still_what_was_read_out(here: Bench) -> None:
    await tell(here, ANNA, CODE)
    await here.obey(KNOW)
    here.turns.watch(RecordChanged(off=True))
    assert await here.obey(FORGET) == GONE


@pytest.mark.parametrize("read_first", [False, True])
async def test_after_forgetting_a_topic_nothing_older_is_forgotten(
    here: Bench, read_first: bool
) -> None:
    await tell(here, ANNA, CODE, "It rains.")
    if read_first:
        await here.obey(KNOW)
    said = await here.obey(Command(CommandKind.FORGET_ABOUT, "my locker code"))
    assert said == "Forgotten: your locker code is 4471. Say undo to keep it."
    assert await here.obey(FORGET) == "There is nothing to forget."
    assert await here.obey(Command(CommandKind.WHEN_TOLD)) == "I don't know anything about that."
    assert await here.obey(Command(CommandKind.WHEN_TOLD), sure=False) is None
    assert await here.obey(FORGET) == "There is nothing to forget."
    await here.obey(UNDO)
    assert await here.obey(FORGET) == said


async def test_after_an_undo_that_is_what_is_no_longer_kept(here: Bench) -> None:
    await here.obey(remember(CODE))
    await tell(here, ANNA)
    await here.obey(KNOW)
    assert await here.obey(UNDO) == "All right, I won't keep that."
    assert await here.obey(FORGET) == "There is nothing to forget."


async def test_what_was_brought_back_is_forgotten_again(here: Bench) -> None:
    await tell(here, ANNA, CODE)
    await here.obey(KNOW)
    await here.obey(FORGET)
    assert await here.obey(UNDO) == "Brought back: Anna is pregnant."
    assert await here.obey(FORGET) == GONE
    await here.obey(UNDO)
    await here.obey(Command(CommandKind.FORGET_ALL))
    await here.answer("Yes.")
    await here.obey(UNDO)
    assert str(await here.obey(FORGET)).startswith("Which of these do you mean: ")
    await here.answer("Both.")
    assert here.current() == set()


async def test_none_of_many_things_brought_back_is_picked_to_be_kept(here: Bench) -> None:
    await tell(here, ANNA, GRAZ, CODE, "It rains.")
    await here.obey(Command(CommandKind.FORGET_ALL))
    await here.answer("Yes.")
    assert await here.obey(UNDO) == "Brought back: 4 things."
    assert await here.obey(Command(CommandKind.REMEMBER)) == "What should I remember?"
    assert await here.obey(WRONG) is None
    assert str(await here.obey(FORGET)).startswith("That's 4 things")


async def test_what_a_purge_has_deleted_is_not_named_any_more(here: Bench) -> None:
    await tell(here, ANNA)
    await here.obey(KNOW)
    await here.obey(FORGET)
    assert await here.purge_later()
    assert here.turns.named == ((),), "its id is dropped"
    assert await here.obey(FORGET) == "There is nothing to forget."
