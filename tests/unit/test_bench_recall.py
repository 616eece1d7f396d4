"""What the recall benchmark reads and counts."""

import json
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from data import located
from scripts.eval.recall_data import read_locomo, read_paraphrases, session_time
from scripts.eval.recall_metrics import intervals, means, of_question, reciprocal_ranks

KINDS = ("facts", "distractors")
QUARTILES = (25, 50, 75)


def test_the_metrics_of_a_question_are_computed() -> None:
    found = [4, 9, 1, 0, 2, 7, 3, *range(20, 40)]
    assert of_question(found, [9]) == [1.0, 1.0, 1.0, 0.5, 1.0, 0.0]
    assert of_question(found, [4]) == [1.0] * 6
    assert of_question(found, [3, 9]) == [0.5, 1.0, 1.0, 0.5, 1.0, 0.0]
    assert of_question(found, [32, 99]) == [0.0, 0.0, 0.5, 0.0, 0.0, 0.0]
    assert of_question([], [1]) == [0.0] * 6


def test_means_and_intervals_are_computed() -> None:
    values = np.array([[0.0] * 6, [1.0] * 6] * 50)
    assert means(values)["R@5"] == 0.5
    low, high = intervals(values)["R@5"]
    assert 0.35 < low < 0.5 < high < 0.65


def test_rankings_are_fused_by_reciprocal_ranks() -> None:
    fused = reciprocal_ranks([np.array([2, 0, 1]), np.array([2, 1, 0])], 3)
    assert fused.tolist() == [1 / 62 + 1 / 63, 1 / 62 + 1 / 63, 2 / 61]


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("1:56 pm on 8 May, 2023", datetime(2023, 5, 8, 13, 56, tzinfo=UTC)),
        ("2023-05-08T13:56:00", datetime(2023, 5, 8, 13, 56, tzinfo=UTC)),
        ("some day", None),
        ("", None),
    ],
)
def test_the_times_of_sessions_are_parsed(text: str, moment: datetime | None) -> None:
    assert session_time(text) == moment


def test_conversations_in_the_format_of_locomo_are_read(tmp_path: Path) -> None:
    turns = {
        "session_2": [{"dia_id": "D2:1", "speaker": "Ann", "text": "later"}],
        "session_1": [{"dia_id": "D1:1", "speaker": "User", "text": "sooner"}],
        "session_1_date_time": "1:56 pm on 8 May, 2023",
    }
    asked = [
        {"question": "a", "evidence": ["D2:1; D1:1", "D9:9"], "category": 1},
        {"question": "b", "evidence": ["D1:1"], "category": 5},
        {"question": "c", "evidence": [], "category": 2},
    ]
    file = tmp_path / "set.json"
    file.write_text(json.dumps([{"conversation": turns, "qa": asked, "sample_id": "s"}]))
    (pool,) = read_locomo(file)
    assert [(turn.id, turn.speaker, turn.conversation) for turn in pool.turns] == [
        ("D1:1", "user", "1"),
        ("D2:1", "Ann", "2"),
    ]
    assert [(each.text, each.gold) for each in pool.questions] == [("a", (0, 1))]
    file.write_text("{}")
    with pytest.raises(ValueError, match="LoCoMo"):
        read_locomo(file)


def test_paraphrases_are_read_in_order_of_time(tmp_path: Path) -> None:
    facts, others = tmp_path / "facts.jsonl", tmp_path / "others.jsonl"
    rows = [
        {"id": "f1", "said": "Max loves fetch", "question": "what does my animal enjoy?", "day": 2},
        {"id": "f2", "said": "I lent out my drill", "question": "who has my drill?", "day": 1},
    ]
    facts.write_text("\n".join(map(json.dumps, rows)))
    others.write_text(json.dumps({"id": "d1", "said": "Rain again", "day": 3}))
    pool = read_paraphrases(facts, others)
    assert [turn.id for turn in pool.turns] == ["f2", "f1", "d1"]
    asked = {each.category: pool.turns[each.gold[0]].id for each in pool.questions}
    assert asked == {"shared": "f2", "none": "f1"}


def test_what_was_asked_before_is_read_with_the_replies(tmp_path: Path) -> None:
    earlier = [{"question": "Who's my dog?", "reply": "I'm not sure.", "day": 9}]
    fact = {"id": "f", "said": "This is Max.", "day": 2, "question": "My pet?", "earlier": earlier}
    (tmp_path / "facts.jsonl").write_text(json.dumps(fact) + "\n")
    (tmp_path / "others.jsonl").write_text('{"id": "d", "said": "I run.", "day": 5}\n')
    pool = read_paraphrases(tmp_path / "facts.jsonl", tmp_path / "others.jsonl")
    assert [(each.id, each.speaker, each.text) for each in pool.turns] == [
        ("f", "user", "This is Max."),
        ("d", "user", "I run."),
        ("f-1q", "user", "Who's my dog?"),
        ("f-1r", "assistant", "I'm not sure."),
    ]
    assert [each.conversation for each in pool.turns] == ["2", "5", "9", "9"]
    assert [(each.text, each.gold) for each in pool.questions] == [("My pet?", (0,))]


def test_the_paraphrase_set_does_not_give_its_facts_away() -> None:
    """Above all not by length: a rule that prefers long turns must have no advantage."""
    pool = read_paraphrases(*(located(f"evaluation/paraphrase_{kind}.jsonl") for kind in KINDS))
    facts = {question.gold[0] for question in pool.questions}
    lengths: tuple[list[int], list[int]] = ([], [])
    for row, turn in enumerate(pool.turns):
        lengths[row in facts].append(len(turn.text.split()))
    others, stated = lengths
    assert len(stated) >= 200
    assert len(others) >= 5000
    quartiles = np.percentile(stated, QUARTILES) - np.percentile(others, QUARTILES)
    assert np.abs(quartiles).max() <= 1
    assert abs(np.mean(stated) - np.mean(others)) < 0.5
    apart = [question.category == "none" for question in pool.questions]
    assert np.mean(apart) >= 2 / 3
