"""A sleep of a certain length ends by itself."""

import asyncio
from datetime import datetime
from pathlib import Path

import pytest

from assistant.events import Notice
from assistant.intents.command import Command, CommandKind
from assistant.intents.recogniser import in_full
from assistant.voice.dialogue_skill import LISTENING_AGAIN, UNTIL_WHEN, DialogueSkill
from tests.support.due import LONDON
from tests.support.fakes import ScriptedLlm, ScriptedStt, silence
from tests.support.session import Session, session

A_MINUTE = Command(CommandKind.SLEEP, minutes=1)


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        ("Stop listening for ten minutes.", 10),
        ("Go to sleep for half an hour, please", 30),
        ("For the next 2 hours, don't listen.", 120),
        ("Ada, sleep for an hour and a half", 90),
        ("Stop listening.", None),
        ("Stop listening until three o'clock.", None),
        ("Sleep for ten minutes, no, twenty minutes.", None),
    ],
)
def test_the_length_of_a_sleep_is_found_in_the_utterance(text: str, minutes: int | None) -> None:
    assert in_full(Command(CommandKind.SLEEP), text).minutes == minutes


async def test_it_listens_again_when_the_time_is_over(tmp_path: Path) -> None:
    async with session(ScriptedStt("-"), ScriptedLlm(), silence(0.1), tmp_path) as talk:
        skill = DialogueSkill(talk.dialogue)
        reply = await skill.carry_out(A_MINUTE)
        assert reply is not None
        assert reply.text == (
            "Okay, I'll listen again in one minute. Say hey Ada to wake me earlier."
        )
        asleep: list[bool] = []
        for seconds in (59, 2):
            await asyncio.sleep(seconds)
            asleep.append(talk.dialogue.asleep)
        assert asleep == [True, False]
        assert [each.text for each in talk.of(Notice)] == [LISTENING_AGAIN]


def at(talk: Session, hour: int, minute: int = 0) -> DialogueSkill:
    now = datetime(2026, 11, 18, hour, minute, tzinfo=LONDON)
    return DialogueSkill(talk.dialogue, lambda: now)


def until(text: str) -> Command:
    return in_full(Command(CommandKind.SLEEP), text)


@pytest.mark.parametrize(
    ("text", "clock", "when"),
    [
        ("Stop listening until three o'clock.", (14, 59), "at three this afternoon"),
        (
            "Don't listen till half past eleven, please",
            (11, 29),
            "at half past eleven this morning",
        ),
    ],
)
async def test_it_sleeps_until_a_time(
    tmp_path: Path, text: str, clock: tuple[int, int], when: str
) -> None:
    async with session(ScriptedStt("-"), ScriptedLlm(), silence(0.1), tmp_path) as talk:
        reply = await at(talk, *clock).carry_out(until(text))
        assert reply is not None
        assert reply.text == f"Okay, I'll listen again {when}. Say hey Ada to wake me earlier."
        await asyncio.sleep(59)
        assert talk.dialogue.asleep
        await asyncio.sleep(2)
        assert not talk.dialogue.asleep


async def test_a_time_that_cannot_be_read_is_asked_for(tmp_path: Path) -> None:
    async with session(ScriptedStt("-"), ScriptedLlm(), silence(0.1), tmp_path) as talk:
        skill = at(talk, 10)
        reply = await skill.carry_out(until("Stop listening until the three of us are back."))
        assert reply is not None
        assert reply.text == UNTIL_WHEN
        assert not talk.dialogue.asleep
        assert reply.if_said is not None
        assert await reply.if_said("when we are back") is None
        told = await reply.if_said("Until noon.")
        assert told is not None
        assert told.text.startswith("Okay, I'll listen again at noon")
        skill.close()


async def test_until_i_call_you_is_a_sleep_without_an_end(tmp_path: Path) -> None:
    async with session(ScriptedStt("-"), ScriptedLlm(), silence(0.1), tmp_path) as talk:
        reply = await at(talk, 10).carry_out(until("Stop listening until I call you."))
        assert reply is not None
        assert reply.text == "Good night. Say hey Ada to wake me."


async def test_a_likely_request_names_the_time(tmp_path: Path) -> None:
    async with session(ScriptedStt("-"), ScriptedLlm(), silence(0.1), tmp_path) as talk:
        asked = await at(talk, 10).ask(until("no listening until 3"))
        assert asked is not None
        assert asked.text == "Shall I stop listening until three this afternoon?"


async def test_a_later_sleep_is_not_ended_by_an_earlier_one(tmp_path: Path) -> None:
    async with session(ScriptedStt("-"), ScriptedLlm(), silence(0.1), tmp_path) as talk:
        skill = DialogueSkill(talk.dialogue)
        await skill.carry_out(A_MINUTE)
        talk.dialogue.wake()
        talk.dialogue.sleep()
        await asyncio.sleep(61)
        assert talk.dialogue.asleep
        assert talk.of(Notice) == []


async def test_a_likely_request_names_the_length(tmp_path: Path) -> None:
    async with session(ScriptedStt("-"), ScriptedLlm(), silence(0.1), tmp_path) as talk:
        skill = DialogueSkill(talk.dialogue)
        asked = await skill.ask(A_MINUTE)
        assert asked is not None
        assert asked.text == "Shall I stop listening for one minute?"
        assert asked.if_yes is not None
        await asked.if_yes()
        assert talk.dialogue.asleep
        skill.close()
