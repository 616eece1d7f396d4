"""The figures of the screen's benchmarks, computed from made-up times."""

import pytest

from scripts.bench.screen.measuring import matching
from scripts.bench.voice.beside_screen import figures, table
from scripts.bench.voice.two_arms import Pair


def pairs(*times: tuple[float | None, float | None]) -> list[Pair]:
    return [Pair(f"{number}.wav", *each) for number, each in enumerate(times)]


def test_a_screen_that_adds_a_tenth_to_the_time_is_detected() -> None:
    found = figures(pairs(*((ms, ms * 1.1) for ms in range(500, 900, 10))), seed=1)

    assert found["ratio_p50"] == pytest.approx(1.1)
    low, high = found["ratio_p50_interval"]
    assert low <= 1.1 <= high
    assert "screen / headless at p50: 1.1 " in table(found)


def test_only_clips_answered_both_with_and_without_the_screen_are_compared() -> None:
    found = figures(pairs((500.0, 500.0), (900.0, None), (None, 100.0), (700.0, 700.0)), seed=1)

    assert (found["clips"], found["compared"]) == (4, 2)
    assert (found["headless"]["unanswered"], found["screen"]["unanswered"]) == (1, 1)
    assert found["headless"]["first_audio_ms"]["p50"] == 600.0
    assert found["ratio_p50"] == 1.0


def test_without_comparable_clips_there_is_no_ratio() -> None:
    found = figures(pairs((None, None)), seed=1)

    assert (found["ratio_p50"], found["ratio_p50_interval"]) == (None, None)
    assert "-" in table(found)


@pytest.mark.parametrize(
    ("arrived", "count"), [("abcd", 4), ("abd", 3), ("", 0), ("xaybzc", 3), ("dcba", 1)]
)
def test_keys_that_arrived_in_order_are_counted(arrived: str, count: int) -> None:
    assert matching("abcd", arrived) == count
