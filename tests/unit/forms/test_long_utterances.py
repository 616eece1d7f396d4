"""What is filled in from long utterances, and from those that name an item or correct a number."""

from datetime import date

from assistant.forms import FormReader, Value, Way
from assistant.forms.filling import MOST_WORDS, SURE_ALONE
from tests.support.slot_reader import MarkedReader, shipped_form

TODAY = date(2026, 11, 18)


def test_a_long_utterance_is_read_in_parts_and_nothing_at_its_end_is_lost() -> None:
    reader, story = MarkedReader(), " ".join(["So it went on and on."] * 8)
    first = reader.mark(f"{{reason: My knee}}. {story}", talk=0.9)
    last = reader.mark("{since: three days ago}. So it began.")
    found = FormReader(reader).fill(
        shipped_form("medical_intake"), {}, "", f"{first} {last}", TODAY
    )
    assert {each.slot: each.value for each in found.proposals} == {
        "reason": "My knee",
        "since": "2026-11-15",
    }
    assert not found.whole


def test_a_long_sentence_in_the_middle_is_read_to_its_end() -> None:
    reader, very = MarkedReader(), " ".join(["very"] * (MOST_WORDS - 2))
    end = reader.mark("bad {since: three days ago}.")
    said = f"It hurt. It was {very} {end} It went on and on."
    found = FormReader(reader).fill(shipped_form("medical_intake"), {}, "", said, TODAY)
    assert [each.value for each in found.proposals] == ["2026-11-15"]


def test_what_a_later_part_gives_is_added_to_what_an_earlier_one_gave() -> None:
    reader, filler = MarkedReader(), " ".join(["very"] * 45)
    first, last = (
        reader.mark(f"I need {{items: {item}}}, {filler}.") for item in ("milk", "bread")
    )
    form, said = shipped_form("shopping_trip"), f"{first} {last}"
    found = FormReader(reader).fill(form, {}, "", said, TODAY)
    assert [(each.way, each.value) for each in found.proposals] == [
        (Way.PUT, ["milk"]),
        (Way.ADD, ["bread"]),
    ]


def test_an_item_that_is_named_exactly_goes_alone() -> None:
    form, reader = shipped_form("shopping_trip"), MarkedReader()
    said = reader.mark("take {items - the milk} off", sure=1.0)
    filled: dict[str, Value] = {"items": ["milk", "milk chocolate"]}
    [found] = FormReader(reader).fill(form, filled, "items", said, TODAY).proposals
    assert (found.way, found.value) == (Way.REMOVE, ["milk"])


def test_a_corrected_number_is_not_added_to_the_earlier_one() -> None:
    form, reader = shipped_form("appointment"), MarkedReader()
    said = reader.mark("{minutes: Twenty}... {minutes: five}, actually.")
    [found] = FormReader(reader).fill(form, {}, "minutes", said, TODAY).proposals
    assert found.value == 5


def test_an_answer_that_is_not_quite_certain_is_filled_in_and_the_language_model_answers() -> None:
    form, reader = shipped_form("medical_intake"), MarkedReader()
    for sure, whole in ((SURE_ALONE - 0.01, False), (SURE_ALONE + 0.01, True)):
        said = reader.mark("{smoker = no | Not really}", sure=sure)
        found = FormReader(reader).fill(form, {}, "smoker", said, TODAY)
        assert [each.value for each in found.proposals] == [False]
        assert found.whole is whole
