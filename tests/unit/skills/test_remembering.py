"""What the user asks to be remembered, on a real transcript, a real table and a real index."""

from pathlib import Path

import pytest

from assistant.events import RecordChanged
from assistant.intents.command import Command, CommandKind
from assistant.memory.records.ids import ADDED_BY_USER
from assistant.memory.records.lifetimes import Lifetimes
from assistant.memory.records.memory import Memory, MemoryKind
from tests.support.forgetting import Bench, bench, kept
from tests.support.memories import stored
from tests.support.remains import found

LOCKER = "my locker code is 4471"
TIDY = "My locker code is 4471."
REMEMBERED = "I'll remember that your locker code is 4471."
UNDO = Command(CommandKind.UNDO)
FORGET_THAT = Command(CommandKind.FORGET_THAT)
THAT = Command(CommandKind.REMEMBER)


def remember(words: str, *, for_good: bool = False) -> Command:
    return Command(CommandKind.REMEMBER, words, for_good=for_good)


def row(here: Bench, text: str = TIDY) -> Memory:
    [found] = [each for each in stored(here.memory.table) if each.text == text]
    return found


async def test_a_statement_is_stored_as_the_users_own_and_never_expires(here: Bench) -> None:
    assert await here.obey(remember(LOCKER)) == REMEMBERED
    note = row(here)
    assert (note.kind, note.sources, note.pinned) == (MemoryKind.FACT, (ADDED_BY_USER,), False)
    strict = Lifetimes(dict.fromkeys(MemoryKind, 1), below=1.0)
    assert strict.end(note) is None
    assert await here.recalled("What is my locker code?") == {TIDY}


async def test_it_is_still_there_after_a_restart(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.obey(remember(LOCKER))
    async with bench(tmp_path) as again:
        assert await again.recalled("What is my locker code?") == {TIDY}


async def test_undo_deletes_every_byte_of_it_and_a_second_undo_does_not_bring_it_back(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path) as here:
        await here.obey(remember(LOCKER))
        assert await here.obey(UNDO) == "All right, I won't keep that."
        assert await here.recalled("What is my locker code?") == set()
        assert await here.obey(UNDO) == "There is nothing left to bring back."
        assert await here.forgetting.purge_due()
        assert here.forgetting.hidden == ()
    assert found(tmp_path, {"locker code", " 4471"}, []) == []


async def test_that_is_the_users_last_statement(here: Bench) -> None:
    [told] = await here.tell_all("My dog is called Max.")
    here.tell("What is the capital of Norway?", "Oslo.")
    assert await here.obey(THAT) == "I'll remember that your dog is called Max."
    note = row(here, "My dog is called Max.")
    assert (note.sources, note.importance) == ((told.id,), 1.0)
    assert await here.obey(UNDO) == "All right, I'll treat it like anything else you've told me."
    assert row(here, "My dog is called Max.").importance == 0.5


async def test_without_a_statement_it_asks_what_to_remember(here: Bench) -> None:
    here.tell("What is the capital of Norway?", "Oslo.")
    assert await here.obey(THAT) == "What should I remember?"
    assert await here.give("What is the time?") is None, "a question is no answer"
    assert await here.give(LOCKER) == REMEMBERED
    assert await here.obey(UNDO) == "All right, I won't keep that."


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("That my locker code is 4471.", TIDY),
        ("to buy milk", "Buy milk."),
        ("Thank you.", None),
        ("Play some music.", None),
        ("That was really nice.", None),
    ],
)
async def test_only_a_statement_answers_what_to_remember(
    here: Bench, answer: str, text: str | None
) -> None:
    await here.obey(THAT)
    assert (await here.give(answer) is None) == (text is None)
    assert here.current() == ({text} if text is not None else set())


@pytest.mark.parametrize("answer", ["Nothing.", "Forget it.", "Never mind."])
async def test_what_to_remember_may_be_declined(here: Bench, answer: str) -> None:
    await here.obey(THAT)
    assert await here.answer(answer) == "All right."
    assert await here.give(LOCKER) is None
    assert here.current() == set()


async def test_never_forget_pins_what_is_said_and_what_was_just_said(here: Bench) -> None:
    said = await here.obey(remember(LOCKER, for_good=True))
    assert said == "I'll always keep in mind that your locker code is 4471."
    assert [each.text for each in here.memory.profile()] == [TIDY]
    await here.obey(UNDO)
    assert here.memory.profile() == ()
    await here.tell_all("My dog is called Max.")
    await here.obey(Command(CommandKind.REMEMBER, for_good=True))
    assert [each.text for each in here.memory.profile()] == ["My dog is called Max."]
    await here.obey(UNDO)
    assert here.memory.profile() == ()


async def test_what_is_remembered_twice_is_stored_once_and_undone_step_by_step(
    here: Bench,
) -> None:
    await here.obey(remember(LOCKER))
    before = row(here)
    here.pass_time(60)
    await here.obey(remember("My locker code is 4471", for_good=True))
    assert row(here).pinned
    assert row(here).refreshed == here.clock[0]
    await here.obey(UNDO)
    assert row(here) == before
    await here.obey(UNDO)
    assert here.current() == set()


async def test_undo_keeps_what_was_said_before_in_a_conversation(here: Bench) -> None:
    [told] = await here.tell_all("My name is Anna.")
    before = row(here, "The user's name is Anna.")
    assert before.sources == (told.id,)
    here.pass_time(60)
    await here.obey(remember("my name is Anna"))
    assert row(here, before.text).sources == (told.id, ADDED_BY_USER)
    said = await here.obey(UNDO)
    assert said == "All right, I'll treat it like anything else you've told me."
    assert row(here, before.text) == before
    assert await here.forgetting.purge_due()
    assert [each.text for each in here.memory.profile()] == [before.text]


async def test_undo_changes_nothing_if_it_was_forgotten_meanwhile(here: Bench) -> None:
    await here.obey(remember(LOCKER))
    await here.forgetting.hide((), [row(here).id])
    assert await here.obey(UNDO) == "There is nothing left to bring back."
    [told] = await here.tell_all("My dog is called Max.")
    await here.obey(THAT)
    await here.forgetting.hide([told.id], ())
    assert await here.obey(UNDO) == "There is nothing left to bring back."
    assert row(here, "My dog is called Max.").importance == 1.0


async def test_right_after_it_forget_that_means_what_was_remembered(tmp_path: Path) -> None:
    async with bench(tmp_path) as here:
        await here.tell_all("My dog is called Max.")
        await here.obey(remember(LOCKER))
        said = await here.obey(FORGET_THAT)
        assert said == "Forgotten: your locker code is 4471. Say undo to keep it."
        assert here.current() == {"My dog is called Max."}
        assert await here.purge_later()
    assert found(tmp_path, {"locker code", " 4471"}, []) == []
    assert kept(tmp_path)[1] == {"My dog is called Max."}


async def test_after_another_reply_that_is_what_this_one_has_named(here: Bench) -> None:
    await here.tell_all("My dog is called Max.")
    await here.obey(remember(LOCKER))
    await here.obey(Command(CommandKind.KNOW, "my dog"))
    said = await here.obey(FORGET_THAT)
    assert said == "Forgotten: your dog is called Max. Say undo to keep it."
    await here.obey(UNDO)
    await here.obey(remember("my bike is red"))
    await here.obey(UNDO)
    assert await here.obey(FORGET_THAT) == "There is nothing to forget.", "it is gone already"
    assert here.current() == {"My dog is called Max.", TIDY}


async def test_once_the_record_has_changed_that_still_means_what_was_remembered(
    here: Bench,
) -> None:
    await here.tell_all("My dog is called Max.")
    await here.obey(remember(LOCKER))
    here.turns.watch(RecordChanged(True))
    said = await here.obey(FORGET_THAT)
    assert said == "Forgotten: your locker code is 4471. Say undo to keep it."


@pytest.mark.parametrize(
    "other",
    [
        Command(CommandKind.KNOW, "Rome"),
        Command(CommandKind.LIFT, "the weather"),
        Command(CommandKind.REMEMBER),
        Command(CommandKind.WHY),
        Command(CommandKind.WHEN_TOLD),
        Command(CommandKind.WHEN_TOLD, "my locker"),
        Command(CommandKind.WAKE),
    ],
)
async def test_while_nothing_else_is_named_that_is_what_was_remembered(
    here: Bench, other: Command
) -> None:
    await here.tell_all("My dog is called Max.")
    await here.obey(remember(LOCKER))
    await here.obey(other)
    said = await here.obey(FORGET_THAT)
    assert said == "Forgotten: your locker code is 4471. Say undo to keep it."


@pytest.mark.parametrize("words", ["my locker", "4471"])
async def test_forgetting_a_topic_deletes_every_byte_of_what_was_remembered(
    tmp_path: Path, words: str
) -> None:
    async with bench(tmp_path) as here:
        await here.obey(remember(LOCKER))
        here.tell("It rains.")
        said = await here.obey(Command(CommandKind.FORGET_ABOUT, words))
        assert said == "Forgotten: your locker code is 4471. Say undo to keep it."
        assert await here.purge_later()
    assert found(tmp_path, {"locker code", " 4471"}, []) == []


async def test_that_after_a_repetition_of_the_command_is_what_was_just_remembered(
    here: Bench,
) -> None:
    await here.tell_all("My dog is called Max.")
    await here.obey(remember(LOCKER))
    said = await here.obey(Command(CommandKind.REMEMBER, for_good=True))
    assert said == "I'll always keep in mind that your locker code is 4471."


@pytest.mark.parametrize(
    ("words", "text", "reply"),
    [
        ("my name is Anna", "The user's name is Anna.", "that your name is Anna"),
        ("call me Annie", "The user wants to be called Annie.", 'this: "Call me Annie"'),
        (
            "to always answer in one sentence",
            "The user wants the assistant to always answer in one sentence.",
            'this: "Always answer in one sentence"',
        ),
    ],
)
async def test_names_and_wishes_join_the_profile(
    here: Bench, words: str, text: str, reply: str
) -> None:
    assert await here.obey(remember(words)) == f"I'll remember {reply}."
    assert [each.text for each in here.memory.profile()] == [text]
    assert here.current() == {text}
    await here.obey(UNDO)
    assert here.memory.profile() == ()


async def test_a_name_does_not_displace_what_else_was_said(here: Bench) -> None:
    await here.obey(remember("my name is Anna and my locker code is 4471"))
    assert here.current() == {
        "My name is Anna and my locker code is 4471.",
        "The user's name is Anna.",
    }


async def test_off_the_record_nothing_is_kept(here: Bench) -> None:
    here.off_record[0] = True
    said = str(await here.obey(remember(LOCKER)))
    assert said.startswith("We're off the record")
    assert await here.obey(remember(LOCKER), sure=False) is None
    assert here.current() == set()


async def test_off_the_record_the_answer_to_a_question_is_not_kept_either(here: Bench) -> None:
    await here.obey(THAT)
    here.off_record[0] = True
    assert str(await here.give("My PIN is 1234.")).startswith("We're off the record")
    assert here.current() == set()


@pytest.mark.parametrize("answer", ["Delete it.", "Keep it."])
async def test_words_for_deleting_are_no_answer_to_whether_to_remember(
    here: Bench, answer: str
) -> None:
    await here.obey(remember(LOCKER), sure=False)
    assert await here.answer(answer) is None
    assert here.current() == set()


async def test_if_it_is_unsure_it_asks_and_names_what_it_would_remember(here: Bench) -> None:
    question = "Shall I remember that your locker code is 4471?"
    assert await here.obey(remember(LOCKER), sure=False) == question
    assert await here.answer("No.") == "All right."
    assert here.current() == set()
    await here.obey(remember(LOCKER), sure=False)
    assert await here.answer("Yes, please.") == REMEMBERED
    assert here.current() == {TIDY}
    here.tell("What is the capital of Norway?", "Oslo.")
    assert await here.obey(THAT, sure=False) is None, "nothing was said that could be meant"


@pytest.mark.parametrize("words", ["", "   ", "\0", "x" * 20_000])
async def test_words_that_cannot_be_stored_are_refused_aloud(here: Bench, words: str) -> None:
    assert await here.obey(remember(words))
    assert here.current() == set()
