"""Where speech begins and pauses, how complete words are, and when the turn is over."""

import pytest

from assistant.settings import Turn
from assistant.voice.turns.endpointing import (
    WINDOW_S,
    Completeness,
    Endpointer,
    SpeechChange,
    completeness_of,
)

STARTED, PAUSED, RESUMED = SpeechChange.STARTED, SpeechChange.PAUSED, SpeechChange.RESUMED
SETTINGS = Turn(
    vad_confidence=0.6,
    start_s=0.16,
    hint_s=0.064,
    stop_s=0.2,
    doubtful_wait_s=0.6,
    incomplete_wait_s=1.0,
)


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


@pytest.mark.parametrize(
    ("sounds_finished", "completeness", "over_after_s"),
    [
        (True, Completeness.FINISHED, 0.2),
        (True, Completeness.OPEN, 0.2),
        (True, Completeness.DANGLING, 0.6),
        (True, None, 0.6),
        (False, Completeness.FINISHED, 0.6),
        (None, Completeness.FINISHED, 0.6),
        (False, Completeness.OPEN, 1.0),
        (None, None, 1.0),
    ],
)
def test_the_turn_ends_the_sooner_the_more_sound_and_words_suggest_its_end(
    sounds_finished: bool | None, completeness: Completeness | None, over_after_s: float
) -> None:
    endpointer = Endpointer(SETTINGS)
    feed(endpointer, (0.9, 0.5))
    windows = 0
    while not endpointer.turn_is_over(sounds_finished, completeness):
        endpointer.feed(0.0)
        windows += 1
    assert over_after_s <= windows * WINDOW_S < over_after_s + WINDOW_S


@pytest.mark.parametrize(
    ("text", "completeness"),
    [
        ("What time is it?", Completeness.FINISHED),
        ("Tell me a joke.", Completeness.FINISHED),
        ("I am going to Paris.", Completeness.FINISHED),
        ("Who is it from?", Completeness.FINISHED),
        ("What is my dog called?", Completeness.FINISHED),
        ("Is it your?", Completeness.DANGLING),
        ("To be or not to be, that is the question.", Completeness.FINISHED),
        ("If it rains, take an umbrella.", Completeness.FINISHED),
        ("To me it looks fine.", Completeness.FINISHED),
        ("stop", Completeness.OPEN),
        ("H-O-B-A-R-T", Completeness.OPEN),
        ("1 5 2 0 7", Completeness.OPEN),
        ("My dog is called.", Completeness.DANGLING),
        ("Remind me to", Completeness.DANGLING),
        ("I was talking to my", Completeness.DANGLING),
        ("Please enter the first...", Completeness.DANGLING),
        ("to lock or unlock the door.", Completeness.DANGLING),
        ("If it rains tomorrow", Completeness.DANGLING),
        ("I like apples and.", Completeness.DANGLING),
        ("We need milk, eggs,", Completeness.DANGLING),
        ("", Completeness.OPEN),
    ],
)
def test_words_are_finished_open_or_dangling(text: str, completeness: Completeness) -> None:
    assert completeness_of(text) is completeness


def test_in_other_languages_only_the_punctuation_counts() -> None:
    assert completeness_of("Ich gehe in the.", "de") is Completeness.FINISHED
    assert completeness_of("Ich gehe,", "de") is Completeness.DANGLING
