"""What the assistant asks before it forgets, and how it is answered."""

from datetime import timedelta
from pathlib import Path

import pytest

from assistant.errors import StoreError
from assistant.events import Latency, MemoryUsed, Notice, TurnEnded
from assistant.intents.command import Command, CommandKind
from assistant.memory.forgetting.resolver import Resolver
from assistant.skills.memory.forgetting import names_person
from assistant.skills.spoken_errors import UNSPEAKABLE, spoken
from tests.support.forgetting import Bench, bench
from tests.support.patience import LEISURE_S

CODE = "My locker code is 4471."
FLOOR = "My locker is on the third floor."
SISTER = "My sister lives in Graz."
FORGET_THAT = Command(CommandKind.FORGET_THAT)
GONE = "Forgotten: your locker code is 4471. Say undo to keep it."
KEPT = "All right, I won't forget anything."


def about(words: str) -> Command:
    return Command(CommandKind.FORGET_ABOUT, words)


def then(words: str) -> Command:
    return Command(CommandKind.FORGET_PERIOD, words)


async def ask(here: Bench, question: str, answer: str) -> None:
    """Asks something; the answer is given with what is recalled for it."""
    found = (await here.memory.recall(question, LEISURE_S)).memories
    used = tuple(MemoryUsed(e.id, e.text, e.score, e.speaker, said=e.created) for e in found)
    turn = here.window.talk.last_turn + 1
    here.window.talk.append_user(turn, question, here.clock[0])
    here.window.talk.complete(turn, answer, ended=here.clock[0])
    here.turns.watch(TurnEnded(turn, question, answer, False, Latency(), used))


@pytest.mark.parametrize("answer", ["I'm sorry, I don't know.", "It's 1234.", "Which locker?"])
async def test_after_a_bad_answer_that_is_what_was_asked_about(tmp_path: Path, answer: str) -> None:
    async with bench(tmp_path) as here:
        await here.tell_all(CODE)
    async with bench(tmp_path) as here:
        await ask(here, "What is my locker code?", answer)
        assert await here.obey(FORGET_THAT) == GONE
        assert await here.recalled("locker code") == set()
        assert here.window.exchanges == ()
        assert await here.purge_later()


async def test_in_the_running_conversation_too_that_is_what_was_asked_about(here: Bench) -> None:
    await here.tell_all(CODE)
    await ask(here, "What is my locker code?", "I can't tell.")
    assert await here.obey(FORGET_THAT) == GONE
    assert here.window.exchanges == ()
    assert await here.obey(Command(CommandKind.UNDO)) is not None
    assert await here.recalled("locker code") == {CODE}


@pytest.mark.parametrize(
    ("answer", "reply", "left"),
    [
        ("The code.", GONE, {FLOOR}),
        ("No, I mean the one with the code.", GONE, {FLOOR}),
        ("Not the third floor, the other one.", GONE, {FLOOR}),
        ("Keep the code.", None, {CODE, FLOOR}),
        ("the first one", "Forgotten: your locker is on the third floor. Say undo to keep it.",
         {CODE}),
        ("Both.", "Forgotten: your locker is on the third floor; your locker code is 4471."
         " Say undo to keep them.", set()),
        ("Neither, thanks.", KEPT, {CODE, FLOOR}),
        ("No.", KEPT, {CODE, FLOOR}),
        ("What's the weather?", None, {CODE, FLOOR}),
    ],
)  # fmt: skip
async def test_if_two_things_could_be_meant_the_user_chooses(
    here: Bench, answer: str, reply: str | None, left: set[str]
) -> None:
    here.tell(CODE)
    here.pass_time(1)
    await here.tell_all(FLOOR)
    await ask(here, "Where is my locker?", "I don't know.")
    assert await here.obey(FORGET_THAT) == (
        "Which of these do you mean: your locker is on the third floor;"
        " or your locker code is 4471?"
    )
    assert await here.answer("Yes.") == "Which one do you mean?"
    assert await here.answer(answer) == reply
    assert await here.recalled("locker") == left


async def test_after_one_of_two_is_refused_the_other_is_asked_about(here: Bench) -> None:
    here.tell(CODE)
    here.pass_time(1)
    await here.tell_all(FLOOR)
    await ask(here, "Where is my locker?", "I don't know.")
    await here.obey(FORGET_THAT)
    left = "Then this one: your locker code is 4471?"
    assert await here.answer("Not the one on the third floor.") == left
    assert await here.recalled("locker") == {CODE, FLOOR}
    assert await here.answer("Yes.") == GONE


@pytest.mark.parametrize(
    ("command", "question"),
    [
        (about("my locker"), "Shall I forget what you told me about your locker?"),
        (FORGET_THAT, "Shall I forget this: your locker code is 4471?"),
        (then("the last ten minutes"), "Shall I forget what was said in the last ten minutes?"),
        (then("today"), "Shall I forget what was said today?"),
        (Command(CommandKind.FORGET_CONVERSATION), "Shall I forget this conversation?"),
        (
            Command(CommandKind.FORGET_ALL),
            "That's everything I know about you: one thing. Shall I forget it all?",
        ),
    ],
)
async def test_a_likely_command_is_asked_about(
    here: Bench, command: Command, question: str
) -> None:
    await here.tell_all(CODE)
    assert await here.obey(command, sure=False) == question
    assert await here.answer("No.") == KEPT
    assert here.forgetting.hidden == ()
    await here.obey(command, sure=False)
    assert await here.answer("Yes, please.") == GONE


async def test_several_things_are_named_in_the_question(here: Bench) -> None:
    here.tell(CODE)
    here.pass_time(1)
    await here.tell_all(FLOOR)
    assert await here.obey(about("my locker"), sure=False) == (
        "That's 2 things: your locker is on the third floor; your locker code is 4471."
        " Shall I forget what you told me about your locker?"
    )


async def test_where_nothing_is_meant_nothing_is_asked(here: Bench) -> None:
    assert await here.obey(FORGET_THAT, sure=False) is None
    assert await here.obey(about("my locker"), sure=False) is None
    assert await here.obey(about("him"), sure=False) is None
    assert await here.obey(Command(CommandKind.UNDO), sure=False) is None
    await here.tell_all(CODE)
    await here.obey(FORGET_THAT)
    assert await here.obey(Command(CommandKind.UNDO), sure=False) == "Shall I undo that?"
    assert await here.answer("Yes.") == "Brought back: your locker code is 4471."


async def test_a_day_and_a_person_are_always_asked_about(here: Bench) -> None:
    await here.tell_all(SISTER)
    asked = "That's one thing: your sister lives in Graz. Forget it?"
    for command in (about("my sister"), then("yesterday"), then("today")):
        if command.words == "yesterday":
            assert await here.obey(command) == "Nothing was said or written down in that time."
            continue
        assert await here.obey(command) == asked
        assert await here.answer("No.") == KEPT
    assert await here.obey(then("the last ten minutes")) == (
        "Forgotten: your sister lives in Graz. Say undo to keep it."
    )


async def test_only_what_was_said_in_a_period_is_forgotten(here: Bench) -> None:
    await here.tell_all(CODE)
    here.pass_time(timedelta(days=1).total_seconds())
    await here.tell_all(FLOOR)
    await here.obey(then("yesterday"))
    assert await here.answer("Yes.") == GONE
    assert await here.recalled("locker") == {FLOOR}


async def test_a_period_that_cannot_be_read_is_not_guessed(here: Bench) -> None:
    await here.tell_all(CODE)
    unclear = then("while the plumber was here")
    assert await here.obey(unclear) == (
        "I'm not sure which time you mean, so I haven't forgotten anything."
    )
    assert await here.obey(unclear, sure=False) is None, "it may be no command at all"
    assert here.forgetting.hidden == ()


async def test_another_command_or_going_on_drops_the_question(here: Bench) -> None:
    await here.tell_all(CODE)
    await here.obey(about("my locker"), sure=False)
    await here.obey(Command(CommandKind.KNOW))
    assert await here.answer("Yes.") is None
    await here.obey(about("my locker"), sure=False)
    here.skills.turn_began()
    assert await here.answer("Yes.") is None
    assert here.forgetting.hidden == ()


async def test_a_store_error_is_spoken_without_paths_and_shown_with_its_advice(
    here: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise StoreError(why, mend="assistant memory rebuild")

    await here.tell_all(CODE)
    monkeypatch.setattr(Resolver, "resolve", broken)
    for why, said in (
        ("The disk is full.", "The disk is full."),
        ("The transcript /home/ada/.local/transcript.sqlite3 is damaged.", UNSPEAKABLE),
    ):
        assert await here.obey(FORGET_THAT) == said
        shown = [each for each in here.events if isinstance(each, Notice)][-1]
        assert (shown.text, shown.mend) == (why, "assistant memory rebuild")


@pytest.mark.parametrize(
    "why",
    [
        "The store s3://bucket failed.",
        "Run `assistant memory rebuild`.",
        "The file memories.lance is missing.",
        r"C:\Users\ada can't be read.",
        "Use --yes.",
    ],
)
def test_what_cannot_be_said_is_not_said(why: str) -> None:
    assert spoken(StoreError(why)) == UNSPEAKABLE


@pytest.mark.parametrize(
    ("topic", "person"),
    [
        ("Anna", True),
        ("my sister's birthday", True),
        ("Dr. Patel", True),
        ("anna", True),
        ("anna's birthday", True),
        ("dr okafor", True),
        ("my dog and tom", True),
        ("my lunch with anna", True),
        ("where anna lives", True),
        ("the locker", False),
        ("my dog and my cat", False),
        ("his locker", False),
        ("what I said", False),
        ("that time in the pool", False),
        ("my dog", False),
        ("My locker", False),
        ("where I live", False),
        ("", False),
    ],
)
def test_a_topic_may_be_a_person(topic: str, person: bool) -> None:
    assert names_person(topic) is person
