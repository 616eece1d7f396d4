"""The voice gets louder, quieter, slower and faster, and stays so."""

import doctest

import numpy as np
import pytest

from assistant.intents.command import Command, CommandKind
from assistant.memory.transcript.database import Transcript
from assistant.skills.skill import Reply
from assistant.state import EntryKind, StateStore
from assistant.voice import voice_skill as module
from assistant.voice.audio.interfaces import dbfs
from assistant.voice.voice_control import FASTEST, LOUDEST_DB, QUIETEST_DB, SLOWEST, VoiceControl
from assistant.voice.voice_skill import AGAIN, VoiceSkill

LOUDER, QUIETER = CommandKind.LOUDER, CommandKind.QUIETER
SLOWER, FASTER = CommandKind.SLOWER, CommandKind.FASTER


@pytest.fixture
def state() -> StateStore:
    return StateStore(Transcript.in_ram(), "me")


async def obey(skill: VoiceSkill, kind: CommandKind, when: str | None = None) -> Reply:
    reply = await skill.carry_out(Command(kind, when=when))
    assert reply is not None
    return reply


def test_the_examples_in_the_documentation_are_true() -> None:
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize(
    ("kind", "when", "volume_db", "said"),
    [
        (LOUDER, None, 4, "Okay, louder."),
        (QUIETER, None, -4, "Okay, quieter."),
        (QUIETER, "a little", -3, "Okay, quieter."),
        (QUIETER, "a lot", -10, "Okay, quieter."),
        (QUIETER, "just a tiny bit", -3, "Okay, quieter."),
        (LOUDER, "as loud as you can", LOUDEST_DB, "Okay, louder."),
        (LOUDER, "all the way", LOUDEST_DB, "Okay, louder."),
        (QUIETER, "to the minimum", QUIETEST_DB, "Okay, quieter."),
        (QUIETER, "to 50 percent", -8, "Okay, quieter."),
        (QUIETER, "to fifty percent", -8, "Okay, quieter."),
        (LOUDER, "to 50%", -8, "Okay, quieter."),
        (QUIETER, "by half", -10, "Okay, quieter."),
        (QUIETER, "to half", -8, "Okay, quieter."),
        (QUIETER, "by 25 percent", -8, "Okay, quieter."),
        (LOUDER, "to 100 %", LOUDEST_DB, "Okay, louder."),
        (QUIETER, "to 3 out of 10", -14.4, "Okay, quieter."),
        (LOUDER, "please", 4, "Okay, louder."),
    ],
)
async def test_the_volume_follows_the_users_words(
    state: StateStore, kind: CommandKind, when: str | None, volume_db: float, said: str
) -> None:
    control = VoiceControl()
    assert (await obey(VoiceSkill(control, state), kind, when)).text == said
    assert control.volume_db == pytest.approx(volume_db)
    assert control.speed == 1.0


@pytest.mark.parametrize(
    ("kind", "when", "speed", "said"),
    [
        (FASTER, None, 1.15, "Okay, faster."),
        (SLOWER, None, 1 / 1.15, "Okay, slower."),
        (FASTER, "as fast as possible", FASTEST, "Okay, faster."),
        (SLOWER, "to half the speed", 0.5, "Okay, slower."),
        (FASTER, "by 20 percent", 1.2, "Okay, faster."),
        (SLOWER, "by twenty percent", 0.8, "Okay, slower."),
        (FASTER, "a lot", 1.15**2.5, "Okay, faster."),
    ],
)
async def test_the_speed_follows_the_users_words(
    state: StateStore, kind: CommandKind, when: str | None, speed: float, said: str
) -> None:
    control = VoiceControl()
    assert (await obey(VoiceSkill(control, state), kind, when)).text == said
    assert control.speed == pytest.approx(speed)
    assert control.volume_db == 0.0


@pytest.mark.parametrize(
    ("kind", "said"),
    [(LOUDER, "loud"), (QUIETER, "quiet"), (SLOWER, "slow"), (FASTER, "fast")],
)
async def test_the_voice_has_limits(state: StateStore, kind: CommandKind, said: str) -> None:
    control = VoiceControl()
    skill = VoiceSkill(control, state)
    replies = [await obey(skill, kind) for _ in range(9)]
    assert replies[0].text == f"Okay, {kind.value}."
    assert replies[-1].text == f"That's as {said} as I can be."
    assert replies[-1].undo is None
    assert QUIETEST_DB <= control.volume_db <= LOUDEST_DB
    assert SLOWEST <= control.speed <= FASTEST


async def test_the_voice_is_the_same_in_the_next_session(state: StateStore) -> None:
    first = VoiceSkill(VoiceControl(), state)
    await obey(first, QUIETER)
    await obey(first, FASTER)
    control = VoiceControl()
    VoiceSkill(control, state).load()
    assert control.volume_db == -4.0
    assert control.speed == pytest.approx(1.15)
    assert len(state.entries(EntryKind.VOICE)) == 1


async def test_a_changed_setting_of_the_speed_keeps_its_effect(state: StateStore) -> None:
    await obey(VoiceSkill(VoiceControl(), state), FASTER)
    control = VoiceControl(speed=1.2)
    VoiceSkill(control, state, usual_speed=1.2).load()
    assert control.speed == pytest.approx(1.2 * 1.15)
    await obey(VoiceSkill(control, state, usual_speed=1.2), SLOWER, "to normal")
    assert control.speed == pytest.approx(1.2)


async def test_undo_brings_the_voice_back_for_later_sessions_too(state: StateStore) -> None:
    control = VoiceControl()
    reply = await obey(VoiceSkill(control, state), LOUDER)
    assert reply.undo is not None
    assert (await reply.undo()).text == AGAIN
    assert control == VoiceControl()
    VoiceSkill(control, state).load()
    assert control == VoiceControl()


async def test_an_unsure_request_is_asked_back(state: StateStore) -> None:
    control = VoiceControl()
    asked = await VoiceSkill(control, state).ask(Command(SLOWER))
    assert asked is not None
    assert asked.text == "Shall I speak slower?"
    assert control.speed == 1.0
    assert asked.if_yes is not None
    assert (await asked.if_yes()).text == "Okay, slower."
    assert control.speed < 1.0


@pytest.mark.parametrize("volume_db", [-24.0, -4.0, 4.0])
def test_the_sound_changes_by_the_volume(volume_db: float) -> None:
    tone = (np.sin(np.arange(16_000) / 12) * 8000).astype(np.int16)
    change = dbfs(VoiceControl(volume_db).applied(tone)) - dbfs(tone)
    assert change == pytest.approx(volume_db, abs=0.1)
    assert VoiceControl().applied(tone) is tone


def test_a_loud_voice_is_limited_softly() -> None:
    ramp = np.linspace(-32767, 32767, 2001).astype(np.int16)
    loud = VoiceControl(LOUDEST_DB).applied(ramp).astype(int)
    assert (np.diff(loud) >= 0).all()
    assert abs(loud).max() <= 32768
    assert len(set(loud[np.abs(ramp) < 25_000])) > 1000  # peaks keep their shape
