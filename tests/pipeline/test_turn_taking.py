"""Turns end in the right places and are not split, and withdrawn work leaves no trace."""

from pathlib import Path

import numpy as np
import pytest

from assistant.events import AnswerText, Notice, PromptBuilt, SpeechIgnored, TurnHeard
from assistant.voice.speech import hearing
from tests.support.fakes import (
    ScriptedEnd,
    ScriptedLlm,
    ScriptedStt,
    UnfinishedWords,
    silence,
    sound,
)
from tests.support.session import session


async def test_a_turn_is_heard_answered_and_stored(tmp_path: Path) -> None:
    llm = ScriptedLlm("Hello there, nice to meet you.")
    async with session(ScriptedStt("Hi, I am Max."), llm, sound(1.0, 0.5), tmp_path) as talk:
        await talk.to_the_end()
        [turn] = talk.turns
        said = [("user", "Hi, I am Max."), ("assistant", "Hello there, nice to meet you.")]
        assert [("user", turn.user), ("assistant", turn.assistant)] == said
        assert not turn.interrupted
        assert talk.history()[:2] == said
        assert talk.loudspeaker.played() > 16_000
        times = turn.latency_ms
        steps = [times.transcript, times.recall, times.first_token, times.first_audio]
        taken = [step for step in (0.0, *steps) if step is not None]
        assert len(taken) == 5
        assert taken == sorted(taken)
        assert times.turn_decided is not None


async def test_a_pause_inside_a_turn_does_not_split_it(tmp_path: Path) -> None:
    """The first answer is withdrawn: it is never heard, shown or remembered."""
    llm = ScriptedLlm("Which ocean do you mean?", "Here are three facts.", token_s=0.2)
    stt = ScriptedStt(
        by_length=lambda s: (
            "Tell me three facts" if s < 1.6 else "Tell me three facts about the ocean."
        )
    )
    end = ScriptedEnd(0.1, 0.1, 0.99)  # the sound of a longer pause is judged twice
    async with session(stt, llm, sound(0.8, 0.6, 0.8, 0.5), tmp_path, end=end) as talk:
        await talk.to_the_end()
        assert [turn.user for turn in talk.turns] == ["Tell me three facts about the ocean."]
        assert [event.text for event in talk.of(TurnHeard)] == [talk.turns[0].user]
        written = "".join(event.text for event in talk.of(AnswerText))
        assert written == "Here are three facts."
        assert len(talk.of(PromptBuilt)) == 1
        assert "Which ocean" not in str(talk.history())
        assert talk.turns[0].turn == 1
        assert (len(llm.requests), llm.cancelled) == (2, 1)


@pytest.mark.parametrize(("pause_s", "delay_s"), [(0.35, 0.7), (0.6, 0.45)])
async def test_a_late_transcript_belongs_to_its_turn(
    tmp_path: Path, pause_s: float, delay_s: float
) -> None:
    """The transcript arrives after the pause, or after the silence that would end the turn."""
    stt = ScriptedStt(by_length=lambda s: f"words of {s:.1f} seconds.", delay_s=delay_s)
    end = ScriptedEnd(0.1, 0.1, 0.99)  # the sound of a longer pause is judged twice
    async with session(
        stt, ScriptedLlm(), sound(0.8, pause_s, 0.8, 0.5), tmp_path, end=end
    ) as talk:
        await talk.to_the_end()
        assert len(talk.turns) == 1
        assert float(talk.turns[0].user.split()[2]) > 1.9


async def test_words_still_being_recognised_are_not_lost_when_the_next_utterance_begins(
    tmp_path: Path,
) -> None:
    """The user speaks on after the end of a turn, before its words are recognised: all is one
    turn."""
    texts = iter(["Tell me about the ocean.", "Please."])
    known: dict[float, str] = {}

    def by_length(seconds: float) -> str:
        return known.setdefault(round(seconds, 1), next(texts, "too much"))

    stt = ScriptedStt(by_length=by_length, delay_s=1.0)
    settings: dict[str, dict[str, float]] = {
        "turn": {"patience": 0.25},
        "stt": {"partials": False},
    }
    speech = sound(0.8, 0.8, 0.5, 1.0)
    async with session(stt, ScriptedLlm(), speech, tmp_path, settings=settings) as talk:
        await talk.to_the_end()
        assert [turn.user for turn in talk.turns] == ["Tell me about the ocean. Please."]


async def test_a_turn_that_sounds_finished_stays_open_if_its_words_are_incomplete(
    tmp_path: Path,
) -> None:
    """The voice falls at "is called", Smart Turn reports the end, and the name follows a second
    later."""
    stt = ScriptedStt(
        by_length=lambda s: "My dog is called Max." if s > 1.6 else "My dog is called"
    )
    words = UnfinishedWords("My dog is called")
    speech = sound(0.8, 0.9, 0.5, 0.6)
    async with session(stt, ScriptedLlm(), speech, tmp_path, judge=words) as talk:
        await talk.to_the_end()
        assert [turn.user for turn in talk.turns] == ["My dog is called Max."]


async def test_a_pause_shorter_than_the_answer_takes_splits_no_turn(tmp_path: Path) -> None:
    """After words that seem complete, the user goes on while the answer is still being written."""
    llm = ScriptedLlm("Here is one about the sea for you.", token_s=0.2)
    stt = ScriptedStt(by_length=lambda s: "Tell me a poem about the sea." if s > 1.6 else "A poem.")
    async with session(stt, llm, sound(0.8, 0.9, 0.5, 2.0), tmp_path) as talk:
        await talk.to_the_end()
        [turn] = talk.turns
        assert turn.user == "Tell me a poem about the sea."
        assert not turn.interrupted
        assert turn.latency_ms.turn_decided is not None
        assert turn.latency_ms.first_token is not None
        assert turn.latency_ms.turn_decided >= turn.latency_ms.first_token
        assert [message for message in talk.history() if "A poem." in message[1]] == []


@pytest.mark.parametrize(
    ("words", "sounds", "decided_s"),
    [
        ("Half an hour.", 0.99, (0.4, 0.6)),
        ("Half an hour.", 0.1, (0.6, 2.6)),
        ("I was thinking that", 0.1, (2.9, 3.2)),
    ],
)
async def test_the_less_finished_a_turn_sounds_and_reads_the_longer_is_the_wait(
    tmp_path: Path, words: str, sounds: float, decided_s: tuple[float, float]
) -> None:
    async with session(
        ScriptedStt(words),
        ScriptedLlm(),
        sound(0.8, 3.6),
        tmp_path,
        end=ScriptedEnd(sounds, sounds),
        judge=UnfinishedWords("I was thinking that"),
    ) as talk:
        await talk.to_the_end()
        [turn] = talk.turns
        assert turn.latency_ms.turn_decided is not None
        assert decided_s[0] * 1000 < turn.latency_ms.turn_decided < decided_s[1] * 1000


async def test_the_judge_of_the_words_gets_the_question_that_was_just_asked(
    tmp_path: Path,
) -> None:
    words = UnfinishedWords()
    stt, llm = ScriptedStt("Book a table.", "Two people."), ScriptedLlm("Sure. For how many?")
    speech = sound(0.8, 3.0, 0.5, 1.0)
    async with session(stt, llm, speech, tmp_path, judge=words) as talk:
        await talk.to_the_end()
        assert len(talk.turns) == 2
        assert words.questions == ["", "For how many?"]


async def test_a_turn_ends_even_if_the_hint_comes_later_than_the_longest_silence(
    tmp_path: Path,
) -> None:
    settings = {"turn": {"hint_s": 0.9, "patience": 0.25}}
    speech = sound(0.8, 2.0)
    stt = ScriptedStt("Hello.")
    async with session(stt, ScriptedLlm(), speech, tmp_path, settings=settings) as talk:
        await talk.to_the_end()
        assert [turn.user for turn in talk.turns] == ["Hello."]


async def test_noise_recognised_as_words_is_not_a_turn(tmp_path: Path) -> None:
    stt = ScriptedStt("Thanks for watching!", no_speech=0.97)
    async with session(stt, ScriptedLlm(), sound(0.25, 1.0), tmp_path) as talk:
        await talk.to_the_end()
        assert talk.turns == []
        assert talk.of(SpeechIgnored)
        assert talk.history() == [talk.history()[-1]]


async def test_a_click_does_not_even_begin_a_turn(tmp_path: Path) -> None:
    stt = ScriptedStt("click")
    click = np.concatenate([silence(0.3), sound(0.05, 0.8)])
    async with session(stt, ScriptedLlm(), click, tmp_path) as talk:
        await talk.to_the_end()
        assert stt.heard == []
        assert talk.turns == []


async def test_a_long_turn_is_recognised_in_parts_and_remains_one_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hearing, "SEGMENT_S", 1.0)
    stt = ScriptedStt(by_length=lambda seconds: f"part of {seconds:.0f}.")
    speech = sound(1.4, 0.16, 1.4, 0.16, 1.4, 0.6)
    async with session(stt, ScriptedLlm(), speech, tmp_path) as talk:
        await talk.to_the_end()
        [turn] = talk.turns
        assert turn.user.count("part of") == 3
        assert max(stt.heard) < 2.5


async def test_speech_without_a_pause_is_cut_before_the_recogniser_window_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hearing, "LONGEST_SEGMENT_S", 1.5)
    stt = ScriptedStt(by_length=lambda seconds: "rain")
    async with session(stt, ScriptedLlm(), sound(4.0, 0.6), tmp_path) as talk:
        await talk.to_the_end()
        [turn] = talk.turns
        assert turn.user.split() == ["rain"] * 3
        assert max(stt.heard) <= 1.6


async def test_an_endless_turn_is_cut_and_answered_and_the_user_is_notified(tmp_path: Path) -> None:
    settings = {"turn": {"max_turn_s": 2}}
    llm = ScriptedLlm("First part heard.", "And the rest.")
    stt = ScriptedStt(by_length=lambda seconds: f"words of {seconds:.0f} seconds")
    async with session(stt, llm, sound(3.2, 0.8), tmp_path, settings=settings) as talk:
        await talk.to_the_end()
        assert [notice.text for notice in talk.of(Notice)] == [hearing.TOO_LONG]
        # On a busy machine, the rest begins before the first words are recognised: one turn.
        said = " ".join(turn.user for turn in talk.turns)
        assert said.split() == ["words", "of", "2", "seconds", "words", "of", "1", "seconds"]
