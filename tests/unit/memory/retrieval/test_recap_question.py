"""Questions that ask what was said without naming a topic, and the times that they name."""

import json
from datetime import date

import pytest

from assistant.memory.retrieval.recap import parse_recap_question
from data import located

TUESDAY = date(2026, 3, 10)


@pytest.mark.parametrize(
    ("question", "since", "until"),
    [
        ("What did we talk about yesterday?", "2026-03-09", "2026-03-09"),
        ("what were we talking about last week", "2026-03-02", "2026-03-08"),
        ("What have we discussed this month?", "2026-03-01", "2026-03-31"),
        ("What did I tell you on Friday?", "2026-03-06", "2026-03-06"),
        ("What did I tell you on Tuesday?", "2026-03-03", "2026-03-03"),
        ("What did we speak about two weeks ago?", "2026-02-21", "2026-02-27"),
        ("What did we talk about in December?", "2025-12-01", "2025-12-31"),
        ("What did we talk about in March?", "2026-03-01", "2026-03-31"),
        ("What did we chat about the day before yesterday?", "2026-03-08", "2026-03-08"),
        ("Give me a summary of yesterday's conversation", "2026-03-09", "2026-03-09"),
        ("What did we talk about last year?", "2025-01-01", "2025-12-31"),
    ],
)
def test_the_named_time_is_recognised(question: str, since: str, until: str) -> None:
    asked = parse_recap_question(question, TUESDAY)
    assert asked is not None
    assert (str(asked.since), str(asked.until)) == (since, until)


def test_the_last_conversation_counts_as_a_time() -> None:
    asked = parse_recap_question("What was our last conversation about?", TUESDAY)
    assert asked is not None
    assert (asked.latest, asked.since) == (True, None)


@pytest.mark.parametrize(
    "question",
    [
        "What is my dog called?",
        "What have I told you about the house?",
        "What did I say my sister's name was?",
        "What did I do last week?",
        "Forget what I said yesterday",
        "Summarise the French Revolution",
        "What did we talk about last week in the kitchen?",
        "What did I tell you last week about Rome?",
        "How are you?",
        "",
    ],
)
def test_a_question_about_a_topic_is_not_a_recap_question(question: str) -> None:
    assert parse_recap_question(question, TUESDAY) is None


@pytest.mark.parametrize("name", ["paraphrase_facts", "qa_facts"])
def test_no_question_for_a_single_fact_is_taken_for_a_recap_question(name: str) -> None:
    lines = located(f"evaluation/{name}.jsonl").read_text("utf-8").splitlines()
    asked = [row["question"] for row in map(json.loads, lines) if row.get("question")]
    assert len(asked) > 60
    assert [each for each in asked if parse_recap_question(each, TUESDAY)] == []


def test_exactly_the_questions_about_a_time_in_our_own_set_are_recap_questions() -> None:
    lines = located("evaluation/broad_questions.jsonl").read_text("utf-8").splitlines()
    rows = [row for row in map(json.loads, lines) if row["row"] == "question"]
    found = {row["id"] for row in rows if parse_recap_question(row["question"], TUESDAY)}
    assert found == {row["id"] for row in rows if row["kind"] == "time"}
