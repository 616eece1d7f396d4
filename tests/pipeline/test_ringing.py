"""When the bell sounds for what is due."""

import asyncio
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from assistant.events import (
    AnswerHeard,
    Phase,
    PhaseChanged,
    Remarked,
    RingingChanged,
    TurnEnded,
    TurnHeard,
    TurnStarted,
)
from assistant.voice.audio.chimes import ring_sound
from assistant.voice.pipeline import SILENT_RATE
from models.interfaces import SpokenPiece
from tests.support.fakes import ScriptedEnd, ScriptedLlm, ScriptedStt, ToneTts, sound
from tests.support.ringing import BELL, LONG, ONCE_S, UP, order, ringing, start, until


class SlowTts(ToneTts):
    """Takes 0.4 s for each clause."""

    def synthesize(self, text: str) -> Iterator[SpokenPiece]:
        time.sleep(0.4)
        yield from super().synthesize(text)


async def test_in_silence_the_bell_sounds_at_once_before_the_words(tmp_path: Path) -> None:
    async with ringing(tmp_path) as (talk, heard):
        assert await start(talk, insistent=False)
        assert heard.bells == 1
        whole = np.concatenate(heard.blocks)
        assert np.array_equal(whole[: len(BELL)], BELL)
        assert len(whole) == pytest.approx(ONCE_S * ToneTts.sample_rate, abs=2)
        shown = [each for each in talk.events if isinstance(each, RingingChanged | Remarked)]
        assert shown == [RingingChanged(True), Remarked(UP), RingingChanged(False)]
        assert talk.dialogue.quiet.is_set()
        assert talk.of(PhaseChanged)[-1].phase is Phase.LISTENING


async def test_it_waits_for_the_end_of_an_answer(tmp_path: Path) -> None:
    async with ringing(tmp_path, llm=ScriptedLlm(LONG)) as (talk, _):
        await talk.loop.say("Count for me.")
        await until(lambda: talk.of(AnswerHeard))
        assert await start(talk, insistent=False)
        assert order(talk, TurnEnded, Remarked) == [TurnEnded, Remarked]
        assert talk.turns[0].assistant == LONG


async def test_a_long_answer_is_cut_off_at_the_end_of_a_sentence(tmp_path: Path) -> None:
    sentences = [f"{name}, {LONG}" for name in ("Ada", "Bea", "Cleo", "Dora", "Edda", "Fay")]
    async with ringing(tmp_path, llm=ScriptedLlm(" ".join(sentences))) as (talk, heard):
        await talk.loop.say("Count for me.")
        await until(lambda: talk.of(AnswerHeard))
        assert await start(talk, insistent=False)
        [turn] = talk.turns
        assert turn.interrupted
        assert turn.assistant in [" ".join(sentences[:count]) for count in (2, 3, 4)]
        assert heard.bells == 1


async def test_it_waits_while_the_user_speaks(tmp_path: Path) -> None:
    stt, hears = ScriptedStt("Tell me about the weather today."), sound(12.0, 0.7)
    async with ringing(tmp_path, stt=stt, hears=hears) as (talk, _):
        await until(lambda: talk.of(TurnStarted))
        assert await start(talk, insistent=False)
        assert order(talk, TurnEnded, Remarked) == [TurnEnded, Remarked]
        assert not talk.turns[0].interrupted


async def test_after_half_a_minute_of_speech_it_rings_all_the_same(tmp_path: Path) -> None:
    stt, hears = ScriptedStt("And then we went on."), sound(42.0, 0.7)
    async with ringing(tmp_path, stt=stt, hears=hears) as (talk, heard):
        await until(lambda: talk.of(TurnStarted))
        assert await start(talk, insistent=False)
        assert heard.bells == 1
        assert talk.of(TurnHeard) == [], "the user is still speaking"
        await talk.to_the_end()
        assert [turn.assistant for turn in talk.turns] == ["Sunny."]


async def test_it_rings_after_the_answer_if_the_user_went_on_speaking_after_a_pause(
    tmp_path: Path,
) -> None:
    stt, hears = ScriptedStt("And then we went on."), sound(29.7, 0.7, 3.0, 0.7)
    end, tts = ScriptedEnd(0.1, 0.1), SlowTts()
    async with ringing(tmp_path, stt=stt, hears=hears, end=end, tts=tts) as (talk, heard):
        await until(lambda: talk.of(TurnStarted))
        rings = start(talk, insistent=False)
        await talk.to_the_end()
        await asyncio.sleep(10)
        assert rings.done()
        assert await rings
        assert heard.bells == 1
        assert [turn.interrupted for turn in talk.turns] == [False]


async def test_an_insistent_bell_repeats_and_gives_up_after_a_minute(tmp_path: Path) -> None:
    async with ringing(tmp_path) as (talk, heard):
        assert await start(talk) == heard.bells
        assert 5 <= heard.bells <= 15
        assert talk.of(Remarked) == [Remarked(UP)], "it is written once"
        assert not talk.dialogue.ringing


async def test_a_muted_assistant_rings_and_stays_muted(tmp_path: Path) -> None:
    async with ringing(tmp_path) as (talk, heard):
        talk.loop.hear.open = False
        talk.dialogue.mute(True)
        assert await start(talk, insistent=False)
        assert heard.bells == 1
        assert talk.of(PhaseChanged)[-1].phase is Phase.MUTED


async def test_without_sound_it_waits_until_the_sound_is_back(tmp_path: Path) -> None:
    async with ringing(tmp_path) as (talk, heard):
        rings = start(talk, insistent=False)
        await asyncio.sleep(0.5)
        talk.loop.sound(works=False)
        await asyncio.sleep(30)
        assert not rings.done()
        assert not talk.dialogue.aloud
        talk.loop.sound(works=True)
        assert await rings
        assert heard.bells == 2


async def test_what_is_no_longer_wanted_does_not_ring(tmp_path: Path) -> None:
    async with ringing(tmp_path) as (talk, heard):
        assert not await start(talk, lambda: None)
        assert (heard.bells, talk.of(Remarked), talk.of(RingingChanged)) == (0, [], [])


async def test_it_ends_when_it_is_no_longer_wanted(tmp_path: Path) -> None:
    wanted = [UP, UP]
    async with ringing(tmp_path) as (talk, heard):
        assert await start(talk, lambda: wanted.pop() if wanted else None)
        assert heard.bells == 2


async def test_without_a_voice_the_words_are_written_and_the_bell_sounds_once(
    tmp_path: Path,
) -> None:
    async with ringing(tmp_path, speaks=False) as (talk, heard):
        heard.bell = ring_sound(SILENT_RATE)
        assert await start(talk)
        assert talk.of(Remarked) == [Remarked(UP)]
        assert heard.bells == 1


async def test_two_things_ring_one_after_the_other(tmp_path: Path) -> None:
    async with ringing(tmp_path) as (talk, heard):
        lines = UP, "Call Anna."
        both = [start(talk, partial(str, each), insistent=False) for each in lines]
        assert await asyncio.gather(*both) == [True, True]
        assert [each.text for each in talk.of(Remarked)] == list(lines)
        assert heard.bells == 2
