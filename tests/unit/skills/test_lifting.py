"""Lasting wishes and names are taken back by voice, and a new wish is confirmed aloud."""

import asyncio
from pathlib import Path

import pytest

from assistant.events import WishTaken
from assistant.intents.command import Command, CommandKind
from tests.support.forgetting import Bench, bench

SHORT = "Always answer in one sentence."
SHORT_NOTE = "The user wants the assistant to always answer in one sentence."
UNDO = Command(CommandKind.UNDO)


def lift(words: str | None, *, names_wish: bool = False) -> Command:
    return Command(CommandKind.LIFT, words, names_wish=names_wish)


def profile(here: Bench) -> list[str]:
    return [each.text for each in here.memory.profile()]


async def test_a_wish_is_lifted_by_its_words_and_brought_back_by_undo(here: Bench) -> None:
    await here.tell_all(SHORT, "Never mention the weather.")
    said = await here.obey(lift("answer in one sentence"))
    assert said == "All right, I'll no longer answer in one sentence."
    assert profile(here) == ["The user wants the assistant never to mention the weather."]
    said = await here.obey(UNDO)
    assert said == "All right, I've brought that back: always answer in one sentence."
    assert SHORT_NOTE in profile(here)


@pytest.mark.parametrize(
    ("wish", "words", "reply"),
    [
        (
            "From now on, give me short answers.",
            "the short answers",
            "All right, I'll no longer give you short answers.",
        ),
        (
            "Never mention the weather.",
            "the weather",
            "All right, I've dropped your instruction: “Never mention the weather.”",
        ),
        (
            "Stop asking me how I feel.",
            "asking me how I feel",
            "All right, I've dropped your instruction: “Stop asking me how I feel.”",
        ),
        ("Call me Annie.", "Annie", "All right, I'll no longer call you Annie."),
        ("My name is Anna.", "my name", "All right, I've dropped the name Anna."),
    ],
)
async def test_the_reply_says_what_no_longer_holds(
    here: Bench, wish: str, words: str, reply: str
) -> None:
    await here.tell_all(wish)
    assert len(profile(here)) == 1
    assert await here.obey(lift(words)) == reply
    assert profile(here) == []


async def test_a_lifted_wish_is_not_derived_again_and_its_exchange_stays(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.tell_all(SHORT)
        here.pass_time(60)
        await here.tell_all("Please always answer in one sentence.")
        await here.obey(lift("one sentence"))
        assert profile(here) == []
        assert await here.purge_later()
        await asyncio.to_thread(here.memory.rebuild, here.transcript)
        assert profile(here) == []
    async with bench(tmp_path) as again:
        assert profile(again) == []
        await asyncio.to_thread(again.memory.rebuild, again.transcript)
        assert profile(again) == []
        assert again.kept()[0] == {SHORT, "Please always answer in one sentence."}
        await again.tell_all(SHORT)
        assert profile(again) == [SHORT_NOTE], "it can be wished again"


async def test_an_older_name_that_counts_again_is_named(here: Bench) -> None:
    await here.tell_all("Call me Annie.")
    here.pass_time(60)
    await here.tell_all("Call me Ann.")
    said = await here.obey(lift("Ann"))
    assert said == "All right, I'll no longer call you Ann. I'll call you Annie again."


async def test_what_was_never_a_lasting_wish_is_left_to_the_language_model(here: Bench) -> None:
    assert await here.obey(lift("the short answers")) is None
    assert await here.obey(lift(None)) is None
    await here.tell_all("Never mention the weather.")
    assert await here.obey(lift("the short answers")) is None
    assert len(profile(here)) == 1


async def test_of_several_wishes_that_fit_one_is_chosen(here: Bench) -> None:
    await here.tell_all("Always answer in French.", "Always answer in one sentence.")
    said = await here.obey(lift("how you answer"))
    assert said is not None
    assert said.startswith("Which one do you mean: your instruction “always answer in ")
    assert await here.answer("French.") == "All right, I'll no longer answer in French."
    assert profile(here) == [SHORT_NOTE]


async def test_a_wish_that_is_not_named_is_only_lifted_after_a_yes(here: Bench) -> None:
    unknown = "I don't know of any such instruction."
    assert await here.obey(lift(None, names_wish=True)) == unknown
    await here.tell_all(SHORT)
    assert await here.obey(lift("the weather", names_wish=True)) == unknown
    question = "Shall I drop your instruction “always answer in one sentence”?"
    assert await here.obey(lift(None)) == question
    assert await here.answer("No.") == "All right, I'll carry on as before."
    assert profile(here) == [SHORT_NOTE]
    assert await here.obey(lift("one sentence"), sure=False) == question
    await here.answer("Yes.")
    assert profile(here) == []
    assert await here.obey(lift("one sentence"), sure=False) is None


@pytest.mark.parametrize(
    ("wish", "words", "question"),
    [
        (
            SHORT,
            "answer the phone",
            "Shall I drop your instruction “always answer in one sentence”?",
        ),
        ("Call me Annie.", "Annie Hall", "Shall I stop calling you Annie?"),
        ("My name is Anna.", "my middle name", "Shall I drop the name Anna?"),
    ],
)
async def test_a_wish_that_shares_only_some_words_is_asked_about(
    here: Bench, wish: str, words: str, question: str
) -> None:
    await here.tell_all(wish)
    assert await here.obey(lift(words)) == question
    assert len(profile(here)) == 1
    await here.answer("Drop it.")
    assert profile(here) == []


async def test_that_is_the_wish_that_was_named(here: Bench) -> None:
    forget = Command(CommandKind.FORGET_THAT)
    await here.tell_all("Call me Annie.", "My dog is called Max.")
    await here.obey(lift("Annie"))
    assert await here.obey(forget) == "There is nothing to forget."
    assert await here.obey(UNDO) == "All right, I've brought that back: call me Annie."
    await here.obey(forget)
    assert here.current() == {"My dog is called Max."}
    await here.tell_all(SHORT, "It rains.")
    [*_, taken] = [each for each in here.events if isinstance(each, WishTaken)]
    await here.lifting.noted(taken)
    await here.obey(forget)
    assert here.current() == {"My dog is called Max.", "It rains."}


async def test_a_new_wish_is_confirmed_aloud_and_can_be_undone(here: Bench) -> None:
    await here.tell_all("My dog is called Max.")
    assert [each for each in here.events if isinstance(each, WishTaken)] == []
    await here.tell_all(SHORT)
    [taken] = [each for each in here.events if isinstance(each, WishTaken)]
    remark = await here.lifting.noted(taken)
    assert remark is not None
    assert remark.text == (
        "Got it, from now on: always answer in one sentence. Say undo to drop that."
    )
    here.skills.note(remark)
    assert await here.obey(UNDO) == "All right, I'll no longer answer in one sentence."
    assert profile(here) == []
    assert await here.lifting.noted(taken) is None
    assert await here.obey(UNDO) == "There is nothing left to bring back.", "undo is no toggle"
    assert profile(here) == []
    await here.tell_all(SHORT)
    assert profile(here) == [SHORT_NOTE], "it can be wished again"


async def confirm(here: Bench) -> None:
    """Say the remark that confirms the newest wishes."""
    remark = await here.lifting.noted([e for e in here.events if isinstance(e, WishTaken)][-1])
    assert remark is not None
    here.skills.note(remark)


@pytest.mark.parametrize("wishes", [SHORT, f"{SHORT} Never mention the weather."])
async def test_after_a_new_wish_a_second_undo_brings_back_what_was_forgotten_before(
    tmp_path: Path, wishes: str
) -> None:
    async with bench(tmp_path) as here:
        await here.tell_all("My dog is called Max.")
        await here.obey(Command(CommandKind.FORGET_THAT))
        await here.tell_all(wishes)
        await confirm(here)
        dropped = await here.obey(UNDO)
        assert dropped is not None
        assert profile(here) == []
        assert await here.obey(UNDO) == "Brought back: your dog is called Max."
        assert profile(here) == []
        assert await here.obey(UNDO) == "There is nothing left to bring back."
        assert await here.purge_later()
        await asyncio.to_thread(here.memory.rebuild, here.transcript)
        assert profile(here) == []
        assert here.kept()[0] == {wishes, "My dog is called Max."}


async def test_what_sounds_like_undo_after_a_new_wish_is_asked_about(here: Bench) -> None:
    await here.tell_all(SHORT)
    await confirm(here)
    misheard = here.skills.misheard_undo("I knew that.")
    assert misheard is not None
    assert await here.obey(misheard.command, sure=misheard.sure) == "Shall I undo that?"
    assert await here.answer("No.") == "All right, I'll leave it as it is."
    assert profile(here) == [SHORT_NOTE]


async def test_a_wish_that_is_repeated_is_not_confirmed_again(here: Bench) -> None:
    await here.tell_all(SHORT, SHORT)
    assert len([each for each in here.events if isinstance(each, WishTaken)]) == 1
