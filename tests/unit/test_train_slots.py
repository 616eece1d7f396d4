"""The lessons of the reader of slots: marks stay on their words however a lesson is varied."""

from collections import Counter
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from assistant.forms import Form, Slot
from models.encoder.slots import ACTS, FIRST, FIRST_REMOVED, INSIDE, OUTSIDE, REMOVED, SLOT_LIMITS
from models.interfaces import SlotAct
from scripts.train.packed_samples import batches
from scripts.train.slot_lessons import (
    Lesson,
    Marked,
    chatter,
    plain_choices,
    read_lessons,
    unmarked,
)
from scripts.train.slot_samples import _elsewhere, _together, _unpunctuated, sample
from scripts.train.slot_values import Values

WRITERS = {f"d{number}" for number in range(1, 19)}


def slot(name: str, kind: str, **more: Any) -> Slot:
    return Slot.model_validate({"name": name, "type": kind, "ask": f"What {name}?", **more})


FORM = Form(
    key="parcel",
    title="Parcel",
    slots=(
        slot("to", "text"),
        slot("day", "date"),
        slot("inside", "list"),
        slot("insured", "bool"),
        slot("way", "choice", choices=["post", "courier"]),
    ),
)


VISIT = Form(
    key="visit",
    title="Visit",
    slots=(
        slot("day", "date"),
        slot("hour", "time"),
        slot("minutes", "number", label="minutes"),
        slot("where", "text"),
    ),
)


def lesson(
    marked: str, asked: str = "", *, form: Form = FORM, goes_on: Lesson | None = None
) -> Lesson:
    said, marks = unmarked(form, marked)
    return Lesson(form, "d1", said, asked, {}, tuple(marks), False, goes_on)


def words(of: Lesson) -> list[tuple[str, str]]:
    return [(each.slot, of.said[each.start : each.end]) for each in of.marks]


class Letters:
    """A tokenizer for which each character is a token."""

    cls_token_id, sep_token_id = 1, 2

    def __call__(self, text: str | list[str], **_: Any) -> dict[str, Any]:
        if isinstance(text, list):
            return {"input_ids": [[ord(each) for each in line] for line in text]}
        offsets = [(at, at + 1) for at in range(len(text))]
        return {"input_ids": [ord(each) for each in text], "offset_mapping": offsets}


# -- marks ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("marked", "said", "mark"),
    [
        ("To {to: Rosie}.", "To Rosie.", Marked("to", SlotAct.VALUE, 3, 8)),
        ("{inside + a scarf}!", "a scarf!", Marked("inside", SlotAct.VALUE, 0, 7)),
        ("no {inside - scarf}", "no scarf", Marked("inside", SlotAct.VALUE, 3, 8, removed=True)),
        (
            "{way = courier | by van}",
            "by van",
            Marked("way", SlotAct.VALUE, 0, 6, option="courier"),
        ),
        ("{insured = yes | of course}", "of course", Marked("insured", SlotAct.YES, 0, 9)),
        ("{insured = no | no}", "no", Marked("insured", SlotAct.NO, 0, 2)),
        ("{inside = none | nothing}", "nothing", Marked("inside", SlotAct.EMPTY, 0, 7)),
        ("{day = unknown | dunno}", "dunno", Marked("day", SlotAct.UNKNOWN, 0, 5)),
        ("{to = clear | forget it}", "forget it", Marked("to", SlotAct.UNKNOWN, 0, 9)),
    ],
)
def test_a_mark_gives_the_act_and_the_place_of_its_words(
    marked: str, said: str, mark: Marked
) -> None:
    assert unmarked(FORM, marked) == (said, [mark])


@pytest.mark.parametrize(
    "marked", ["{colour: red}", "{way = plane | fly}", "{to = yes please | x}"]
)
def test_a_wrong_mark_is_refused(marked: str) -> None:
    with pytest.raises(ValueError, match=r"no slot|no value"):
        unmarked(FORM, marked)


def test_the_shipped_lessons_are_well_marked() -> None:
    lessons = read_lessons()
    assert len(lessons) > 10_000
    assert {each.by for each in lessons} == WRITERS
    acts: Counter[SlotAct] = Counter()
    for each in lessons:
        assert each.said.strip()
        assert not set("{}|") & set(each.said), each.said
        assert each.asked == "" or each.form.slot(each.asked) is not None
        ends = 0
        for mark in sorted(each.marks, key=lambda mark: mark.start):
            acts[mark.act] += 1
            assert ends <= mark.start <= mark.end <= len(each.said)
            ends = mark.end
            marked = each.said[mark.start : mark.end]
            assert marked == marked.strip()
            assert marked or mark.act is not SlotAct.VALUE
            found = each.form.slot(mark.slot)
            assert found is not None
            assert mark.option in ("", *found.choices)
            if mark.act in (SlotAct.YES, SlotAct.NO):
                assert found.type == "bool"
            if mark.removed or mark.act is SlotAct.EMPTY:
                assert found.type == "list"
    assert acts.keys() == set(ACTS) - {SlotAct.NOTHING}
    assert min(acts.values()) > 30
    assert 0.05 < sum(each.talk for each in lessons) / len(lessons) < 0.6


def test_what_was_said_before_is_in_the_form() -> None:
    [first, second, *_] = read_lessons(1)
    assert first.filled == {}
    assert first.goes_on is not None
    assert first.goes_on.said == second.said
    assert second.filled == dict(words(first))


# -- variations ---------------------------------------------------------------------------------


def test_other_values_stand_where_the_first_ones_stood() -> None:
    first = lesson("{day: Friday}. To {to: Rosie}, with {inside: a scarf}, no {inside - tea}.")
    second = lesson("{day: the second of March} to {to: my dear aunt in Dundee}")
    values, chance = Values([first, second]), Random(1)
    made = [values.exchanged(first, chance) for _ in range(50)]
    assert len({each.said for each in made}) == 8
    for each in made:
        [day, to, scarf, tea] = words(each)
        assert day[1] in ("Friday", "The second of March")
        assert to[1] in ("Rosie", "my dear aunt in Dundee")
        assert scarf[1] in ("a scarf", "tea")
        assert tea == ("inside", "tea")
        assert [mark.removed for mark in each.marks] == [False, False, False, True]
        assert each.said == f"{day[1]}. To {to[1]}, with {scarf[1]}, no tea."


def test_values_of_other_forms_are_exchanged_only_if_they_are_dates_or_times() -> None:
    other = FORM.model_copy(update={"title": "Letter"})
    own = lesson("to {to: Rosie} {day: today} {way = post | a stamp}")
    values = Values([replace(lesson("to {to: Tom} {day: tomorrow}"), form=other)])
    made = values.exchanged(own, Random(1))
    assert words(made) == [("to", "Rosie"), ("day", "tomorrow"), ("way", "a stamp")]


def test_another_choice_is_put_in_if_its_own_words_were_said() -> None:
    own, other = lesson("{way = post | By post}, please"), lesson("{way = post | a stamp} will do")
    values, chance = Values([]), Random(1)
    made = [values.exchanged(own, chance) for _ in range(20)]
    assert {(each.said, each.marks[0].option) for each in made} == {
        ("By post, please", "post"),
        ("By courier, please", "courier"),
    }
    assert values.exchanged(other, chance) == other


def test_a_day_is_joined_by_a_time_and_a_time_by_a_day() -> None:
    times = lesson("{hour: Half past nine} or {day: Friday}", form=VISIT)
    values, chance = Values([times]), Random(1)
    day = lesson("On {day: Monday} at {where: home}", form=VISIT)
    made = [values.day_and_time(day, chance) for _ in range(50)]
    assert len({each.said for each in made}) == 4
    for each in made:
        assert words(each)[0] == ("day", "Monday")
        assert {*words(each)[1:]} == {("where", "home"), ("hour", "half past nine")}
    hour = values.day_and_time(lesson("at {hour: noon}", form=VISIT), chance)
    assert words(hour) == [("hour", "noon"), ("day", "Friday")]


@pytest.mark.parametrize(
    "marked", ["at {where: home}", "{day: Monday} at {hour: noon}", "{day = unknown | no idea}"]
)
def test_days_and_times_that_do_not_stand_alone_are_left_alone(marked: str) -> None:
    values = Values([lesson("{hour: noon} {day: Friday}", form=VISIT)])
    before = lesson(marked, form=VISIT)
    assert values.day_and_time(before, Random(1)) is before


def test_only_what_is_understood_without_its_question_answers_another_one() -> None:
    for marked in ("{day: Friday}", "{hour: ten}", "{minutes: twenty minutes}"):
        own = lesson(marked, "day", form=VISIT)
        assert {_elsewhere(own, Random(seed)).asked for seed in range(9)} == {
            "minutes",
            "where",
            "",
        }
    for marked in ("{minutes: twenty}", "{where: home}", "who knows", "{day = unknown | dunno}"):
        own = lesson(marked, "day", form=VISIT)
        assert _elsewhere(own, Random(1)) is own


def test_an_utterance_is_joined_to_the_next_one_if_that_is_understood_alone() -> None:
    after = lesson("and it should get there by {day: Friday}")
    joined = _together(lesson("To {to: Rosie}.", "to", goes_on=replace(after, talk=True)))
    assert joined.said == "To Rosie. and it should get there by Friday"
    assert words(joined) == [("to", "Rosie"), ("day", "Friday")]
    assert (joined.asked, joined.talk) == ("to", True)
    for other in (None, lesson("{day: Friday}"), lesson("I would not know that at all")):
        alone = lesson("To {to: Rosie}.", goes_on=other)
        assert _together(alone) is alone
    again = lesson("To {to: Rosie}.", goes_on=lesson("no, it is for {to: Tom} after all"))
    assert _together(again) is again


def test_marks_stay_on_their_words_without_punctuation() -> None:
    before = lesson("Well, {inside: 2.5 pounds of tea}, {inside: Rosie's book}, by {day: Friday}!")
    for seed in range(5):
        made = _unpunctuated(before, Random(seed))
        assert made.said.lower() == "well 2.5 pounds of tea rosie's book by friday"
        assert [each.lower() for _, each in words(made)] == [
            "2.5 pounds of tea",
            "rosie's book",
            "friday",
        ]


def test_ordinary_talk_gives_nothing() -> None:
    made = chatter([FORM], ["It rained."] * 40, Random(1))
    assert {(each.said, each.marks, each.talk) for each in made} == {("It rained.", (), True)}
    assert {each.asked for each in made} == {"", *(each.name for each in FORM.slots)}


def test_bare_choices_answer_their_question() -> None:
    made = plain_choices([FORM, VISIT], 40, Random(1))
    assert len(made) == 40
    for each in made:
        [mark] = each.marks
        assert each.asked == mark.slot == "way"
        assert each.said[mark.start : mark.end].lower() == mark.option
    assert {each.marks[0].option for each in made} == {"post", "courier"}
    assert plain_choices([VISIT], 40, Random(1)) == []


# -- samples ------------------------------------------------------------------------------------


def test_each_slot_and_option_of_a_sample_has_its_act_and_its_marks() -> None:
    made = sample(lesson("{inside: a}b {inside - cd} {way = post | e}", "way"), Letters(), None)
    value, nothing = ACTS.index(SlotAct.VALUE), ACTS.index(SlotAct.NOTHING)
    assert made.acts == [nothing, nothing, value, nothing, value, value, nothing]
    assert made.options == [False] * 5 + [True] * 2
    none, there = [OUTSIDE] * 7, [OUTSIDE] * 6 + [FIRST]
    inside = [FIRST, OUTSIDE, OUTSIDE, FIRST_REMOVED, REMOVED, OUTSIDE, OUTSIDE]
    assert made.marks == [none, none, inside, none, there, there, none]
    assert (made.made.text, len(made.made.ends)) == (7, 7)
    two = sample(lesson("to {to: ab}"), Letters(), None)
    assert two.marks[0] == [OUTSIDE] * 3 + [FIRST, INSIDE]


def test_varied_samples_keep_what_the_utterance_gives() -> None:
    first = lesson("to {to: Rosie}, by {day: Friday}", "to")
    values, chance = Values([first]), Random(2)
    sizes = set()
    for _ in range(200):
        made = sample(first, Letters(), chance, values)
        sizes.add(len(made.made.ends))
        rows = len(made.made.ends)
        assert len(made.acts) == len(made.marks) == len(made.options) == rows
        assert Counter(made.acts)[ACTS.index(SlotAct.VALUE)] == 2
        given = [row for row in made.marks if any(row)]
        assert sorted(sum(map(bool, row)) for row in given) == [5, 6]
    assert len(sizes) > 3


def test_a_long_utterance_is_cut_off_as_when_it_is_read() -> None:
    made = sample(lesson("x" * 200 + "{to: Rosie}"), Letters(), None)
    assert made.made.text == SLOT_LIMITS.text
    assert {len(row) for row in made.marks} == {SLOT_LIMITS.text}


def test_each_sample_is_in_one_batch() -> None:
    made = [sample(lesson("x" * (1 + number % 40)), Letters(), None) for number in range(105)]
    found = list(batches(made, 10, Random(0)))
    assert sorted(id(each) for batch in found for each in batch) == sorted(map(id, made))
    assert {len(batch) for batch in found} == {5, 10}
