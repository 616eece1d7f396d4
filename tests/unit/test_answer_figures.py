"""The figures of the assistant's answers, and how they are shown."""

from typing import Any

from scripts.eval.answer_data import NEVER
from scripts.eval.answer_figures import Judged, figures, shown, table
from scripts.eval.answer_rules import Verdict
from scripts.eval.session_turns import Turn


def judged(of: str, kind: str, wrong: str = "", **more: Any) -> Judged:
    here = more.pop("shown", None)
    return Judged(of, kind, "Who?", Turn("It's me.", "It's me."), Verdict(wrong, 0.8, **more), here)


def test_figures_count_each_fault_among_the_answers_that_can_have_it() -> None:
    found = figures(
        [
            judged("m1", "one", shown=True, person=True),
            judged("m1", "one", "lacks a", shown=True, repeats=True),
            judged("m2", "two", "lacks a", shown=False, too_long=True, too_short=False),
            judged("m2", NEVER, unspeakable="list"),
        ]
    )
    assert (found["answers"], found["right"], found["seconds"]) == (4, 0.5, 0.8)
    assert (found["shown"], found["right_of_shown"]) == (0.667, 0.5)
    assert (found["person"], found["repeats"], found["unspeakable"]) == (0.25, 0.25, 0.25)
    assert (found["too_long"], found["too_short"], found["by_skill"]) == (1.0, 0.0, 1.0)
    assert (found["invented"], found["prompt_tokens"]) == (None, None)
    assert found["by_kind"]["one"] == {"answers": 2, "right": 0.5}
    assert found["interval"] == [0.5, 0.5]


def test_the_table_has_a_column_for_each_model() -> None:
    good = figures([judged("m1", "one", shown=True), judged("m2", "two")])
    bad = figures([judged("m1", "one", "lacks a", shown=True), judged("m2", "two")])
    rows = [line.split() for line in table({"small": good, "tiny": bad}).splitlines()]

    assert rows[0] == ["small", "tiny"]
    assert ["right", "100.0", "%", "50.0", "%"] in rows
    assert ["one", "(1)", "100.0", "%", "0.0", "%"] in rows
    assert not any(row[0] in ("too_long", "prompt_tokens") for row in rows)


def test_an_answer_is_shown_with_its_judgement() -> None:
    each = judged("m1", "one", "lacks a", shown=False, person=True, invented=("Peter",))
    assert shown(each).splitlines() == [
        "[m1 one, by a skill, not shown] Who?",
        '    "It\'s me."',
        "    WRONG: lacks a; person; invented Peter",
    ]
