"""What rules for the end of a turn do with pauses, and how spoken turns are made."""

from collections.abc import Iterator

import numpy as np
import pytest

from assistant.voice.turns.end_of_turn import EndOfTurn, Weights
from assistant.voice.turns.pipecat_models import NoDetector
from models.interfaces import SpokenPiece, WordTime
from scripts.bench.turns.fitting import Silences, chosen
from scripts.bench.turns.pauses import ANSWER_S, Heard, Pause, in_a_room
from scripts.bench.turns.policies import (
    Outcome,
    compared,
    figures,
    ours,
    outcome,
    silence_of,
    stock,
    table,
)
from scripts.bench.turns.spoken import LONGEST_S, SHORTEST_S, clips
from scripts.bench.voice.labels import Clip
from scripts.common.rows import InputUnusable
from scripts.common.spoken_turns import SpokenTurn

RATE = 16_000


def pause(
    began_s: float, lasts_s: float, *, last: bool = False, words: float = 0.0, sound: float = 0.0
) -> Pause:
    return Pause(
        began_s=began_s,
        lasts_s=lasts_s,
        last=last,
        words="some words",
        transcribed_s=0.1,
        judged_s=0.12,
        words_odds=words,
        sounds=((0.08, sound), (0.3, sound + 1)),
        stock=(0.25, sound),
    )


def heard(*pauses: Pause, finished: bool = True, end_s: float = 2.0) -> Heard:
    return Heard(Clip("clip", np.zeros(RATE, np.int16), end_s, "some words", finished), pauses)


def test_what_is_known_about_a_pause_grows_with_the_silence() -> None:
    some = pause(1.0, 1.0, words=2, sound=-1)
    known = [some.evidence(silence_s) for silence_s in (0.05, 0.1, 0.2, 0.4)]
    assert [each.words for each in known] == [None, None, 2, 2]
    assert [each.sound for each in known] == [None, -1, -1, 0]


def test_a_rule_ends_a_turn_in_a_pause_or_after_its_end() -> None:
    middle, end = pause(0.8, 0.5), pause(2.0, 3.0, last=True)
    split = outcome(heard(middle, end), silence_of(0.3))
    assert (split.early, split.failed) == (True, True)
    whole = outcome(heard(middle, end), silence_of(0.7))
    assert (whole.early, whole.failed) == (False, False)
    assert whole.wait_s == pytest.approx(0.704)
    assert outcome(heard(middle), silence_of(0.7)) == Outcome(True, None, early=False)


def test_an_unfinished_phrase_is_cut_off_if_it_ends_too_soon() -> None:
    end = pause(2.0, 3.0, last=True)
    assert outcome(heard(end, finished=False), silence_of(0.7)).failed
    assert not outcome(heard(end, finished=False), silence_of(1.7)).failed


def test_smart_turn_as_shipped_waits_three_seconds_if_a_turn_sounds_unfinished() -> None:
    for sound, wait_s in ((1.0, 0.256), (-1.0, 3.008)):
        end = pause(2.0, 3.3, last=True, sound=sound)
        assert outcome(heard(end), stock).wait_s == pytest.approx(wait_s)


def test_our_rule_uses_all_evidence() -> None:
    weights = Weights(
        words=1, least_words=-3, most_words=6, sound=1, pause_s=0.5, spread=0.8, enough=3
    )
    ends = EndOfTurn(NoDetector(), None, weights, 1.0)
    rule = ours(ends, answer_s=0.0)
    waits = [
        outcome(heard(pause(2.0, 3.3, last=True, words=words)), rule).wait_s or 0
        for words in (4, 1, -3)
    ]
    assert waits == sorted(waits)
    assert waits[0] < 0.45 < waits[1] < 1.5 < waits[2]
    end = pause(2.0, 3.3, last=True, words=4)
    assert outcome(heard(end), ours(ends, answer_s=0.5)).wait_s == pytest.approx(0.6, abs=0.1)


def test_figures_give_shares_and_waits() -> None:
    found = figures(
        [Outcome(True, 0.2, False), Outcome(True, -1.0, True), Outcome(False, 2.0, False)]
    )
    assert (found["finished"], found["unfinished"]) == (2, 1)
    assert (found["split"], found["cut_off"]) == (0.5, 0.0)
    assert (found["wait_p50"], found["wait_p95"]) == (200, 200)
    assert figures([])["split"] is None
    every = compared([heard(pause(2.0, 3.0, last=True, words=9))], [1.0])
    text = table("recordings", every)
    assert text.startswith("recordings: 1 finished turns, 0 unfinished")
    assert len(text.splitlines()) == 1 + len(every)


class Voice:
    """Says each word in a quarter of a second."""

    name, speed, sample_rate = "voice", 1.0, RATE

    def load(self) -> None:
        pass

    def synthesize(self, text: str) -> Iterator[SpokenPiece]:
        count = len(text.split())
        word = (5000 * np.sin(np.arange(RATE // 4) / 5)).astype(np.int16)
        times = [WordTime(0, 1, at / 4, (at + 1) / 4) for at in range(count)]
        yield SpokenPiece(np.tile(word, count), times)


def test_turns_are_spoken_with_their_pauses_and_cut_off_at_one() -> None:
    turns = [SpokenTurn("a", ("Call", "Anna now."), "Whom?"), SpokenTurn("a", ("Stop.",), "")]
    made = [*clips(turns, Voice(), 1)]
    whole, cut, short = (each.clip for each in made)
    assert [each.question for each in made] == ["Whom?", "Whom?", ""]
    assert [each.finished for each in (whole, cut, short)] == [True, False, True]
    assert (cut.text, short.text) == ("Call", "Stop.")
    assert SHORTEST_S <= whole.seconds - 0.75 <= LONGEST_S
    assert cut.seconds == pytest.approx(0.25, abs=0.01)
    assert whole.speech_end_s == pytest.approx(whole.seconds, abs=0.05)
    assert len(in_a_room(cut.samples)) > len(cut.samples) + 4 * RATE


def turns(words: float) -> Silences:
    """Turns with a pause after incomplete words and the end after complete ones, and unfinished
    phrases."""
    ends = pause(2.0, 3.3, last=True, words=words)
    cut = heard(pause(2.0, 3.3, last=True, words=-3), finished=False)
    return Silences([heard(pause(1.0, 0.5, words=-3), ends) for _ in range(9)] + [cut])


def test_trying_weights_gives_what_the_rule_does() -> None:
    some = [
        heard(pause(0.5, 0.4, words=1), pause(2.0, 3.3, last=True, words=2, sound=1)),
        heard(pause(0.5, 0.9, words=3), pause(2.0, 3.3, last=True, words=2)),
        heard(pause(2.0, 3.3, last=True, words=-2), finished=False),
    ]
    for enough in (1.0, 2.0, 3.0):
        weights = Weights(
            words=0.5,
            least_words=-3,
            most_words=6,
            sound=0.5,
            pause_s=0.5,
            spread=0.8,
            enough=enough,
        )
        rule = ours(EndOfTurn(NoDetector(), None, weights, 1.0))
        wanted = figures([outcome(each, rule) for each in some])
        found = Silences(some).result(weights)
        assert (found.split, found.cut_off) == (wanted["split"], wanted["cut_off"])
        middle = round(found.middle * 1000) if np.isfinite(found.middle) else None
        assert middle == wanted["wait_p50"]


def test_weights_are_chosen_that_make_few_mistakes_and_wait_little() -> None:
    result = (sets := turns(3)).result(chosen(sets, sets))
    assert (result.split, result.cut_off) == (0, 0)
    assert result.middle < ANSWER_S + 0.2


def test_if_all_weights_make_too_many_mistakes_that_is_said() -> None:
    hopeless = Silences([heard(pause(0.5, 3.2), pause(5.0, 3.3, last=True), end_s=5.0)])
    with pytest.raises(InputUnusable, match="too many turns"):
        chosen(hopeless, hopeless)
    with pytest.raises(InputUnusable, match="no pause"):
        Silences([])
