"""The prepared judge of words judges as the trained model does, and gets plain turns right."""

import json
from pathlib import Path

import numpy as np
import pytest

from assistant.compose.adapted_models import build_turn_judge
from assistant.settings import Persona, Settings
from models.download.cache import ModelStore
from models.encoder.turn_judge import OnnxTurnJudge
from models.selection import select_models
from scripts import eval_interruptions
from scripts.common.spoken_turns import (
    EVALUATION,
    JUDGED_INTERRUPTIONS,
    PARTS,
    read_interruptions,
    read_turns,
)
from scripts.train.turn_lessons import pauses

pytestmark = [
    pytest.mark.real,
    pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning"),
]

NAME = "all-minilm-l6-v2"
RANK = 16
"""Of the shipped adapter."""


@pytest.fixture(scope="module")
def folder(store: ModelStore) -> Path:
    return store.location(NAME)


@pytest.fixture(scope="module")
def adapter(store: ModelStore) -> Path:
    found = store.catalogue.get(NAME).turns
    assert found
    return found.path


@pytest.fixture(scope="module")
def judge(folder: Path, adapter: Path) -> OnnxTurnJudge:
    made = OnnxTurnJudge(folder, adapter)
    made.load()
    return made


def test_log_odds_are_near_those_of_the_trained_model(
    folder: Path, adapter: Path, judge: OnnxTurnJudge
) -> None:
    import torch
    from transformers import AutoTokenizer

    from scripts.train.turn_judge import Judge, sample

    model = Judge(str(folder), RANK, "cpu", half=False)
    model.resume(adapter)
    model.eval()
    tokenizer = AutoTokenizer.from_pretrained(str(folder))
    lessons = [each for turn in read_turns(EVALUATION, 60, PARTS[0]) for each in pauses(turn)]
    with torch.no_grad():
        theirs = [float(model([sample(each, tokenizer)])[0]) for each in lessons]
    ours = [judge.complete(each.words, each.assistant) for each in lessons]
    distances = np.abs(np.subtract(theirs, ours))
    assert distances.mean() < 0.4
    assert np.mean((np.array(theirs) > 0) == (np.array(ours) > 0)) > 0.95


@pytest.mark.parametrize(
    ("whole", "begun"),
    [
        ("What's the capital of France?", "What's the capital of"),
        ("Set a timer for ten minutes.", "Set a timer for"),
        ("My dog is called Max.", "My dog is called"),
        ("Remind me to call Anna tomorrow.", "Remind me to"),
        ("I like apples and pears.", "I like apples and"),
        ("If it rains tomorrow, we'll stay at home.", "If it rains tomorrow"),
        ("To leave the building, press the green button.", "To leave the building"),
        ("I'd like a table for four, please.", "I'd like a table for"),
    ],
)
def test_a_whole_turn_is_likelier_to_be_over_than_its_beginning(
    judge: OnnxTurnJudge, whole: str, begun: str
) -> None:
    assert judge.complete(whole) > 0 > judge.complete(begun)


@pytest.mark.parametrize(
    ("answer", "question"),
    [
        ("At nine in the morning.", "For when should I set it?"),
        ("To my sister.", "Who should I send it to?"),
        ("Milk and eggs.", "What would you like to put in it?"),
    ],
)
def test_a_short_answer_to_a_question_is_complete(
    judge: OnnxTurnJudge, answer: str, question: str
) -> None:
    assert judge.complete(answer, question) > 0 > judge.complete(answer)


@pytest.mark.parametrize(
    ("spoken", "listens", "stops"),
    [
        ("Then fold in the flour, a third at a time, and", "Mm-hmm.", "Wait, how much flour?"),
        ("The tower was finished in 1889 for the world's fair, and", "Oh, wow!", "No, stop."),
        ("Your meeting is on Thursday at three, and then you have", "Okay.", "That's wrong."),
        ("In the last chapter the detective finds the letter that", "Ha ha ha.", "Be quiet."),
    ],
)
def test_words_of_a_listener_are_told_from_an_interruption(
    judge: OnnxTurnJudge, spoken: str, listens: str, stops: str
) -> None:
    assert judge.interrupts(stops, spoken) > 0 > judge.interrupts(listens, spoken)


def test_of_interruptions_by_another_writer_most_are_judged_rightly(judge: OnnxTurnJudge) -> None:
    some = read_interruptions(JUDGED_INTERRUPTIONS, None, PARTS[0])
    right = [(judge.interrupts(each.said, each.speaking) > 0) == each.stops for each in some]
    assert np.mean(right) > 0.85


def test_the_profile_has_a_judge_in_english_only(folder: Path) -> None:
    for language in ("en", "en-GB"):
        chosen = Settings(persona=Persona(language=language))
        assert build_turn_judge(select_models(chosen), chosen) is not None
    german = Settings(persona=Persona(language="de"))
    assert build_turn_judge(select_models(german), german) is None
    assert folder.is_dir()


def test_the_evaluation_of_interruptions_reports_shares(capsys: pytest.CaptureFixture[str]) -> None:
    assert eval_interruptions.main(["--limit", "20", "--json"]) == 0
    figures = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert figures["utterances"] == 20
    assert figures["stopped"]["share"] > 0.5
