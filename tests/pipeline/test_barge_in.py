"""Interruptions: what stops the voice, what doesn't, and what the history then holds."""

import asyncio
from pathlib import Path

import numpy as np

from assistant.events import SpeechIgnored
from tests.support.fakes import ScriptedEnd, ScriptedLlm, ScriptedStt, silence, speech
from tests.support.session import session

LONG = "One two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen."


async def test_words_stop_the_voice_and_the_history_ends_at_the_last_word_heard(
    tmp_path: Path,
) -> None:
    llm = ScriptedLlm(LONG, "Alright.")
    stt = ScriptedStt(by_length=lambda s: "Count for me." if s > 1.2 else "Wait, count slower.")
    sound = np.concatenate([speech(1.0), silence(2.2), speech(0.7), silence(0.5)])
    async with session(stt, llm, sound, tmp_path) as talk:
        await talk.to_the_end()
        first, second = talk.turns
        assert first.interrupted
        assert LONG.startswith(first.assistant)
        assert 1 <= len(first.assistant.split()) < 12
        assert first.assistant == " ".join(LONG.split()[: len(first.assistant.split())])
        assert second.user == "Wait, count slower."
        assert second.assistant == "Alright."
        assert talk.history()[1] == ("assistant", first.assistant)


async def test_a_backchannel_lowers_the_voice_and_it_goes_on(tmp_path: Path) -> None:
    llm = ScriptedLlm(LONG)
    stt = ScriptedStt(by_length=lambda s: "Count for me." if s > 1.2 else "Mm-hmm.")
    sound = np.concatenate([speech(1.0), silence(1.8), speech(0.35), silence(0.5)])
    async with session(stt, llm, sound, tmp_path) as talk:
        gains: list[float] = []
        set_gain = talk.dialogue.voice.set_gain

        def note(gain: float) -> None:
            gains.append(gain)
            set_gain(gain)

        talk.dialogue.voice.set_gain = note
        await talk.to_the_end()
        [turn] = talk.turns
        assert not turn.interrupted
        assert turn.assistant == LONG
        assert min(gains) < 1.0
        assert gains[-1] == 1.0
        assert "backchannel" in [event.reason for event in talk.of(SpeechIgnored)]


async def test_its_own_words_from_the_loudspeaker_are_no_turn(tmp_path: Path) -> None:
    llm = ScriptedLlm(LONG)
    stt = ScriptedStt(by_length=lambda s: "Count for me." if s > 1.2 else "Three four five six.")
    sound = np.concatenate([speech(1.0), silence(1.8), speech(0.7), silence(0.5)])
    async with session(stt, llm, sound, tmp_path) as talk:
        await talk.to_the_end()
        [turn] = talk.turns
        assert not turn.interrupted
        assert turn.assistant == LONG


async def test_speech_before_the_first_word_of_the_answer_joins_the_question(
    tmp_path: Path,
) -> None:
    """Nothing of the first answer was heard, so the model is asked both at once."""
    llm = ScriptedLlm(LONG, "Both then.", token_s=0.4)
    stt = ScriptedStt(by_length=lambda s: "Tell me a joke." if s > 1.2 else "Or a poem.")
    sound = np.concatenate([speech(1.0), silence(0.6), speech(0.6), silence(0.5)])
    async with session(stt, llm, sound, tmp_path) as talk:
        await talk.to_the_end()
        first, second = talk.turns
        assert (first.assistant, first.interrupted) == ("", True)
        assert second.assistant == "Both then."
        newest = llm.requests[-1].messages[-1].content
        assert newest.index("Tell me a joke.") < newest.index("Or a poem.")


async def test_stop_is_obeyed_and_not_answered(tmp_path: Path) -> None:
    llm = ScriptedLlm(LONG)
    stt = ScriptedStt(by_length=lambda s: "Count for me." if s > 1.2 else "Stop.")
    sound = np.concatenate([speech(1.0), silence(1.8), speech(0.4), silence(0.5)])
    async with session(stt, llm, sound, tmp_path) as talk:
        await talk.to_the_end()
        [turn] = talk.turns
        assert turn.interrupted
        assert len(llm.requests) == 1


async def test_two_backchannels_in_a_row_do_not_stop_it_either(tmp_path: Path) -> None:
    """The first is withdrawn when the second begins; that is no interruption of the answer."""
    llm = ScriptedLlm(LONG)
    stt = ScriptedStt(by_length=lambda s: "Count for me." if s > 1.6 else "Mm-hmm, mm-hmm.")
    again = [speech(0.35), silence(0.16), speech(0.35), silence(0.6)]
    sound = np.concatenate([speech(1.4), silence(1.8), *again])
    async with session(stt, llm, sound, tmp_path) as talk:
        await talk.to_the_end()
        [turn] = talk.turns
        assert not turn.interrupted
        assert turn.assistant == LONG


async def test_a_typed_line_takes_the_place_of_what_is_being_said(tmp_path: Path) -> None:
    """A spoken attempt that is still undecided is withdrawn; no turn is lost or counted twice."""
    llm = ScriptedLlm("Spoken.", "Typed.")
    sound = np.concatenate([speech(1.0), silence(1.5)])
    end = ScriptedEnd(0.1)
    async with session(ScriptedStt("I was thinking"), llm, sound, tmp_path, end=end) as talk:
        while not llm.requests:
            await asyncio.sleep(0.02)
        await talk.loop.say("Never mind.")
        await talk.to_the_end()
        assert [(turn.turn, turn.user) for turn in talk.turns] == [(1, "Never mind.")]
        assert [role for role, _ in talk.history()][:2] == ["user", "assistant"]
