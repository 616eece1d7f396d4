"""A soft sound is played while the user waits, and only then."""

from pathlib import Path

import pytest

from assistant.voice.thinking_cue import REPEAT_S
from tests.support.fakes import ScriptedLlm, ScriptedStt, sound
from tests.support.session import Session, session

SOUNDS = {"general": {"sounds": True}}


def count_chimes(talk: Session, monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """A list that gets an entry, whether the answer was aloud, for each time the sound plays."""
    played: list[bool] = []
    chime = talk.dialogue.voice.chime

    def note() -> None:
        played.append(talk.dialogue.aloud)
        chime()

    monkeypatch.setattr(talk.dialogue.voice, "chime", note)
    return played


async def test_an_answer_that_is_ready_when_the_turn_ends_needs_no_sound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    speech = sound(0.8, 2.0)
    async with session(
        ScriptedStt("Hello."), ScriptedLlm("Hi."), speech, tmp_path, settings=SOUNDS
    ) as talk:
        played = count_chimes(talk, monkeypatch)
        await talk.to_the_end()
        assert [turn.assistant for turn in talk.turns] == ["Hi."]
        assert played == []


async def test_while_a_slow_answer_is_prepared_the_sound_is_repeated_until_it_is_heard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    llm = ScriptedLlm("Slow.", token_s=1.2 + 2.5 * REPEAT_S)
    async with session(
        ScriptedStt("Hello."), llm, sound(0.8, 9.0), tmp_path, settings=SOUNDS
    ) as talk:
        played = count_chimes(talk, monkeypatch)
        await talk.to_the_end()
        assert [turn.assistant for turn in talk.turns] == ["Slow."]
        assert played == [False] * 3


async def test_the_sound_stops_when_the_user_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    llm = ScriptedLlm("Never heard.", "Fine.", token_s=3.0)
    stt = ScriptedStt(by_length=lambda s: "Hello." if s > 1.4 else "Wait.")
    speech = sound(1.2, 2.0, 0.6, 5.0)
    async with session(stt, llm, speech, tmp_path, settings=SOUNDS) as talk:
        played = count_chimes(talk, monkeypatch)
        await talk.to_the_end()
        assert talk.turns[0].interrupted
        assert len(played) <= 3
        assert not any(played)
