"""A sleep of a certain length ends by itself."""

import asyncio
import doctest
from pathlib import Path

import pytest

from assistant.events import Notice
from assistant.intents.command import Command, CommandKind
from assistant.intents.recogniser import in_full
from assistant.voice import dialogue_skill as module
from assistant.voice.dialogue_skill import LISTENING_AGAIN, DialogueSkill
from tests.support.fakes import ScriptedLlm, ScriptedStt, silence
from tests.support.session import session

A_MINUTE = Command(CommandKind.SLEEP, minutes=1)


def test_the_examples_in_the_documentation_are_true() -> None:
    assert doctest.testmod(module).failed == 0


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
            "Okay, I'll listen again in a minute. Say hey Ada to wake me earlier."
        )
        asleep: list[bool] = []
        for seconds in (59, 2):
            await asyncio.sleep(seconds)
            asleep.append(talk.dialogue.asleep)
        assert asleep == [True, False]
        assert [each.text for each in talk.of(Notice)] == [LISTENING_AGAIN]


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
        assert asked.text == "Shall I stop listening for a minute?"
        assert asked.if_yes is not None
        await asked.if_yes()
        assert talk.dialogue.asleep
        skill.close()
