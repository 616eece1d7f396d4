"""What is due rings in the voice loop: when the bell sounds, and what ends it."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assistant.events import (
    AnswerHeard,
    Event,
    Phase,
    PhaseChanged,
    Remarked,
    RingingChanged,
    SpeechIgnored,
    TurnEnded,
    TurnHeard,
    TurnStarted,
)
from assistant.intents import Command, CommandKind
from assistant.skills import Reply
from assistant.voice.audio.chimes import ring_sound
from assistant.voice.pipeline import SILENT_RATE
from models.interfaces import ClassifiedText, Samples, SpeechToText
from tests.support.fakes import (
    ScriptedEnd,
    ScriptedLlm,
    ScriptedStt,
    ToneTts,
    silence,
    sound,
    speech,
)
from tests.support.session import Session, session

UP = "Your ten minute timer is up."
BELL = ring_sound(ToneTts.sample_rate)
WORDS_S = 0.05 * len(UP)
ONCE_S = len(BELL) / ToneTts.sample_rate + WORDS_S
LONG = "One two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen."


@dataclass
class Heard:
    """The sound of a session's loudspeaker."""

    bell: Samples = field(default_factory=lambda: BELL)
    blocks: list[Samples] = field(default_factory=list)

    @property
    def bells(self) -> int:
        """Number of times that the bell has begun to sound."""
        first = self.bell[: len(self.bell) // 4]
        whole = np.concatenate(self.blocks) if self.blocks else np.zeros(0, np.int16)
        found = np.flatnonzero(whole == first.max())
        starts = found - int(first.argmax())
        return sum(
            at >= 0 and np.array_equal(whole[at : at + len(first)], first) for at in starts.tolist()
        )


@asynccontextmanager
async def ringing(
    folder: Path,
    *,
    stt: SpeechToText | None = None,
    hears: Samples | None = None,
    llm: ScriptedLlm | None = None,
    **options: Any,
) -> AsyncIterator[tuple[Session, Heard]]:
    """A session, and what its loudspeaker plays."""
    heard = Heard()
    async with session(
        stt or ScriptedStt("-"),
        llm or ScriptedLlm("Sunny."),
        silence(0.2) if hears is None else hears,
        folder,
        **options,
    ) as talk:
        play = talk.loudspeaker.play

        async def note(samples: Samples) -> None:
            heard.blocks.append(samples)
            await play(samples)

        monkeypatch = pytest.MonkeyPatch()
        monkeypatch.setattr(talk.loudspeaker, "play", note)
        yield talk, heard
        monkeypatch.undo()


def start(
    talk: Session, words: Callable[[], str | None] = lambda: UP, *, insistent: bool = True
) -> "asyncio.Task[bool]":
    return asyncio.create_task(talk.loop.ringer.ring(words, insistent=insistent))


async def until(happened: Callable[[], object]) -> None:
    while not happened():
        await asyncio.sleep(0.02)


def order(talk: Session, *kinds: type[Event]) -> list[type[Event]]:
    return [type(event) for event in talk.events if isinstance(event, kinds)]


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
    answer = " ".join([LONG] * 6)
    async with ringing(tmp_path, llm=ScriptedLlm(answer)) as (talk, heard):
        await talk.loop.say("Count for me.")
        await until(lambda: talk.of(AnswerHeard))
        assert await start(talk, insistent=False)
        [turn] = talk.turns
        assert turn.interrupted
        assert turn.assistant in [" ".join([LONG] * count) for count in (2, 3, 4)]
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


async def test_a_turn_that_began_before_it_does_not_end_it(tmp_path: Path) -> None:
    stt, hears = ScriptedStt("And then we went on."), sound(32.0, 0.7)
    async with ringing(tmp_path, stt=stt, hears=hears) as (talk, heard):
        await until(lambda: talk.of(TurnStarted))
        rings = start(talk)
        await talk.to_the_end()
        assert [turn.assistant for turn in talk.turns] == ["Sunny."]
        bells = heard.bells
        await asyncio.sleep(15)
        assert heard.bells > bells >= 1
        talk.loop.ringer.silence()
        assert await rings


async def test_it_rings_after_the_answer_if_the_user_went_on_speaking_after_a_pause(
    tmp_path: Path,
) -> None:
    stt, hears = ScriptedStt("And then we went on."), sound(29.7, 0.7, 3.0, 0.7)
    end = ScriptedEnd(0.1)
    async with ringing(tmp_path, stt=stt, hears=hears, end=end) as (talk, heard):
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
        assert await start(talk)
        assert 5 <= heard.bells <= 15
        assert talk.of(Remarked) == [Remarked(UP)], "it is written once"
        assert not talk.dialogue.ringing


@pytest.mark.parametrize("after_s", [0.4, 1.8, ONCE_S + 1.5], ids=["bell", "words", "pause"])
async def test_the_word_stop_silences_it_and_does_nothing_else(
    tmp_path: Path, after_s: float
) -> None:
    hears = np.concatenate([silence(after_s), sound(0.5, 1.0)])
    async with ringing(tmp_path, stt=ScriptedStt("Stop."), hears=hears) as (talk, heard):
        assert await start(talk)
        assert heard.bells == 1
        await talk.to_the_end()
        assert talk.turns == []
        assert talk.of(Remarked) == [Remarked(UP)]
        assert not talk.dialogue.aloud


@pytest.mark.parametrize("after_s", [0.01, 0.5, 1.8, ONCE_S + 1.5])
async def test_the_stop_key_silences_it(tmp_path: Path, after_s: float) -> None:
    async with ringing(tmp_path) as (talk, heard):
        rings = start(talk)
        await asyncio.sleep(after_s)
        await talk.loop.stop_speaking()
        assert await rings
        await asyncio.sleep(5)
        assert heard.bells <= 1
        assert not talk.dialogue.aloud
        assert talk.dialogue.quiet.is_set()
        assert not talk.loop.ringer.silence(), "nothing rings any more"


async def test_a_spoken_turn_ends_it_and_is_answered(tmp_path: Path) -> None:
    stt, hears = ScriptedStt("What's the weather like?"), np.concatenate([silence(2), sound(1, 1)])
    async with ringing(tmp_path, stt=stt, hears=hears) as (talk, heard):
        assert await start(talk)
        await talk.to_the_end()
        assert [(turn.user, turn.assistant) for turn in talk.turns] == [
            ("What's the weather like?", "Sunny.")
        ]
        assert heard.bells == 1


async def test_a_turn_before_any_word_was_heard_ends_it_unheard(tmp_path: Path) -> None:
    async with ringing(tmp_path) as (talk, heard):
        rings = start(talk)
        await asyncio.sleep(0.6)
        await talk.loop.say("What's the weather like?")
        assert not await rings
        await talk.loop.settled()
        assert talk.turns[0].assistant == "Sunny."
        assert heard.bells == 1


async def test_noise_and_echoes_of_it_do_not_end_it(tmp_path: Path) -> None:
    hears = np.concatenate([silence(1.5), speech(0.8), silence(3), speech(0.4), silence(1)])
    stt = ScriptedStt(by_length=lambda seconds: UP if seconds > 0.9 else "")
    async with ringing(tmp_path, stt=stt, hears=hears) as (talk, heard):
        rings = start(talk)
        await talk.microphone.exhausted.wait()
        await until(lambda: heard.bells > 2)
        assert not rings.done()
        assert "echo" in [each.reason for each in talk.of(SpeechIgnored)]
        talk.loop.ringer.silence()
        assert await rings


@pytest.mark.parametrize(("words", "answered"), [("Stop.", 0), ("What's the weather like?", 1)])
async def test_a_required_wake_phrase_is_not_needed_while_something_rings(
    tmp_path: Path, words: str, answered: int
) -> None:
    stt, hears = ScriptedStt(words), np.concatenate([silence(ONCE_S + 1), sound(0.5, 1)])
    asked = {"turn": {"wake_phrase": "computer", "follow_up_s": 0.0}}
    async with ringing(tmp_path, stt=stt, hears=hears, settings=asked) as (talk, heard):
        assert await start(talk)
        await talk.to_the_end()
        assert heard.bells == 1
        assert len(talk.turns) == answered


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


class WhatRings:
    """Classifies two utterances, and notes whether anything rings when "snooze" is carried out."""

    kinds = frozenset({CommandKind.SNOOZE})
    known: Mapping[str, ClassifiedText] = {
        "Snooze.": ClassifiedText({"snooze": 0.99}),
        "Bells are annoying.": ClassifiedText({"stop": 0.7}),
    }

    def __init__(self) -> None:
        self.rang: list[bool] = []
        self.rings: Callable[[], bool] = lambda: False

    def load(self) -> None:
        """Nothing to load."""

    def classify(self, text: str) -> ClassifiedText:
        return self.known.get(text, ClassifiedText({}))

    async def carry_out(self, command: Command) -> Reply | None:
        del command
        self.rang.append(self.rings())
        return Reply("Ten more minutes.")

    async def ask(self, command: Command) -> Reply | None:
        del command
        return None


@pytest.mark.parametrize("asleep", [False, True])
async def test_snooze_finds_it_ringing_and_then_it_ends(tmp_path: Path, asleep: bool) -> None:
    skill, hears = WhatRings(), np.concatenate([silence(1.0), sound(0.5, 1.0)])
    stt = ScriptedStt("Snooze.")
    async with ringing(tmp_path, stt=stt, hears=hears, classifier=skill, skills=[skill]) as (
        talk,
        heard,
    ):
        skill.rings = lambda: talk.dialogue.ringing
        if asleep:
            talk.dialogue.sleep()
        assert await start(talk)
        assert skill.rang == [True]
        await talk.to_the_end()
        assert talk.of(Remarked)[-1] == Remarked("Ten more minutes.", CommandKind.SNOOZE)
        assert heard.bells == 1
        assert talk.dialogue.asleep is asleep


@pytest.mark.parametrize(("words", "ends"), [("Bells are annoying.", True), ("It rains.", False)])
async def test_a_sleeping_assistant_rings_and_only_obeys_what_silences_it(
    tmp_path: Path, words: str, ends: bool
) -> None:
    hears = np.concatenate([silence(ONCE_S + 1.0), sound(0.8, 1.0)])
    stt, skill = ScriptedStt(words), WhatRings()
    async with ringing(tmp_path, stt=stt, hears=hears, classifier=skill) as (talk, heard):
        talk.dialogue.sleep()
        assert await start(talk)
        assert (heard.bells == 1) is ends
        assert talk.turns == []
        assert talk.dialogue.asleep


async def test_what_is_only_likely_to_mean_stop_silences_it(tmp_path: Path) -> None:
    hears = np.concatenate([silence(ONCE_S + 1.0), sound(0.8, 1.0)])
    stt, skill = ScriptedStt("Bells are annoying."), WhatRings()
    async with ringing(tmp_path, stt=stt, hears=hears, classifier=skill) as (talk, heard):
        assert await start(talk)
        await talk.to_the_end()
        assert heard.bells == 1
        assert talk.turns == []


async def test_say_that_again_repeats_the_words_of_what_rang(tmp_path: Path) -> None:
    async with ringing(tmp_path) as (talk, _):
        rings = start(talk)
        await asyncio.sleep(ONCE_S + 1)
        await talk.loop.say("Say that again.")
        assert await rings
        await talk.loop.settled()
        assert [each.text for each in talk.of(Remarked)] == [UP, UP]
