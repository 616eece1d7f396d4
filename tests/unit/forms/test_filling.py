"""What is filled in from the words that a model marks, and above all what is not."""

from collections.abc import Mapping
from datetime import date

import pytest

from assistant.forms import UNKNOWN, Filling, FormReader, Value, Way
from assistant.forms.filling import SURE, TALKS
from assistant.forms.values import LONGEST_TEXT, MOST_ITEMS
from tests.support.slot_reader import CERTAIN, MarkedReader, shipped_form

TODAY = date(2026, 11, 18)
"""A Wednesday."""
KEYS = {"medical": "medical_intake", "shopping": "shopping_trip", "appointment": "appointment"}
Filled = Mapping[str, Value]


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


@pytest.mark.parametrize(
    ("form", "asked", "said", "given"),
    [
        ("medical", "smoker", "Yes.", {"smoker": True}),
        ("medical", "smoker", "Yes, I do.", {"smoker": True}),
        ("medical", "smoker", "No, thanks", {"smoker": False}),
        ("medical", "smoker", "No, wait", {}),
        ("medical", "smoker", "No idea.", {"smoker": UNKNOWN}),
        ("medical", "smoker", "Yes and no", {}),
        ("medical", "smoker", "Yes, and I have a cough as well", {}),
        ("medical", "severity", "About a six.", {"severity": 6}),
        ("medical", "medicines", "Nothing.", {"medicines": []}),
        ("medical", "medicines", "Aspirin.", {}),
        ("medical", "reason", "A cough.", {}),
        ("medical", "reason", "No idea.", {"reason": UNKNOWN}),
        ("shopping", "transport", "On foot.", {"transport": "on foot"}),
        ("shopping", "", "On foot.", {}),
        ("appointment", "day", "On Friday.", {"day": "2026-11-20"}),
        ("appointment", "time", "Half past nine.", {"time": "09:30"}),
    ],
)
def test_a_plain_answer_to_the_question_needs_no_model(
    form: str, asked: str, said: str, given: dict[str, Value]
) -> None:
    """The model of this test marks nothing."""
    found = filling(form, asked, said)
    assert {each.slot: each.value for each in found.proposals} == given
    assert found.whole is bool(given)


# -- lists ------------------------------------------------------------------------------------


def changed(marked: str, before: Value | None = None) -> list[tuple[Way, Value]]:
    found = filling("shopping", "items", marked, {} if before is None else {"items": before})
    return [(each.way, each.value) for each in found.proposals]


def test_each_marked_part_is_an_item() -> None:
    said = "{items: Milk}, {items: eggs}, and {items: the good coffee.} And {items: eggs}."
    assert changed(said) == [(Way.PUT, ["Milk", "eggs", "the good coffee"])]
    assert changed("{items: Mac and cheese}, {items: bread}") == [
        (Way.PUT, ["Mac and cheese", "bread"])
    ]
    assert changed("{items: milk} {items: eggs} {items: bread}") == [
        (Way.PUT, ["milk", "eggs", "bread"])
    ]


def test_an_amount_alone_belongs_to_the_item_before_it() -> None:
    said = "{items: Bin bags}, {items: ten rolls}, {items: bread}, {items: two}."
    assert changed(said) == [(Way.PUT, ["Bin bags, ten rolls", "bread, two"])]
    said = "{items: aspirin}, {items: half a tablet}, and {items: iron}, {items: twenty milligrams}"
    assert changed(said) == [(Way.PUT, ["aspirin, half a tablet", "iron, twenty milligrams"])]


@pytest.mark.parametrize(
    ("said", "items"),
    [
        (["laptop", "tablet", "the case"], ["laptop", "tablet", "the case"]),
        (["a bag"], ["a bag"]),
        (["a tablet", "passport"], ["a tablet", "passport"]),
        (["vitamin D", "C"], ["vitamin D", "C"]),
        (["towels", "glasses", "sheets"], ["towels", "glasses", "sheets"]),
        (["a pot", "cases", "set"], ["a pot", "cases", "set"]),
        (["coffee", "half and half"], ["coffee", "half and half"]),
        (["Two boxes", "a", "tea"], ["Two boxes", "tea"]),
        (["two bunches", "three"], ["two bunches, three"]),
        (["I", "an", "A", "tea"], ["tea"]),
        (["three", "tea"], ["tea"]),
        (["twenty-five", "tea"], ["tea"]),
        (["2", "tea"], ["tea"]),
        (["&", "tea"], ["tea"]),
    ],
)
def test_things_that_sound_like_amounts_are_items_and_only_words_without_a_thing_are_dropped(
    said: list[str], items: list[str]
) -> None:
    assert changed(", ".join(f"{{items: {each}}}" for each in said)) == [(Way.PUT, items)]


def test_a_number_alone_is_no_item() -> None:
    assert changed("{items: three}") == []


def test_items_with_commas_between_them_are_not_cut_at_spaces() -> None:
    assert changed("{items: oat} {items: milk}, {items: tea}") == [(Way.PUT, ["oat milk", "tea"])]
    assert changed("{items: milk} {items: eggs}") == [(Way.PUT, ["milk", "eggs"])]


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


@pytest.mark.parametrize("asked", ["since", "reason", ""])
@pytest.mark.parametrize("filled", [{}, {"since": UNKNOWN}, {"since": "2026-11-10"}])
def test_a_slot_is_filled_or_changed_only_if_that_is_certain(asked: str, filled: Filled) -> None:
    said = "it began {since: on Monday}"
    assert taken("medical", asked, said, filled, sure=SURE - 0.01) == {}
    assert taken("medical", asked, said, filled, sure=SURE + 0.01) == {"since": "2026-11-16"}


@pytest.mark.parametrize(
    "said", ["{items + tea}", "{items - milk}", "{items = clear | forget the list}"]
)
def test_a_list_is_changed_only_if_that_is_certain(said: str) -> None:
    filled: Filled = {"items": ["milk"]}
    assert taken("shopping", "", said, filled, sure=SURE - 0.01) == {}
    assert taken("shopping", "", said, filled, sure=SURE + 0.01)


# -- whether the language model need not answer -------------------------------------------------


def test_an_utterance_is_whole_if_it_gives_something_and_says_nothing_else() -> None:
    said = "{severity: a four}, my sister's was worse"
    assert filling("medical", "severity", said, talk=TALKS - 0.1).whole
    more = filling("medical", "severity", said, talk=TALKS + 0.1)
    assert [each.value for each in more.proposals] == [4]
    assert not more.whole
    for nothing in ("hello", "{since: when I was young}"):
        assert not filling("medical", "since", nothing, talk=0.0).whole
