"""The voice benchmark's figures about skills, and about turns with and without a part."""

import numpy as np

from scripts.bench.voice import ablation, spoken_requests
from scripts.bench.voice.labels import Clip
from scripts.bench.voice.listening import Outcome
from scripts.bench.voice.report import Pair
from scripts.bench.voice.spoken_requests import Heard
from scripts.common.rows import Keep

REPLY = "Ten minutes, starting now."


def clip(name: str = "x.wav") -> Clip:
    return Clip(name, np.zeros(1, np.int16), 1.0, name, finished=True)


def answered(first_audio_ms: float | None, decided: float, reply: str = "") -> Outcome:
    return Outcome(first_audio_ms, (), {"turn_decided": decided}, reply)


def test_a_reply_is_timed_from_the_decision_that_the_turn_is_over() -> None:
    outcomes = [answered(500.0 + late, 400.0, REPLY) for late in (10.0, 20.0, 30.0)]
    found = spoken_requests.figures([Heard(clip(), True, each) for each in outcomes], seed=1)

    assert found["requests"]["after_decision_ms"]["p50"] == 120.0
    assert found["requests"]["first_audio_ms"]["p50"] == 520.0
    assert found["ordinary"]["after_decision_ms"]["p50"] is None
    assert "120" in spoken_requests.table(found)


def test_only_what_was_answered_as_it_should_be_is_timed() -> None:
    heard = [
        Heard(clip(), True, answered(500.0, 400.0, REPLY)),
        Heard(clip(), True, answered(900.0, 400.0)),  # the language model answered
        Heard(clip(), False, answered(700.0, 400.0)),
        Heard(clip(), False, answered(450.0, 400.0, REPLY)),  # a skill answered
        Heard(clip(), False, answered(None, 400.0)),
    ]

    found = spoken_requests.figures(heard, seed=1)

    assert (found["requests"]["answered"], found["requests"]["clips"]) == (1, 2)
    assert found["requests"]["after_decision_ms"]["p50"] == 100.0
    assert (found["ordinary"]["answered"], found["ordinary"]["clips"]) == (1, 3)
    assert found["ordinary"]["after_decision_ms"]["p50"] == 300.0


class Recording:
    """Notes which clips it hears."""

    name = "ours"

    def __init__(self) -> None:
        self.heard: list[str] = []

    async def load(self) -> None:
        """Nothing to load."""

    async def hear(self, clip: Clip) -> Outcome:
        self.heard.append(clip.name)
        return answered(500.0, 400.0)

    async def close(self) -> None:
        """Nothing to close."""


async def test_requests_and_clips_take_turns_after_one_of_each_to_warm_up() -> None:
    system, requests = Recording(), [clip("r1"), clip("r2"), clip("r3")]

    heard = await spoken_requests.alternating(system, requests, [clip("a"), clip("b")], Keep(None))

    assert system.heard == ["r1", "a", "r1", "a", "r2", "b", "r3", "a"]
    assert [each.request for each in heard] == [True, False] * 3


def test_the_ratio_of_a_pair_ignores_how_slow_a_clip_is_in_both() -> None:
    def pair(without: float, beside: float, reply: str = "") -> Pair:
        return Pair(clip(), answered(without, 300.0), answered(beside, 300.0, reply))

    pairs = [pair(400.0, 404.0), pair(9000.0, 9180.0), pair(700.0, 735.0), pair(600.0, 90.0, REPLY)]
    found = ablation.compared(pairs, seed=1)

    assert found["ratio_of_a_pair"] == 1.02
    assert (found["compared"], found["taken"]) == (3, 1)
    assert found["with"]["first_audio_ms"]["p50"] == 735.0
    assert "1.02" in ablation.table(found)
