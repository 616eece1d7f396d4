"""The time at which each written word is heard, from the phonemes of the voice."""

import pytest

from models.tts.alignment import PhonemeGroup, align_words


def groups(*sounds: int) -> list[PhonemeGroup]:
    """Consecutive groups, a tenth of a second per sound."""
    made, at = [], 0.0
    for count in sounds:
        made.append(PhonemeGroup(count, at, at + count / 10))
        at += count / 10
    return made


def test_each_group_is_a_word() -> None:
    times = align_words("Thank you.", groups(4, 2))
    assert [(t.start, t.end, t.start_s, t.end_s) for t in times] == [
        (0, 5, 0.0, 0.4),
        (6, 10, 0.4, pytest.approx(0.6)),
    ]


def test_small_words_share_a_group() -> None:
    text = "Of the two"
    times = align_words(text, groups(4, 2))
    assert [text[t.start : t.end] for t in times] == ["Of", "the", "two"]
    assert times[0].end_s == times[1].start_s
    assert times[1].end_s == times[2].start_s == 0.4


def test_a_number_has_several_groups() -> None:
    text = "say 24 now"
    times = align_words(text, groups(2, 6, 3, 2))
    assert [text[t.start : t.end] for t in times] == ["say", "24", "now"]
    assert times[1].end_s - times[1].start_s > 0.8


def test_without_words_or_sounds_there_are_no_times() -> None:
    assert align_words("", groups(3)) == []
    assert align_words("word", []) == []


def test_words_that_match_no_group_have_times_in_order() -> None:
    times = align_words("a b c d e f g h i j k l", groups(9))
    assert len(times) == 12
    assert times[0].start_s == 0
    assert times[-1].end_s == pytest.approx(0.9)
