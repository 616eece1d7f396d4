"""What is filled in from the words that a model marks, and above all what is not."""

import random
from collections.abc import Mapping, Sequence
from datetime import date

import pytest

from assistant.errors import ModelFailed, ModelMissing
from assistant.forms import UNKNOWN, Filling, FormReader, Slot, Value, Way
from assistant.forms.described import ASKED, described
from assistant.forms.filling import SURE, SURE_TO_CHANGE, SURE_UNASKED, TALKS
from assistant.forms.values import LONGEST_TEXT, MOST_ITEMS, check_value
from models.interfaces import DescribedSlot, ReadSlot, ReadUtterance, SlotAct, SlotWords
from tests.support.slot_reader import CERTAIN, MarkedReader, shipped_form

TODAY = date(2026, 11, 18)
"""A Wednesday."""
KEYS = {"medical": "medical_intake", "shopping": "shopping_trip", "appointment": "appointment"}
Filled = Mapping[str, Value]
ReadSlots = Sequence[DescribedSlot]


def filling(
    form: str,
    asked: str,
    marked: str,
    filled: Filled | None = None,
    *,
    sure: float = CERTAIN,
    talk: float = 0.0,
) -> Filling:
    reader = MarkedReader()
    said = reader.mark(marked, sure=sure, talk=talk)
    found = FormReader(reader).fill(shipped_form(KEYS[form]), filled or {}, asked, said, TODAY)
    assert all(each.words in said for each in found.proposals)
    return found


def taken(
    form: str, asked: str, marked: str, filled: Filled | None = None, *, sure: float = CERTAIN
) -> dict[str, Value]:
    found = filling(form, asked, marked, filled, sure=sure)
    return {each.slot: each.value for each in found.proposals}


# -- values -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("marked", "value"),
    [
        ("Well, it's about {about: my left knee}.", "my left knee"),
        ("{about: 'the boiler,'} I think", "'the boiler,'"),
        ("it's {about: the boiler.}", "the boiler"),
        ("{about: The boiler}, and, yes, {about: the roof}.", "The boiler, the roof"),
        ("{about: my} {about: knee}", "my knee"),
        (f"{{about: {'very' * 100} long}}", ("very" * 100)[:LONGEST_TEXT]),
        ("{about: …}", None),
    ],
)
def test_a_text_is_all_of_the_words_that_are_marked(marked: str, value: str | None) -> None:
    assert taken("appointment", "about", marked) == ({"about": value} if value else {})


@pytest.mark.parametrize(
    ("marked", "value"),
    [
        ("it started {since: three days ago}", "2026-11-15"),
        ("{since: since last Tuesday}, I think", "2026-11-10"),
        ("{since: It was in the night, so last Tuesday}", "2026-11-10"),
        ("{since: Sunday}. No wait, it was {since: Monday}.", "2026-11-16"),
        ("{since: Sunday, no, Monday}", "2026-11-16"),
        ("{since: since} {since: Monday}", "2026-11-16"),
        ("{since: when I was young}", None),
        ("{since: the thirty first of February}", None),
    ],
)
def test_a_date_is_read_from_the_marked_words_and_the_last_one_counts(
    marked: str, value: str | None
) -> None:
    assert taken("medical", "since", marked) == ({"since": value} if value else {})


@pytest.mark.parametrize(
    ("slot", "marked", "value"),
    [
        ("severity", "I'd say {severity: a seven}", 7),
        ("severity", "{severity: seven}, no, {severity: eight out of ten}", 8),
        ("severity", "{severity: eleven}", None),
        ("severity", "{severity: eight}, or {severity: eleven}?", 8),
        ("severity", "{severity: quite bad}", None),
        ("temperature", "{temperature: thirty eight point five}", 38.5),
        ("temperature", "{temperature: it was 38.5 this morning}", 38.5),
        ("temperature", "{temperature: two hundred}", None),
        ("temperature", "{temperature: two metres}", None),
    ],
)
def test_a_number_is_read_within_its_limits(slot: str, marked: str, value: float | None) -> None:
    assert taken("medical", slot, marked) == ({slot: value} if value is not None else {})


@pytest.mark.parametrize(
    ("marked", "value"),
    [
        ("{time: at three}, if that suits you", "15:00"),
        ("{time: half past nine in the morning}", "09:30"),
        ("{time: at three}. Or rather {time: four}.", "16:00"),
        ("{time: in the morning}", None),
    ],
)
def test_a_time_is_read_from_the_marked_words(marked: str, value: str | None) -> None:
    assert taken("appointment", "time", marked) == ({"time": value} if value else {})


@pytest.mark.parametrize(
    ("marked", "value"),
    [
        ("{smoker = yes | I do}", True),
        ("{smoker = no | I gave it up}", False),
        ("{smoker = yes | } guilty", True),
        ("{smoker: twenty a day}", None),
    ],
)
def test_yes_and_no_come_from_the_model(marked: str, value: bool | None) -> None:
    assert taken("medical", "smoker", marked) == ({"smoker": value} if value is not None else {})


@pytest.mark.parametrize(
    ("marked", "value"),
    [
        ("{transport = car | I'll drive}", "car"),
        ("{transport = on foot | it's round the corner}", "on foot"),
        ("{transport = car | the bus}", "bus"),
        ("{transport: by taxi}", None),
        ("{transport: by train}", "train"),
        ("{transport = no | no}", None),
    ],
)
def test_a_choice_is_the_one_that_the_words_name_or_that_the_model_is_sure_of(
    marked: str, value: str | None
) -> None:
    assert taken("shopping", "transport", marked) == ({"transport": value} if value else {})


def test_several_slots_are_filled_at_once_each_with_its_own_words() -> None:
    found = filling("appointment", "day", "{day: Friday} {time: at three}, with {with: Bob}.")
    assert [(each.slot, each.value, each.words) for each in found.proposals] == [
        ("with", "Bob", "Bob"),
        ("day", "2026-11-20", "Friday"),
        ("time", "15:00", "at three"),
    ]
    assert found.whole


@pytest.mark.parametrize(
    ("form", "asked", "marked", "given"),
    [
        ("appointment", "time", "Actually, make it {time: Monday}", {"day": "2026-11-23"}),
        ("appointment", "day", "{day: half past nine} would be fine", {"time": "09:30"}),
        ("appointment", "time", "{time: about twenty minutes}", {"minutes": 20}),
        ("appointment", "time", "{time: whenever you like}", {}),
        ("appointment", "about", "{about: Monday}", {"about": "Monday"}),
        ("medical", "severity", "{severity: last Tuesday}", {"since": "2026-11-10"}),
        ("shopping", "budget", "{budget: about twenty minutes}", {}),
        ("appointment", "time", "{time: on the fifth}", {"day": "2026-12-05"}),
        ("appointment", "minutes", "{minutes: five o'clock}", {"time": "17:00"}),
        ("appointment", "day", "{day: in about ten days}", {}),
        ("appointment", "day", "{day: two days after the operation}", {}),
        ("appointment", "day", "{day: ten minutes ago}", {}),
    ],
)
def test_words_that_are_no_value_of_their_slot_go_to_the_only_one_that_they_fit(
    form: str, asked: str, marked: str, given: dict[str, Value]
) -> None:
    assert taken(form, asked, marked) == given


@pytest.mark.parametrize("slot", ["reason", "since", "severity", "medicines", "smoker"])
def test_not_knowing_is_a_value_of_every_type(slot: str) -> None:
    said = f"{{{slot} = unknown | I've no idea}}, sorry"
    assert taken("medical", slot, said) == {slot: UNKNOWN}
    assert taken("shopping", "transport", "{transport = unknown | skip that}") == {
        "transport": UNKNOWN
    }


@pytest.mark.parametrize(
    ("form", "marked"),
    [
        ("medical", "{severity: six or seven}"),
        ("medical", "{temperature: thirty-seven to thirty-eight}"),
        ("shopping", "{budget: fifty or maybe sixty}"),
        ("appointment", "{minutes: twenty to thirty}"),
        ("appointment", "{day: Monday or Tuesday}"),
        ("appointment", "{day: Monday to Friday}"),
        ("appointment", "{day: not on Monday}"),
        ("appointment", "{time: five or six}"),
        ("appointment", "{time: any time from five to six}"),
        ("appointment", "{time: twenty past}"),
    ],
)
def test_none_of_several_values_is_picked_and_none_that_is_not_meant(
    form: str, marked: str
) -> None:
    assert taken(form, "", marked) == {}


# -- lists ------------------------------------------------------------------------------------


def changed(marked: str, before: Value | None = None) -> list[tuple[Way, Value]]:
    found = filling("shopping", "items", marked, {} if before is None else {"items": before})
    return [(each.way, each.value) for each in found.proposals]


def test_each_marked_part_is_an_item() -> None:
    said = "{items: Milk}, {items: eggs}, and {items: the good coffee.} And {items: eggs}."
    assert changed(said) == [(Way.PUT, ["Milk", "eggs", "good coffee"])]
    assert changed("{items: Milk and eggs}, {items: bread}") == [
        (Way.PUT, ["Milk", "eggs", "bread"])
    ]
    assert changed("{items: milk} {items: eggs} {items: bread}") == [
        (Way.PUT, ["milk", "eggs", "bread"])
    ]


@pytest.mark.parametrize("before", [None, [], UNKNOWN])
def test_items_are_added_to_those_that_are_there(before: Value | None) -> None:
    assert changed("{items + tea}", before) == [(Way.PUT, ["tea"])]
    assert changed("{items + tea}", ["milk"]) == [(Way.ADD, ["tea"])]


def test_an_item_is_taken_off_by_words_of_it() -> None:
    there = ["two pints of milk", "eggs", "oat milk"]
    assert changed("not {items - the eggs}", there) == [(Way.REMOVE, ["eggs"])]
    assert changed("not {items - the oat milk}", there) == [(Way.REMOVE, ["oat milk"])]
    assert changed("no {items - milk}", there) == [(Way.REMOVE, ["two pints of milk", "oat milk"])]
    assert changed("no {items - coffee}", there) == []
    assert changed("no {items - it}", there) == []
    assert changed("{items - eggs}, {items + cheese} instead", there) == [
        (Way.REMOVE, ["eggs"]),
        (Way.ADD, ["cheese"]),
    ]


@pytest.mark.parametrize(
    ("before", "found"),
    [(None, [(Way.PUT, [])]), (UNKNOWN, [(Way.PUT, [])]), (["milk"], [])],
)
def test_a_list_is_empty_only_if_nothing_was_on_it(
    before: Value | None, found: list[tuple[Way, Value]]
) -> None:
    assert changed("{items = none | nothing}", before) == found


def test_a_list_takes_so_many_items_and_no_longer_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assistant.forms.filling.MOST_WORDS", 1000)
    said = ", ".join(f"{{items: thing {number} {'x' * 400}}}" for number in range(MOST_ITEMS + 5))
    [(_, items)] = changed(said)
    assert isinstance(items, list)
    assert len(items) == MOST_ITEMS
    assert {len(each) for each in items} == {LONGEST_TEXT}


# -- thresholds -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "filled", "least"),
    [
        ("since", {}, SURE),
        ("since", {"since": "2026-11-10"}, SURE),
        ("", {}, SURE_UNASKED),
        ("reason", {"since": UNKNOWN}, SURE_UNASKED),
        ("", {"since": "2026-11-10"}, SURE_TO_CHANGE),
        ("reason", {"since": "2026-11-10", "reason": "a cough"}, SURE_TO_CHANGE),
    ],
)
def test_what_was_not_asked_for_needs_more_certainty_and_to_replace_a_value_most(
    asked: str, filled: Filled, least: float
) -> None:
    assert SURE < SURE_UNASKED < SURE_TO_CHANGE
    said = "{since: since Monday}"
    assert taken("medical", asked, said, filled, sure=least - 0.01) == {}
    assert taken("medical", asked, said, filled, sure=least + 0.01) == {"since": "2026-11-16"}


@pytest.mark.parametrize(
    "said", ["{items + tea}", "{items - milk}", "{items = clear | forget the list}"]
)
def test_a_list_is_changed_only_if_that_is_certain(said: str) -> None:
    filled: Filled = {"items": ["milk"]}
    assert taken("shopping", "", said, filled, sure=SURE_TO_CHANGE - 0.01) == {}
    assert taken("shopping", "", said, filled, sure=SURE_TO_CHANGE + 0.01)


# -- whether the language model need not answer -------------------------------------------------


def test_an_utterance_is_whole_if_it_gives_something_and_says_nothing_else() -> None:
    said = "{severity: a four}, my sister's was worse"
    assert filling("medical", "severity", said, talk=TALKS - 0.1).whole
    more = filling("medical", "severity", said, talk=TALKS + 0.1)
    assert [each.value for each in more.proposals] == [4]
    assert not more.whole
    for nothing in ("hello", "{since: when I was young}"):
        assert not filling("medical", "since", nothing, talk=0.0).whole


# -- what the model reads -----------------------------------------------------------------------


def test_the_model_reads_what_is_asked_and_what_is_filled_in() -> None:
    reader = MarkedReader()
    filled: Filled = {"items": ["milk", "tea"], "budget": 50, "time": UNKNOWN}
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
        form = shipped_form(chance.choice(list(KEYS.values())))
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
