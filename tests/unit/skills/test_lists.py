"""What the user puts on lists, asks of them and takes off, in a real store in a real file."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from assistant.events import ForgettingBegan
from assistant.intents import CommandKind
from assistant.memory.records.hidden import HiddenItems
from assistant.skills import Lists
from assistant.skills.remembering import OFF_RECORD
from assistant.state import EntryKind
from tests.support.state_skills import SkillBench, skill_bench

ADD, READ, TICK = CommandKind.LIST_ADD, CommandKind.LIST_READ, CommandKind.LIST_TICK
REMOVE, CLEAR = CommandKind.LIST_REMOVE, CommandKind.LIST_CLEAR
FORGOTTEN = ForgettingBegan("f", (), (), datetime(2026, 11, 21, tzinfo=UTC))


@pytest.fixture
def here(tmp_path: Path) -> Iterator[SkillBench]:
    with skill_bench(tmp_path, Lists) as bench:
        yield bench


def on(here: SkillBench) -> list[str]:
    """The items of all lists that are not done."""
    return [str(each["text"]) for each in here.contents(EntryKind.ITEM) if not each["done"]]


def names(here: SkillBench) -> list[str]:
    return [str(each["name"]) for each in here.contents(EntryKind.LIST)]


def lists(here: SkillBench, *given: str) -> None:
    for name in given:
        here.store.add(EntryKind.LIST, [{"name": name}])


# -- adding ---------------------------------------------------------------------------------------


async def test_items_are_added_to_a_shopping_list_if_no_list_is_named(here: SkillBench) -> None:
    said = await here.obey(ADD, "milk, eggs and some bread")
    assert said == "Added milk, eggs and bread to your shopping list."
    assert (names(here), on(here)) == (["shopping"], ["milk", "eggs", "bread"])
    assert await here.undo() == "All right, I've taken milk, eggs and bread off again."
    assert (names(here), on(here)) == ([], [])


async def test_what_is_on_the_list_is_not_added_again(here: SkillBench) -> None:
    await here.obey(ADD, "milk and a cucumber")
    assert await here.obey(ADD, "the Milk") == "Milk is already on your shopping list."
    said = await here.obey(ADD, "cucumbers and eggs")
    assert said == "Added eggs to your shopping list. The cucumber is already on it."
    assert await here.obey(ADD, "two cucumbers") == "Added two cucumbers to your shopping list."
    assert await here.obey(ADD, "eggs") == "Eggs are already on your shopping list."


async def test_what_was_ticked_off_is_put_back(here: SkillBench) -> None:
    await here.obey(ADD, "milk")
    await here.obey(TICK, "milk")
    assert await here.obey(ADD, "milk") == "Added milk to your shopping list."
    assert here.contents(EntryKind.ITEM) == [{"text": "milk", "done": False}]
    await here.undo()
    assert here.contents(EntryKind.ITEM) == [{"text": "milk", "done": True}]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("shopping", "my shopping list"),
        ("to-do", "to do"),
        ("todo", "the to-do list"),
        ("groceries", "grocery list"),
        ("groceries", "shopping"),
        ("shopping", "groceries"),
        ("to-do", "tasks"),
        ("packing", "Packing"),
        ("gift ideas", "list of gift ideas"),
        ("presents", "present"),
    ],
)
async def test_a_list_goes_by_several_names(here: SkillBench, first: str, second: str) -> None:
    await here.obey(ADD, "one thing", first)
    await here.obey(ADD, "another thing", second)
    assert len(names(here)) == 1


async def test_groceries_are_not_shopping_if_there_are_both(here: SkillBench) -> None:
    lists(here, "shopping", "grocery", "packing")
    assert await here.obey(ADD, "milk", "groceries") == "Added milk to your grocery list."
    assert await here.obey(ADD, "nails", "shopping") == "Added nails to your shopping list."


async def test_a_list_that_is_new_beside_others_is_called_new(here: SkillBench) -> None:
    await here.obey(ADD, "milk")
    assert await here.obey(ADD, "socks", "packing") == "Added socks to your new packing list."
    assert await here.obey(ADD, "shoes", "packing") == "Added shoes to your packing list."


async def test_a_list_that_is_named_is_made_at_once(here: SkillBench) -> None:
    said = await here.obey(ADD, None, "my packing list")
    assert said == "I've made a packing list. What shall I put on it?"
    assert (
        await here.answer("socks and a charger")
        == "Added socks and a charger to your packing list."
    )
    await here.undo()
    assert (names(here), on(here)) == (["packing"], [])
    assert await here.undo() == "All right, I've dropped that list."
    assert names(here) == []


async def test_without_items_it_asks_what_to_add(here: SkillBench) -> None:
    assert await here.obey(ADD) == "What shall I add?"
    assert await here.answer("Nothing.") == "All right."
    assert names(here) == []
    lists(here, "shopping")
    assert await here.obey(ADD) == "What shall I add to your shopping list?"
    assert await here.answer("Milk, please.") == "Added Milk to your shopping list."


async def test_the_list_that_was_used_last_is_meant_for_ten_minutes(here: SkillBench) -> None:
    lists(here, "shopping", "to-do", "packing")
    await here.obey(ADD, "socks", "packing")
    here.clock[0] += 599
    assert await here.obey(ADD, "shoes") == "Added shoes to your packing list."
    here.clock[0] += 600
    said = await here.obey(ADD, "hats")
    assert said == "Which list shall I add hats to: shopping, to-do or packing?"


@pytest.mark.parametrize(
    ("answer", "name"),
    [
        ("The shopping list.", "shopping"),
        ("shopping", "shopping"),
        ("To do.", "to-do"),
        ("the to-do list", "to-do"),
        ("My to-do list, please.", "to-do"),
        ("The second one.", "to-do"),
        ("On the packing one", "packing"),
        ("That is none of them", None),
    ],
)
async def test_of_several_lists_the_user_chooses(
    here: SkillBench, answer: str, name: str | None
) -> None:
    lists(here, "shopping", "to-do", "packing")
    await here.obey(ADD, "hats")
    said = await here.answer(answer)
    assert said == (f"Added hats to your {name} list." if name else None)


async def test_off_the_record_nothing_is_added(here: SkillBench) -> None:
    await here.obey(ADD)
    here.off_record[0] = True
    assert await here.answer("milk") == OFF_RECORD
    assert await here.obey(ADD, "milk") == OFF_RECORD
    assert await here.obey(ADD, None, "packing") == OFF_RECORD
    assert await here.obey(ADD, "milk", sure=False) is None
    assert names(here) == []


async def test_if_in_doubt_it_asks_before_adding(here: SkillBench) -> None:
    assert await here.obey(ADD, "milk", sure=False) == "Shall I add milk to your shopping list?"
    assert on(here) == []
    assert await here.answer("Yes.") == "Added milk to your shopping list."
    assert await here.obey(ADD, sure=False) is None
    here.clock[0] += 600
    lists(here, "to-do")
    said = await here.obey(ADD, "eggs", sure=False)
    assert said == "Which list shall I add eggs to: shopping or to-do?"


# -- reading --------------------------------------------------------------------------------------


async def test_a_list_is_read_without_what_is_done(here: SkillBench) -> None:
    assert await here.obey(READ) == "You don't have any lists yet."
    await here.obey(ADD, "milk, eggs, salt and pepper, and my vitamins")
    assert await here.obey(READ) == (
        "Your shopping list has milk, eggs, salt and pepper, and your vitamins."
    )
    await here.obey(TICK, "eggs and salt and pepper")
    assert await here.obey(READ, None, "shopping") == (
        "Your shopping list has milk and your vitamins."
    )
    await here.obey(TICK, "milk and vitamins")
    assert await here.obey(READ) == "Everything on your shopping list is ticked off."
    await here.obey(CLEAR)
    await here.answer("Yes.")
    assert await here.obey(READ) == "Your shopping list is empty."
    assert await here.obey(READ, None, "packing") == "You don't have a packing list."


async def test_at_most_seven_items_are_read(here: SkillBench) -> None:
    await here.obey(ADD, "a1, a2, a3, a4, a5, a6, a7, a8, a9, b1, b2")
    assert (await here.obey(READ) or "").endswith("a6, a7, and four more.")


async def test_what_is_to_be_done_is_read_as_such(here: SkillBench) -> None:
    await here.obey(ADD, "call my mother and book a table", "to do")
    assert await here.obey(READ) == "On your to-do list: call your mother and book a table."


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("milk", "Yes, two pints of milk are on it."),
        ("the egg", "Yes, eggs are on it."),
        ("butter", "Yes, peanut butter is on it."),
        ("bread", "There's no bread on your shopping list."),
        ("oranges", "There are no oranges on your shopping list."),
        ("a pear", "There's no pear on your shopping list."),
        ("tea", "Tea is ticked off already."),
        ("eggs and bread", "Yes, eggs are on it. There's no bread on your shopping list."),
        ("peanut oil", "There's no peanut oil on your shopping list."),
    ],
)
async def test_it_says_whether_something_is_on_the_list(
    here: SkillBench, asked: str, said: str
) -> None:
    await here.obey(ADD, "two pints of milk, eggs, peanut butter and tea")
    await here.obey(TICK, "tea")
    assert await here.obey(READ, asked) == said


async def test_of_several_lists_their_names_are_read(here: SkillBench) -> None:
    lists(here, "shopping", "packing")
    assert (
        await here.obey(READ)
        == "You have two lists: shopping with nothing and packing with nothing."
    )
    await here.obey(ADD, "milk, eggs", "shopping")
    await here.obey(ADD, "socks", "packing")
    said = await here.obey(READ)
    assert said == (
        "You have two lists: shopping with two things and packing with one thing."
        " Which one shall I read?"
    )
    assert await here.answer("shopping") == "Your shopping list has milk and eggs."
    assert await here.obey(READ, "socks") == "Yes, socks are on your packing list."
    assert await here.obey(READ, "hats") == "There are no hats on any of your lists."


async def test_if_in_doubt_it_asks_before_reading(here: SkillBench) -> None:
    assert await here.obey(READ, sure=False) is None
    await here.obey(ADD, "milk")
    assert await here.obey(READ, sure=False) == "Shall I read your shopping list?"
    assert await here.answer("Yes.") == "Your shopping list has milk."
    said = await here.obey(READ, "milk", sure=False)
    assert said == "Shall I look for milk on your shopping list?"
    assert await here.answer("Yes.") == "Yes, milk is on it."


# -- ticking off and removing -----------------------------------------------------------------------


async def test_items_are_ticked_off_and_back(here: SkillBench) -> None:
    await here.obey(ADD, "two pints of milk, a tin of tomatoes and eggs")
    assert await here.obey(TICK, "the milk and tomatoes") == (
        "Ticked off two pints of milk and the tin of tomatoes."
    )
    assert on(here) == ["eggs"]
    assert await here.obey(TICK, "milk") == "Two pints of milk are ticked off already."
    assert await here.obey(TICK, "eggs and ham") == (
        "Ticked off eggs. There's no ham on your shopping list."
    )
    assert await here.undo() == "All right, eggs are back on the list."
    assert await here.undo() == (
        "All right, two pints of milk and the tin of tomatoes are back on the list."
    )
    assert len(on(here)) == 3


async def test_items_are_removed_and_brought_back(here: SkillBench) -> None:
    await here.obey(ADD, "milk")
    await here.obey(ADD, "eggs")
    await here.obey(TICK, "milk")
    before = here.store.entries(EntryKind.ITEM)
    assert await here.obey(REMOVE, "milk") == "Removed milk from your shopping list."
    assert len(here.contents(EntryKind.ITEM)) == 1
    assert await here.obey(REMOVE, "bread") == "There's no bread on your shopping list."
    assert await here.undo() == "All right, milk is back on the list."
    assert sorted(here.store.entries(EntryKind.ITEM), key=lambda each: each.created) == before


async def test_the_list_is_read_in_the_old_order_after_an_undo(here: SkillBench) -> None:
    for item in ("milk", "eggs", "ham"):
        await here.obey(ADD, item)
    await here.obey(REMOVE, "milk")
    await here.undo()
    assert await here.obey(READ) == "Your shopping list has milk, eggs and ham."


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("The oat milk.", "Ticked off oat milk and eggs."),
        ("the first one", "Ticked off goat milk and eggs."),
        ("both of them", "Ticked off goat milk, oat milk and eggs."),
        ("No.", "All right."),
    ],
)
async def test_of_several_items_the_user_chooses(here: SkillBench, answer: str, said: str) -> None:
    await here.obey(ADD, "goat milk, oat milk and eggs")
    assert await here.obey(TICK, "milk and eggs") == "Which do you mean: goat milk or oat milk?"
    assert len(on(here)) == 3, "nothing is done before the answer"
    assert await here.answer(answer) == said


async def test_an_item_that_is_named_exactly_is_meant(here: SkillBench) -> None:
    await here.obey(ADD, "milk, oat milk")
    assert await here.obey(REMOVE, "milk") == "Removed milk from your shopping list."


async def test_an_item_is_found_on_whichever_list_it_is(here: SkillBench) -> None:
    lists(here, "shopping", "packing")
    await here.obey(ADD, "socks", "packing")
    await here.obey(ADD, "milk", "shopping")
    assert await here.obey(TICK, "socks") == "Ticked off socks."
    await here.obey(ADD, "soap", "packing")
    await here.obey(ADD, "soap", "shopping")
    here.clock[0] += 600
    assert await here.obey(REMOVE, "soap") == (
        "Which list shall I take soap off: shopping or packing?"
    )
    assert await here.answer("packing") == "Removed soap from your packing list."
    here.clock[0] += 600
    assert await here.obey(TICK, "hats") == "There are no hats on any of your lists."
    assert await here.obey(TICK, "milk", "garden") == "You don't have a garden list."


async def test_without_items_it_asks_what_to_tick_off(here: SkillBench) -> None:
    await here.obey(ADD, "milk")
    assert await here.obey(TICK) == "What shall I tick off?"
    assert await here.answer("Well, it rained all day") is None
    assert await here.obey(TICK) == "What shall I tick off?"
    assert await here.answer("The milk.") == "Ticked off milk."


async def test_if_in_doubt_it_asks_before_ticking_off(here: SkillBench) -> None:
    await here.obey(ADD, "a tin of tomatoes and oat milk and goat milk")
    assert await here.obey(TICK, "ham", sure=False) is None
    assert await here.obey(TICK, sure=False) is None
    assert await here.obey(TICK, "tomatoes", sure=False) == "Shall I tick off the tin of tomatoes?"
    assert len(on(here)) == 3
    assert await here.answer("Yes.") == "Ticked off the tin of tomatoes."
    said = await here.obey(REMOVE, "oat milk", sure=False)
    assert said == "Shall I take oat milk off your shopping list?"
    assert await here.obey(TICK, "milk", sure=False) == "Which do you mean: oat milk or goat milk?"
    assert await here.answer("Goat.") == "Ticked off goat milk."


# -- clearing ---------------------------------------------------------------------------------------


async def test_a_list_is_cleared_after_a_question_and_brought_back(here: SkillBench) -> None:
    await here.obey(ADD, "milk, eggs, ham and tea")
    await here.obey(TICK, "tea")
    before = here.contents(EntryKind.ITEM)
    said = await here.obey(CLEAR)
    assert said == "Shall I clear your shopping list? It has four things, one of them ticked off."
    assert await here.answer("No.") == "All right, I'll keep it."
    assert here.contents(EntryKind.ITEM) == before
    await here.obey(CLEAR, None, "shopping", sure=False)
    assert await here.answer("Yes.") == "Cleared your shopping list."
    assert (names(here), on(here)) == (["shopping"], [])
    assert await here.undo() == "All right, your shopping list is back as it was."
    assert here.contents(EntryKind.ITEM) == before


async def test_an_empty_list_is_deleted(here: SkillBench) -> None:
    lists(here, "packing")
    said = await here.obey(CLEAR, None, "packing")
    assert said == "There's nothing on your packing list. Shall I delete the list?"
    assert await here.answer("Yes.") == "Deleted your packing list."
    assert names(here) == []
    await here.undo()
    assert names(here) == ["packing"]


async def test_of_several_lists_it_asks_which_to_clear(here: SkillBench) -> None:
    lists(here, "shopping", "packing")
    assert await here.obey(CLEAR) == "Which list shall I clear: shopping or packing?"
    assert (await here.answer("packing") or "").endswith("Shall I delete the list?")
    assert await here.obey(CLEAR, None, "garden", sure=False) is None


# -- what is gone meanwhile ---------------------------------------------------------------------------


async def test_lists_and_items_may_be_gone_when_the_user_answers(here: SkillBench) -> None:
    await here.obey(ADD, "oat milk, goat milk", "shopping")
    [shopping] = here.store.entries(EntryKind.LIST)
    await here.obey(TICK, "milk")
    here.store.remove([here.store.entries(EntryKind.ITEM)[0].id])
    assert await here.answer("The first one.") == "That's no longer on the list."
    await here.obey(CLEAR)
    here.store.remove([shopping.id])
    assert await here.answer("Yes.") == "That list is gone."
    lists(here, "shopping", "packing")
    await here.obey(ADD, "hats")
    here.store.remove([each.id for each in here.store.entries(EntryKind.LIST)])
    assert await here.answer("packing") == "That list is gone."
    assert await here.undo() == "That's no longer on the list."


async def test_nothing_is_put_on_a_hidden_list(here: SkillBench) -> None:
    lists(here, "shopping", "packing")
    [_, packing] = here.store.entries(EntryKind.LIST)
    await here.obey(ADD, "hats")
    due = datetime(2026, 11, 21, tzinfo=UTC)
    here.store.hide(HiddenItems("h", "me", (), (packing.id,), due))
    assert await here.answer("packing") == "That list is gone."


async def test_what_was_removed_stays_gone_after_something_is_forgotten(here: SkillBench) -> None:
    await here.obey(ADD, "milk")
    await here.obey(REMOVE, "milk")
    here.emit(FORGOTTEN)
    assert await here.undo() == "There is nothing left to bring back."
    assert on(here) == []


async def test_after_other_turns_undo_says_what_it_would_undo(here: SkillBench) -> None:
    await here.obey(ADD, "milk, eggs")
    await here.obey(REMOVE, "eggs")
    here.registry.turn_began()
    said = await here.undo()
    assert said == (
        "The last thing I did was remove eggs from your shopping list. Shall I bring that back?"
    )
    await here.answer("Yes.")
    here.registry.turn_began()
    said = await here.undo()
    assert said == (
        "The last thing I did was add milk and eggs to your shopping list. Shall I undo that?"
    )
    here.store.remove([each.id for each in here.store.entries(EntryKind.ITEM)])
    here.registry.turn_began()
    assert await here.undo() is None
