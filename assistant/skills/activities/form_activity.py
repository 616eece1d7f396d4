"""Fills in forms over several turns."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from functools import partial

from assistant.context import Exchange
from assistant.errors import ModelError
from assistant.events import Event, StateChanged
from assistant.forms import (
    NOTHING_FOUND,
    Filling,
    Form,
    FormLibrary,
    FormReader,
    OpenForm,
    Proposal,
    PutInSlot,
    Slot,
    asked_in,
)
from assistant.intents import Command, CommandKind
from assistant.language.calendar import local_day
from assistant.language.second_person import spoken_topic
from assistant.skills.activities import form_words
from assistant.skills.activities.form_words import ALL_THERE, name_of
from assistant.skills.removed_entries import RemovedEntries
from assistant.skills.skill import BRING_BACK, UNDO_IT, Act, Choice, Reply, last_done
from assistant.skills.spoken_statements import OFF_RECORD
from assistant.state import StateStore

logger = logging.getLogger(__name__)

WORKED_ON = timedelta(days=1)
"""If nobody works on a form for longer than this, it is set aside until the user asks for it."""
MOST_CHOICES = 4
"""Maximum number of forms that are offered by name."""
NOTHING_TO_UNDO = "There's nothing to undo."
NONE_OPEN = "No form is open."
BY_HAND = "I can't fill it in from what you say here. You can do it on the screen."
READING_S = 0.25
"""Maximum number of seconds that the answer waits while the form's values are read from an
utterance. If reading takes longer, the form is filled in after the answer."""
KEPT = "All right, I'll keep it."
GONE = "That form is gone."


class FormActivity:
    """Opens forms, fills them from what is said, and asks for what is missing.

    Args:
        off_record: returns whether the session is off the record. Nothing is filled in then.
        reader: reads the values for a form from what is said; None if there is no model for the
            user's language. In that case, forms are filled in only by hand.
        english: whether the language is English, even if there is no `reader`.
        now: returns the current time in UTC.
    """

    opens = CommandKind.FORM_OPEN

    def __init__(
        self,
        library: FormLibrary,
        store: StateStore,
        off_record: Callable[[], bool],
        reader: FormReader | None,
        *,
        english: bool = True,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._library = library
        self._store = store
        self._off_record = off_record
        self._reader = reader
        self._english = english
        self._now = now
        self._current: OpenForm | None = None
        """The form that was opened last; None if it has been closed."""
        self._removed = RemovedEntries(store)
        self._turns = 0
        """Number of utterances that were answered here; used to vary the wording."""
        self._asked_on = False
        """Whether a question from `ask_on` was heard since the user last worked on the form."""

    def watch(self, event: Event) -> None:
        """Receive an event from the event bus."""
        self._removed.watch(event)
        form = self._current
        if form is None or not isinstance(event, StateChanged):
            return
        if not form.update(event.kind, event.entries):
            self._current = None

    # -- as an `Activity` -----------------------------------------------------------------------

    async def load(self) -> None:
        found = partial(OpenForm.in_progress, self._store, self._library)
        self._current = await asyncio.to_thread(found)

    @property
    def opened(self) -> datetime | None:
        return self._open.opened if self._open is not None else None

    @property
    def name(self) -> str:
        return name_of(self._open.form) if self._open is not None else ""

    @property
    def heard(self) -> str:
        return self._open.read if self._open is not None else ""

    def block(self) -> str:
        return self._open.block() if self._open is not None and self._reader is not None else ""

    async def takes(self, text: str) -> Act | None:
        form = self._open
        if form is None:
            return None
        found = NOTHING_FOUND
        with suppress(TimeoutError):
            async with asyncio.timeout(READING_S):
                found = await self._fill(form, form.asked, text, self._today)
        return partial(self._take, form, found.proposals) if found.whole else None

    def answered(self, exchange: str, answer: str) -> None:
        if self._open is not None and not self._off_record():
            self._open.answered(exchange, asked_in(self._open.form, answer))

    async def hear(self, exchange: Exchange) -> None:
        form = self._open
        if form is None or self._off_record() or exchange.id == form.read:
            return
        asked = form.answered(exchange.id, asked_in(form.form, exchange.assistant_text))
        found = await self._fill(form, asked, exchange.user_text, local_day(exchange.started))
        if await asyncio.to_thread(form.put, found.proposals, exchange.id):
            self._asked_on = False
        await asyncio.to_thread(form.heard, exchange.id)

    async def ask_on(self) -> Reply | None:
        """Ask only once until the user works on the form again: they may want to talk about
        something else."""
        form = self._open
        if self._off_record() or form is None or self._asked_on or self._reader is None:
            return None
        slot = form.next_slot()
        return replace(self._question(slot, ""), when_heard=partial(self._asks_on, form, slot))

    async def _asks_on(self, form: OpenForm, slot: Slot | None) -> None:
        self._asked_on = True
        await asyncio.to_thread(form.ask_for, slot)

    async def open(self, command: Command) -> Reply | None:
        if self._off_record():
            return Reply(OFF_RECORD)
        form = await asyncio.to_thread(self._library.find, command.name or "")
        if form is not None:
            return await self._begin(form)
        forms = await asyncio.to_thread(self._library.forms)
        if command.name and not _means_any(command.name):
            topic = spoken_topic(command.name, english=self._english)
            known = form_words.titles(forms)
            return Reply(f"I don't have a form for {topic}. I have these: {known}.")
        offered = forms[:MOST_CHOICES]
        choices = [
            Choice(form_words.titles([each]), partial(self._begin, each)) for each in offered
        ]
        return Reply(f"Which form: {form_words.titles(offered, 'or')}?", choices=tuple(choices))

    async def ask_to_open(self, command: Command) -> Reply | None:
        form = await asyncio.to_thread(self._library.find, command.name or "")
        if form is None or self._off_record():
            return None
        open_now = await asyncio.to_thread(OpenForm.unfinished, self._store, form)
        verb = "go back to" if open_now is not None else "start"
        return Reply(f"Shall I {verb} {name_of(form)}?", if_yes=partial(self._begin, form))

    async def status(self) -> Reply:
        form = self._open
        if form is None:
            return Reply(NONE_OPEN)
        empty = form.missing()
        return await self._ask(form_words.missing(empty) if empty else "")

    async def read_back(self) -> Reply:
        form = self._open
        if form is None:
            return Reply(NONE_OPEN)
        if not form.filled:
            return await self._ask(f"There is nothing in {name_of(form.form)} yet.")
        order = [each.name for each in form.form.slots]
        known = [each for each in form.filled if each.slot is not None]
        known.sort(key=lambda each: order.index(str(each.content["slot"])))
        text = form_words.contents(known, self._today)
        return (
            Reply(text) if form.missing() else Reply(f"{text} Is that right?", if_yes=self.finish)
        )

    async def cancel(self) -> Reply:
        form = self._open
        if form is None:
            return Reply(NONE_OPEN)
        if not form.filled:
            return await self._throw_away(form)
        text = f"{name_of(form.form)} has {form_words.answers(len(form.filled))}"
        return Reply(
            f"{text[:1].upper()}{text[1:]}. Shall I throw it away?",
            if_yes=partial(self._throw_away, form),
            if_no=KEPT,
            deletes=1,
        )

    async def finish(self) -> Reply:
        form = self._open
        if form is None:
            return Reply(NONE_OPEN)
        needed = [each for each in form.missing() if each.required]
        if not needed:
            return await self._close(form)
        await asyncio.to_thread(form.ask_for, needed[0])
        return Reply(
            f"{form_words.missing(needed)} Shall I close it anyway?",
            if_yes=partial(self._close, form),
            if_no=f"All right. {needed[0].ask}",
        )

    # -- filling --------------------------------------------------------------------------------

    async def _take(self, form: OpenForm, found: Sequence[Proposal]) -> Reply:
        if self._off_record():
            return Reply(OFF_RECORD)
        changes = await asyncio.to_thread(form.put, found)
        if not changes and self._open is not form:  # forgotten or closed meanwhile
            return Reply(GONE)
        self._turns += 1
        reply = await self._ask(form_words.understood(changes, self._today, self._turns))
        if not changes:
            return reply
        return Reply(
            reply.text,
            if_yes=reply.if_yes,
            undo=partial(self._take_back, form, changes),
            undo_question=partial(self._shall_take_back, changes),
        )

    async def _fill(self, form: OpenForm, asked: str, text: str, today: date) -> Filling:
        """Return the values in an utterance that belong in the form.

        Args:
            asked: name of the slot that the utterance replies to, or empty.
        """
        if self._reader is None:
            return NOTHING_FOUND
        fill = partial(self._reader.fill, form.form, form.values(), asked, text, today)
        try:
            return await asyncio.to_thread(fill)
        except ModelError as error:
            logger.warning("what was said could not be filled in: %s", error)
            return NOTHING_FOUND

    async def _take_back(self, form: OpenForm, changes: Sequence[PutInSlot]) -> Reply:
        undone = await asyncio.to_thread(form.take_back, changes)
        if not undone:
            return Reply(NOTHING_TO_UNDO)
        if self._open is not form:
            return Reply("All right, I've undone that.")
        await asyncio.to_thread(form.ask_for, undone[0].slot)
        return Reply(f"All right, I've undone that. {undone[0].slot.ask}")

    async def _shall_take_back(self, changes: Sequence[PutInSlot]) -> str:
        standing = []
        for each in changes:
            there = await asyncio.to_thread(self._store.get, each.key)
            if there is not None and there.content == each.after:
                standing.append(each)
        if not standing:
            return ""
        return last_done(form_words.what_changed(standing, self._today), UNDO_IT)

    async def _ask(self, before: str) -> Reply:
        """Say `before`, then ask for the next missing value, or whether to read the form back."""
        form = self._open
        if form is None:
            return Reply(before or NONE_OPEN)
        if self._reader is None:
            return Reply(f"{before} {BY_HAND}".strip())
        self._asked_on = False
        slot = form.next_slot()
        await asyncio.to_thread(form.ask_for, slot)
        return self._question(slot, before)

    def _question(self, slot: Slot | None, before: str) -> Reply:
        if slot is None:
            return Reply(f"{before} {ALL_THERE}".strip(), if_yes=self.read_back)
        return Reply(f"{before} {slot.ask}".strip())

    # -- opening and closing --------------------------------------------------------------------

    async def _begin(self, form: Form) -> Reply:
        if self._off_record():
            return Reply(OFF_RECORD)
        if self._reader is not None:
            with suppress(ModelError):  # `_fill` reports it
                await asyncio.to_thread(self._reader.load)  # or the first answer would wait for it
        found = await asyncio.to_thread(OpenForm.unfinished, self._store, form)
        if found is not None:
            await asyncio.to_thread(found.resume)
            self._current = found
            return await self._ask(f"Back to {name_of(form)}.")
        new = self._current = await asyncio.to_thread(OpenForm.begin, self._store, form)
        reply = await self._ask(f"All right, {name_of(form)}.")
        return Reply(reply.text, undo=partial(self._take_back_opening, new))

    async def _take_back_opening(self, form: OpenForm) -> Reply:
        await asyncio.to_thread(form.reload)
        if form.filled:
            return Reply(NOTHING_TO_UNDO)
        return await self._throw_away(form)

    async def _throw_away(self, form: OpenForm) -> Reply:
        removal, gone = await asyncio.to_thread(self._removed.remove, [form.key])
        self._current = None if self._current is form else self._current
        if not gone:
            return Reply(GONE)
        return Reply(
            f"All right, I've thrown away {name_of(form.form)}.",
            undo=partial(self._bring_back, form, removal),
            undo_question=partial(self._shall_bring_back, form, removal),
        )

    async def _bring_back(self, form: OpenForm, removal: str) -> Reply:
        back = await asyncio.to_thread(self._removed.restore, removal)
        if not back:
            return Reply(GONE)
        return await self._reopen(form, f"All right, I've brought back {name_of(form.form)}.")

    async def _shall_bring_back(self, form: OpenForm, removal: str) -> str:
        kept = self._removed.kept(removal)
        return last_done(f"throw away {name_of(form.form)}", BRING_BACK) if kept else ""

    async def _close(self, form: OpenForm) -> Reply:
        if not await asyncio.to_thread(form.close):
            self._current = None
            return Reply(GONE)
        self._current = None if self._current is form else self._current
        return Reply(
            f"All right, I've kept {name_of(form.form)}.",
            undo=partial(self._open_again, form),
            undo_question=partial(self._shall_open_again, form),
        )

    async def _open_again(self, form: OpenForm) -> Reply:
        if not await asyncio.to_thread(partial(form.close, closed=False)):
            return Reply(NOTHING_TO_UNDO)
        return await self._reopen(form, f"All right, {name_of(form.form)} is open again.")

    async def _shall_open_again(self, form: OpenForm) -> str:
        there = await asyncio.to_thread(self._store.get, form.key)
        return last_done(f"close {name_of(form.form)}", UNDO_IT) if there is not None else ""

    async def _reopen(self, form: OpenForm, said: str) -> Reply:
        if await asyncio.to_thread(form.reload):
            self._current = form
            await asyncio.to_thread(form.resume)
        return await self._ask(said)

    @property
    def _open(self) -> OpenForm | None:
        """The form that is open and has not been set aside."""
        form = self._current
        return form if form is not None and form.worked_on > self._now() - WORKED_ON else None

    @property
    def _today(self) -> date:
        return local_day(self._now())


def _means_any(name: str) -> bool:
    return name.lower().strip(" .") in ("form", "a form", "the form", "one", "something")
