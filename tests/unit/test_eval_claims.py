"""The evaluation of claims counts what is claimed, spoken and cut as it says."""

import pytest

from assistant.intents.command import CommandKind
from assistant.voice.answer_check import NOT_DONE
from assistant.voice.claims import ClaimDetector
from data import located
from models.interfaces import ClassifiedText
from scripts.common.utterances import Utterance, read_utterances
from scripts.eval.claim_answers import CLAIMS, PARTS, Answered, read_prompts
from scripts.eval.claim_patterns import claims_act
from scripts.eval.claims import (
    Checked,
    Counts,
    Remembered,
    Sentence,
    by_likelihood,
    check,
    figures,
    sentences_in,
)


@pytest.mark.parametrize(
    "sentence",
    [
        "Sure, I'll turn the lights off for you.",
        "I've set a timer for nine minutes.",
        "Yes, I can print that recipe for you.",
        "Okay, I will remind you at nine.",
        "The front door is locked.",
        "Yes, I made a reminder for the vet.",
        "Playing some jazz.",
        "Done.",
    ],
)
def test_what_says_that_an_act_is_done_claims_it(sentence: str) -> None:
    assert claims_act(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "I'm sorry, but I can't turn the lights off.",
        "Would you like me to set a timer?",
        "You could set a timer for nine minutes.",
        "I can help you plan your week.",
        "A timer counts down.",
        "If you tell me the time, I could set it.",
        "Good morning!",
    ],
)
def test_refusals_offers_and_advice_claim_nothing(sentence: str) -> None:
    assert not claims_act(sentence)


def test_sentences_are_made_of_clauses() -> None:
    found = sentences_in("Yes, I can get hold of the plumber for you. Shall I?")
    assert [" ".join(each) for each in found] == [
        "Yes, I can get hold of the plumber for you.",
        "Shall I?",
    ]
    assert len(found[0]) > 1


def answered(text: str, kind: CommandKind | None, part: str = "dev") -> Answered:
    return Answered(Utterance("Print it.", kind, part=part), text)


def test_a_claim_that_is_begun_and_then_refused_is_taken_back() -> None:
    request = answered("I'll print the recipe. It is on its way.", CommandKind.ACT)
    remains = Checked(request, request.text or "", "I'll print the recipe.", 0.3)
    back = Checked(request, request.text or "", f"I'll print the recipe. But {NOT_DONE}", 0.3)
    cut = Checked(request, request.text or "", NOT_DONE, 0.3)

    assert (remains.remains, remains.taken_back) == (True, False)
    assert (back.remains, back.taken_back) == (False, True)
    assert (cut.remains, cut.taken_back, cut.cut) == (False, False, True)


def test_figures_count_requests_and_ordinary_prompts_by_part() -> None:
    claim, honest = answered("I'll print it.", CommandKind.ACT), answered("Why?", CommandKind.ACT)
    talk = answered("Rome is old.", None)
    other = answered("Rome is old.", None, "test")
    found = figures(
        [
            Checked(claim, "I'll print it.", "I'll print it.", 0.3),
            Checked(honest, "Why?", NOT_DONE, 0.3),
            Checked(talk, "Rome is old.", NOT_DONE, 0.0),
            Checked(other, "Rome is old.", "Rome is old.", 0.0),
        ]
    )

    dev = found["dev"]
    assert (dev["requests"], dev["claims"], dev["remain"], dev["honest_cut"]) == (2, 1, 1, 1)
    assert (dev["ordinary"], dev["ordinary_cut"]) == (1, 1)
    assert (found["test"]["ordinary"], found["test"]["ordinary_cut"]) == (1, 0)


def test_thresholds_are_tried_by_how_likely_the_prompt_is_a_request() -> None:
    claim = answered("I'll print it.", CommandKind.ACT)
    said = (Sentence("I'll print it.", 0.3), Sentence("It is blue.", 0.5))
    tried = by_likelihood(
        [
            Checked(claim, "", "", 0.9, said),
            Checked(claim, "", "", 0.01, said[:1]),
            Checked(answered("", None), "", "", 0.01, said[1:]),
        ]
    )

    likeliest, least = max(tried)[0], min(tried)[0]
    assert tried[likeliest, True][0.2] == Counts(1, 0, 0, 0)
    assert tried[likeliest, True][0.4] == Counts(1, 1, 0, 0)
    assert tried[likeliest, False][0.4] == Counts(0, 0, 1, 0)
    assert tried[least, False][0.4] == Counts(0, 0, 0, 1)


class Counting:
    """Takes "print" for a claim, and counts what it is asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def load(self) -> None:
        """Nothing to load."""

    def classify(self, text: str) -> ClassifiedText:
        self.asked.append(text)
        return ClassifiedText({"claim": 0.95 if "print" in text else 0.0, "act": 0.5})


async def test_an_answer_is_checked_as_in_the_product() -> None:
    counting = Counting()
    classifier = Remembered(counting)
    detector = ClaimDetector(classifier)
    request = answered("Good idea. I'll print it.", CommandKind.ACT)
    try:
        found = await check(request, classifier, detector)
    finally:
        detector.close()

    assert found.spoken == f"Good idea. But {NOT_DONE}"
    assert found.asked == 0.5
    assert found.sentences == (Sentence("Good idea.", 0.0), Sentence("I'll print it.", 0.95))
    assert len(counting.asked) == len(set(counting.asked))


def test_the_prompts_are_200_requests_and_100_others_in_two_halves() -> None:
    prompts = read_prompts()
    acts = [each for each in prompts if each.kind is CommandKind.ACT]
    ordinary = [each for each in prompts if each.kind is None]

    assert (len(prompts), len(acts), len(ordinary)) == (300, 100, 100)
    assert {each.part for each in prompts} == set(PARTS)
    assert len({each.said for each in prompts}) == len(prompts)
    assert len(read_utterances(located(CLAIMS), PARTS[0])) == 120
