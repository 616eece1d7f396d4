"""The model answers only yes or no, and a failure leaves the decision to the rules."""

import pytest

from assistant.errors import ModelFailed
from assistant.tasks.judging import SCHEMA, TaskJudge, prompt
from assistant.tasks.settling import Candidate
from models.interfaces import Lane
from tests.support.scripted_model import ScriptedModel


@pytest.mark.parametrize(
    ("answer", "judged"),
    [
        ('{"settles": "yes"}', True),
        ('{"settles": "no"}', False),
        ('{"settles": ', None),
        ("[]", None),
        (ModelFailed("It crashed."), None),
    ],
)
async def test_an_answer_is_read(answer: str | Exception, judged: bool | None) -> None:
    model = ScriptedModel([answer])
    judge = TaskJudge(model)
    assert await judge("plan the trip", "We need a cot.", Candidate("need a cot")) is judged
    [request] = model.requests
    assert request.lane is Lane.BACKGROUND
    assert request.json_schema == SCHEMA
    assert request.messages[-1].content == (
        'Task: plan the trip\nSaid: "We need a cot."\nNote: need a cot'
    )


def test_the_examples_show_both_answers() -> None:
    answers = [answer for _, answer in prompt().examples]
    assert sorted(set(answers)) == ['{"settles": "no"}', '{"settles": "yes"}']
