"""The sets of questions with clues, as the evaluation reads them."""

import pytest

from assistant.memory.retrieval.ranking import Ranking
from data import located
from scripts.eval.clue_data import read_linked, read_times
from scripts.eval.recall import ablated

DISTRACTORS = located("evaluation/paraphrase_distractors.jsonl")


def test_questions_that_name_a_time_are_asked_after_their_answers() -> None:
    pools = read_times(located("evaluation/time_questions.jsonl"), DISTRACTORS)
    questions = [each for pool in pools for each in pool.questions]
    assert len(questions) == len({each.text for each in questions}) == 80
    assert sum(each.category == "none" for each in questions) == 10
    for pool in pools:
        assert pool.asked is not None
        assert all(turn.when is not None and turn.when < pool.asked for turn in pool.turns)
        assert all(pool.turns[row].id.startswith("t") for q in pool.questions for row in q.gold)


def test_a_linked_answer_shares_no_name_with_its_question() -> None:
    [pool] = read_linked(located("evaluation/linked_questions.jsonl"), DISTRACTORS)
    assert len(pool.questions) == 36
    for question in pool.questions:
        [row] = question.gold
        name = pool.turns[row].text.split()[0].partition("'")[0]
        assert name[0].isupper()
        assert name not in question.text


def test_weights_are_set_to_zero_by_name() -> None:
    less = ablated("times+dated,linked")
    assert less["ours_without_times+dated"] == Ranking(times=0.0, dated=0.0)
    assert less["ours_without_linked"] == Ranking(linked=0.0)
    assert ablated("") == {}
    with pytest.raises(ValueError, match="no weight 'sense'"):
        ablated("sense")
