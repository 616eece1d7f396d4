"""Typed commands about stored memories go through the whole voice loop."""

import asyncio
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from assistant.events import (
    AnswerHeard,
    CommandHeard,
    ForgettingBegan,
    ForgettingUndone,
    RecordChanged,
    Remarked,
    TurnEnded,
    TurnHeard,
)
from assistant.memory.records.hidden import HiddenItems
from tests.support.fakes import ScriptedLlm, ScriptedStt, ToneTts, silence
from tests.support.session import Session, session

DOG = "My dog is called Max."
CAT = "My cat is called Kim."


def talking(folder: Path, llm: ScriptedLlm | None = None) -> AbstractAsyncContextManager[Session]:
    return session(
        ScriptedStt("-"),
        llm or ScriptedLlm("All right."),
        silence(0.2),
        folder,
        tts=ToneTts(0.01),
        obeys=True,
    )


async def say(talk: Session, *lines: str) -> list[str]:
    """Type the lines, and return the assistant's remarks that are not answers of the model."""
    before = len(talk.of(Remarked))
    for line in lines:
        reported = len(talk.of(TurnEnded)) + len(talk.of(Remarked))
        await talk.loop.say(line)
        while len(talk.of(TurnEnded)) + len(talk.of(Remarked)) == reported:
            await asyncio.sleep(0.01)
        await talk.loop.settled()
    return [each.text for each in talk.of(Remarked)[before:]]


def said(talk: Session) -> list[str]:
    """The user's words in the history that the model would see now."""
    return [text for role, text in talk.history() if role == "user" and text != "<new>"]


async def test_saying_forget_that_removes_the_last_exchange_from_the_prompt(
    tmp_path: Path,
) -> None:
    async with talking(tmp_path) as talk:
        remarks = await say(talk, DOG, CAT, "Forget that.")
        assert remarks == ["Forgotten: your cat is called Kim. Say undo to keep it."]
        assert said(talk) == [DOG]
        assert len(talk.turns) == 2, "the command is not a turn"
        [began] = talk.of(ForgettingBegan)
        assert (len(began.exchanges), began.memories) == (1, ())
    async with talking(tmp_path) as again:
        assert said(again) == [DOG]


async def test_the_words_of_commands_and_answers_are_reported_before_the_replies(
    tmp_path: Path,
) -> None:
    async with talking(tmp_path) as talk:
        await say(talk, DOG, CAT, "Forget everything you know about me.", "Yes.", "Hello.")
        await talk.loop.say("Stop.")
        await talk.loop.settled()
        told = [
            (type(each).__name__, each.text)
            for each in talk.events
            if isinstance(each, TurnHeard | CommandHeard | Remarked)
        ]
        asked, gone = (each.text for each in talk.of(Remarked))
    assert told == [
        ("TurnHeard", DOG),
        ("TurnHeard", CAT),
        ("CommandHeard", "Forget everything you know about me."),
        ("Remarked", asked),
        ("CommandHeard", "Yes."),
        ("Remarked", gone),
        ("TurnHeard", "Hello."),
        ("CommandHeard", "Stop."),
    ]


async def test_a_request_to_forget_is_reported_only_after_what_it_hides(tmp_path: Path) -> None:
    """So it is shown together with the reply to it, and not hidden with what was said before."""
    async with talking(tmp_path) as talk:
        await say(talk, DOG, "Forget about my dog.")
        events = [
            each
            for each in talk.events
            if isinstance(each, ForgettingBegan | CommandHeard | Remarked)
        ]
    assert [type(each) for each in events] == [ForgettingBegan, CommandHeard, Remarked]
    assert events[1] == CommandHeard("Forget about my dog.")


async def test_an_interrupted_turn_is_reported_as_over_before_the_command_that_interrupted_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    llm = ScriptedLlm("One two three four five six seven eight nine ten.")
    async with session(ScriptedStt("-"), llm, silence(0.2), tmp_path, obeys=True) as talk:
        keep = talk.memory.keep

        async def keep_slowly(turn: TurnEnded, began: datetime) -> str:
            await asyncio.sleep(0.5)
            return await keep(turn, began)

        monkeypatch.setattr(talk.memory, "keep", keep_slowly)
        await talk.loop.say("Count.")
        while not talk.of(AnswerHeard):
            await asyncio.sleep(0.01)
        await talk.loop.say("Stop.")
        while not talk.of(CommandHeard):
            await asyncio.sleep(0.01)
        assert [turn.interrupted for turn in talk.turns] == [True]


async def test_undo_brings_a_forgotten_exchange_back_to_its_place(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await say(talk, DOG, "Forget that.", "And you.", "Forget that.", CAT)
        assert said(talk) == [CAT], "right after forgetting, a misrecognised undo is accepted"
        assert await say(talk, "Undo that.", "Yes.") == [
            "The last thing I did was forget this: your dog is called Max."
            " Shall I bring that back?",
            "Brought back: your dog is called Max.",
        ]
        assert said(talk) == [DOG, CAT]
        assert len(talk.of(ForgettingUndone)) == 2
        assert await say(talk, "Undo that.") == ["There is nothing left to bring back."]
    async with talking(tmp_path) as again:
        assert said(again) == [DOG, CAT]


@pytest.mark.parametrize("dismissal", ["Forget it.", "Scratch that.", "Forget that."])
async def test_forget_it_as_an_answer_never_forgets_something_else(
    tmp_path: Path, dismissal: str
) -> None:
    async with talking(tmp_path) as talk:
        await say(talk, DOG, CAT)
        question, unclear = await say(talk, "Forget the last ten minutes.", dismissal)
        assert question.endswith("Forget them all?")
        assert unclear == "Is that a yes or a no?"
        assert said(talk) == [DOG, CAT]
        assert await say(talk, "No.") == ["All right, I won't forget anything."]

        await say(talk, "Forget that.", "It rains.")
        assert await say(talk, "Undo that.", dismissal) == [
            "The last thing I did was forget this: your cat is called Kim."
            " Shall I bring that back?",
            "All right, I'll leave it as it is.",
        ]
        assert said(talk) == [DOG, "It rains."]


@pytest.mark.parametrize("dismissal", ["Let it go.", "Drop it.", "Scrap that.", "Lose it."])
async def test_a_possible_never_mind_does_not_confirm_forgetting_everything(
    tmp_path: Path, dismissal: str
) -> None:
    async with talking(tmp_path) as talk:
        await say(talk, DOG, CAT, "Forget everything you know about me.", dismissal)
        assert said(talk)[:2] == [DOG, CAT]
        assert talk.of(ForgettingBegan) == []


async def test_talk_after_something_was_done_is_not_taken_for_a_misheard_undo(
    tmp_path: Path,
) -> None:
    async with talking(tmp_path) as talk:
        await say(talk, DOG, "Forget that.", "What do you know about me?", "I knew that.")
        assert talk.of(ForgettingUndone) == []
        assert talk.turns[-1].user == "I knew that."


async def test_forgetting_several_exchanges_needs_a_yes(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        [asked] = await say(talk, DOG, CAT, "Forget the last ten minutes.")
        assert asked.startswith("That's 2 things: your cat is called Kim; ")
        assert asked.endswith(". Forget them all?")
        assert said(talk) == [DOG, CAT]
        assert await say(talk, "No.") == ["All right, I won't forget anything."]
        assert said(talk) == [DOG, CAT]
        await say(talk, "Forget the last ten minutes.")
        assert await say(talk, "Yes, please.") == [
            "Forgotten: your cat is called Kim; your dog is called Max. Say undo to keep them."
        ]
        assert said(talk) == []


async def test_a_yes_after_another_sentence_confirms_nothing(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await say(talk, DOG, CAT, "Forget everything you know about me.")
        await say(talk, "It rains.", "Yes.")
        assert said(talk) == [DOG, CAT, "It rains.", "Yes."]


async def test_a_topic_to_be_forgotten_is_found_in_the_transcript(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        remarks = await say(talk, DOG, CAT, "It rains.", "Please forget everything about my dog.")
        assert remarks == ["Forgotten: your dog is called Max. Say undo to keep it."]
        assert said(talk) == [CAT, "It rains."]
        assert await say(talk, "Forget everything about my dog.") == [
            "I don't know anything about that."
        ]


async def test_a_sentence_about_forgetting_is_answered_and_not_carried_out(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        lines = ["I always forget my keys.", "Don't let me forget that."]
        assert await say(talk, *lines) == []
        assert said(talk) == lines


async def test_nothing_is_stored_while_off_the_record(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await say(talk, DOG, "Off the record.", "My pin is 4711.")
        assert said(talk) == [DOG, "My pin is 4711."]
        await say(talk, "Back on the record.", CAT)
        assert said(talk) == [DOG, CAT]
        assert [each.off for each in talk.of(RecordChanged)] == [True, False]
        assert [each.turn for each in talk.of(TurnEnded)] == [1, 2, 3]
    assert b"4711" not in b"".join(
        path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()
    )
    async with talking(tmp_path) as again:
        assert said(again) == [DOG, CAT]


async def test_the_last_answer_is_repeated_on_command(tmp_path: Path) -> None:
    async with talking(tmp_path, ScriptedLlm("It is a beagle.")) as talk:
        assert await say(talk, "Repeat that.") == ["I haven't said anything yet."]
        assert await say(talk, "What is it?", "Repeat that.") == ["It is a beagle."]


async def test_a_remark_is_repeated_too_but_not_yes(tmp_path: Path) -> None:
    llm = ScriptedLlm("Nice.", "I can't see it.", "It is a beagle.")
    async with talking(tmp_path, llm) as talk:
        gone = "Forgotten: your dog is called Max. Say undo to keep it."
        again = "Sorry, what did you say?"
        assert await say(talk, DOG, "What is it?", "Forget everything about my dog.") == [gone]
        assert await say(talk, again, again) == [gone, gone]
        [night, *repeated] = await say(talk, "Go to sleep.", "Wake up.", again)
        assert repeated == ["Yes?", night]
        assert await say(talk, "What is it?", again) == ["It is a beagle."]


async def test_what_is_purged_is_not_repeated(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        [gone] = await say(talk, DOG, "Forget that.")
        assert talk.dialogue.last_said.text == gone
        talk.dialogue.purged(HiddenItems.of("me", (), (), datetime.now(UTC)), clean=True)
        assert await say(talk, "Repeat that.") == ["I haven't said anything yet."]


@pytest.mark.parametrize(
    ("lines", "lasting"),
    [
        ((DOG, "Forget that.", "What is it?"), "It is a beagle."),
        ((DOG, "Forget that.", "Off the record."), "Off the record. I won't keep anything"),
        ((DOG, "Forget that.", "Forget that."), ""),
    ],
)
async def test_what_was_said_since_is_repeated_after_a_purge_unless_it_may_quote_what_is_gone(
    lines: tuple[str, ...], lasting: str, tmp_path: Path
) -> None:
    async with talking(tmp_path, ScriptedLlm("Nice.", *["It is a beagle."] * 3)) as talk:
        await say(talk, *lines)
        talk.dialogue.purged(HiddenItems.of("me", (), (), datetime.now(UTC)), clean=True)
        [again] = await say(talk, "Repeat that.")
        assert again.startswith(lasting or "I haven't said anything yet.")


async def test_an_answer_that_was_begun_before_something_was_hidden_is_not_repeated_after_a_purge(
    tmp_path: Path,
) -> None:
    async with talking(tmp_path, ScriptedLlm("It is a beagle.", token_s=0.05)) as talk:
        items = HiddenItems.of("me", (), (), datetime.now(UTC))
        await talk.loop.say("What is it?")
        while not talk.dialogue.answering:
            await asyncio.sleep(0.01)
        talk.dialogue.hide(items)
        await talk.loop.settled()
        assert talk.dialogue.last_said.text == "It is a beagle."
        talk.dialogue.purged(items, clean=True)
        assert talk.dialogue.last_said.text == ""


async def test_an_exchange_is_not_stored_if_recording_resumes_during_its_answer(
    tmp_path: Path,
) -> None:
    answer = "Your pin is noted, and I tell nobody of it, whoever asks."
    async with talking(tmp_path, ScriptedLlm(answer, token_s=0.02)) as talk:
        await say(talk, "Off the record.")
        await talk.loop.say("My pin is 4711.")
        await asyncio.sleep(0.4)
        await say(talk, "Back on the record.")
        assert said(talk) == []
    assert b"4711" not in b"".join(
        path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()
    )


async def test_the_model_rereads_the_conversation_without_the_forgotten_exchange(
    tmp_path: Path,
) -> None:
    llm = ScriptedLlm("All right.")
    async with talking(tmp_path, llm) as talk:
        await say(talk, DOG, "Forget that.")
        while any(DOG in message.content for message in llm.read_ahead[-1]):
            await asyncio.sleep(0.01)
        assert talk.history() == [("user", "<new>")]


async def test_an_answer_is_explained_by_what_was_said_before_it(tmp_path: Path) -> None:
    llm = ScriptedLlm("Nice.", "Your dog is called Max.", "Lima.")
    async with talking(tmp_path, llm) as talk:
        why = "Why did you say that?"
        assert await say(talk, why) == ["I haven't said anything yet."]
        assert await say(talk, DOG, "What is my dog called?", why) == [
            "You told me a moment ago that your dog is called Max."
        ]
        assert await say(talk, "When did I tell you about my dog?") == [
            "That was a moment ago: your dog is called Max."
        ]
        assert await say(talk, "What is the capital of Peru?", "How do you know that?") == [
            "That came from the language model, not from anything you've told me."
        ]
        *_, reason = await say(talk, "Off the record.", why)
        assert reason.startswith("I said that because you asked me to go off the record.")
        assert [each.command for each in talk.of(Remarked)][-2:] == ["off_record", "why"]
        assert len(talk.turns) == 3
