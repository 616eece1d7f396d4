"""Forms and tasks: which one listens, and to what."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

import pytest

from assistant.context import Conversation, Exchange
from assistant.errors import StoreError
from assistant.events import Latency, TurnEnded, UserSensed
from assistant.intents import Command, CommandKind, Intent
from assistant.skills.activities import Activities
from assistant.skills.registry import SkillRegistry
from assistant.skills.skill import Act, Remark, Reply

START = datetime(2026, 11, 18, 10, tzinfo=UTC)


class Notebook:
    """An activity that writes down what it hears."""

    def __init__(self, opens: CommandKind, name: str) -> None:
        self.opens = opens
        self.name = name
        self.opened: datetime | None = None
        self.heard = ""
        self.written: list[str] = []
        self.begun: list[str] = []
        self.answers: list[str] = []
        self.ready = asyncio.Event()
        self.ready.set()
        self.fails: Exception | None = None

    async def load(self) -> None:
        pass

    def block(self) -> str:
        return self.name if self.opened else ""

    async def takes(self, text: str) -> Act | None:
        async def write() -> Reply:
            self.written.append(text)
            return Reply("Noted.")

        return write if text.startswith("since") else None

    def answered(self, exchange: str, answer: str) -> None:
        self.answers.append(answer)

    async def hear(self, exchange: Exchange) -> None:
        self.begun.append(exchange.user_text)
        await self.ready.wait()
        if self.fails is not None:
            raise self.fails
        self.written.append(exchange.user_text)
        self.heard = exchange.id

    async def ask_on(self) -> Reply | None:
        return Reply("Since when?") if "since Monday" not in self.written else None

    async def open(self, command: Command) -> Reply | None:
        self.opened = START + timedelta(seconds=len(command.name or ""))
        return Reply(f"Let's go: {self.name}.")

    async def ask_to_open(self, command: Command) -> Reply | None:
        return Reply(f"Shall I open {self.name}?")

    async def status(self) -> Reply:
        return Reply(f"{self.name}: half done.")

    async def read_back(self) -> Reply:
        return Reply(f"{self.name}: all of it.")

    async def cancel(self) -> Reply:
        self.opened = None
        return Reply("Gone.")

    async def finish(self) -> Reply:
        self.opened = None
        return Reply("Done.")


class Desk:
    """Activities in a conversation."""

    def __init__(self) -> None:
        self.form = Notebook(CommandKind.FORM_OPEN, "the form")
        self.task = Notebook(CommandKind.TASK_OPEN, "the task")
        self.conversation = Conversation.begin("ada")
        self.quiet = asyncio.Event()
        self.quiet.set()
        self.remarks: list[Remark] = []
        self.activities = Activities(
            [self.form, self.task], lambda: self.conversation, self.quiet.wait, self.remarks.append
        )

    async def command(self, kind: CommandKind, name: str = "") -> str | None:
        reply = await self.activities.carry_out(Command(kind, name=name))
        return reply.text if reply is not None else None

    def exchange(self, text: str, answer: str = "I see.") -> Exchange:
        turn = self.conversation.last_turn + 1
        self.conversation.append_user(turn, text, START + timedelta(minutes=turn))
        return self.conversation.complete(turn, answer)

    def say(self, text: str, answer: str = "I see.") -> None:
        exchange = self.exchange(text, answer)
        ended = TurnEnded(
            turn=exchange.turn,
            user=text,
            assistant="I see.",
            interrupted=False,
            latency_ms=Latency(),
            exchange=exchange.id,
        )
        self.activities.watch(ended)


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not holds():
            await asyncio.sleep(0.001)


async def running(desk: Desk, act: Callable[[], Awaitable[None]]) -> None:
    """Run `act` while the activities listen."""
    task = asyncio.create_task(desk.activities.run())
    try:
        await act()
    finally:
        task.cancel()
        await asyncio.wait({task})


async def test_what_was_opened_last_is_meant_and_shown() -> None:
    desk = Desk()
    assert desk.activities.block() == ""
    await desk.command(CommandKind.FORM_OPEN)
    assert desk.activities.block() == "the form"
    await desk.command(CommandKind.TASK_OPEN, "later")
    assert desk.activities.block() == "the task"
    assert await desk.command(CommandKind.FORM_STATUS) == "the task: half done."
    assert await desk.command(CommandKind.FORM_CANCEL) == "Gone."
    assert await desk.command(CommandKind.FORM_READ) == "the form: all of it."


async def test_with_nothing_open_what_could_be_about_a_form_is_left_to_the_model() -> None:
    desk = Desk()
    assert await desk.command(CommandKind.FORM_DONE) is None
    assert await desk.activities.ask(Command(CommandKind.FORM_STATUS)) is None
    assert await desk.activities.takes("since Monday") is None


async def test_what_is_likely_a_command_is_asked_about_only_if_it_changes_something() -> None:
    desk = Desk()
    await desk.command(CommandKind.FORM_OPEN)
    status = await desk.activities.ask(Command(CommandKind.FORM_STATUS))
    assert status is not None
    assert status.text == "the form: half done."
    assert not status.asks
    drop = await desk.activities.ask(Command(CommandKind.FORM_CANCEL))
    assert drop is not None
    assert drop.text == "Shall I drop the form?"
    assert drop.if_yes is not None
    assert desk.form.opened is not None
    await drop.if_yes()
    assert desk.form.opened is None


async def test_an_open_form_takes_what_it_asks_for_unless_it_is_a_command() -> None:
    desk = Desk()
    await desk.command(CommandKind.FORM_OPEN)
    registry = SkillRegistry([desk.activities])
    act = await registry.takes("since Monday", None)
    assert act is not None
    assert desk.form.written == []
    assert (await act()).text == "Noted."
    assert desk.form.written == ["since Monday"]
    alarm, mistake = Command(CommandKind.ALARM_SET), Command(CommandKind.CORRECT)
    assert await registry.takes("since Monday", Intent(alarm, sure=False)) is not None
    assert await registry.takes("since Monday", Intent(alarm)) is None
    assert await registry.takes("since Monday", Intent(mistake)) is not None
    assert await registry.takes("since Monday", Intent(Command(CommandKind.FORGET_ALL))) is None
    assert await registry.takes("What about you?", None) is None


async def test_with_a_form_open_what_may_be_a_correction_is_left_to_the_form() -> None:
    desk = Desk()

    class Correcting:
        kinds = frozenset({CommandKind.CORRECT})

        async def carry_out(self, command: Command) -> Reply | None:
            return Reply("Changed.")

        async def ask(self, command: Command) -> Reply | None:
            return Reply("Shall I change it?")

    registry = SkillRegistry([desk.activities, Correcting()])
    likely, sure = (Intent(Command(CommandKind.CORRECT), sure=each) for each in (False, True))
    asked = await registry.carry_out(likely)
    assert asked is not None
    assert asked.text == "Shall I change it?"
    await desk.command(CommandKind.FORM_OPEN)
    assert await registry.carry_out(likely) is None
    done = await registry.carry_out(sure)
    assert done is not None
    assert done.text == "Changed."


async def test_what_the_model_answered_is_heard_in_order_once_it_is_quiet() -> None:
    desk = Desk()
    desk.say("before it was opened")
    await desk.command(CommandKind.FORM_OPEN)

    async def talk() -> None:
        desk.quiet.clear()
        desk.say("one")
        desk.say("two")
        await asyncio.sleep(0.01)
        assert desk.form.begun == []
        assert desk.form.answers == ["I see.", "I see."]
        desk.quiet.set()
        await until(lambda: desk.form.written == ["one", "two"])

    await running(desk, talk)


async def test_after_an_answer_to_something_else_the_form_asks_on() -> None:
    desk = Desk()
    await desk.command(CommandKind.FORM_OPEN)

    async def asked(text: str, answer: str) -> str | None:
        before = len(desk.remarks)
        desk.say(text, answer)
        await until(lambda: len(desk.remarks) > before)
        reply = await desk.remarks[-1]()
        return reply.text if reply is not None else None

    async def talk() -> None:
        assert await asked("Is it raining?", "I can't know. Is it?") is None
        assert await asked("No.", "Good.") == "Since when?"
        desk.say("And another.")
        await until(lambda: desk.form.written[-1] == "And another.")
        overtaken = desk.remarks[-1]
        desk.exchange("And one more.")
        assert await overtaken() is None

    await running(desk, talk)


async def test_with_nothing_open_what_was_left_unfinished_is_asked_about_after_an_answer() -> None:
    desk = Desk()
    desk.say("Is it raining?", "Is it?")
    desk.say("No.", "Good.")
    made = [await each() for each in desk.remarks]
    assert [each and each.text for each in made] == [None, "Since when?"]


async def test_hearing_stops_when_somebody_speaks_and_begins_again_afterwards() -> None:
    desk = Desk()
    await desk.command(CommandKind.FORM_OPEN)
    desk.form.ready.clear()

    async def talk() -> None:
        desk.say("one")
        await until(lambda: desk.form.begun == ["one"])
        desk.quiet.clear()
        desk.activities.watch(UserSensed())
        await asyncio.sleep(0.01)
        desk.form.ready.set()
        await asyncio.sleep(0.01)
        assert desk.form.written == []
        desk.quiet.set()
        await until(lambda: desk.form.written == ["one"])

    await running(desk, talk)


@pytest.mark.parametrize("error", [StoreError("The disk is full."), ValueError("What?")])
async def test_what_cannot_be_heard_costs_only_itself(error: Exception) -> None:
    desk = Desk()
    await desk.command(CommandKind.FORM_OPEN)
    desk.form.fails = error

    async def talk() -> None:
        desk.say("one")
        await until(lambda: desk.form.begun == ["one"])
        await asyncio.sleep(0.01)
        desk.form.fails = None
        desk.say("two")
        await until(lambda: desk.form.written == ["two"])

    await running(desk, talk)


async def test_what_was_forgotten_meanwhile_is_not_heard() -> None:
    desk = Desk()
    await desk.command(CommandKind.FORM_OPEN)

    async def talk() -> None:
        desk.quiet.clear()
        desk.say("one")
        desk.say("two")
        desk.conversation.hide([desk.conversation.exchanges[0].id])
        desk.quiet.set()
        await until(lambda: desk.form.written == ["two"])

    await running(desk, talk)


async def test_after_a_restart_what_was_stored_but_not_heard_is_heard() -> None:
    desk = Desk()
    desk.exchange("before")
    desk.form.opened = desk.conversation.exchanges[0].started
    for text in ("one", "two", "three"):
        desk.exchange(text)
    desk.form.heard = desk.conversation.exchanges[1].id
    await desk.activities.load()

    async def listen() -> None:
        await until(lambda: desk.form.written == ["two", "three"])

    await running(desk, listen)


async def test_a_command_waits_for_what_was_said_right_before_it() -> None:
    desk = Desk()
    await desk.command(CommandKind.FORM_OPEN)
    desk.quiet.clear()
    desk.say("on Friday in the garden")
    assert await desk.command(CommandKind.FORM_DONE) == "Done."
    assert desk.form.written == ["on Friday in the garden"]


async def test_what_was_said_for_a_form_is_not_heard_by_the_task_opened_after_it() -> None:
    desk = Desk()
    await desk.command(CommandKind.FORM_OPEN)
    desk.quiet.clear()
    desk.say("since Monday")
    await desk.command(CommandKind.TASK_OPEN, "later")
    assert (desk.form.written, desk.task.written) == (["since Monday"], [])


async def test_listening_ends_with_the_session_even_in_the_middle_of_an_exchange() -> None:
    desk = Desk()
    await desk.command(CommandKind.FORM_OPEN)
    desk.form.ready.clear()
    listening = asyncio.create_task(desk.activities.run())
    desk.say("one")
    await until(lambda: desk.form.begun == ["one"])
    listening.cancel()
    await asyncio.wait({listening}, timeout=1)
    assert listening.cancelled()
    assert desk.form.begun == ["one"]
