"""Barge-in: which speech stops the voice, and what the history contains afterwards."""

import asyncio
from pathlib import Path

import pytest

from assistant.events import Remarked, SpeechIgnored, TurnStarted
from assistant.voice.turns.barge_in import BEGINS_TO_INTERRUPT, INTERRUPTS, NO_INTERRUPTION
from tests.support.fakes import ScriptedEnd, ScriptedLlm, ScriptedStt, UnfinishedWords, sound
from tests.support.session import session

LONG = "One two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen."


def count_then(interruption: str, longer_s: float = 1.2) -> ScriptedStt:
    """Recognises speech of more than `longer_s` seconds as a request, shorter speech as
    `interruption`."""
    return ScriptedStt(by_length=lambda s: "Count for me." if s > longer_s else interruption)


async def test_words_stop_the_voice_and_the_history_ends_at_the_last_word_played(
    tmp_path: Path,
) -> None:
    llm, stt = ScriptedLlm(LONG, "Alright."), count_then("Wait, count slower.")
    async with session(stt, llm, sound(1.0, 2.2, 0.7, 0.5), tmp_path) as talk:
        await talk.to_the_end()
        first, second = talk.turns
        assert first.interrupted
        assert 1 <= len(first.assistant.split()) < 12
        assert first.assistant == " ".join(LONG.split()[: len(first.assistant.split())])
        assert second.user == "Wait, count slower."
        assert second.assistant == "Alright."
        assert talk.history()[1] == ("assistant", first.assistant)


@pytest.mark.parametrize(
    ("seconds", "words", "reason"),
    [
        ((1.0, 1.8, 0.35, 0.5), "Mm-hmm.", "no interruption"),
        # The second "mm-hmm" withdraws the first, without interrupting the answer.
        ((1.4, 1.8, 0.35, 0.16, 0.35, 0.6), "Mm-hmm, mm-hmm.", "no interruption"),
        ((1.0, 1.8, 0.7, 0.5), "Three four five six.", "echo"),
    ],
)
async def test_listeners_words_and_echoes_of_the_answer_only_lower_the_voice(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    seconds: tuple[float, ...],
    words: str,
    reason: str,
) -> None:
    stt = count_then(words, seconds[0] + 0.2)
    judge = UnfinishedWords(listens=("Mm-hmm.", "Mm-hmm, mm-hmm."))
    async with session(stt, ScriptedLlm(LONG), sound(*seconds), tmp_path, judge=judge) as talk:
        gains: list[float] = []
        set_gain = talk.dialogue.voice.set_gain

        def note(gain: float) -> None:
            gains.append(gain)
            set_gain(gain)

        monkeypatch.setattr(talk.dialogue.voice, "set_gain", note)
        await talk.to_the_end()
        [turn] = talk.turns
        assert not turn.interrupted
        assert turn.assistant == LONG
        assert min(gains) < 1.0
        assert gains[-1] == 1.0
        assert reason in [event.reason for event in talk.of(SpeechIgnored)]


class UnsureWords(UnfinishedWords):
    """Judges words as probably interrupting."""

    def interrupts(self, words: str, spoken: str) -> float:
        del words, spoken
        return (INTERRUPTS + BEGINS_TO_INTERRUPT) / 2


async def test_words_that_probably_interrupt_stop_the_voice_only_once_they_are_over(
    tmp_path: Path,
) -> None:
    llm, stt = ScriptedLlm(LONG, "Alright."), count_then("Too much.")
    speech, judge = sound(1.0, 1.8, 0.5, 2.0), UnsureWords()
    async with session(stt, llm, speech, tmp_path, judge=judge) as talk:
        await talk.to_the_end()
        first, second = talk.turns
        assert first.interrupted
        assert len(first.assistant.split()) > 2
        assert (second.user, second.assistant) == ("Too much.", "Alright.")
        assert not [event for event in talk.of(SpeechIgnored) if event.reason == NO_INTERRUPTION]


async def test_speech_before_the_first_word_of_the_answer_joins_the_question(
    tmp_path: Path,
) -> None:
    """Nothing of the first answer was played, so the model gets both questions at once."""
    llm = ScriptedLlm(LONG, "Both then.", token_s=0.4)
    stt = ScriptedStt(by_length=lambda s: "Tell me a joke." if s > 1.2 else "Or a poem.")
    async with session(stt, llm, sound(1.0, 1.5, 0.6, 0.5), tmp_path) as talk:
        await talk.to_the_end()
        first, second = talk.turns
        assert (first.assistant, first.interrupted) == ("", True)
        assert second.assistant == "Both then."
        newest = llm.requests[-1].messages[-1].content
        assert newest.index("Tell me a joke.") < newest.index("Or a poem.")


async def test_the_word_stop_stops_the_voice_and_is_not_answered(tmp_path: Path) -> None:
    llm = ScriptedLlm(LONG)
    async with session(count_then("Stop."), llm, sound(1.0, 1.8, 0.4, 0.5), tmp_path) as talk:
        await talk.to_the_end()
        [turn] = talk.turns
        assert turn.interrupted
        assert len(llm.requests) == 1


@pytest.mark.parametrize("words", ["Stop.", "Forget that.", "Four get that.", "Go to sleep."])
async def test_no_command_is_taken_from_an_echo_of_the_answer(tmp_path: Path, words: str) -> None:
    llm = ScriptedLlm(" ".join(["They say stop, and forget that, and go to sleep."] * 4))
    sounds = sound(1.0, 1.8, 0.4, 0.5)
    async with session(count_then(words), llm, sounds, tmp_path, obeys=True) as talk:
        await talk.to_the_end()
        [turn] = talk.turns
        assert not turn.interrupted
        assert "echo" in [event.reason for event in talk.of(SpeechIgnored)]
        assert talk.of(Remarked) == []
        assert not talk.dialogue.asleep


@pytest.mark.parametrize("seconds", [(1.0, 1.5), (2.5, 1.0)])
async def test_a_typed_line_replaces_the_spoken_turn_in_progress(
    tmp_path: Path, seconds: tuple[float, ...]
) -> None:
    """A spoken turn that has not ended yet is withdrawn, even if the user keeps speaking."""
    llm = ScriptedLlm("Spoken.", "Typed.")
    stt, end = ScriptedStt("I was thinking"), ScriptedEnd(0.1)
    async with session(stt, llm, sound(*seconds), tmp_path, end=end) as talk:
        while not (talk.of(TurnStarted) if seconds[0] > 2 else llm.requests):
            await asyncio.sleep(0.02)
        await talk.loop.say("Never mind.")
        await talk.to_the_end()
        assert [(turn.turn, turn.user) for turn in talk.turns] == [(1, "Never mind.")]
        assert [role for role, _ in talk.history()][:2] == ["user", "assistant"]
