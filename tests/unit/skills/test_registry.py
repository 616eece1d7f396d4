"""Commands are dispatched to skills, undone newest first, and questions are dropped in time."""

import asyncio
import time
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from assistant.errors import StoreError
from assistant.events import ForgettingBegan, RecordChanged
from assistant.intents import Command, CommandKind, Intent
from assistant.skills.registry import ANSWER_S, SkillRegistry
from assistant.skills.skill import Choice, Reply, said

UNDO = Intent(Command(CommandKind.UNDO))


class Notebook:
    """Writes down what it is told, and takes back the newest; all its undos are equal."""

    kinds = frozenset({CommandKind.REMEMBER, CommandKind.FORGET_ABOUT})

    def __init__(self) -> None:
        self.done: list[str] = []
        self.taken_back: list[str] = []
        self.fails = False
        self.goes_on = asyncio.Event()

    async def carry_out(self, command: Command) -> Reply | None:
        self.done.append(command.words or "")
        if command.kind is CommandKind.REMEMBER:
            return Reply("Noted.", undo=self._forget_last)
        return Reply("Forgotten.", undo=self._undo)

    async def ask(self, command: Command) -> Reply | None:
        await self.goes_on.wait()
        return Reply("Shall I?", if_yes=self._undo)

    async def _undo(self) -> Reply:
        if self.fails:
            raise StoreError("The disk is full.")
        self.taken_back.append(f"forget {self.done.pop()}")
        return Reply("Brought back.")

    async def _forget_last(self) -> Reply:
        self.taken_back.append(f"remember {self.done.pop()}")
        return Reply("Dropped.")


class Nothing:
    """Finds nothing to ask about."""

    kinds = frozenset({CommandKind.FORGET_THAT, CommandKind.LIFT, CommandKind.STOP})

    async def carry_out(self, command: Command) -> Reply | None:
        del command
        return None

    async def ask(self, command: Command) -> Reply | None:
        del command
        return None


def remember(words: str) -> Intent:
    return Intent(Command(CommandKind.REMEMBER, words))


def forget(words: str, *, sure: bool = True) -> Intent:
    return Intent(Command(CommandKind.FORGET_ABOUT, words), sure)


async def test_commands_are_undone_newest_first_even_if_their_undos_are_equal() -> None:
    notebook = Notebook()
    skills = SkillRegistry([notebook])
    for each in (remember("X"), forget("A"), remember("B"), forget("C")):
        await skills.carry_out(each)
    for _ in range(4):
        await skills.carry_out(UNDO)
    assert notebook.taken_back == ["forget C", "remember B", "forget A", "remember X"]


async def test_an_undo_that_failed_can_be_tried_again() -> None:
    notebook = Notebook()
    skills = SkillRegistry([notebook])
    await skills.carry_out(remember("X"))
    await skills.carry_out(forget("A"))
    notebook.fails = True
    failed = await skills.carry_out(UNDO)
    assert failed is not None
    assert failed.text != "Brought back."
    assert notebook.taken_back == []
    notebook.fails = False
    await skills.carry_out(UNDO)
    assert notebook.taken_back == ["forget A"]


async def test_a_question_is_dropped_if_something_is_forgotten_or_the_record_changes() -> None:
    notebook = Notebook()
    notebook.goes_on.set()
    skills = SkillRegistry([notebook])
    now = datetime.now(UTC)
    for event in (ForgettingBegan("h1", (), (), now), RecordChanged(off=True)):
        await skills.carry_out(forget("A", sure=False))
        assert skills.waits_for_answer
        skills.watch(event)
        assert not skills.waits_for_answer


async def test_a_question_that_comes_after_the_next_turn_has_begun_is_not_asked() -> None:
    notebook = Notebook()
    skills = SkillRegistry([notebook])
    asking = asyncio.create_task(skills.carry_out(forget("A", sure=False)))
    await asyncio.sleep(0)
    skills.turn_began()
    notebook.goes_on.set()
    assert await asking == Reply("")
    assert not skills.waits_for_answer


async def test_after_other_turns_an_undo_is_asked_about_first() -> None:
    notebook = Notebook()
    skills = SkillRegistry([notebook])
    await skills.carry_out(remember("X"))
    skills.turn_began()
    await skills.carry_out(forget("A"))
    assert await skills.carry_out(UNDO) == Reply("Brought back.", lasts=True), (
        "it was done just now"
    )
    for _ in range(2):
        asked = await skills.carry_out(UNDO)
        assert asked is not None
        assert asked.text == "Shall I undo that?"
        assert notebook.taken_back == ["forget A"]
        no = skills.answer("No.")
        assert no is not None
        await no()
    await skills.carry_out(UNDO)
    assert await skills.carry_out(UNDO) == Reply("Dropped.", lasts=True), (
        "undo is a yes to this question"
    )
    assert notebook.taken_back == ["forget A", "remember X"]
    assert await skills.carry_out(UNDO) is None


@pytest.mark.parametrize(
    ("refusal", "reply"),
    [
        ("No, the other one.", "All right."),
        ("Not my bike, the other one.", None),
        ("The other one.", None),
        ("No, the bike.", "All right."),
        ("Not the bike.", None),
    ],
)
async def test_what_is_left_after_a_refusal_is_not_chosen_by_another(
    refusal: str, reply: str | None
) -> None:
    chosen: list[str] = []

    async def act() -> Reply:
        chosen.append("something")
        return Reply("Done.")

    names = ("your locker code is 4471", "your bike code is 12")
    skills = SkillRegistry([])
    choices = (*(Choice(each, act) for each in names), Choice("", act))
    skills.note(Reply("Which one?", choices=choices, deletes=2))
    left = skills.answer("Not the locker code.")
    assert left is not None
    assert (await left()).text == f"Then this one: {names[1]}?"
    done = skills.answer(refusal) or skills.answer(refusal, explained=True)
    assert (await done() if done is not None else None) == (Reply(reply) if reply else None)
    assert chosen == []


def asking(deletes: int = 0, *, words: bool = False, choices: int = 0) -> Reply:
    async def act() -> Reply:
        return Reply("Done.")

    async def take(_: str) -> Reply:
        return Reply("Done.")

    every = (*(Choice(f"your bike is number {n}", act) for n in range(choices)), Choice("", act))
    return Reply(
        "Well?",
        if_yes=None if words or choices else act,
        if_said=take if words else None,
        if_no="No, then.",
        choices=every if choices else (),
        deletes=deletes,
    )


@pytest.mark.parametrize(
    ("asked", "sure", "reply"),
    [
        (asking(), True, "No, then."),
        (asking(), False, "Is that a yes or a no?"),
        (asking(words=True), True, "No, then."),
        (asking(words=True), False, "Well?"),
        (asking(1), True, "Is that a yes or a no?"),
        (asking(812), True, "Is that a yes or a no?"),
        (asking(812), False, "Is that a yes or a no?"),
        (asking(2, choices=2), True, "Which one do you mean?"),
    ],
)
async def test_forget_that_is_about_the_question_that_waits(
    asked: Reply, sure: bool, reply: str
) -> None:
    notebook = Notebook()
    notebook.kinds |= {CommandKind.FORGET_THAT}
    skills = SkillRegistry([notebook])
    skills.note(asked)
    said = await skills.carry_out(Intent(Command(CommandKind.FORGET_THAT), sure))
    assert said is not None
    assert said.text == reply
    assert skills.waits_for_answer is (reply != "No, then.")
    assert notebook.done == []
    skills.turn_began()
    await skills.carry_out(Intent(Command(CommandKind.FORGET_THAT)))
    assert notebook.done == [""], "nothing waits any more"


LIFT = Command(CommandKind.LIFT, "Annie")


@pytest.mark.parametrize("kind", [CommandKind.FORGET_THAT, CommandKind.LIFT])
async def test_an_explained_no_counts_if_it_is_only_likely_to_be_a_command(
    kind: CommandKind,
) -> None:
    skills = SkillRegistry([Nothing()])
    skills.note(asking(3))
    no = "No, I wanted you to keep those."
    assert await skills.carry_out(Intent(Command(kind), sure=False), no) == Reply("No, then.")
    assert not skills.waits_for_answer


@pytest.mark.parametrize(
    ("asked", "text", "reply"),
    [
        (asking(words=True), "I don't want to be called Annie at work.", Reply("Done.")),
        (asking(words=True), "Do I want to be called Annie?", None),
        (asking(1), "I don't want to be called Annie at work.", None),
    ],
)
async def test_words_that_are_no_command_after_all_may_answer_the_question(
    asked: Reply, text: str, reply: Reply | None
) -> None:
    skills = SkillRegistry([Nothing()])
    skills.note(asked)
    assert await skills.carry_out(Intent(LIFT, sure=False), text) == reply
    assert not skills.waits_for_answer


async def test_a_likely_stop_never_answers_a_question() -> None:
    skills = SkillRegistry([Nothing()])
    skills.note(asking(words=True))
    stop = Intent(Command(CommandKind.STOP), sure=False)
    assert await skills.carry_out(stop, "Enough, you two.") is None


async def test_after_an_unclear_forget_it_yes_still_answers_the_question() -> None:
    skills = SkillRegistry([Notebook()])
    skills.note(asking(3))
    await skills.carry_out(Intent(Command(CommandKind.FORGET_THAT)))
    yes = skills.answer("Yes.")
    assert yes is not None
    assert await yes() == Reply("Done.")


BACK = Reply("Forgotten. Say undo to keep it.", undo=lambda: said(Reply("")), offers_undo=True)
DROP = replace(BACK, text="From now on. Say undo to drop that.", undo_deletes=True)
TAKEN = replace(BACK, text="Got it: your sister is called Anna.", offers_undo=False)


@pytest.mark.parametrize(
    ("reply", "meant"), [(BACK, UNDO), (DROP, replace(UNDO, sure=False)), (TAKEN, None)]
)
@pytest.mark.parametrize("heard", ["I knew that.", "And you?", "on do"])
async def test_a_misheard_undo_counts_only_right_after_undo_was_offered(
    reply: Reply, meant: Intent | None, heard: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    skills = SkillRegistry([Notebook()])
    assert skills.misheard_undo(heard) is None
    skills.note(reply)
    assert skills.misheard_undo("It rains.") is None
    assert skills.misheard_undo(heard) == meant
    skills.turn_began()
    assert skills.misheard_undo(heard) is None, "a turn has begun"
    skills.note(reply)
    await skills.carry_out(Intent(Command(CommandKind.KNOW)))
    assert skills.misheard_undo(heard) is None, "another command came in between"
    skills.note(reply)
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + ANSWER_S + 1)
    assert skills.misheard_undo(heard) is None, "too long ago"


async def test_after_a_refusal_the_things_that_are_left_are_named() -> None:
    chosen: list[str] = []

    def choice(name: str) -> Choice:
        async def act() -> Reply:
            chosen.append(name)
            return Reply("Done.")

        return Choice(name, act)

    names = ("your locker is blue", "your sister lives in Graz", "your dog is called Max")
    every = Choice("", lambda: said(Reply("All done.")))
    skills = SkillRegistry([])
    skills.note(Reply("Which one?", choices=(*map(choice, names), every)))
    for answer, reply in (
        ("Not the locker.", f"Which of these do you mean: {names[1]}; or {names[2]}?"),
        ("No, not my sister.", f"Then this one: {names[2]}?"),
        ("My dog.", "Done."),
    ):
        assert chosen == []
        act = skills.answer(answer)
        assert act is not None
        assert (await act()).text == reply
    assert chosen == [names[2]]
