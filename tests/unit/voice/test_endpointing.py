"""Where speech begins and pauses."""

import pytest

from assistant.settings import Turn
from assistant.voice.turns.endpointing import WINDOW_S, Endpointer, SpeechChange

STARTED, PAUSED, RESUMED = SpeechChange.STARTED, SpeechChange.PAUSED, SpeechChange.RESUMED
SETTINGS = Turn(vad_confidence=0.6, start_s=0.16, hint_s=0.064)


def feed(endpointer: Endpointer, *stretches: tuple[float, float]) -> list[SpeechChange]:
    """Feed stretches of (probability, seconds); returns all changes in order."""
    windows = [p for p, seconds in stretches for _ in range(round(seconds / WINDOW_S))]
    return [change for p in windows if (change := endpointer.feed(p)) is not None]


@pytest.mark.parametrize(
    ("stretches", "changes"),
    [
        ([(0.9, 0.5), (0.0, 1.5)], [STARTED, PAUSED]),
        ([(0.9, 0.1), (0.0, 0.5), (0.9, 0.1)], []),  # too short
        ([(0.9, 0.1), (0.0, 0.064), (0.9, 0.1)], [STARTED]),  # a gap of two windows
        ([(0.9, 0.5), (0.0, 0.13), (0.9, 0.3), (0.0, 0.25)], [STARTED, PAUSED, RESUMED, PAUSED]),
        ([(0.9, 0.3), (0.45, 0.5)], [STARTED]),  # a fading voice is still a voice
        ([(0.9, 0.3), (0.0, 0.1), (0.45, 0.1)], [STARTED, PAUSED, RESUMED]),
    ],
)
def test_speech_starts_pauses_and_resumes(
    stretches: list[tuple[float, float]], changes: list[SpeechChange]
) -> None:
    assert feed(Endpointer(SETTINGS), *stretches) == changes


def test_a_possible_voice_is_sensed_before_it_is_certain() -> None:
    endpointer = Endpointer(SETTINGS)
    seen = [(endpointer.feed(p), endpointer.sensing) for p in (0.1, *[0.9] * 5)]
    assert [sensing for _, sensing in seen] == [False, True, True, True, True, False]
    assert seen[-1][0] is STARTED
    endpointer.reset()
    seen = [(endpointer.feed(p), endpointer.sensing) for p in (0.9, 0.1, 0.1, 0.1)]
    assert [sensing for _, sensing in seen] == [True, True, True, False]


def test_a_reset_endpointer_waits_for_the_next_speech() -> None:
    endpointer = Endpointer(SETTINGS)
    feed(endpointer, (0.9, 0.5), (0.0, 0.25))
    endpointer.reset()
    assert feed(endpointer, (0.0, 2.0)) == []
    assert feed(endpointer, (0.9, 0.5)) == [STARTED]
