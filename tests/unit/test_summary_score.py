"""The share of the expected points that the notes in a prompt contain."""

import pytest

from data import located
from scripts.eval.summary_score import covered, read_rows


@pytest.mark.parametrize(
    ("points", "share"),
    [
        (["paid hundred"], 1.0),
        (["paid|gave", "cellar"], 0.5),
        (["paid roof"], 0.0),
        (["oof"], 0.0),
        (["garlic beans", "nine"], 1.0),
    ],
)
def test_a_point_needs_all_its_words_in_one_line(points: list[str], share: float) -> None:
    notes = "(Notes:\n- last week: We paid nine hundred.\n- The roofs, garlic\n- Garlic and beans)"
    assert covered(notes, points) == share


def test_our_own_set_is_complete() -> None:
    talks, questions = read_rows(located("evaluation/broad_questions.jsonl"))
    broad = [each for each in questions if each.kind != "narrow"]
    assert len(talks) >= 12
    assert len(broad) >= 30
    assert all(each.points for each in questions)
    assert len({each.id for each in questions}) == len(questions)
    said = [turn for each in talks.values() for turn in each]
    assert len({each.id for each in said}) == len(said)
    whole = "\n".join(f"- {each.user_text}" for each in said)
    assert min(covered(whole, each.points) for each in questions) == 1.0
