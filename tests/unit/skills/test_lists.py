"""What the user puts on lists and asks of them, in a real store in a real file."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from assistant.intents import CommandKind
from assistant.skills import Lists
from assistant.skills.lists.lists import NOT_EMPTY
from assistant.skills.lists.taking_off import GONE
from assistant.skills.spoken_statements import OFF_RECORD
from assistant.state import EntryKind
from tests.support.state_skills import SkillBench, skill_bench

ADD, READ, TICK = CommandKind.LIST_ADD, CommandKind.LIST_READ, CommandKind.LIST_TICK
CLEAR = CommandKind.LIST_CLEAR


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
    assert await here.undo() == "Deleted your packing list."
    assert names(here) == []


async def test_undo_does_not_claim_to_drop_a_list_that_is_in_use_or_already_gone(
    here: SkillBench,
) -> None:
    made = "I've made a packing list. What shall I put on it?"
    assert await here.obey(ADD, None, "packing") == made
    [packing] = here.store.entries(EntryKind.LIST)
    [socks] = here.store.add(EntryKind.ITEM, [{"text": "socks", "done": False}], packing.id)
    assert await here.undo() == NOT_EMPTY
    here.store.remove([socks.id])
    await here.obey(CLEAR, None, "packing")
    await here.answer("Yes.")
    assert names(here) == []
    assert await here.obey(ADD, None, "packing") == made
    here.store.remove([each.id for each in here.store.entries(EntryKind.LIST)])
    assert await here.undo() == GONE


async def test_without_items_it_asks_what_to_add(here: SkillBench) -> None:
    assert await here.obey(ADD) == "What shall I add?"
    assert await here.answer("Nothing.") == "All right."
    assert names(here) == []
    lists(here, "shopping")
    assert await here.obey(ADD) == "What shall I add to your shopping list?"
    assert await here.answer("Milk, please.") == "Added milk to your shopping list."


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
    assert await here.obey(READ) == "You have two lists: shopping is empty and packing is empty."
    await here.obey(ADD, "milk, eggs", "shopping")
    await here.obey(ADD, "socks", "packing")
    said = await here.obey(READ)
    assert said == (
        "You have two lists: shopping has two things and packing has one thing."
        " Which one shall I read?"
    )
    assert await here.answer("shopping") == "Your shopping list has milk and eggs."
    assert await here.obey(READ, "socks") == "Yes, socks are on your packing list."
    assert await here.obey(READ, "hats") == "There are no hats on any of your lists."
    await here.obey(TICK, "socks")
    assert str(await here.obey(READ)).startswith(
        "You have two lists: shopping has two things and packing is all ticked off."
    )


async def test_if_in_doubt_it_asks_before_reading(here: SkillBench) -> None:
    assert await here.obey(READ, sure=False) is None
    await here.obey(ADD, "milk")
    assert await here.obey(READ, sure=False) == "Shall I read your shopping list?"
    assert await here.answer("Yes.") == "Your shopping list has milk."
    said = await here.obey(READ, "milk", sure=False)
    assert said == "Shall I look for milk on your shopping list?"
    assert await here.answer("Yes.") == "Yes, milk is on it."
