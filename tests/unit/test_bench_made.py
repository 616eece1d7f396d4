"""Texts that models derive from benchmark turns are cached, read back and compared by kind."""

import json
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from assistant.memory.retrieval.ranking import Ranking
from scripts.eval import derived_ablation as ablation
from scripts.eval.derived import near
from scripts.eval.derived_cache import Cache, Call, Cost, calls, narrowed
from scripts.eval.encoders import Encoders
from scripts.eval.recall_data import Pool, Question, Turn
from tests.support.encoders import HashingEncoder

WHEN = datetime(2026, 4, 9, tzinfo=UTC)
SAID = (
    "We went round the lake with the boat.",
    "Thanks!",
    "It was cold there, and I saw two herons.",
    "My tooth hurts a lot since this morning.",
    "The kettle broke in the old kitchen.",
)
TURNS = [Turn(f"D1:{at}", "Ann", text, "1", WHEN) for at, text in enumerate(SAID)]
POOL = Pool("p", TURNS, [Question("wading birds", (2,), "4"), Question("boat", (0, 4), "1")])
MODEL = "some-model"


def row(about: str, *questions: str) -> dict[str, object]:
    answer = json.dumps({"about": about, "questions": questions})
    return {"answer": answer, "read": 50, "generated": 40, "cpu_s": 2.0}


def asked() -> list[Call | None]:
    return list(calls(POOL))


def filled(file: Path) -> Cache:
    """A cache with the model's answers for all turns but the last."""
    cache = Cache(file)
    answers = {0: row("Ann was on water."), 2: row("Ann saw wading birds."), 3: row("Ouch.")}
    for at, answer in answers.items():
        call = asked()[at]
        assert call is not None
        cache.keep(MODEL, call, answer)
    return cache


def test_the_model_is_asked_about_each_informative_turn_with_its_context() -> None:
    made = asked()
    assert [call is not None for call in made] == [True, False, True, True, True]
    assert made[0] is not None
    assert made[2] is not None
    assert made[0].asked == f"New:\nAnn: {SAID[0]}"
    assert made[2].asked == f"Before:\nAnn: {SAID[0]}\nAnn: {SAID[1]}\nNew:\nAnn: {SAID[2]}"
    assert [line.text for line in made[2].said] == list(SAID[:3])


def test_a_killed_run_resumes_where_it_stopped(tmp_path: Path) -> None:
    file = tmp_path / "cache.jsonl"
    filled(file)
    with file.open("a") as opened:
        opened.write('{"key": "cut o')
    again, cost = Cache(file), Cost()
    known = [call is not None and (MODEL, call) in again for call in asked()]
    assert known == [True, False, True, True, False]
    first = asked()[0]
    assert first is not None
    assert ("another", first) not in again
    made = again.of(MODEL, POOL, cost)
    assert [None if each is None else each.about for each in made] == [
        "Ann was on water.",
        "",
        "Ann saw wading birds.",
        "Ouch.",
        None,
    ]
    assert (cost.turns, cost.calls, cost.seconds, ablation.per_100(cost)) == (4, 3, 6.0, 150.0)
    assert again.models() == [MODEL]


def test_unusable_answers_are_counted(tmp_path: Path) -> None:
    cache, cost, call = Cache(tmp_path / "c"), Cost(), asked()[0]
    assert call is not None
    cache.keep(MODEL, call, row("x") | {"answer": '{"about": "cut'})
    made = cache.of(MODEL, POOL, cost)
    assert made[0] is not None
    assert (made[0].about, cost.failed) == ("", 1)


def test_a_narrowed_pool_keeps_only_questions_with_all_their_answers() -> None:
    small = narrowed(POOL, [1, 2, 4])
    assert [turn.id for turn in small.turns] == ["D1:1", "D1:2", "D1:4"]
    assert [(each.text, each.gold) for each in small.questions] == [("wading birds", (1,))]


@pytest.mark.parametrize(
    ("count", "questions", "rows"),
    [(1, None, [2]), (3, None, [0, 2, 4]), (99, 5, [0, 1, 2, 3, 4]), (3, 1, [1, 2, 3])],
)
def test_answers_are_selected_first_and_then_the_turns_around_them(
    count: int, questions: int | None, rows: list[int]
) -> None:
    assert near(POOL, count, questions) == rows


def test_each_kind_of_text_is_evaluated_separately_on_the_same_questions(tmp_path: Path) -> None:
    encoder = HashingEncoder()
    encoders, cost = Encoders(encoder.encode, encoder.encode), Cost()
    every = ablation.enriched([POOL], filled(tmp_path / "c"), MODEL, encoders, cost)
    [(pool, extras)] = every
    assert (len(pool.turns), len(pool.questions)) == (4, 1)
    assert extras["D1:2"].about == "Ann saw wading birds."
    values, categories = ablation.compared(every, encoders, Ranking())
    assert categories == ["4"]
    assert {len(each) for each in values.values()} == {1}
    reciprocal = {name: each[0, 3] for name, each in values.items()}
    assert reciprocal["describe meaning"] > reciprocal["ours"], reciprocal
    found = ablation.figures(values, categories, cost)
    assert found["more"].keys() == values.keys() - {"ours"}
    assert found["cost"]["seconds_per_100_turns"] == 150.0
    assert "describe meaning" in ablation.report(values, cost)
    assert np.isfinite(values["all"]).all()
