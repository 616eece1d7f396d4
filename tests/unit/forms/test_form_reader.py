"""What a model reads when a form is filled in, and what happens whatever it finds."""

import random
from collections.abc import Sequence
from datetime import date

import pytest

from assistant.errors import ModelFailed, ModelMissing
from assistant.forms import UNKNOWN, Filling, FormReader, Slot, Value, Way
from assistant.forms.described import ASKED, described
from assistant.forms.values import check_value
from models.interfaces import DescribedSlot, ReadSlot, ReadUtterance, SlotAct, SlotWords
from tests.support.slot_reader import MarkedReader, shipped_form

TODAY = date(2026, 11, 18)
"""A Wednesday."""
FORMS = ("medical_intake", "shopping_trip", "appointment")
ReadSlots = Sequence[DescribedSlot]


# -- what the model reads -----------------------------------------------------------------------


def test_the_model_reads_what_is_asked_and_what_is_filled_in() -> None:
    reader = MarkedReader()
    filled: dict[str, Value] = {"items": ["milk", "tea"], "budget": 50, "time": UNKNOWN}
    FormReader(reader).fill(shipped_form("shopping_trip"), filled, "day", "hm", TODAY)
    assert [each.text for each in reader.read_slots] == [
        "shop, shop, store, supermarket, market: Where do you want to go? text",
        "asked: day: On which day? date",
        "time: At what time? time = not known",
        "items, buy, need, get: What do you want to buy? list = milk, tea",
        "budget, budget, spend, at most: How much do you want to spend at most? number = 50",
        "transport, drive, walk, cycle, ride: How do you get there? choice",
        "going with: Who is coming with you? text",
    ]
    assert [len(each.options) for each in reader.read_slots] == [0, 0, 0, 0, 0, 5, 0]


def test_a_slot_is_described_with_its_unit_and_its_options() -> None:
    weight = Slot.model_validate(
        {"name": "weight", "type": "number", "ask": "How heavy is it?", "unit": "kilograms"}
    )
    assert described(weight, "", asked=False) == DescribedSlot(
        "weight: How heavy is it? number in kilograms"
    )
    way = Slot.model_validate(
        {"name": "way", "type": "choice", "ask": "How?", "choices": ["post", "courier"]}
    )
    assert described(way, "post", asked=True) == DescribedSlot(
        f"{ASKED}way: How? choice = post", ("way: post", "way: courier")
    )


def test_the_model_is_loaded_by_the_first_words_and_its_faults_are_passed_on() -> None:
    reader = MarkedReader()
    forms, form = FormReader(reader), shipped_form("appointment")
    assert forms.fill(form, {}, "with", " \n", TODAY) == Filling((), whole=False)
    assert reader.loads == 0
    forms.fill(form, {}, "with", "Bob", TODAY)
    assert reader.loads == 1
    reader.fault = ModelMissing("It is missing.")
    with pytest.raises(ModelMissing):
        forms.fill(form, {}, "with", "Bob", TODAY)


# -- whatever the model finds --------------------------------------------------------------------

SCRAPS = (
    *("actually", "no", "make that", "since Monday", "seven", "fifty", "my sister", "milk", "yes"),
    *("and eggs", "take the milk off", "no idea", "skip that", "nothing", "is", "not", "the day"),
    *("change", "to Friday", "at three", "I'm allergic to", "nuts", "?", ",", ".", "’", "…", '"'),
    *("I don't smoke", "38.5", "degrees", "by car", "It's about", "my knee", "wait", "\n", "🙂"),
)


class Guesses:
    """A `SlotReader` that marks anything."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    def load(self) -> None:
        """Nothing to load."""

    def read(self, text: str, slots: ReadSlots) -> ReadUtterance:
        return ReadUtterance(tuple(self._slot(text, each) for each in slots), self._chance.random())

    def _slot(self, text: str, described: DescribedSlot) -> ReadSlot:
        strengths = [self._chance.random() ** 3 for _ in SlotAct]
        acts = {
            each: share / sum(strengths) for each, share in zip(SlotAct, strengths, strict=True)
        }
        count = 2 * min(self._chance.randint(0, 3), len(text) // 2)
        edges = sorted(self._chance.sample(range(len(text) + 1), count))
        words = [
            SlotWords(start, end, self._chance.random() < 0.3)
            for start, end in zip(edges[::2], edges[1::2], strict=True)
        ]
        options = {each: self._chance.random() for each in described.options}
        return ReadSlot(acts, tuple(words), options)


@pytest.mark.parametrize("seed", range(6))
def test_whatever_a_model_marks_only_the_users_words_are_filled_in(seed: int) -> None:
    chance = random.Random(seed)
    reader = FormReader(Guesses(chance))
    seen = 0
    for _ in range(60):
        form = shipped_form(chance.choice(FORMS))
        filled: dict[str, Value] = {}
        for _ in range(6):
            asked = chance.choice(("", *(each.name for each in form.slots)))
            said = " ".join(chance.choices(SCRAPS, k=chance.randint(1, 7)))
            for each in reader.fill(form, filled, asked, said, TODAY).proposals:
                seen += 1
                slot, before = form.slot(each.slot), filled.get(each.slot)
                assert slot is not None
                assert each.words in said
                new = each.applied(before)
                check_value(slot, new)
                if slot.type == "text" and new != UNKNOWN:
                    assert all(word in said for word in str(new).split(", "))
                if isinstance(before, list) and before and each.way is not Way.REMOVE:
                    assert new == UNKNOWN or (isinstance(new, list) and set(before) <= set(new))
                filled[each.slot] = new
    assert seen > 200


def test_a_model_that_fails_is_an_error_for_the_caller() -> None:
    class Failing(MarkedReader):
        def read(self, text: str, slots: ReadSlots) -> ReadUtterance:
            raise ModelFailed("It failed.")

    with pytest.raises(ModelFailed):
        FormReader(Failing()).fill(shipped_form("appointment"), {}, "with", "Bob", TODAY)
