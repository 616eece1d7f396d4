"""Extracted memories are scored by rules, and the labelled utterances have the agreed form."""

import json
import math
from collections import Counter
from datetime import datetime
from pathlib import Path

import pytest

from scripts.eval.extraction_score import (
    TYPES,
    Label,
    Predicted,
    Row,
    Tally,
    pairs,
    read_rows,
    score,
    table,
)
from scripts.eval.extraction_words import fold, holds, is_dated

DATA = Path(__file__).resolve().parents[2] / "data" / "evaluation" / "extraction.jsonl"
ROWS = read_rows(DATA)
DOG = Label("fact", "The user's dog is called Rufus.", (("dog",), ("rufus",)))
VEGAN = Label("preference", "The user is vegan.", (("vegan",),), none_of=("not", "no longer"))
DENTIST = Label(
    "event",
    "The user sees the dentist on Tuesday 10 March 2026.",
    (("dentist",),),
    when=("2026-03-10",),
)


def row(
    said: str,
    *facts: Label,
    id_: str = "e1",
    part: str = "a",
    kind: str = "plain",
    may: tuple[Label, ...] = (),
    before: tuple[tuple[str, str], ...] = (),
    recalled: tuple[str, ...] = (),
) -> Row:
    day = datetime.fromisoformat("2026-03-09T12:00")
    return Row(id_, part, kind, said, day, facts, may, before, recalled)


def tally(one: Row, *texts: str) -> Tally:
    return score([one], {one.id: [Predicted("fact", text) for text in texts]}).whole


@pytest.mark.parametrize(
    ("text", "phrase", "there"),
    [
        ("The user has a song.", "son", False),
        ("The user has two sons.", "son", True),
        ("The son's bike", "son", True),
        ("The user is allergic to nuts", "allerg", True),
        ("The user isn't vegan", "not", True),
        ("The user can’t drive", "can not", True),
        ("The user has 14 goats", "1", False),
        ("The user is fifty-three", "53", True),
        ("The user is 53", "fifty three", True),
        ("In twenty nineteen, four of us", "20 19", True),
        ("Zoë's café", "zoe cafe", True),
        ("an overcast day", "cast", False),
        ("before 10am", "10", True),
    ],
)
def test_a_stem_is_found_at_the_start_of_a_word(text: str, phrase: str, *, there: bool) -> None:
    assert holds(text, phrase) is there


def test_one_and_second_are_numbers_only_after_tens() -> None:
    assert fold("One of the twenty-one, a second or two") == " one of the 21 a second or 2 "
    assert fold("the thirty-second, the twelfth, the fiftieth") == " the 32 the 12 the 50 "


@pytest.mark.parametrize(
    ("text", "when", "there"),
    [
        ("on Saturday 14 March 2026", "2026-03-14", True),
        ("on March 14th, 2026", "2026-03-14", True),
        ("on the 14th of March", "2026-03-14", True),
        ("on 2026-03-14", "2026-03-14", True),
        ("on 14/03/2026", "2026-03-14", True),
        ("on 03/14/2026", "2026-03-14", True),
        ("on 14 Mar", "2026-03-14", True),
        ("on 14 March 2025", "2026-03-14", False),
        ("on 15 March 2026", "2026-03-14", False),
        ("tomorrow", "2026-03-14", False),
        ("in March 2026", "2026-03", True),
        ("in March 2027", "2026-03", False),
        ("after the marathon", "2026-03", False),
        ("back in 2019", "2019", True),
        ("for 12019 days", "2019", False),
        ("on 14 March 1980", "03-14", True),
        ("on 4 March", "03-14", False),
    ],
)
def test_a_date_is_found_however_it_is_written(text: str, when: str, *, there: bool) -> None:
    assert is_dated(text, (when,)) is there


def test_a_fact_in_other_words_is_right() -> None:
    result = tally(row("my dog's Rufus", DOG), "User's dog is named Rufus")

    assert (result.labels, result.found, result.predicted, result.right) == (1, 1, 1, 1)
    assert result.precision == result.recall == result.f1 == 1.0


def test_the_opposite_is_wrong() -> None:
    result = tally(row("i'm vegan now", VEGAN), "The user is not vegan.")

    assert (result.found, result.right, result.unsupported) == (0, 0, 0)


def test_the_second_of_two_equal_facts_is_wrong_and_counted_as_repeated() -> None:
    result = tally(row("rufus is my dog", DOG), "The dog is Rufus.", "The user's dog is Rufus.")

    assert (result.found, result.right, result.predicted, result.repeated) == (1, 1, 2, 1)
    assert result.unsupported == 0


def test_two_facts_in_one_sentence_find_one_label() -> None:
    result = tally(row("vegan, and my dog's Rufus", DOG, VEGAN), "A vegan with a dog, Rufus.")

    assert (result.found, result.labels, result.right) == (1, 2, 1)
    assert (result.covered, result.coverage) == (2, 1.0)


def test_as_many_facts_as_possible_are_paired_with_labels() -> None:
    narrow = Label("fact", "", (("rufus",),))
    wide = Label("fact", "", (("dog",),))
    both, dog = Predicted("fact", "the dog Rufus"), Predicted("fact", "a dog")

    assert pairs([wide, narrow], [both, dog]) == {0: 1, 1: 0}
    assert pairs([wide, narrow], [dog, both]) == {0: 0, 1: 1}


def test_tomorrow_does_not_count_as_a_date() -> None:
    stated = row("dentist tomorrow", DENTIST)

    assert tally(stated, "The user sees the dentist tomorrow.").undated == 1
    assert tally(stated, "The user sees the dentist on 10 March 2026.").undated == 0
    assert tally(stated, "The dentist is on 10 March 2026.").found == 1
    assert tally(stated, "The dentist is on 11 March 2026.").unsupported == 1


def test_a_word_that_nobody_said_is_unsupported() -> None:
    said = row("turn the light off, will you")

    result = tally(said, "The user owns a yacht.", "The light is off.")

    assert (result.predicted, result.unsupported, result.without) == (2, 1, 1)
    assert (result.false_alarms, result.unsupported_share) == (1, 0.5)


@pytest.mark.parametrize(
    ("text", "unsupported", "from_assistant"),
    [
        ("The user keeps quails.", 0, 1),
        ("The user is called Ermintrude.", 1, 0),
        ("The user grows leeks.", 0, 0),
    ],
)
def test_facts_that_only_the_assistant_stated_are_counted_separately(
    text: str, unsupported: int, from_assistant: int
) -> None:
    said = row(
        "hm, what else",
        before=(("user", "he grows leeks"), ("assistant", "And you keep quails.")),
        recalled=("The user is called Ermintrude.",),
    )

    result = tally(said, text)

    assert (result.unsupported, result.from_assistant) == (unsupported, from_assistant)


def test_an_optional_fact_counts_neither_for_nor_against_the_score() -> None:
    said = row("i'm vegan, rufus isn't, he's the dog", VEGAN, may=(DOG,))

    assert tally(said, "The user is vegan.", "The dog is Rufus.").predicted == 1
    assert tally(said, "The user is vegan.").recall == 1.0


def test_a_right_fact_can_be_mistyped_padded_and_misquoted() -> None:
    said = row("my dog's Rufus, good lad", DOG)
    fact = Predicted("event", "The dog Rufus won a prize.", quote="Rufus won")

    result = score([said], {"e1": [fact]}).whole

    assert (result.right, result.mistyped, result.padded, result.misquoted) == (1, 1, 1, 1)


@pytest.mark.parametrize("quote", ["My dog's Rufus", "MY DOG'S", "", "good lad"])
def test_a_quote_may_differ_in_case_and_punctuation(quote: str) -> None:
    said = row("hm, my dog's Rufus", DOG, before=(("user", "oh, good lad."),))

    assert score([said], {"e1": [Predicted("fact", "the dog Rufus", quote)]}).whole.misquoted == 0


def test_words_of_the_assistant_do_not_count_as_a_quote() -> None:
    said = row("yes", DOG, before=(("assistant", "Is your dog Rufus?"),))

    assert score([said], {"e1": [Predicted("fact", "the dog Rufus", "Rufus")]}).whole.misquoted == 1


def test_parts_types_and_kinds_are_counted_separately() -> None:
    rows = [
        row("my dog's rufus", DOG, id_="e1", part="a"),
        row("i'm vegan", VEGAN, id_="e2", part="b", kind="several"),
        row("lovely day", id_="e3", part="b", kind="small_talk"),
    ]

    result = score(
        rows,
        {"e1": [Predicted("fact", "dog Rufus")], "e3": [Predicted("event", "The day is lovely.")]},
    )

    assert result.parts["a"].recall == result.parts["a"].precision == 1.0
    assert (result.parts["b"].found, result.parts["b"].false_alarms) == (0, 1)
    assert result.types["preference"].labels == 1
    assert math.isnan(result.types["preference"].precision)
    assert result.types["event"].predicted == 1
    assert result.kinds["small_talk"].false_alarm_share == 1.0
    assert (result.whole.labels, result.whole.predicted, result.whole.right) == (2, 2, 1)
    assert len(table(result)) == 2 + 1 + len(result.parts) + len(result.types)


def test_an_extraction_from_an_unknown_row_is_an_error() -> None:
    with pytest.raises(ValueError, match="e9"):
        score([row("hello")], {"e9": []})


def test_the_labels_themselves_score_full_marks() -> None:
    said = {r.id: [Predicted(f.type, f.text, r.said) for f in r.facts] for r in ROWS}

    result = score(ROWS, said).whole

    assert result.precision == result.recall == 1.0
    assert (result.mistyped, result.misquoted, result.false_alarms) == (0, 0, 0)


def test_an_empty_extraction_finds_nothing_and_raises_no_false_alarm() -> None:
    result = score(ROWS, {}).whole

    assert (result.recall, result.false_alarms) == (0.0, 0)


def test_repeating_an_utterance_without_facts_is_a_false_alarm() -> None:
    echoed = {r.id: [Predicted("fact", r.said, r.said)] for r in ROWS}

    result = score(ROWS, echoed).whole

    assert result.false_alarms == result.without
    assert result.unsupported == 0


# The file


def test_rows_have_the_agreed_form() -> None:
    assert [r.id for r in ROWS] == [f"e{number:03}" for number in range(1, len(ROWS) + 1)]
    assert len({r.said for r in ROWS}) == len(ROWS) >= 200
    for line in DATA.read_text("utf-8").splitlines():
        raw = json.loads(line)
        assert set(raw) <= {"id", "part", "kind", "said_at", "before", "recalled"} | {
            "said",
            "facts",
            "may",
            "note",
        }
        for label in (*raw["facts"], *raw.get("may", ())):
            assert {"type", "text", "must"} <= set(label) <= {"type", "text", "must", "not", "when"}
    for r in ROWS:
        assert {role for role, _ in r.before} <= {"user", "assistant"}
        assert not r.before or r.before[-1][0] == "assistant"


def test_every_label_is_met_by_its_own_text() -> None:
    labels = [label for r in ROWS for label in (*r.facts, *r.may)]

    assert [label.text for label in labels if not label.matches(label.text)] == []
    assert {label.type for label in labels} == set(TYPES)
    for label in labels:
        assert label.text.endswith(".")
        assert all(phrase == phrase.lower() for group in label.must for phrase in group)
        assert all(group and all(phrase.strip() for phrase in group) for group in label.must)


def test_no_two_labels_of_a_row_are_met_by_the_same_texts() -> None:
    for r in ROWS:
        labels = (*r.facts, *r.may)
        for label in labels:
            others = [other for other in labels if other is not label]
            alike = [o.text for o in others if o.matches(label.text) and label.matches(o.text)]
            assert alike == [], r.id


def test_dates_fit_their_weekdays() -> None:
    days = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
    for r in ROWS:
        for label in r.facts:
            stated = {day for day in days if f"{day} " in label.text}
            dates = [datetime.fromisoformat(w) for w in label.when if len(w) == len("2026-03-14")]
            if stated and dates:
                assert {f"{date:%A}" for date in dates} & stated, label.text


def test_a_third_of_the_rows_hold_no_fact_and_the_rest_one_to_three() -> None:
    counts = Counter(len(r.facts) for r in ROWS)

    assert counts[0] * 3 >= len(ROWS)
    assert set(counts) == {0, 1, 2, 3}
    assert all(not r.may for r in ROWS if not r.facts)


def test_both_parts_are_composed_alike() -> None:
    parts = {part: [r for r in ROWS if r.part == part] for part in "ab"}

    assert sum(map(len, parts.values())) == len(ROWS)
    assert abs(len(parts["a"]) - len(parts["b"])) <= 1
    for kind in {r.kind for r in ROWS}:
        a, b = (sum(r.kind == kind for r in rows) for rows in parts.values())
        assert abs(a - b) <= 1, kind
    for type_ in TYPES:
        a, b = (sum(f.type == type_ for r in rows for f in r.facts) for rows in parts.values())
        assert abs(a - b) <= 0.25 * (a + b), type_


def test_no_utterance_is_in_another_evaluation_set() -> None:
    ours = {fold(r.said) for r in ROWS}
    for path in DATA.parent.glob("*.jsonl"):
        if path != DATA:
            rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
            texts = {fold(raw["said"]) for raw in rows if isinstance(raw.get("said"), str)}
            assert ours & texts == set(), path.name
