"""Percentiles, intervals, and the comparison of two systems' outcomes."""

import asyncio
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest

from scripts.bench.voice.labels import Clip
from scripts.bench.voice.listening import Notes, Outcome, TimedLoudspeaker, Turn, outcome
from scripts.bench.voice.report import Pair, figures, table, word_error_rate
from scripts.common.statistics import interval, percentile, ratio


def test_percentiles_are_interpolated_and_an_empty_list_has_none() -> None:
    assert percentile([1.0, 2.0, 3.0, 4.0], 50) == 2.5
    assert percentile([5.0], 95) == 5.0
    assert percentile([], 50) is None


def mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None


@pytest.mark.long
def test_an_interval_covers_the_truth_about_as_often_as_it_claims() -> None:
    draw = np.random.default_rng(5)
    covered = 0
    for seed in range(200):
        bounds = interval(list(draw.normal(10, 2, 40)), mean, seed=seed, resamples=300)
        assert bounds is not None
        covered += bounds[0] <= 10 <= bounds[1]

    assert 176 <= covered <= 199


def test_an_interval_narrows_with_more_items_and_repeats_for_a_seed() -> None:
    draw = np.random.default_rng(6)
    widths = []
    for count in (10, 100, 1000):
        bounds = interval(list(draw.normal(0, 1, count)), mean, seed=1, resamples=400)
        assert bounds is not None
        widths.append(bounds[1] - bounds[0])

    assert all(wide > 2 * narrow for wide, narrow in pairwise(widths))
    assert interval([1.0, 2.0, 4.0], mean, seed=9) == interval([1.0, 2.0, 4.0], mean, seed=9)


def test_an_interval_needs_two_values_and_a_result() -> None:
    assert interval([1.0], mean) is None
    assert interval([1.0, 2.0], lambda _: None) is None
    assert interval([3.0, 3.0], mean) == (3.0, 3.0)


def test_the_two_values_of_a_pair_are_drawn_together() -> None:
    """Both are slow on the same items, so their ratio is certain although neither value is."""
    pairs = [(2.0 * value, value) for value in (1.0, 50.0, 900.0, 7.0)]

    def of_sums(drawn: Sequence[tuple[float, float]]) -> float | None:
        return ratio(sum(a for a, _ in drawn), sum(b for _, b in drawn))

    assert interval(pairs, of_sums) == (2.0, 2.0)


def test_a_ratio_needs_both_values() -> None:
    assert ratio(4.0, 2.0) == 2.0
    assert ratio(None, 2.0) is None
    assert ratio(1.0, None) is None
    assert ratio(1.0, 0.0) is None


def clip(text: str | None = "one two", *, finished: bool = True) -> Clip:
    return Clip("x.wav", np.zeros(1, np.int16), 1.0, text, finished=finished)


def heard(first_audio_ms: float | None, *turns: tuple[float, str], **stages: float) -> Outcome:
    return Outcome(first_audio_ms, turns, dict(stages))


def test_times_are_counted_from_the_end_of_speech() -> None:
    notes = Notes(turns=[Turn(10.5, "hello")], stages={"transcript": 10.25})

    found = outcome(notes, ended=10.0, onset=11.0)

    assert found == heard(1000.0, (500.0, "hello"), transcript=250.0)
    assert outcome(notes, ended=10.0, onset=None).first_audio_ms is None


def test_a_split_clip_has_no_latency() -> None:
    whole = heard(900.0, (500.0, "one two"))
    early = heard(900.0, (-20.0, "one"))
    twice = heard(900.0, (300.0, "one"), (600.0, "two"))

    assert (whole.split, early.split, twice.split) == (False, True, True)
    assert (whole.latency_ms, early.latency_ms, twice.latency_ms) == (900.0, None, None)
    assert twice.text == "one two"


def test_a_turn_soon_after_an_unfinished_phrase_cuts_it_off() -> None:
    assert heard(900.0, (700.0, "to lock")).cut_off
    assert not heard(3500.0, (3100.0, "to lock")).cut_off
    assert not heard(None).cut_off


def test_the_word_error_rate_counts_all_words_of_all_clips() -> None:
    pairs = [
        Pair(clip("ENTER FIVE ZERO"), heard(1.0, (1.0, "Enter 5-0.")), heard(None)),
        Pair(clip("one two three"), heard(1.0, (1.0, "one, three")), heard(1.0, (1.0, "One two"))),
        Pair(clip(None), heard(1.0, (1.0, "anything")), heard(None)),
    ]

    assert word_error_rate(pairs, "ours") == pytest.approx(100 / 6)
    assert word_error_rate(pairs, "stock") == pytest.approx(400 / 6)
    assert word_error_rate([pairs[2]], "ours") is None


def test_figures_compare_only_clips_that_both_systems_answered_without_a_split() -> None:
    pairs = [
        *(
            Pair(clip(), heard(t, (9.0, "one two"), transcript=t / 2), heard(3 * t, (9.0, "one")))
            for t in (100.0, 200.0, 300.0)
        ),
        Pair(clip(), heard(1.0, (-5.0, "one"), (9.0, "two")), heard(50_000.0, (9.0, "one two"))),
        Pair(clip(finished=False), heard(3200.0, (3100.0, "one")), heard(800.0, (700.0, "one"))),
        Pair(clip(), heard(700.0, (9.0, "one two")), heard(None)),
    ]

    found = figures(pairs, seed=1)

    assert found["compared"] == 3
    assert found["ours"]["first_audio_ms"]["p50"] == 200.0
    assert found["stock"]["first_audio_ms"]["p50"] == 600.0
    assert (found["ratio_p50"], found["ratio_p50_interval"]) == (3.0, [3.0, 3.0])
    assert found["ours"]["stages_ms"]["transcript"] == {"p50": 100.0, "p95": 145.0}
    assert [found[name]["cut_offs"] for name in ("ours", "stock")] == [0, 1]
    waits = [found[name]["unfinished_decided_ms"] for name in ("ours", "stock")]
    assert waits[0] == {"p50": 3100.0, "within": {"1_s": 0, "1.5_s": 0, "2_s": 0, "3_s": 0}}
    assert waits[1]["within"] == {"1_s": 1, "1.5_s": 1, "2_s": 1, "3_s": 1}
    assert [found[name]["splits"] for name in ("ours", "stock")] == [1, 0]
    assert [found[name]["unanswered"] for name in ("ours", "stock")] == [0, 1]
    assert found["wer_difference"] < 0
    assert "stock / ours at p50: 3.0" in table(found)


def test_figures_of_one_unanswered_clip_are_empty_and_can_be_shown() -> None:
    found = figures([Pair(clip(None), heard(None), heard(None))], seed=1)

    assert found["ratio_p50"] is None
    assert found["ours"]["first_audio_ms"]["p95"] is None
    assert table(found)


async def test_a_loudspeaker_records_when_sound_becomes_audible_but_not_every_block() -> None:
    loudspeaker = TimedLoudspeaker()
    await loudspeaker.open(16_000)
    silence, tone = np.zeros(3200, np.int16), np.full(320, 5000, np.int16)
    try:
        begun = asyncio.get_running_loop().time()
        await loudspeaker.play(np.concatenate([silence, tone]))
        for _ in range(3):
            await loudspeaker.play(tone)
        assert len(loudspeaker.onsets) == 1
        await loudspeaker.play(np.concatenate([silence, silence, tone]))
    finally:
        await loudspeaker.close()

    first, second = loudspeaker.onsets
    assert first >= begun + len(silence) / 16_000
    assert second > first
