"""What the user ticks off, removes and clears, in a real store in a real file."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from assistant.events import ForgettingBegan
from assistant.intents import CommandKind
from assistant.memory.records.hidden import HiddenItems
from assistant.skills import Lists
from assistant.state import Entry, EntryKind
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


# -- ticking off and removing ---------------------------------------------------------------------


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


# -- clearing -------------------------------------------------------------------------------------


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


# -- what is gone meanwhile -----------------------------------------------------------------------


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
    here.store.hide(HiddenItems.of("me", (), (packing.id,), datetime(2026, 11, 21, tzinfo=UTC)))
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


async def test_what_was_put_on_a_list_while_it_was_forgotten_is_taken_off(
    here: SkillBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    await here.obey(ADD, "milk")
    [shopping] = here.store.entries(EntryKind.LIST)
    hidden = HiddenItems.of("me", (), (shopping.id,), datetime(2026, 11, 21, tzinfo=UTC))
    restore = here.store.restore

    def add_late(entries: Sequence[Entry]) -> list[Entry]:
        here.store.hide(hidden)
        return restore(entries)

    monkeypatch.setattr(here.store, "restore", add_late)
    assert await here.obey(ADD, "eggs") == "That list is gone."
    here.store.unhide(hidden, ())
    assert on(here) == ["milk"]


async def test_a_choice_of_items_is_asked_for_in_the_second_person(here: SkillBench) -> None:
    await here.obey(ADD, "my boiler's filter and filter coffee")
    asked = await here.obey(REMOVE, "filter")
    assert asked == "Which do you mean: your boiler's filter or filter coffee?"
    assert await here.answer("my boiler's filter") == (
        "Removed your boiler's filter from your shopping list."
    )


async def test_a_list_is_kept_if_something_was_put_on_it_since_the_question(
    here: SkillBench,
) -> None:
    await here.obey(ADD, name="packing")
    [packing] = here.store.entries(EntryKind.LIST)
    await here.obey(CLEAR)
    here.store.add(EntryKind.ITEM, [{"text": "socks", "done": False}], packing.id)
    assert await here.answer("Yes.") == "There's something on it now, so I'll keep it."
    assert on(here) == ["socks"]


async def test_a_list_is_kept_while_something_on_it_may_be_brought_back(here: SkillBench) -> None:
    await here.obey(ADD, "socks", "packing")
    [socks] = here.store.entries(EntryKind.ITEM)
    hidden = HiddenItems.of("me", (), (socks.id,), datetime(2026, 11, 21, tzinfo=UTC))
    here.store.hide(hidden)
    await here.obey(CLEAR)
    said = await here.answer("Yes.")
    assert said == "I can't delete it yet, because something on it is still being forgotten."
    here.store.unhide(hidden, ())
    assert on(here) == ["socks"]


async def test_undoing_the_first_item_keeps_the_list_while_something_on_it_is_hidden(
    here: SkillBench,
) -> None:
    await here.obey(ADD, "socks", "packing")
    [packing] = here.store.entries(EntryKind.LIST)
    [hat] = here.store.add(EntryKind.ITEM, [{"text": "hat", "done": False}], packing.id)
    hidden = HiddenItems.of("me", (), (hat.id,), datetime(2026, 11, 21, tzinfo=UTC))
    here.store.hide(hidden)
    await here.undo()
    here.store.unhide(hidden, ())
    assert on(here) == ["hat"]


async def test_if_its_items_cannot_be_stored_no_new_list_stays(here: SkillBench) -> None:
    with here.store._transcript.writing() as db:
        db.execute(
            "CREATE TRIGGER full BEFORE INSERT ON state WHEN NEW.kind = 'item'"
            " BEGIN SELECT RAISE(ABORT, 'full'); END"
        )
    await here.obey(ADD, "socks", "packing")
    assert here.contents(EntryKind.LIST) == []


async def test_no_undo_holds_the_name_of_a_list_that_may_be_forgotten(here: SkillBench) -> None:
    await here.obey(ADD, name="infidelity")
    for kind, words in ((ADD, "hotel"), (TICK, "hotel"), (REMOVE, "hotel"), (ADD, "rose")):
        await here.obey(kind, words, "infidelity")
    for _ in ("clear", "delete"):
        await here.obey(CLEAR)
        await here.answer("Yes.")
    assert here.contents(EntryKind.LIST) == []
    kept = [repr((each.act, each.question)) for each in here.registry._undos]
    assert len(kept) == 7
    assert not [each for each in kept if "infidelity" in each or "hotel" in each]


async def test_late_questions_to_undo_name_the_list_as_it_is(here: SkillBench) -> None:
    await here.obey(ADD, "hotel")
    await here.obey(REMOVE, "hotel")
    await here.obey(CLEAR)
    await here.answer("Yes.")
    said = []
    for _ in range(3):
        here.registry.turn_began()
        said.append(await here.undo())
        await here.answer("Yes.")
    assert said == [
        "The last thing I did was delete your shopping list. Shall I bring that back?",
        "The last thing I did was remove hotel from your shopping list. Shall I bring that back?",
        "The last thing I did was add hotel to your shopping list. Shall I undo that?",
    ]
