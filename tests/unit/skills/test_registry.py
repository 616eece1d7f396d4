"""Commands are dispatched to skills, undone newest first, and questions are dropped in time."""

import asyncio
from datetime import UTC, datetime

from assistant.errors import StoreError
from assistant.events import ForgettingBegan, RecordChanged
from assistant.intents import Command, CommandKind, Intent
from assistant.skills.registry import SkillRegistry
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
    assert await skills.carry_out(UNDO) == Reply("Brought back."), "it was done just now"
    for _ in range(2):
        asked = await skills.carry_out(UNDO)
        assert asked is not None
        assert asked.text == "Shall I undo that?"
        assert notebook.taken_back == ["forget A"]
        no = skills.answer("No.")
        assert no is not None
        await no()
    await skills.carry_out(UNDO)
    assert await skills.carry_out(UNDO) == Reply("Dropped."), "undo is a yes to this question"
    assert notebook.taken_back == ["forget A", "remember X"]
    assert await skills.carry_out(UNDO) is None


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
        ("The other one.", "Done."),
    ):
        assert chosen == []
        act = skills.answer(answer)
        assert act is not None
        assert (await act()).text == reply
    assert chosen == [names[2]]
