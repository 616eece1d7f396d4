"""Likely commands are asked about in the running voice loop, and answered or dropped."""

import asyncio
import time
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from assistant.events import (
    ForgettingBegan,
    Phase,
    PhaseChanged,
    RecordChanged,
    Remarked,
    TurnEnded,
)
from assistant.memory import ForgetPlan, Resolver
from assistant.skills import Reply
from models.interfaces import ClassifiedText
from tests.pipeline.test_spoken_commands import CAT, DOG, said, say
from tests.support.fakes import ScriptedLlm, ScriptedStt, ToneTts, silence
from tests.support.session import Session, session

BIN_DOG = "Bin all that stuff on my dog, would you."
SHALL_DOG = "Shall I forget what you told me about my dog?".replace("my", "your")
GONE = "Forgotten: your dog is called Max. Say undo to keep it."
KEPT = "All right, I won't forget anything."


class Meanings:
    """Classifies some utterances; all others are no commands."""

    known: Mapping[str, ClassifiedText] = {
        "Forget that.": ClassifiedText({"forget_that": 0.99}),
        BIN_DOG: ClassifiedText({"forget_about": 0.9}, "my dog"),
        "Bin all that stuff on my canary.": ClassifiedText({"forget_about": 0.9}, "my canary"),
        "Nap time for you.": ClassifiedText({"sleep": 0.8}),
        "Nothing of this stays with you.": ClassifiedText({"off_record": 0.8}),
        "I'd hate for you to forget that.": ClassifiedText({"forget_that": 0.999}),
        "Enough of your chatter.": ClassifiedText({"stop": 0.995}),
        "Perhaps enough of your chatter.": ClassifiedText({"stop": 0.2}),
    }

    def load(self) -> None:
        """Nothing to load."""

    def classify(self, text: str) -> ClassifiedText:
        return self.known.get(text, ClassifiedText({}))


def talking(folder: Path, llm: ScriptedLlm | None = None) -> AbstractAsyncContextManager[Session]:
    return session(
        ScriptedStt("-"),
        llm or ScriptedLlm("All right."),
        silence(0.2),
        folder,
        tts=ToneTts(0.01),
        obeys=True,
        classifier=Meanings(),
    )


async def test_a_likely_command_is_asked_about_and_done_after_yes(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        assert await say(talk, DOG, CAT, BIN_DOG) == [SHALL_DOG]
        assert said(talk) == [DOG, CAT], "nothing is done before the answer"
        assert await say(talk, "Yep, get rid.") == [GONE]
        assert said(talk) == [CAT]
        assert await say(talk, "Undo that.") == ["Brought back: your dog is called Max."]


async def test_no_keeps_everything_with_or_without_an_explanation(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await say(talk, DOG)
        for no in ("No.", "Nah, leave it.", "No, I'll want it for the vet."):
            assert await say(talk, BIN_DOG, no) == [SHALL_DOG, KEPT]
        assert said(talk) == [DOG]


async def test_another_command_is_carried_out_and_drops_the_question(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await say(talk, DOG)
        remarks = await say(talk, BIN_DOG, "What do you know about my dog?")
        assert remarks[0] == SHALL_DOG
        await say(talk, "Yes.")
        assert said(talk)[-1] == "Yes.", "it answers no question any more"
        assert DOG in said(talk)


async def test_repeat_says_the_question_again(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        assert await say(talk, DOG, BIN_DOG, "Say that again.", "Yes.") == [
            SHALL_DOG,
            SHALL_DOG,
            GONE,
        ]


async def test_going_on_drops_the_question_and_is_an_ordinary_turn(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await say(talk, DOG, BIN_DOG, "It rains.", "Yes.")
        assert said(talk) == [DOG, "It rains.", "Yes."]


async def test_a_likely_command_that_concerns_nothing_is_an_ordinary_turn(tmp_path: Path) -> None:
    llm = ScriptedLlm("I see.", "Which bird?")
    async with talking(tmp_path, llm) as talk:
        assert await say(talk, DOG, "Bin all that stuff on my canary.") == []
        assert talk.turns[-1].assistant == "Which bird?"


async def test_a_negation_that_is_taken_for_a_command_is_only_asked_about(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        asked = "Shall I forget this: your dog is called Max?"
        assert await say(talk, DOG, "I'd hate for you to forget that.") == [asked]
        assert await say(talk, "God, no.") == [KEPT]
        assert said(talk) == [DOG]


async def test_sleep_and_off_the_record_are_asked_about(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        assert await say(talk, DOG, "Nothing of this stays with you.", "Yes, please.") == [
            "Shall I go off the record?",
            "Off the record. I won't keep anything until you say: back on the record.",
        ]
        assert [each.off for each in talk.of(RecordChanged)] == [True]
        assert await say(talk, "Nap time for you.", "No.") == [
            "Shall I stop listening?",
            "All right.",
        ]
        assert not talk.dialogue.asleep
        await say(talk, "Nap time for you.", "Go on.")
        assert talk.of(PhaseChanged)[-1].phase is Phase.ASLEEP


async def test_a_sure_command_is_carried_out_and_an_unlikely_one_is_an_ordinary_turn(
    tmp_path: Path,
) -> None:
    async with talking(tmp_path) as talk:
        await say(talk, DOG)
        await talk.loop.say("Enough of your chatter.")
        await talk.loop.settled()
        assert len(talk.of(TurnEnded)) == 1
        assert await say(talk, "Perhaps enough of your chatter.") == []
        assert len(talk.of(TurnEnded)) == 2


async def test_a_second_yes_before_the_first_was_carried_out_does_nothing(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await say(talk, DOG, CAT, BIN_DOG)
        await talk.loop.say("Yes.")
        await talk.loop.say("Yes.")
        await talk.loop.settled()
        assert said(talk) == [CAT]
        assert [each.text for each in talk.of(Remarked)] == [SHALL_DOG, GONE]
        assert len(talk.of(ForgettingBegan)) == 1


async def test_undo_never_overtakes_a_slow_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolve = Resolver.resolve

    def slowly(*arguments: Any) -> ForgetPlan:
        time.sleep(0.2)
        return resolve(*arguments)

    monkeypatch.setattr(Resolver, "resolve", slowly)
    async with talking(tmp_path) as talk:
        await say(talk, DOG, CAT)
        await talk.loop.say("Forget that.")
        await talk.loop.say("Undo that.")
        await talk.loop.settled()
        assert said(talk) == [DOG, CAT]
        forgotten, undone = [each.text for each in talk.of(Remarked)]
        assert forgotten.startswith("Forgotten: ")
        assert undone.startswith("Brought back: ")


async def test_a_remark_about_the_last_turn_waits_until_the_user_has_finished(
    tmp_path: Path,
) -> None:
    made: list[Reply] = []
    heard: list[str] = []

    async def hear() -> None:
        heard.append("Noted.")

    async def noted() -> Reply | None:
        made.append(Reply("Noted.", when_heard=hear))
        if len(made) == 1:
            talk.dialogue.speech_started()  # the user goes on while the remark is made
        return made[-1]

    async with talking(tmp_path) as talk:
        talk.dialogue.speech_started()
        talk.loop.remark(noted)
        await turns_of_the_loop()
        assert made == []
        talk.dialogue.ignore("noise")
        await turns_of_the_loop()
        assert len(made) == 1
        assert (talk.of(Remarked), heard) == ([], [])
        await say(talk, DOG)
        await talk.loop.settled()
        assert talk.of(Remarked) == [Remarked("Noted.")]
        assert len(made) == 2
        assert heard == ["Noted."]


async def test_a_purge_waits_for_speech_that_goes_on_after_an_interruption(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        talk.dialogue.speech_started()
        talk.dialogue.cut_off()
        assert not talk.dialogue.quiet.is_set()
        talk.dialogue.failed(RuntimeError("the recogniser broke"))
        assert talk.dialogue.quiet.is_set()


async def turns_of_the_loop() -> None:
    """Let everything run that waits for nothing."""
    for _ in range(50):
        await asyncio.sleep(0)
