"""The evaluation of answers after a restart: its set, its rule for right answers, its figures."""

import re

import pytest

from scripts.eval.memory_qa import Asked, figures, read_facts, right, table, telling


@pytest.mark.parametrize(
    ("answer", "accepted"),
    [
        ("It's on the 9th of October!", "9th of october"),
        ("You like train's best", "train"),
        ("On Wednesdays, I believe.", "Wednesday"),
        ("You saved 1,800 euros.", "1800"),
        ("It took you 1:53 hours", "1:53"),
        ("Your sister is Philippa's twin", "philippa"),
    ],
)
def test_a_right_answer_is_accepted(answer: str, accepted: str) -> None:
    assert right(answer, ["something else", accepted])


@pytest.mark.parametrize(
    ("answer", "accepted"), [("Martin", "Mart"), ("often", "ten"), ("", "six"), ("16", "6")]
)
def test_a_wrong_answer_is_rejected(answer: str, accepted: str) -> None:
    assert not right(answer, [accepted])


def test_the_set_has_all_kinds_and_gives_no_answer_away() -> None:
    facts = read_facts(None, 1)
    assert len(facts) >= 60
    assert len({fact.id for fact in facts}) == len(facts)
    assert {fact.kind for fact in read_facts(6, 1)} == {fact.kind for fact in facts}
    for fact in facts:
        assert right(fact.said[-1], fact.answers) or not re.search("[a-z]", fact.answers[0])
        assert not right(fact.question, fact.answers)
        others = [line for line in facts if line.question == fact.question]
        assert others == [fact]
        assert len(fact.said) == (2 if fact.kind == "change" else 1)


def test_every_fact_is_stated_and_its_current_version_comes_last() -> None:
    facts = read_facts(30, 2)
    lines = telling(facts, 2)
    assert telling(facts, 2) == lines
    assert len(lines) > sum(len(fact.said) for fact in facts)
    for fact in facts:
        places = [lines.index(said) for said in fact.said]
        assert places == sorted(places)


def test_figures_compare_the_ways_of_remembering() -> None:
    def asked(kind: str, way: str, good: bool) -> Asked:
        return Asked("q", kind, way, "?", "!", right=good, shown=good)

    good = {way: asked("name", way, good=way != "off") for way in ("on", "off", "told")}
    bad = {way: asked("date", way, good=way == "told") for way in ("on", "off", "told")}
    found = figures([good, bad] * 20)
    assert [found[way]["share"] for way in ("on", "off", "told")] == [0.5, 0.0, 1.0]
    low, high = found["on"]["interval"]
    assert low < 0.5 < high
    assert (found["on"]["shown"], found["on_of_told"]["value"]) == (0.5, 0.5)
    assert found["by_kind"]["name"] == {"facts": 20, "on": 1.0, "off": 0.0, "told": 1.0}
    assert "0.50" in table(found)
