"""Forms that are filled in by voice, in a real store in a real file."""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from assistant.context import Exchange
from assistant.errors import ModelFailed
from assistant.events import Event, ForgettingBegan
from assistant.forms import UNKNOWN, Form, FormLibrary, Proposal, Value
from assistant.intents import Command, CommandKind
from assistant.memory.records.hidden import HiddenItems
from assistant.memory.transcript.database import Transcript
from assistant.skills import FormActivity, Reply
from assistant.skills.remembering import OFF_RECORD
from assistant.state import EntryKind, StateStore

NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)
"""A Wednesday."""
Propose = Callable[[Form, Mapping[str, Value], Exchange], Awaitable[Sequence[Proposal]]]


@dataclass
class Desk:
    """The activity of a session, and what the test says to it."""

    store: StateStore
    events: list[Event]
    propose: Propose | None = None
    off_record: list[bool] = field(default_factory=lambda: [False])
    number: int = 0

    def __post_init__(self) -> None:
        self.forms = self.session()

    def session(self) -> FormActivity:
        return FormActivity(
            FormLibrary(Path("/nonexistent")),
            self.store,
            lambda: self.off_record[0],
            propose=self.propose,
            now=lambda: NOW,
        )

    def told(self) -> None:
        """Hand over the events, as the event bus does."""
        events, self.events[:] = list(self.events), []
        for each in events:
            self.forms.watch(each)

    async def open(self, name: str | None = None) -> Reply:
        reply = await self.forms.open(Command(CommandKind.FORM_OPEN, name=name))
        assert reply is not None
        self.told()
        return reply

    async def say(self, text: str) -> str | None:
        """Say something that a rule may take. Return the reply, or None if the model answers."""
        reply = await self.take(text)
        return reply.text if reply is not None else None

    async def take(self, text: str) -> Reply | None:
        act = self.forms.takes(text)
        reply = await act() if act is not None else None
        self.told()
        return reply

    async def talk(self, text: str, answer: str = "") -> Exchange:
        """Say something that the model answers."""
        self.number += 1
        exchange = Exchange(f"x{self.number}", self.number, text, NOW, answer, False, NOW)
        await self.forms.hear(exchange)
        self.told()
        return exchange

    def values(self) -> dict[str, object]:
        slots = self.store.entries(EntryKind.SLOT)
        return {str(each.content["slot"]): each.content["value"] for each in slots}


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with closing(Transcript.open(tmp_path / "transcript.db")) as transcript:
        ticks = iter(range(1_000_000))
        events: list[Event] = []
        now = datetime.now(UTC)
        store = StateStore(
            transcript, "me", events.append, lambda: now + timedelta(milliseconds=next(ticks))
        )
        yield Desk(store, events)


# -- opening --------------------------------------------------------------------------------------


async def test_a_form_is_opened_by_its_name_and_asks_the_first_question(desk: Desk) -> None:
    assert desk.forms.opened is None
    assert desk.forms.block() == ""
    reply = await desk.open("the intake")
    assert reply.text == "All right, the medical intake form. What brings you in?"
    assert desk.forms.name == "the medical intake form"
    assert desk.forms.opened is not None
    assert desk.forms.block().endswith("Ask next: What brings you in?")


async def test_without_a_name_the_user_chooses_one(desk: Desk) -> None:
    reply = await desk.open()
    assert reply.text == "Which form: appointment, medical intake or shopping trip?"
    chosen = await reply.choices[2].act()
    assert chosen.text == "All right, the shopping trip form. Where do you want to go?"


async def test_a_form_that_does_not_exist_is_not_invented(desk: Desk) -> None:
    reply = await desk.open("my taxes")
    assert reply.text == (
        "I don't have a form for your taxes. I have these: appointment, medical intake and"
        " shopping trip."
    )
    assert desk.forms.opened is None
    unsure = await desk.forms.ask_to_open(Command(CommandKind.FORM_OPEN, name="my taxes"))
    assert unsure is None


async def test_an_unsure_request_is_asked_about(desk: Desk) -> None:
    asked = await desk.forms.ask_to_open(Command(CommandKind.FORM_OPEN, name="appointment"))
    assert asked is not None
    assert asked.text == "Shall I start the appointment form?"
    assert desk.store.entries(EntryKind.FORM) == []
    assert asked.if_yes is not None
    assert (await asked.if_yes()).text == "All right, the appointment form. Whom is it with?"
    asked = await desk.forms.ask_to_open(Command(CommandKind.FORM_OPEN, name="appointment"))
    assert asked is not None
    assert asked.text == "Shall I go back to the appointment form?"


async def test_an_unfinished_form_is_resumed_by_name_and_after_a_restart(desk: Desk) -> None:
    await desk.open("appointment")
    await desk.say("with Doctor Smith")
    await desk.open("shopping")
    assert (await desk.open("appointment")).text == (
        "Back to the appointment form. What is it about?"
    )
    desk.forms = desk.session()
    await desk.forms.load()
    assert "with: Doctor Smith;" in desk.forms.block()
    assert len(desk.store.entries(EntryKind.FORM)) == 2


async def test_an_old_form_is_not_open_after_a_restart_but_can_be_resumed(desk: Desk) -> None:
    await desk.open("appointment")
    later = FormActivity(
        FormLibrary(Path("/nonexistent")),
        desk.store,
        lambda: False,
        now=lambda: datetime.now(UTC) + timedelta(days=3),
    )
    await later.load()
    assert later.opened is None
    reply = await later.open(Command(CommandKind.FORM_OPEN, name="appointment"))
    assert reply is not None
    assert reply.text.startswith("Back to")


# -- filling --------------------------------------------------------------------------------------


async def test_answers_are_taken_one_after_the_other_without_a_model(desk: Desk) -> None:
    await desk.open("appointment")
    said = [
        await desk.say(text)
        for text in (
            "with Doctor Smith",
            "it's about my knee",
            "on Friday at three",
            "no wait, make that four",
            "an hour and a half",
            "at the practice",
            "no",
            "nothing",
        )
    ]
    assert said[2:5] == [
        "Friday, the twentieth of November. Three in the afternoon. How many minutes will it take?",
        "All right, four in the afternoon. How many minutes will it take?",
        "Ninety minutes. Where is it?",
    ]
    assert said[-1] is not None
    assert said[-1].endswith("That's everything. Shall I read it back?")
    assert said[:2] == ["Okay. What is it about?", "Got it. On which day?"]
    values = {"with": "Doctor Smith", "about": "my knee", "day": "2026-11-20", "time": "16:00"}
    values |= {"minutes": 90, "place": "the practice", "online": False, "bring": []}
    assert desk.values() == values
    assert (await desk.forms.read_back()).text == (
        "With: Doctor Smith. About: your knee. Day: Friday, the twentieth of November. Time: four"
        " in the afternoon. Length: ninety minutes. Place: the practice. Online: no. To bring:"
        " none. Is that right?"
    )


@pytest.mark.parametrize("text", ["why do you need that?", "my sister has asthma", "hello", "hm"])
async def test_what_only_the_model_can_answer_is_left_to_it(desk: Desk, text: str) -> None:
    await desk.open("medical")
    assert await desk.say(text) is None
    assert desk.values() == {}


async def test_nothing_is_taken_while_the_user_may_still_be_speaking(desk: Desk) -> None:
    await desk.open("appointment")
    assert desk.forms.takes("with Doctor Smith") is not None
    assert desk.values() == {}


async def test_not_knowing_is_an_answer(desk: Desk) -> None:
    await desk.open("medical")
    assert await desk.say("no idea") == "That's fine. Since when have you had it?"
    assert desk.values() == {"reason": UNKNOWN}


async def test_an_answer_can_be_undone_and_is_asked_for_again(desk: Desk) -> None:
    await desk.open("appointment")
    reply = await desk.take("with Doctor Smith")
    assert reply is not None
    assert reply.undo is not None
    assert reply.undo_question is not None
    assert await reply.undo_question() == (
        "The last thing I did was put down with: Doctor Smith. Shall I undo that?"
    )
    assert (await reply.undo()).text == "All right, I've undone that. Whom is it with?"
    assert desk.values() == {}
    await desk.say("with Bob")
    assert await reply.undo_question() == ""
    assert (await reply.undo()).text == "There's nothing to undo."
    assert desk.values() == {"with": "Bob"}


async def test_off_the_record_nothing_is_stored_and_that_is_said(desk: Desk) -> None:
    await desk.open("appointment")
    desk.off_record[0] = True
    assert await desk.say("with Doctor Smith") == OFF_RECORD
    await desk.talk("It's with Doctor Smith, he's lovely.", "What is it about?")
    assert (await desk.open("medical")).text == OFF_RECORD
    assert await desk.forms.ask_on() is None
    assert desk.values() == {}
    assert len(desk.store.entries(EntryKind.FORM)) == 1


async def test_what_the_model_answered_is_heard_with_its_exchange(desk: Desk) -> None:
    await desk.open("medical")
    exchange = await desk.talk(
        "My head, and my temperature is 38.5. What a day!", "I'm sorry. Since when have you had it?"
    )
    assert desk.values() == {"temperature": 38.5}
    [slot] = desk.store.entries(EntryKind.SLOT)
    assert (slot.content["exchange"], slot.content["said"]) == (
        exchange.id,
        "my temperature is 38.5.",
    )
    assert desk.forms.heard == exchange.id
    assert await desk.say("since Monday") == (
        "Monday, the sixteenth of November. What brings you in?"
    )


async def test_an_exchange_that_is_heard_twice_changes_nothing_more(desk: Desk) -> None:
    await desk.open("medical")
    exchange = await desk.talk("I feel awful, my temperature is 38.5.", "Oh dear.")
    before = desk.store.entries(EntryKind.SLOT)
    await desk.forms.hear(exchange)
    assert desk.store.entries(EntryKind.SLOT) == before
    assert desk.store.changes(before[0].id) == []


async def test_a_models_proposals_are_checked(desk: Desk) -> None:
    async def propose(*_: object) -> list[Proposal]:
        return [
            Proposal("reason", "these dizzy spells", "these dizzy spells"),
            Proposal("medicines", ["aspirin"], "aspirin"),
            Proposal("severity", 9, "a four"),
        ]

    desk.propose = propose
    desk.forms = desk.session()
    await desk.open("medical")
    await desk.talk(
        "Well, it's these dizzy spells. My husband takes aspirin. I'd say a four.", "Oh."
    )
    assert desk.values() == {"reason": "these dizzy spells"}


async def test_a_model_takes_nothing_off_a_list(desk: Desk) -> None:
    async def propose(*_: object) -> list[Proposal]:
        return [Proposal("items", ["tea"], "tea")]

    desk.propose = propose
    desk.forms = desk.session()
    await desk.open("shopping")
    await desk.talk("Well, add milk to the list, and I could drink some tea now", "All right.")
    await desk.talk("Hang on. Actually tea is what we want.", "All right.")
    assert desk.values()["items"] == ["milk", "tea"]


async def test_without_a_working_model_the_rules_still_fill(desk: Desk) -> None:
    async def propose(*_: object) -> list[Proposal]:
        raise ModelFailed("The model has crashed.")

    desk.propose = propose
    desk.forms = desk.session()
    await desk.open("medical")
    await desk.talk("What a day! My temperature is 38.5.", "Oh dear.")
    assert desk.values() == {"temperature": 38.5}


async def test_after_other_talk_it_asks_on(desk: Desk) -> None:
    await desk.open("medical")
    await desk.talk("It's cold in here.", "I can't feel it.")
    reply = await desk.forms.ask_on()
    assert reply is not None
    assert reply.text == "What brings you in?"


# -- where it stands, and its end -----------------------------------------------------------------


async def test_the_status_names_what_is_missing_and_asks_for_it(desk: Desk) -> None:
    await desk.open("appointment")
    assert (await desk.forms.status()).text == (
        "Eight things are missing: with, about, day, and five more. Whom is it with?"
    )
    for text in ("with Bob", "my knee", "on Friday", "at ten", "an hour", "at home", "no"):
        await desk.say(text)
    assert (await desk.forms.status()).text == (
        "Only one thing is missing: to bring. What do you need to bring?"
    )
    await desk.say("skip that")
    assert (await desk.forms.status()).text == "That's everything. Shall I read it back?"


async def test_finishing_asks_if_something_required_is_missing(desk: Desk) -> None:
    await desk.open("appointment")
    await desk.say("with Bob")
    reply = await desk.forms.finish()
    assert reply.text == (
        "Four things are missing: about, day, time, and one more. Shall I close it anyway?"
    )
    assert reply.if_no == "All right. What is it about?"
    assert desk.forms.opened is not None
    assert reply.if_yes is not None
    closed = await reply.if_yes()
    desk.told()
    assert closed.text == "All right, I've kept the appointment form."
    assert desk.forms.opened is None
    assert desk.values() == {"with": "Bob"}
    assert closed.undo is not None
    assert (await closed.undo()).text == (
        "All right, the appointment form is open again. What is it about?"
    )
    assert desk.forms.opened is not None


async def test_a_form_with_answers_is_only_thrown_away_if_the_user_agrees(desk: Desk) -> None:
    await desk.open("appointment")
    await desk.say("with Bob")
    reply = await desk.forms.cancel()
    assert reply.text == "The appointment form has one answer. Shall I throw it away?"
    assert reply.if_yes is not None
    assert desk.values() == {"with": "Bob"}
    gone = await reply.if_yes()
    desk.told()
    assert gone.text == "All right, I've thrown away the appointment form."
    assert desk.values() == {}
    assert desk.forms.opened is None
    assert gone.undo is not None
    assert (await gone.undo()).text == (
        "All right, I've brought back the appointment form. What is it about?"
    )
    assert desk.values() == {"with": "Bob"}
    assert "with: Bob;" in desk.forms.block()


async def test_an_empty_form_is_thrown_away_at_once(desk: Desk) -> None:
    await desk.open("appointment")
    assert (await desk.forms.cancel()).text == "All right, I've thrown away the appointment form."
    assert desk.store.entries(EntryKind.FORM) == []


async def test_what_is_forgotten_can_not_be_brought_back_by_undo(desk: Desk) -> None:
    await desk.open("appointment")
    await desk.say("with Bob")
    reply = await desk.forms.cancel()
    assert reply.if_yes is not None
    gone = await reply.if_yes()
    desk.forms.watch(ForgettingBegan("f", (), (), NOW))
    assert gone.undo is not None
    assert (await gone.undo()).text == "That form is gone."
    assert desk.values() == {}


async def test_what_is_being_forgotten_leaves_the_block_and_can_come_back(desk: Desk) -> None:
    await desk.open("appointment")
    await desk.say("with Bob")
    [slot] = desk.store.entries(EntryKind.SLOT)
    hidden = HiddenItems("h", "me", NOW, NOW, (), (slot.id,))
    desk.store.hide(hidden)
    desk.told()
    assert "Bob" not in desk.forms.block()
    desk.store.unhide(hidden, [])
    desk.told()
    assert "with: Bob;" in desk.forms.block()
    [form] = desk.store.entries(EntryKind.FORM)
    desk.store.hide(HiddenItems("g", "me", NOW, NOW, (), (form.id,)))
    desk.told()
    assert desk.forms.block() == ""
