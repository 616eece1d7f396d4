"""Speech without an end: cut where the voice is weak, never transcribed twice, never lost."""

from pathlib import Path

import numpy as np
import pytest

from assistant.events import Notice
from assistant.settings import Settings
from assistant.voice.speech.hearing import TOO_LONG
from assistant.voice.turns import turn_detector
from tests.support.fakes import ScriptedLlm, ScriptedStt, silence, speech
from tests.support.session import session


async def test_a_long_turn_is_heard_in_parts_and_is_one_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turn_detector, "SEGMENT_S", 1.0)
    stt = ScriptedStt(by_length=lambda seconds: f"part of {seconds:.0f}.")
    pause = silence(0.16)
    sound = np.concatenate([speech(1.4), pause, speech(1.4), pause, speech(1.4), silence(0.6)])
    async with session(stt, ScriptedLlm(), sound, tmp_path) as talk:
        await talk.to_the_end()
        [turn] = talk.turns
        assert turn.user.count("part of") == 3
        assert max(stt.heard) < 2.5


async def test_speech_without_a_pause_is_cut_before_the_recogniser_window_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turn_detector, "LONGEST_SEGMENT_S", 1.5)
    stt = ScriptedStt(by_length=lambda seconds: "rain")
    sound = np.concatenate([speech(4.0), silence(0.6)])
    async with session(stt, ScriptedLlm(), sound, tmp_path) as talk:
        await talk.to_the_end()
        [turn] = talk.turns
        assert turn.user.split() == ["rain"] * 3
        assert max(stt.heard) <= 1.6


async def test_a_turn_without_an_end_is_answered_with_a_sentence_about_it(tmp_path: Path) -> None:
    settings = Settings.model_validate({"general": {"sounds": False}, "turn": {"max_turn_s": 2}})
    llm = ScriptedLlm("First part heard.", "And the rest.")
    sound = np.concatenate([speech(3.2), silence(0.8)])
    stt = ScriptedStt(by_length=lambda seconds: f"words of {seconds:.0f} seconds")
    async with session(stt, llm, sound, tmp_path, settings=settings) as talk:
        await talk.to_the_end()
        assert [notice.text for notice in talk.of(Notice)] == [TOO_LONG]
        # On a busy machine the rest begins before the first words are there: then it is one turn.
        said = " ".join(turn.user for turn in talk.turns)
        assert said.split() == ["words", "of", "2", "seconds", "words", "of", "1", "seconds"]
