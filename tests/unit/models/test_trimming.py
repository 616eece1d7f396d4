"""The silence around a streamed sentence is trimmed."""

import numpy as np
import pytest

from models.interfaces import Samples
from models.tts.trimming import LEAD_S, Trimmer

RATE = 16_000
QUIET = 100.0


def silence(seconds: float) -> Samples:
    return np.zeros(int(RATE * seconds), np.int16)


def tone(seconds: float) -> Samples:
    time = np.arange(int(RATE * seconds)) / RATE
    return (8000 * np.sin(2 * np.pi * 440 * time)).astype(np.int16)


SENTENCE = np.concatenate([silence(0.06), tone(0.2), silence(0.3), tone(0.15), silence(0.4)])


@pytest.mark.parametrize("step_s", [0.003, 0.05, 0.11, 5.0])
def test_a_sentence_is_kept_from_its_first_sound_to_a_pause_after_its_last_sound(
    step_s: float,
) -> None:
    trimmer = Trimmer(RATE, QUIET, pause_s=0.1)
    step = int(RATE * step_s)
    pieces = [trimmer.feed(SENTENCE[at : at + step]) for at in range(0, len(SENTENCE), step)]
    kept = np.concatenate([*pieces, trimmer.finish()])
    assert trimmer.dropped / RATE == pytest.approx(0.06 - LEAD_S, abs=0.006)
    wanted_s = LEAD_S + 0.2 + 0.3 + 0.15 + 0.1
    assert len(kept) / RATE == pytest.approx(wanted_s, abs=0.012)
    np.testing.assert_array_equal(kept, SENTENCE[trimmer.dropped : trimmer.dropped + len(kept)])


def test_a_pause_is_held_until_the_next_sound() -> None:
    trimmer = Trimmer(RATE, QUIET, pause_s=0.1)
    first = trimmer.feed(np.concatenate([tone(0.1), silence(0.1)]))
    assert len(first) / RATE == pytest.approx(0.1, abs=0.006)
    assert not len(trimmer.feed(silence(0.1)))
    second = trimmer.feed(tone(0.1))
    assert len(second) / RATE == pytest.approx(0.3, abs=0.012)


def test_little_is_kept_of_pure_silence() -> None:
    trimmer = Trimmer(RATE, QUIET, pause_s=0.1)
    assert not len(trimmer.feed(silence(1.0)))
    assert len(trimmer.finish()) <= RATE * LEAD_S
