"""When words are heard: from phonemes, and estimated without them."""

import itertools

import numpy as np
import pytest

from models.tts.alignment import PhonemeGroup, align_words
from models.tts.word_times import estimate_word_times

RATE = 16_000


def groups(*sounds: int) -> list[PhonemeGroup]:
    """One after the other, a tenth of a second a sound."""
    made, at = [], 0.0
    for count in sounds:
        made.append(PhonemeGroup(count, at, at + count / 10))
        at += count / 10
    return made


def test_one_group_a_word() -> None:
    times = align_words("Thank you.", groups(4, 2))
    assert [(t.start, t.end, t.start_s, t.end_s) for t in times] == [
        (0, 5, 0.0, 0.4),
        (6, 10, 0.4, pytest.approx(0.6)),
    ]


def test_small_words_that_melt_into_one_group() -> None:
    text = "Of the two"
    times = align_words(text, groups(4, 2))
    assert [text[t.start : t.end] for t in times] == ["Of", "the", "two"]
    assert times[0].end_s == times[1].start_s
    assert times[1].end_s == times[2].start_s == 0.4


def test_a_number_that_becomes_several_groups() -> None:
    text = "say 24 now"
    times = align_words(text, groups(2, 6, 3, 2))
    assert [text[t.start : t.end] for t in times] == ["say", "24", "now"]
    assert times[1].end_s - times[1].start_s > 0.8


def test_nothing_spoken_nothing_timed() -> None:
    assert align_words("", groups(3)) == []
    assert align_words("word", []) == []


def test_words_without_any_likeness_still_have_times_in_order() -> None:
    text = "a b c d e f g h i j k l"
    times = align_words(text, groups(9))
    assert len(times) == 12
    assert times[0].start_s == 0
    assert times[-1].end_s == pytest.approx(0.9)


def tone(seconds: float) -> np.ndarray:
    wave: np.ndarray = 8000 * np.sin(np.arange(int(seconds * RATE)) * 0.3)
    return wave


def test_estimates_lie_within_the_sound_and_a_comma_on_the_gap() -> None:
    sound = np.concatenate([np.zeros(1600), tone(0.6), np.zeros(3200), tone(0.9), np.zeros(4000)])
    text = "Well now, there it is again"
    times = estimate_word_times(text, sound.astype(np.int16), RATE)
    assert [text[t.start : t.end] for t in times] == text.split()
    assert abs(times[0].start_s - 0.1) < 0.02
    assert abs(times[1].end_s - 0.7) < 0.02
    assert abs(times[2].start_s - 0.9) < 0.02
    assert abs(times[-1].end_s - 1.8) < 0.02
    assert all(a.end_s <= b.start_s for a, b in itertools.pairwise(times))


def test_estimates_of_nothing() -> None:
    assert estimate_word_times("", np.ones(100, np.int16), RATE) == []
    assert estimate_word_times("word", np.zeros(0, np.int16), RATE) == []
    silent = estimate_word_times("two words", np.zeros(RATE, np.int16), RATE)
    assert [t.end_s for t in silent] == sorted(t.end_s for t in silent)
