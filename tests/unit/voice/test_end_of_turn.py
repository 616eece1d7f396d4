"""How likely it is that a turn is over, by its words, its sound and the silence."""

import logging
from collections.abc import Sequence

import numpy as np
import pytest

from assistant.errors import ModelFailed, ModelMissing
from assistant.voice.turns.end_of_turn import (
    LEAST_SILENCE_S,
    LONGEST_SILENCE_S,
    UNJUDGED_WORDS,
    UNREADY_S,
    EndOfTurn,
    Evidence,
    Weights,
    read_weights,
)
from models.interfaces import TurnJudge
from tests.support.fakes import ScriptedEnd, UnfinishedWords

WEIGHTS = Weights(words=1, least_words=-3, most_words=6, sound=1, pause_s=0.5, spread=0.8, enough=4)
SILENCE = np.zeros(16_000, np.int16)
STEP_S = 0.032


class Broken:
    """A judge of words that can't be loaded, or fails."""

    def __init__(self, *, loads: bool) -> None:
        self._loads = loads

    def load(self) -> None:
        if not self._loads:
            raise ModelMissing("It is missing.")

    def complete(self, words: str, question: str = "") -> float:
        raise ModelFailed(f"It failed on {words!r} after {question!r}.")

    def interrupts(self, words: str, spoken: str) -> float:
        raise ModelFailed(f"It failed on {words!r} after {spoken!r}.")


def judge(
    patience: float = 1.0, words: TurnJudge | None = None, sounds: Sequence[float] = (0.5,)
) -> EndOfTurn:
    return EndOfTurn(ScriptedEnd(*sounds), words, WEIGHTS, patience)


def waits_s(evidence: Evidence, patience: float = 1.0) -> float:
    """The silence in seconds after which the turn ends."""
    ends, silence_s = judge(patience), STEP_S
    while not ends.is_over(evidence, silence_s):
        silence_s += STEP_S
    return silence_s


def test_a_turn_that_is_surely_over_ends_soonest_and_an_unfinished_one_latest() -> None:
    waits = [
        waits_s(Evidence(words, sound, ready=True))
        for words, sound in ((3, 2), (3, -2), (0, 0), (-3, 0))
    ]
    assert waits == sorted(waits)
    assert len({*waits}) == len(waits)
    assert waits[0] < LEAST_SILENCE_S + 2 * STEP_S
    assert waits[-1] > 1.5


def test_any_turn_ends_after_the_longest_silence_even_if_its_words_are_unknown() -> None:
    for evidence in (Evidence(), Evidence(-20, -7)):
        assert LONGEST_SILENCE_S <= waits_s(evidence) < LONGEST_SILENCE_S + STEP_S


def test_no_turn_ends_before_its_words_were_judged_or_within_a_short_pause() -> None:
    assert not judge().is_over(Evidence(None, 7), LONGEST_SILENCE_S / 2)
    assert not judge().is_over(Evidence(20, 7), LEAST_SILENCE_S / 2)


def test_the_longer_the_silence_the_likelier_the_end() -> None:
    odds = [judge().sum(Evidence(0, 0), silence_s) for silence_s in (0.1, 0.3, 0.6, 1.2, 3)]
    assert odds == sorted(odds)
    assert odds[0] == pytest.approx(0, abs=0.05)


def test_a_sound_that_was_not_judged_yet_counts_for_neither() -> None:
    assert judge().sum(Evidence(1, None), 0.4) == judge().sum(Evidence(1, 0), 0.4)


def test_more_patience_waits_longer() -> None:
    for evidence in (Evidence(0, 0, ready=True), Evidence(2, 1, ready=True)):
        quick, usual, slow = (waits_s(evidence, patience) for patience in (0.5, 1, 2))
        assert quick <= usual < slow
    unsure = Evidence(0, 0, ready=True)
    assert waits_s(unsure, 0.5) < waits_s(unsure, 1)


def test_a_turn_goes_on_until_its_answer_is_ready_unless_that_takes_long() -> None:
    assert not judge().is_sure(Evidence(None, 7), 1.0)
    sure = Evidence(6, 4)
    assert waits_s(sure) == pytest.approx(UNREADY_S, abs=STEP_S)
    sure.ready = True
    assert waits_s(sure) < LEAST_SILENCE_S + 2 * STEP_S


async def test_both_judges_are_asked_and_the_question_is_passed_on() -> None:
    words = UnfinishedWords("I think")
    ends, evidence = judge(words=words, sounds=(0.5, 1.0, 0.2)), Evidence()
    await ends.judge_words(evidence, "before it was loaded", "")
    assert (evidence.words, words.questions) == (UNJUDGED_WORDS, [])
    await ends.words.load()
    await ends.judge_words(evidence, "I think", "For when?")
    assert (evidence.words, words.questions) == (-4, ["For when?"])
    await ends.judge_sound(evidence, SILENCE, 0.03)
    assert evidence.sound == pytest.approx(0)
    await ends.judge_sound(evidence, SILENCE, 0.26)
    assert evidence.sound == pytest.approx(6.9, abs=0.1)
    await ends.judge_sound(evidence, SILENCE, 0.03)  # late: the newer result stays
    assert evidence.sound == pytest.approx(6.9, abs=0.1)


@pytest.mark.parametrize("loads", [False, True])
async def test_without_a_judge_of_words_the_sound_and_the_silence_decide(
    loads: bool, caplog: pytest.LogCaptureFixture
) -> None:
    ends, evidence = judge(words=Broken(loads=loads)), Evidence()
    with caplog.at_level(logging.CRITICAL, logger="assistant.voice.turns.words"):
        await ends.words.load()
        await ends.judge_words(evidence, "Half an hour.", "")
        assert await ends.words.interrupts("Mm-hmm.", "First, take two eggs.") is None
    assert evidence.words == UNJUDGED_WORDS
    in_use = EndOfTurn(ScriptedEnd(), None, read_weights(), 1.0)
    assert in_use.is_over(Evidence(evidence.words, sound=4, ready=True), 0.4)
    assert not in_use.is_over(Evidence(evidence.words, sound=-4, ready=True), 0.8)


def test_the_weights_in_use_end_a_complete_turn_soon_and_wait_for_an_unfinished_one() -> None:
    ends = EndOfTurn(ScriptedEnd(), None, read_weights(), 1.0)
    assert ends.is_over(Evidence(words=7, sound=3, ready=True), 0.4)
    assert not ends.is_over(Evidence(words=-4, sound=0, ready=True), 1.0)
