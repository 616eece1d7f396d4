"""Spoken commands: which are drawn, how noise is added, and what counts as lost by hearing."""

import numpy as np
import pytest

from assistant.intents.command import Command, CommandKind, Intent
from models.interfaces import STT_SAMPLE_RATE, Samples
from scripts.common.rows import InputUnusable
from scripts.common.utterances import Utterance
from scripts.eval.intents import Understood
from scripts.eval.spoken_commands import (
    BABBLE,
    PINK,
    Heard,
    conditions_of,
    drawn,
    figures,
    table,
    worst,
)
from scripts.eval.voices import Voice, babble, noisy, pink_noise, with_margins
from tests.support.voices import voice

STOP, SLEEP, ALL = CommandKind.STOP, CommandKind.SLEEP, CommandKind.FORGET_ALL


def heard(
    said: str,
    sound: str,
    *,
    kind: CommandKind = STOP,
    text: CommandKind | None = STOP,
    got: CommandKind | None = STOP,
) -> Heard:
    wanted = Utterance(said, kind)
    taken = [Understood(wanted, Intent(Command(each)) if each else None) for each in (text, got)]
    return Heard("a voice", sound, *taken)


def test_commands_of_all_kinds_are_drawn_in_turn_and_always_the_same() -> None:
    kinds = [STOP] * 5 + [SLEEP] * 5 + [ALL] * 2 + [None] * 9
    utterances = [Utterance(f"Number {place}.", kind) for place, kind in enumerate(kinds)]
    found = drawn(utterances, 8)
    assert [each.kind for each in found[:6]] == [ALL, SLEEP, STOP] * 2
    assert {each.kind for each in found[6:]} == {STOP, SLEEP}
    assert found == drawn(utterances, 8)


def test_what_nobody_says_is_not_drawn() -> None:
    cut = [Utterance(said, STOP) for said in ("top talking.", "stop", "Stop talking", "Stop.")]
    assert drawn(cut, 1) == cut[3:]
    with pytest.raises(InputUnusable, match="Only 1 commands can be spoken, not 2"):
        drawn(cut, 2)


def test_a_lost_command_is_lost_by_hearing_only_if_its_text_is_understood() -> None:
    found = figures(
        [
            heard("Stop talking now.", "Stop talking now."),
            heard("Stop talking now.", "Top talking.", got=None),
            heard("Hush.", "Hush.", text=None, got=None),
            heard("Hush.", "Forget that.", text=None, got=CommandKind.FORGET_THAT),
        ]
    )
    assert (found["from_text"], found["from_sound"]) == (0.5, 0.25)
    assert (found["lost_hearing"], found["lost_understanding"]) == (0.25, 0.5)
    assert (found["done_wrongly"], found["deletes_wrongly"]) == (1, 1)
    assert found["wer"] == 50.0


def test_the_worst_mishearings_are_those_of_understood_commands() -> None:
    rows = [
        heard("Stop talking.", "Stop walking.", got=None),
        heard("Stop talking.", "Hop walking.", got=SLEEP),
        heard("Be quiet now.", "Be quite now.", got=None),
        heard("Hush.", "Rush.", text=None, got=None),
        heard("Enough of that.", "Enough of cats."),
    ]
    assert [each.heard for each in worst(rows)] == ["Hop walking.", "Be quite now."]
    row = figures(rows)
    shown = "\n".join(
        table({"conditions": {"quiet": row}, "kinds": {}, "overall": row, "worst": [], "wrong": []})
    )
    assert "quiet" in shown


@pytest.mark.parametrize("snr_db", [20, 10, 0])
def test_noise_is_as_far_below_the_voice_as_was_asked(snr_db: int) -> None:
    rng = np.random.default_rng(0)
    said = voice(2, 1)
    noise = pink_noise(10 * STT_SAMPLE_RATE, rng)
    clean = with_margins(said)
    added = noisy(clean, noise, snr_db, rng).astype(float) - clean
    spoken = said[said != 0].astype(float)
    measured = 10 * np.log10(np.mean(spoken**2) / np.mean(added**2))
    assert added[: STT_SAMPLE_RATE // 4].std() > 0, "noise is heard before the voice, too"
    assert measured == pytest.approx(snr_db, abs=0.5)


def test_pink_noise_loses_3_db_per_octave() -> None:
    noise = pink_noise(1 << 17, np.random.default_rng(0))
    power = np.abs(np.fft.rfft(noise)) ** 2
    low, high = power[1000:2000].mean(), power[8000:16000].mean()
    assert 10 * np.log10(low / high) == pytest.approx(9, abs=0.5)


def test_babble_has_no_pauses() -> None:
    spoken = [voice(2, seed) for seed in range(4)]
    people = babble(spoken, 4 * STT_SAMPLE_RATE, np.random.default_rng(0))
    blocks = np.sqrt((people.reshape(-1, STT_SAMPLE_RATE // 4) ** 2).mean(axis=1))
    assert blocks.min() > 0.3 * blocks.mean()


def test_each_noise_is_added_at_a_voices_own_pace_only() -> None:
    def say(_text: str) -> Samples:
        return np.zeros(9, np.int16)

    assert [each.name for each in conditions_of(Voice("ada", 1.3, say))] == ["ada, speed 1.3"]
    named = [each.name for each in conditions_of(Voice("ada", 1.0, say))]
    assert named == ["ada, speed 1"] + [
        f"ada, speed 1, {noise} at {snr} dB" for noise in (PINK, BABBLE) for snr in (20, 10)
    ]
