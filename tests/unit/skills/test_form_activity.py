"""Forms that are opened and filled in by voice, in a real store in a real file."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from assistant.context import Exchange
from assistant.errors import ModelMissing
from assistant.forms import UNKNOWN, FormLibrary, FormReader, OpenForm, Proposal
from assistant.intents import Command, CommandKind
from assistant.skills import FormActivity
from assistant.skills.activities.form_activity import BY_HAND
from assistant.skills.spoken_statements import OFF_RECORD
from assistant.state import EntryKind
from tests.support.form_desk import NOW, Desk, form_desk
from tests.support.slot_reader import shipped_form


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with form_desk(tmp_path) as opened:
        yield opened


# -- opening --------------------------------------------------------------------------------------


async def test_a_form_is_opened_by_its_name_and_asks_the_first_question(desk: Desk) -> None:
    assert not desk.is_open()
    assert desk.forms.block() == ""
    reply = await desk.open("the intake")
    assert reply.text == "All right, the medical intake form. What brings you in?"
    assert desk.forms.name == "the medical intake form"
    assert desk.is_open()
    assert desk.reader.loads == 1, "the first answer need not wait for the model"
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
    assert not desk.is_open()
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
    await desk.say("with {with: Doctor Smith}")
    await desk.open("shopping")
    assert (await desk.open("appointment")).text == (
        "Back to the appointment form. What is it about?"
    )
    desk.forms = desk.session()
    await desk.forms.load()
    assert "with: Doctor Smith;" in desk.forms.block()
    assert len(desk.store.entries(EntryKind.FORM)) == 2


@pytest.mark.parametrize("restarted", [False, True])
async def test_an_old_form_is_set_aside_but_can_be_resumed(desk: Desk, restarted: bool) -> None:
    now = datetime.now(UTC)
    library = FormLibrary(Path("/nonexistent"))
    reader, text = FormReader(desk.reader), desk.reader.mark("with {with: Doctor Smith}")
    forms = FormActivity(library, desk.store, lambda: False, reader, now=lambda: now)
    appointment = Command(CommandKind.FORM_OPEN, name="appointment")
    await forms.open(appointment)
    now += timedelta(hours=23)
    assert forms.name == "the appointment form"
    assert await forms.takes(text) is not None
    now += timedelta(hours=2)
    if restarted:
        forms = FormActivity(library, desk.store, lambda: False, reader, now=lambda: now)
        await forms.load()
    assert (forms.opened, forms.name, forms.block()) == (None, "", "")
    assert await forms.takes(text) is None
    reply = await forms.open(appointment)
    assert reply is not None
    assert reply.text.startswith("Back to")
    now = datetime.now(UTC)
    assert forms.name == "the appointment form"


# -- filling --------------------------------------------------------------------------------------


async def test_answers_are_taken_one_after_the_other_without_a_language_model(desk: Desk) -> None:
    await desk.open("appointment")
    said = [
        await desk.say(text)
        for text in (
            "with {with: Doctor Smith}",
            "it's about {about: my knee}",
            "on {day: Friday} {time: at three}",
            "no wait, make that {time: four}",
            "{minutes: an hour and a half}",
            "at {place: the practice}",
            "{online = no | no}",
            "{bring = none | nothing}",
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
    texts = {"with": "Doctor Smith", "about": "my knee", "place": "the practice"}
    others = {"day": "2026-11-20", "time": "16:00", "minutes": 90, "online": False, "bring": []}
    assert desk.values() == {**texts, **others}
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
    assert await desk.forms.takes(desk.reader.mark("{with: Doctor Smith}")) is not None
    assert desk.values() == {}


async def test_not_knowing_is_an_answer(desk: Desk) -> None:
    await desk.open("medical")
    assert (
        await desk.say("{reason = unknown | no idea}") == "That's fine. Since when have you had it?"
    )
    assert desk.values() == {"reason": UNKNOWN}


async def test_an_answer_can_be_undone_and_is_asked_for_again(desk: Desk) -> None:
    await desk.open("appointment")
    reply = await desk.take("with {with: Doctor Smith}")
    assert reply is not None
    assert reply.undo is not None
    assert reply.undo_question is not None
    assert await reply.undo_question() == (
        "The last thing I did was put down with: Doctor Smith. Shall I undo that?"
    )
    assert (await reply.undo()).text == "All right, I've undone that. Whom is it with?"
    assert desk.values() == {}
    await desk.say("with {with: Bob}")
    assert await reply.undo_question() == ""
    assert (await reply.undo()).text == "There's nothing to undo."
    assert desk.values() == {"with": "Bob"}


async def test_off_the_record_nothing_is_stored_and_that_is_said(desk: Desk) -> None:
    await desk.open("appointment")
    desk.off_record[0] = True
    assert await desk.say("with {with: Doctor Smith}") == OFF_RECORD
    await desk.talk("It's with {with: Doctor Smith}, he's lovely.", "What is it about?")
    assert (await desk.open("medical")).text == OFF_RECORD
    assert await desk.forms.ask_on() is None
    assert desk.values() == {}
    assert len(desk.store.entries(EntryKind.FORM)) == 1


async def test_what_the_model_answered_is_heard_with_its_exchange(desk: Desk) -> None:
    await desk.open("medical")
    exchange = await desk.talk(
        "My head, and my {temperature: temperature is 38.5}. What a day!",
        "I'm sorry. Since when have you had it?",
    )
    assert desk.values() == {"temperature": 38.5}
    [slot] = desk.store.entries(EntryKind.SLOT)
    assert (slot.content["exchange"], slot.content["said"]) == (
        exchange.id,
        "temperature is 38.5",
    )
    assert desk.forms.heard == exchange.id
    assert await desk.say("{since: since Monday}") == (
        "Monday, the sixteenth of November. What brings you in?"
    )


async def test_an_answer_is_for_what_the_model_has_just_asked_even_before_that_was_heard(
    desk: Desk,
) -> None:
    await desk.open("appointment")
    desk.forms.answered("x1", "That's a pity. What is it about?")
    assert await desk.say("{about: my knee}") == "Okay. Whom is it with?"
    await desk.talk("I don't know yet.", "That's a pity. What is it about?")
    assert await desk.say("{with: Doctor Smith}") is not None
    assert desk.values() == {"about": "my knee", "with": "Doctor Smith"}


async def test_an_exchange_that_is_heard_twice_changes_nothing_more(desk: Desk) -> None:
    await desk.open("medical")
    exchange = await desk.talk("I feel awful, my temperature is {temperature: 38.5}.", "Oh dear.")
    before = desk.store.entries(EntryKind.SLOT)
    await desk.forms.hear(exchange)
    assert desk.store.entries(EntryKind.SLOT) == before
    assert desk.store.changes(before[0].id) == []


async def test_without_a_working_reader_nothing_is_filled_in_and_the_model_answers(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    await desk.open("medical")
    desk.reader.fault = ModelMissing("The model for forms is incomplete.")
    assert await desk.say("{reason: My head}") is None
    exchange = await desk.talk("{reason: My head}. What a day!", "Oh dear.")
    assert desk.values() == {}
    assert desk.forms.heard == exchange.id
    assert "could not be filled in: The model for forms is incomplete." in caplog.text
    assert "My head" not in caplog.text
    desk.reader.fault = None
    assert await desk.say("{reason: My head}") == "Okay. Since when have you had it?"


async def test_a_form_without_a_reader_is_opened_read_and_closed_but_not_filled_by_voice(
    desk: Desk,
) -> None:
    """As in another language, or if the encoder is missing."""
    library, key = FormLibrary(Path("/nonexistent")), "appointment"
    forms = FormActivity(library, desk.store, lambda: False, None, english=False, now=lambda: NOW)
    opened = await forms.open(Command(CommandKind.FORM_OPEN, name=key))
    assert opened is not None
    assert opened.text == f"All right, the appointment form. {BY_HAND}"
    unknown = await forms.open(Command(CommandKind.FORM_OPEN, name="my taxes"))
    assert unknown is not None
    assert unknown.text.startswith("I don't have a form for my taxes.")
    assert await forms.takes("with Doctor Smith") is None
    exchange = Exchange("x1", 1, "with Doctor Smith", NOW, "I see.", False, NOW)
    await forms.hear(exchange)
    assert forms.heard == "x1"
    assert desk.values() == {}
    assert await forms.ask_on() is None
    form = OpenForm.unfinished(desk.store, shipped_form(key))
    assert form is not None
    form.put([Proposal("with", "Doctor Smith", "Doctor Smith")])  # as somebody types it
    for each in desk.events:
        forms.watch(each)
    assert forms.block() == "", "the model would ask for what is missing"
    assert (await forms.read_back()).text == "With: Doctor Smith."
    assert (await forms.status()).text.endswith(BY_HAND)
    done = await forms.finish()
    assert done.if_yes is not None
    assert (await done.if_yes()).text == "All right, I've kept the appointment form."


async def test_after_other_talk_it_asks_on(desk: Desk) -> None:
    await desk.open("medical")
    await desk.talk("It's cold in here.", "I can't feel it.")
    assert await asked_on(desk, heard=True) == "What brings you in?"


async def test_it_asks_on_once_until_the_user_works_on_the_form_again(desk: Desk) -> None:
    await desk.open("medical")
    for _ in range(2):  # the first one is never heard, because the user speaks
        assert await asked_on(desk, heard=False) == "What brings you in?"
    assert await asked_on(desk, heard=True) == "What brings you in?"
    for _ in range(3):
        await desk.talk("Tell me a joke.", "A horse walks into a bar.")
        assert await asked_on(desk, heard=True) == ""
    await desk.forms.status()
    assert await asked_on(desk, heard=True) != ""
    assert await asked_on(desk, heard=True) == ""
    await desk.talk("By the way, my temperature is {temperature: 38.5}.", "Oh dear.")
    assert await asked_on(desk, heard=True) != ""


async def asked_on(desk: Desk, *, heard: bool) -> str:
    """Return what it asks after other talk, and have that heard or not."""
    reply = await desk.forms.ask_on()
    if reply is None:
        return ""
    if heard:
        assert reply.when_heard is not None
        await reply.when_heard()
    return reply.text
