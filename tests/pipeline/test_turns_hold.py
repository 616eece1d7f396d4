"""Turns that hold: nothing splits them, nothing provisional leaves a trace."""

from pathlib import Path

import numpy as np

from assistant.events import AnswerText, PromptBuilt, SpeechIgnored, TurnHeard
from assistant.settings import Settings
from tests.support.fakes import ScriptedEnd, ScriptedLlm, ScriptedStt, silence, speech
from tests.support.session import session


async def test_a_turn_is_heard_answered_and_kept(tmp_path: Path) -> None:
    llm = ScriptedLlm("Hello there, nice to meet you.")
    sound = np.concatenate([speech(1.0), silence(0.5)])
    async with session(ScriptedStt("Hi, I am Max."), llm, sound, tmp_path) as talk:
        await talk.to_the_end()
        [turn] = talk.turns
        assert (turn.user, turn.assistant) == ("Hi, I am Max.", "Hello there, nice to meet you.")
        assert not turn.interrupted
        assert talk.history()[:2] == [
            ("user", "Hi, I am Max."),
            ("assistant", "Hello there, nice to meet you."),
        ]
        assert len(talk.loudspeaker.name) > 0
        assert talk.loudspeaker.played() > 16_000


async def test_every_step_of_a_turn_is_timed_in_order(tmp_path: Path) -> None:
    sound = np.concatenate([speech(1.0), silence(0.5)])
    async with session(ScriptedStt("What time is it?"), ScriptedLlm(), sound, tmp_path) as talk:
        await talk.to_the_end()
        times = talk.turns[0].latency_ms
        assert times.turn_decided is not None
        steps = [times.transcript, times.recall, times.first_token, times.first_audio]
        taken = [step for step in steps if step is not None]
        assert len(taken) == 4
        assert taken == sorted(taken)
        assert taken[0] > 0


async def test_a_pause_inside_a_turn_does_not_split_it(tmp_path: Path) -> None:
    """The first attempt is withdrawn: its answer is never heard, shown or remembered."""
    llm = ScriptedLlm("Which ocean do you mean?", "Here are three facts.")
    stt = ScriptedStt(
        by_length=lambda s: (
            "Tell me three facts" if s < 1.6 else "Tell me three facts about the ocean."
        )
    )
    sound = np.concatenate([speech(0.8), silence(0.6), speech(0.8), silence(0.5)])
    end = ScriptedEnd(0.1, 0.99)
    async with session(stt, llm, sound, tmp_path, end=end) as talk:
        await talk.to_the_end()
        assert [turn.user for turn in talk.turns] == ["Tell me three facts about the ocean."]
        assert [event.text for event in talk.of(TurnHeard)] == [talk.turns[0].user]
        written = "".join(event.text for event in talk.of(AnswerText))
        assert written == "Here are three facts."
        assert len(talk.of(PromptBuilt)) == 1
        assert "Which ocean" not in str(talk.history())
        assert talk.turns[0].turn == 1
        assert len(llm.requests) == 2


async def test_a_transcript_that_comes_late_belongs_to_its_turn(tmp_path: Path) -> None:
    """Recognition slower than the pause: the words of both parts are one turn."""
    stt = ScriptedStt(by_length=lambda s: f"words of {s:.1f} seconds", delay_s=0.7)
    sound = np.concatenate([speech(0.8), silence(0.35), speech(0.8), silence(0.5)])
    end = ScriptedEnd(0.1, 0.99)
    async with session(stt, ScriptedLlm(), sound, tmp_path, end=end) as talk:
        await talk.to_the_end()
        assert len(talk.turns) == 1
        assert float(talk.turns[0].user.split()[2]) > 1.9


async def test_words_still_being_recognised_are_not_lost_to_the_next_utterance(
    tmp_path: Path,
) -> None:
    """The turn was decided, its words not yet there, and the user spoke on: both are one turn."""
    texts = iter(["Tell me about the ocean.", "Please."])
    known: dict[float, str] = {}

    def by_length(seconds: float) -> str:
        return known.setdefault(round(seconds, 1), next(texts, "too much"))

    stt = ScriptedStt(by_length=by_length, delay_s=1.0)
    sound = np.concatenate([speech(0.8), silence(0.8), speech(0.5), silence(1.0)])
    settings = {"general": {"sounds": False}, "turn": {"doubtful_wait_s": 0.5}}

    async with session(
        stt, ScriptedLlm(), sound, tmp_path, settings=Settings.model_validate(settings)
    ) as talk:
        await talk.to_the_end()
        assert [turn.user for turn in talk.turns] == ["Tell me about the ocean. Please."]


async def test_an_unfinished_phrase_is_answered_after_a_long_silence(tmp_path: Path) -> None:
    settings = Settings.model_validate(
        {"general": {"sounds": False}, "turn": {"incomplete_wait_s": 1.0}}
    )
    sound = np.concatenate([speech(0.8), silence(1.6)])
    async with session(
        ScriptedStt("I was thinking that"),
        ScriptedLlm(),
        sound,
        tmp_path,
        settings=settings,
        end=ScriptedEnd(0.1),
    ) as talk:
        await talk.to_the_end()
        [turn] = talk.turns
        assert turn.latency_ms.turn_decided is not None
        assert turn.latency_ms.turn_decided > 900


async def test_noise_that_the_recogniser_makes_words_of_is_no_turn(tmp_path: Path) -> None:
    stt = ScriptedStt("Thanks for watching!", no_speech=0.97)
    sound = np.concatenate([speech(0.25), silence(1.0)])
    async with session(stt, ScriptedLlm(), sound, tmp_path) as talk:
        await talk.to_the_end()
        assert talk.turns == []
        assert talk.of(SpeechIgnored)
        assert talk.history() == [talk.history()[-1]]


async def test_a_click_does_not_even_begin_a_turn(tmp_path: Path) -> None:
    stt = ScriptedStt("click")
    sound = np.concatenate([silence(0.3), speech(0.05), silence(0.8)])
    async with session(stt, ScriptedLlm(), sound, tmp_path) as talk:
        await talk.to_the_end()
        assert stt.heard == []
        assert talk.turns == []


async def test_words_that_want_more_hold_a_turn_that_sounds_finished(tmp_path: Path) -> None:
    """The voice falls at "is called", Smart Turn says done, and the name comes a second later."""
    stt = ScriptedStt(
        by_length=lambda s: "My dog is called Max." if s > 1.6 else "My dog is called"
    )
    sound = np.concatenate([speech(0.8), silence(0.9), speech(0.5), silence(0.6)])
    async with session(stt, ScriptedLlm(), sound, tmp_path) as talk:
        await talk.to_the_end()
        assert [turn.user for turn in talk.turns] == ["My dog is called Max."]


async def test_finished_words_end_a_turn_that_does_not_sound_finished(tmp_path: Path) -> None:
    settings = Settings.model_validate(
        {"general": {"sounds": False}, "turn": {"doubtful_wait_s": 0.7, "incomplete_wait_s": 3}}
    )
    sound = np.concatenate([speech(0.8), silence(1.5)])
    end = ScriptedEnd(0.1)
    async with session(
        ScriptedStt("Half an hour."), ScriptedLlm(), sound, tmp_path, settings=settings, end=end
    ) as talk:
        await talk.to_the_end()
        [turn] = talk.turns
        assert turn.latency_ms.turn_decided is not None
        assert 600 < turn.latency_ms.turn_decided < 2500
