"""Filling slots by rules: what is taken from an utterance, and above all what is not."""

import random
from collections.abc import Mapping
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from assistant.forms import (
    UNKNOWN,
    Form,
    FormLibrary,
    Proposal,
    Value,
    Way,
    accept,
    asked_in,
    fill,
)

TODAY = date(2026, 11, 18)
"""A Wednesday."""
Filled = Mapping[str, Value]


@cache
def form(name: str) -> Form:
    key = {"medical": "medical_intake", "shopping": "shopping_trip"}.get(name, name)
    found = FormLibrary(Path("/nonexistent")).get(key)
    assert found is not None
    return found


def taken(name: str, asked: str, said: str, filled: Filled | None = None) -> dict[str, Value]:
    found = fill(form(name), filled or {}, asked, said, TODAY)
    for each in found:
        assert each.words in said
    return {each.slot: each.value for each in found}


def is_whole(name: str, asked: str, said: str, filled: Filled | None = None) -> bool:
    found = fill(form(name), filled or {}, asked, said, TODAY)
    return bool(found) and all(each.whole for each in found)


# -- answers ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "asked", "said", "value"),
    [
        ("medical", "severity", "seven", 7),
        ("medical", "severity", "yeah put seven", 7),
        ("medical", "since", "it started three days ago", "2026-11-15"),
        ("medical", "born", "december the second nineteen seventy nine", "1979-12-02"),
        ("medical", "smoker", "No, never.", False),
        ("medical", "contact", "my husband Tom", "my husband Tom"),
        ("medical", "contact", "Skip that.", UNKNOWN),
        ("medical", "allergies", "just nuts and penicillin, I think", ["nuts", "penicillin"]),
        ("medical", "allergies", "no", []),
        ("appointment", "about", "um, it's about my knee", "my knee"),
        ("appointment", "with", "Doctor Smith", "Doctor Smith"),
        ("appointment", "minutes", "oh about forty five minutes I'd say", 45),
        ("appointment", "online", "no, at the practice", False),
        ("shopping", "transport", "I'll drive", "car"),
        ("shopping", "items", "milk, eggs and some bread", ["milk", "eggs", "bread"]),
        ("shopping", "budget", "no idea", UNKNOWN),
    ],
)
def test_an_answer_fills_the_slot_that_was_asked_for_and_needs_no_model(
    name: str, asked: str, said: str, value: Value
) -> None:
    assert taken(name, asked, said) == {asked: value}
    assert is_whole(name, asked, said)


@pytest.mark.parametrize(
    ("name", "asked", "said", "values"),
    [
        ("medical", "severity", "A four maybe? My sister Jean's is a nine.", {"severity": 4}),
        ("medical", "since", "aye was it sunday i'd say since sunday aye", {"since": "2026-11-15"}),
        (
            "medical",
            "temperature",
            "I've no idea, the thermometer broke.",
            {"temperature": UNKNOWN},
        ),
        ("medical", "since", "Since Monday, it's really annoying.", {"since": "2026-11-16"}),
        ("medical", "since", "Started Sunday. No wait, it was Monday. Monday.", None),
        (
            "appointment",
            "day",
            "My husband wanted Thursday but I have a school function that day. So Friday.",
            {"day": "2026-11-20"},
        ),
        ("appointment", "with", "It's with Mr. Roy, he's our accountant.", {"with": "Mr. Roy"}),
        ("shopping", "time", "early before the crowd quarter to ten", {"time": "09:45"}),
    ],
)
def test_an_answer_among_other_talk_is_taken_and_the_rest_is_left_to_the_model(
    name: str, asked: str, said: str, values: dict[str, Value] | None
) -> None:
    assert taken(name, asked, said) == ({"since": "2026-11-16"} if values is None else values)
    assert not is_whole(name, asked, said)


def test_several_slots_are_filled_at_once_in_any_order() -> None:
    said = "my temperature is 38.5, and I'm allergic to penicillin"
    assert taken("medical", "reason", said) == {"temperature": 38.5, "allergies": ["penicillin"]}
    assert is_whole("medical", "reason", said)
    said = "Friday at three"
    assert taken("appointment", "day", said) == {"day": "2026-11-20", "time": "15:00"}
    assert is_whole("appointment", "day", said)
    said = "um so I wanna hit the market, like, Saturday, and I've got about sixty bucks to spend"
    assert taken("shopping", "shop", said)["budget"] == 60


# -- what is not taken ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "asked", "said"),
    [
        ("medical", "allergies", "my sister has asthma"),
        ("medical", "medicines", "My wife takes aspirin, and ibuprofen."),
        ("medical", "medicines", "Tom said he takes ibuprofen"),
        ("medical", "severity", "he'd say it's a nine"),
        ("medical", "allergies", "Callum cannae have nuts"),
        ("medical", "temperature", "what's a normal temperature?"),
        ("medical", "temperature", "so is a hundred and two bad"),
        ("medical", "severity", "Well, what's a ten?"),
        ("medical", "since", "how long does a rash last?"),
        ("medical", "since", "if it was Monday I'd say so"),
        ("medical", "severity", 'It said "ten" on the box'),
        ("medical", "reason", "hello"),
        ("medical", "reason", "thank you"),
        ("medical", "reason", "why do you need that?"),
        ("medical", "born", "what do you want that for"),
        ("appointment", "place", "let me think about that"),
        ("appointment", "place", "good question"),
        ("appointment", "place", "the weather is lovely today"),
        ("appointment", "about", "One second, the pressure cooker is whistling... yes, tell me."),
        ("appointment", "time", "three or four"),
        ("appointment", "time", "not before nine"),
        ("appointment", "time", "sometime after three"),
        ("appointment", "day", "not Friday"),
        ("appointment", "day", "any day but Friday"),
        ("appointment", "day", "next week"),
        ("appointment", "about", "it's cold in here"),
        ("medical", "severity", "one second"),
        ("medical", "born", "third of May"),
        ("medical", "born", "the third of the fifth nineteen eighty"),
        ("medical", "reason", "good morning"),
        ("shopping", "budget", "maybe fifty or sixty"),
        ("shopping", "transport", "normally i'd ride my bike but it got nicked on monday"),
        ("shopping", "company", "my sister has asthma"),
        ("shopping", "items", "my housemate needs nappies for her kid"),
    ],
)
def test_others_questions_conditions_quotations_and_other_talk_fill_nothing(
    name: str, asked: str, said: str
) -> None:
    assert taken(name, asked, said) == {}


def test_another_person_is_a_value_where_a_person_is_asked_for() -> None:
    assert taken("shopping", "company", "my sister") == {"company": "my sister"}
    assert taken("appointment", "with", "my boss") == {"with": "my boss"}
    assert taken("medical", "reason", "my sister") == {}


# -- corrections --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "asked", "said", "filled", "values"),
    [
        ("medical", "severity", "actually since Monday", {"since": "2026-11-10"},
         {"since": "2026-11-16"}),
        ("medical", "temperature", "I meant ten, not two", {"since": "2026-11-10", "severity": 2},
         {"severity": 10}),
        ("appointment", "time", "change the day to Friday", {"day": "2026-11-19"},
         {"day": "2026-11-20"}),
        ("appointment", "time", "no, Friday", {"day": "2026-11-19"}, {"day": "2026-11-20"}),
        ("appointment", "online", "move it to Sunday", {"day": "2026-11-19", "place": "the office"},
         {"day": "2026-11-22"}),
        ("appointment", "place", "no wait, make that four", {"day": "2026-11-19", "time": "15:00"},
         {"time": "16:00"}),
        ("shopping", "company", "Ten is early, make it eleven.", {"time": "10:00", "budget": 50},
         {"time": "11:00"}),
        ("shopping", "transport", "my budget is eighty", {"budget": 50}, {"budget": 80}),
        ("appointment", "online", "actually the town hall", {"place": "the office"},
         {"place": "the town hall"}),
        ("medical", "born", "actually I don't smoke any more", {"smoker": True},
         {"smoker": False}),
        ("appointment", "bring", "no it's not a video call", {"online": True}, {"online": False}),
        ("medical", "contact", "Make it a six.", {"severity": 4, "contact": "Eilidh"},
         {"severity": 6}),
    ],
)  # fmt: skip
def test_a_correction_replaces_what_it_means(
    name: str, asked: str, said: str, filled: dict[str, Value], values: dict[str, Value]
) -> None:
    assert taken(name, asked, said, filled) == values


@pytest.mark.parametrize(
    ("name", "asked", "said", "filled"),
    [
        ("medical", "born", "I smoke", {"smoker": False}),
        ("medical", "medicines", "I had 39 degrees once", {"temperature": 37}),
        ("medical", "allergies", "I'm allergic to nothing", {"allergies": ["nuts"]}),
        ("shopping", "items", "no idea", {"items": ["milk"]}),
        ("appointment", "day", "skip that", {"day": "2026-11-19"}),
    ],
)
def test_what_is_filled_stays_unless_something_is_worded_as_a_correction(
    name: str, asked: str, said: str, filled: dict[str, Value]
) -> None:
    assert taken(name, asked, said, filled) == {}


@pytest.mark.parametrize(
    ("said", "way", "items"),
    [
        ("and butter", Way.ADD, ["butter"]),
        ("oh and add butter to the list", Way.ADD, ["butter"]),
        ("take the milk off", Way.REMOVE, ["milk"]),
        ("actually, scrap the milk", Way.REMOVE, ["milk"]),
        ("leave out the milk", Way.REMOVE, ["milk"]),
        ("I don't need milk after all", Way.REMOVE, ["milk"]),
        ("no milk after all", Way.REMOVE, ["milk"]),
    ],
)
def test_items_are_added_to_a_list_and_taken_off(said: str, way: Way, items: list[str]) -> None:
    [found] = fill(form("shopping"), {"items": ["milk", "eggs"]}, "items", said, TODAY)
    assert (found.slot, found.way, found.value, found.whole) == ("items", way, items, True)
    kept = ["eggs"] if way is Way.REMOVE else ["milk", "eggs", "butter"]
    assert found.applied(["milk", "eggs"]) == kept


def test_a_further_item_goes_to_the_list_that_was_filled_last() -> None:
    filled: Filled = {"items": ["milk"]}
    [found] = fill(form("shopping"), filled, "company", "also cheese", TODAY)
    assert (found.slot, found.way, found.value) == ("items", Way.ADD, ["cheese"])
    assert taken("shopping", "company", "also cheese", {"items": ["milk"], "budget": 50}) == {}


# -- what a model proposes ----------------------------------------------------------------------


def accepted(
    name: str, said: str, slot: str, value: Any, words: str, filled: Filled | None = None
) -> bool:
    return accept(form(name), filled or {}, Proposal(slot, value, words), said, TODAY)


@pytest.mark.parametrize(
    ("said", "slot", "value", "words"),
    [
        ("they took me off, I've been dizzy since Sunday", "since", "2026-11-15", "since Sunday"),
        ("it's about thirty nine, I reckon", "temperature", 39, "thirty nine"),
        ("I take amlodipine in the morning", "medicines", ["amlodipine"], "amlodipine"),
        ("I been coughing something awful", "reason", "coughing something awful",
         "coughing something awful"),
        ("put our Eilidh, my daughter", "contact", "our Eilidh, my daughter",
         "our Eilidh, my daughter"),
    ],
)  # fmt: skip
def test_a_proposal_that_follows_from_the_words_is_accepted(
    said: str, slot: str, value: Value, words: str
) -> None:
    assert accepted("medical", said, slot, value, words)


@pytest.mark.parametrize(
    ("said", "slot", "value", "words", "filled"),
    [
        ("since Sunday", "since", "2026-11-15", "since Saturday", {}),
        ("since Sunday", "since", "2026-11-14", "since Sunday", {}),
        ("since Sunday", "until", "2026-11-15", "since Sunday", {}),
        ("my wife takes aspirin", "medicines", ["aspirin"], "aspirin", {}),
        ("should I take aspirin?", "medicines", ["aspirin"], "aspirin", {}),
        ("I take aspirin", "medicines", ["aspirin", "ibuprofen"], "aspirin", {}),
        ("I have a cough", "reason", "a bad cough", "a cough", {}),
        ("my pulse is seventy", "severity", 70, "seventy", {}),
        ("it was Sunday", "since", "2026-11-15", "Sunday", {"since": "2026-11-10"}),
        ("I'm well", "since", UNKNOWN, "I'm well", {}),
        ("no cough", "reason", "", "no cough", {}),
    ],
)
def test_a_proposal_that_the_words_do_not_carry_is_refused(
    said: str, slot: str, value: Value, words: str, filled: dict[str, Value]
) -> None:
    assert not accepted("medical", said, slot, value, words, filled)


# -- the assistant's question -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "slot"),
    [
        ("That sounds unpleasant. Since when have you had it?", "since"),
        ("No hurry. Are you allergic to anything?", "allergies"),
        ("The practice needs it. So what is your date of birth?", "born"),
        ("Shall I note that your temperature is 39?", "temperature"),
        ("Since when have you had it? Take your time.", None),
        ("Anything else?", None),
        ("", None),
    ],
)
def test_the_slot_that_the_assistant_asks_for_is_found_in_its_words(
    text: str, slot: str | None
) -> None:
    found = asked_in(form("medical"), text)
    assert (found.name if found else None) == slot


# -- whatever is said ---------------------------------------------------------------------------

SCRAPS = (
    *("actually", "no", "make that", "since Monday", "seven", "fifty", "my sister", "milk", "yes"),
    *("and eggs", "take the milk off", "no idea", "skip that", "nothing", "is", "not", "the day"),
    *("change", "to Friday", "at three", "I'm allergic to", "nuts", "?", ",", ".", "’", "…", '"'),
    *("I don't smoke", "38.5", "degrees", "by car", "It's about", "my knee", "wait", "\n", "🙂"),
)


@pytest.mark.parametrize("seed", range(6))
def test_no_utterance_loses_a_value_without_a_word_that_takes_it_back(seed: int) -> None:
    """A value only changes if it was asked for or corrected, and items only go if named."""
    chance = random.Random(seed)
    for _ in range(60):
        whole = form(chance.choice(("medical", "shopping", "appointment")))
        filled: dict[str, Value] = {}
        for _ in range(6):
            asked = chance.choice(("", *(each.name for each in whole.slots)))
            said = " ".join(chance.choices(SCRAPS, k=chance.randint(1, 7)))
            for each in fill(whole, filled, asked, said, TODAY):
                assert each.words in said
                before = filled.get(each.slot)
                new = each.applied(before)
                if isinstance(before, list) and isinstance(new, list) and each.way is Way.REMOVE:
                    assert set(new) < set(before)
                elif isinstance(before, list) and before and each.way is Way.ADD:
                    assert set(before) < set(new if isinstance(new, list) else [])
                elif before not in (None, UNKNOWN, []):
                    assert new not in (UNKNOWN, [])
                filled.pop(each.slot, None)
                filled[each.slot] = new
