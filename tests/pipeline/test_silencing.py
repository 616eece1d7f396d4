"""What ends the ringing of what is due, and what doesn't."""

import asyncio
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from assistant.event_bus import EventBus, from_any_thread
from assistant.events import Remarked, SpeechIgnored, TurnStarted
from assistant.intents import Command, CommandKind
from assistant.memory.transcript.database import Transcript
from assistant.skills import Reply
from assistant.skills.due import snoozing
from assistant.skills.due.clocks import Clocks
from assistant.skills.due.due import AGAIN_S, DueWatch
from assistant.skills.due.due_entries import DueEntries
from assistant.skills.due.snoozing import Snoozing
from assistant.skills.due.timers import Timers
from assistant.state.store import StateStore
from models.interfaces import ClassifiedText, Samples
from tests.support.fakes import ScriptedStt, silence, sound, speech
from tests.support.ringing import ONCE_S, UP, ringing, start, until
from tests.support.session import Session


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


async def test_a_turn_that_began_before_the_ringing_does_not_end_it(tmp_path: Path) -> None:
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


async def test_a_turn_during_the_bell_ends_it_before_any_word_is_heard(tmp_path: Path) -> None:
    async with ringing(tmp_path) as (talk, heard):
        rings = start(talk)
        await asyncio.sleep(0.6)
        await talk.loop.say("What's the weather like?")
        assert not await rings
        await talk.loop.settled()
        assert talk.turns[0].assistant == "Sunny."
        assert heard.bells == 1


async def test_noise_and_echoes_of_the_ringing_do_not_end_it(tmp_path: Path) -> None:
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


@pytest.mark.parametrize("asleep", [False, True])
async def test_it_still_rings_when_snooze_is_carried_out_and_then_ends(
    tmp_path: Path, asleep: bool
) -> None:
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


class AllEcho:
    """Considers all sound to be what the loudspeaker plays."""

    def __init__(self) -> None:
        self.played: Samples | None = None

    def far(self, samples: Samples, rate: int) -> None:
        """Ignore the samples."""

    def near(self, block: Samples) -> Samples:
        self.played = block
        return block


@pytest.mark.parametrize(
    ("after_s", "words", "ends"),
    [
        (0.4, "Stop.", True),
        (0.4, "Go.", False),
        (1.5, "Stop.", True),
        (1.5, "It was time.", False),
    ],
)
async def test_the_users_words_are_told_from_an_echo_of_the_bell_and_of_its_words(
    tmp_path: Path, after_s: float, words: str, ends: bool
) -> None:
    stt, hears = ScriptedStt(words), np.concatenate([silence(after_s), sound(0.5, 1.0)])
    async with ringing(tmp_path, stt=stt, hears=hears, echo=AllEcho()) as (talk, heard):
        rings = start(talk)
        await talk.to_the_end()
        await until(lambda: rings.done() or heard.bells > 1)
        assert rings.done() is ends
        talk.loop.ringer.silence()
        await rings


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


class TheLoops:
    """The ringer of a voice loop that begins later."""

    def __init__(self) -> None:
        self.talk: Session | None = None

    async def ring(self, words: Callable[[], str | None], *, insistent: bool) -> int:
        assert self.talk is not None
        return await self.talk.loop.ringer.ring(words, insistent=insistent)

    def silence(self) -> bool:
        assert self.talk is not None
        return self.talk.loop.ringer.silence()


async def test_a_timer_is_snoozed_by_voice_and_rings_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def now() -> datetime:
        return datetime(2026, 11, 18, tzinfo=UTC) + timedelta(seconds=time.monotonic())

    transcript, bus, ringer = Transcript.in_ram(), EventBus(), TheLoops()
    entries = DueEntries(
        StateStore(transcript, "me", from_any_thread(bus), now), Clocks(now, time.monotonic)
    )
    watch = DueWatch(entries, ringer)
    bus.subscribe(watch.watch)
    stt, hears = ScriptedStt("Snooze."), np.concatenate([silence(61.0), sound(0.6, 1.0)])
    monkeypatch.setattr(snoozing, "USUAL_S", 60.0)
    skills = [Snoozing(watch)]
    async with ringing(tmp_path, stt=stt, hears=hears, classifier=WhatRings(), skills=skills) as (
        talk,
        heard,
    ):
        ringer.talk = talk
        await Timers(entries, lambda: False).carry_out(
            Command(CommandKind.TIMER_SET, when="one minute")
        )
        watching = asyncio.create_task(watch.run())
        await asyncio.sleep(59)
        await until(lambda: len(talk.of(Remarked)) >= 2)
        first, snoozed = [each.text for each in talk.of(Remarked)]
        assert "timer" in first
        assert snoozed == "I'll ring again in one minute."
        await asyncio.sleep(50)
        assert heard.bells == 1
        await until(lambda: heard.bells == 2)
        await talk.loop.stop_speaking()
        await until(lambda: not talk.dialogue.ringing)
        await asyncio.sleep(2 * AGAIN_S)
        assert heard.bells == 2, "it has rung"
        watching.cancel()
    transcript.close()
