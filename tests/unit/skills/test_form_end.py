"""Where a form stands, and how it is closed, thrown away, brought back and forgotten."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from assistant.events import Event, ForgettingBegan, ForgettingDone
from assistant.memory.records.hidden import HiddenItems
from assistant.state import EntryKind
from tests.support.form_desk import NOW, Desk, form_desk


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with form_desk(tmp_path) as opened:
        yield opened


async def test_the_status_names_what_is_missing_and_asks_for_it(desk: Desk) -> None:
    await desk.open("appointment")
    assert (await desk.forms.status()).text == (
        "Eight things are missing: with, about, day, and five more. Whom is it with?"
    )
    for text in (
        "with {with: Bob}",
        "{about: my knee}",
        "on {day: Friday}",
        "{time: at ten}",
        "{minutes: an hour}",
        "at {place: home}",
        "{online = no | no}",
    ):
        await desk.say(text)
    assert (await desk.forms.status()).text == (
        "Only one thing is missing: to bring. What do you need to bring?"
    )
    await desk.say("{bring = unknown | skip that}")
    assert (await desk.forms.status()).text == "That's everything. Shall I read it back?"


async def test_finishing_asks_if_something_required_is_missing(desk: Desk) -> None:
    await desk.open("appointment")
    await desk.say("with {with: Bob}")
    reply = await desk.forms.finish()
    assert reply.text == (
        "Four things are missing: about, day, time, and one more. Shall I close it anyway?"
    )
    assert reply.if_no == "All right. What is it about?"
    assert desk.is_open()
    assert reply.if_yes is not None
    closed = await reply.if_yes()
    desk.told()
    assert closed.text == "All right, I've kept the appointment form."
    assert not desk.is_open()
    assert desk.values() == {"with": "Bob"}
    assert closed.undo is not None
    assert (await closed.undo()).text == (
        "All right, the appointment form is open again. What is it about?"
    )
    assert desk.is_open()


async def test_a_form_with_answers_is_only_thrown_away_if_the_user_agrees(desk: Desk) -> None:
    await desk.open("appointment")
    await desk.say("with {with: Bob}")
    reply = await desk.forms.cancel()
    assert reply.text == "The appointment form has one answer. Shall I throw it away?"
    assert reply.if_yes is not None
    assert desk.values() == {"with": "Bob"}
    gone = await reply.if_yes()
    desk.told()
    assert gone.text == "All right, I've thrown away the appointment form."
    assert desk.values() == {}
    assert not desk.is_open()
    assert gone.undo is not None
    assert (await gone.undo()).text == (
        "All right, I've brought back the appointment form. What is it about?"
    )
    assert desk.values() == {"with": "Bob"}
    assert "with: Bob;" in desk.forms.block()


async def test_a_form_that_is_brought_back_has_its_history(desk: Desk) -> None:
    await desk.open("appointment")
    await desk.say("with {with: Bob}")
    [first] = desk.store.entries(EntryKind.SLOT)
    slot = desk.store.change(first.id, {**first.content, "value": "Ann"}, "x2", logged=True)
    assert slot is not None
    history = desk.store.changes(slot.id)
    assert [(each.content, each.exchange) for each in history] == [(first.content, "x2")]
    reply = await desk.forms.cancel()
    assert reply.if_yes is not None
    gone = await reply.if_yes()
    assert desk.store.changes(slot.id) == []
    assert gone.undo is not None
    await gone.undo()
    assert desk.store.changes(slot.id) == history
    assert desk.store.entries(EntryKind.SLOT) == [slot]


@pytest.mark.parametrize(
    "event", [ForgettingBegan("f", (), (), NOW), ForgettingDone("f")], ids=["hidden", "purged"]
)
async def test_what_was_thrown_away_is_not_brought_back_once_something_is_forgotten(
    desk: Desk, event: Event
) -> None:
    await desk.open("appointment")
    await desk.say("with {with: Bob}")
    reply = await desk.forms.cancel()
    assert reply.if_yes is not None
    gone = await reply.if_yes()
    desk.forms.watch(event)
    assert gone.undo is not None
    assert (await gone.undo()).text == "That form is gone."
    assert desk.values() == {}


async def test_an_empty_form_is_thrown_away_at_once(desk: Desk) -> None:
    await desk.open("appointment")
    assert (await desk.forms.cancel()).text == "All right, I've thrown away the appointment form."
    assert desk.store.entries(EntryKind.FORM) == []


async def test_what_is_forgotten_can_not_be_brought_back_by_undo(desk: Desk) -> None:
    await desk.open("appointment")
    await desk.say("with {with: Bob}")
    reply = await desk.forms.cancel()
    assert reply.if_yes is not None
    gone = await reply.if_yes()
    desk.forms.watch(ForgettingBegan("f", (), (), NOW))
    assert gone.undo is not None
    assert (await gone.undo()).text == "That form is gone."
    assert desk.values() == {}


async def test_what_is_being_forgotten_leaves_the_block_and_can_come_back(desk: Desk) -> None:
    await desk.open("appointment")
    await desk.say("with {with: Bob}")
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
