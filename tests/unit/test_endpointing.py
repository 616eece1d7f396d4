"""The endpointer on probabilities alone."""

from assistant.voice.turns.endpointing import WINDOW_S, Endpointer, Signal


def endpointer() -> Endpointer:
    return Endpointer(
        confidence=0.6,
        start_s=0.16,
        hint_s=0.064,
        stop_s=0.2,
        doubtful_wait_s=0.6,
        incomplete_wait_s=1.0,
    )


def windows(seconds: float) -> int:
    return round(seconds / WINDOW_S)


def fed(machine: Endpointer, *stretches: tuple[float, float]) -> list[Signal]:
    """Feeds (probability, seconds) stretches; returns all signals in order."""
    signals: list[Signal] = []
    for probability, seconds in stretches:
        for _ in range(windows(seconds)):
            signals += machine.feed(probability)
    return signals


def test_speech_then_silence_gives_each_signal_once_in_order() -> None:
    assert fed(endpointer(), (0.9, 0.5), (0.0, 1.5)) == [
        Signal.STARTED,
        Signal.HINT,
        Signal.STOPPED,
        Signal.DOUBTFUL_SILENCE,
        Signal.LONG_SILENCE,
    ]


def test_a_short_sound_is_abandoned() -> None:
    assert fed(endpointer(), (0.9, 0.1), (0.0, 0.5)) == [Signal.ABANDONED]


def test_a_gap_of_a_window_or_two_does_not_undo_a_beginning() -> None:
    assert fed(endpointer(), (0.9, 0.1), (0.0, 0.064), (0.9, 0.1)) == [Signal.STARTED]


def test_a_voice_after_a_hint_resumes_and_may_hint_again() -> None:
    signals = fed(endpointer(), (0.9, 0.5), (0.0, 0.13), (0.9, 0.3), (0.0, 0.25))
    assert signals == [Signal.STARTED, Signal.HINT, Signal.RESUMED, Signal.HINT, Signal.STOPPED]


def test_a_fading_voice_is_still_a_voice_after_a_hint_too() -> None:
    assert fed(endpointer(), (0.9, 0.3), (0.45, 0.5)) == [Signal.STARTED]
    assert Signal.RESUMED in fed(endpointer(), (0.9, 0.3), (0.0, 0.1), (0.45, 0.1))


def test_reset_waits_for_the_next_beginning() -> None:
    machine = endpointer()
    fed(machine, (0.9, 0.5), (0.0, 0.25))
    machine.reset()
    assert fed(machine, (0.0, 2.0)) == []
    assert fed(machine, (0.9, 0.5)) == [Signal.STARTED]
