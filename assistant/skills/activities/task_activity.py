"""The activity of planning something over several turns: "let's plan the trip to Lisbon"."""

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Protocol

from assistant.context import Exchange
from assistant.errors import SettingsError
from assistant.events import Event, ForgettingBegan, StateChanged, StateEntry
from assistant.intents import Command, CommandKind
from assistant.language.stemming import TextAnalyzer
from assistant.memory import StoredStatement, says_unknown, spoken_replies
from assistant.skills.removed_entries import RemovedEntries
from assistant.skills.skill import BRING_BACK, UNDO_IT, Act, Reply, last_done
from assistant.skills.spoken_errors import spoken
from assistant.skills.spoken_statements import NOT_KEPT, NOTHING, OFF_RECORD
from assistant.state import Entry, EntryKind, StateStore
from assistant.tasks import (
    Merging,
    Opening,
    StoredTasks,
    Task,
    Title,
    block,
    called,
    memory_text,
    plain_name,
    read_aloud,
    settled,
    tasks_of,
    title,
)

WHAT = "What shall we plan?"
NEXT = "What's next?"
SO_FAR = "What have you got so far?"
GONE = "That plan is gone."
NONE_OPEN = "We aren't planning anything right now."
KEPT = "All right, I'll keep it."
KINDS = (EntryKind.TASK, EntryKind.LINE)


class RemembersWords(Protocol):
    """Stores what the user asks the assistant to remember, as `UserStatements` does."""

    async def remember(self, words: str) -> StoredStatement:
        """Store words. Raises StoreError, or SettingsError if the words aren't allowed."""

    async def take_back(self, stored: StoredStatement) -> bool:
        """Undo `remember`. Return False if what was stored is gone."""

    async def text_of(self, memories: Collection[str]) -> str:
        """Return the text of the first of these memories that exists; empty if none does."""


def utc_now() -> datetime:
    return datetime.now(UTC)


class TaskActivity:
    """An `Activity` that keeps what is settled about tasks. At most one task is open.

    A task is closed when the user is done, opens another, or has not spoken about it for twelve
    hours. It can be resumed by its name. If something was settled, the closed task is kept until
    the user has been asked whether to remember it, and for a week after that.

    Args:
        off_record: returns whether the session is off the record. Nothing is settled then.
        statements: remembers what was settled; None in a session without a long-term memory.
    """

    opens = CommandKind.TASK_OPEN

    def __init__(
        self,
        store: StateStore,
        lexicon: TextAnalyzer,
        off_record: Callable[[], bool],
        statements: RemembersWords | None = None,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._merging = Merging(lexicon)
        self._stored = StoredTasks(store, self._merging, now)
        self._store = store
        self._removed = RemovedEntries(store)
        self._lexicon = lexicon
        self._english = lexicon.language == "en"
        self._off_record = off_record
        self._statements = statements
        self._now = now
        self._rows: dict[str, Sequence[StateEntry | Entry]] = {}
        self._tasks: list[Task] = []
        self._before = ""
        """The assistant's last words, to which the next exchange replies. They are not stored."""
        self._on_topic = False
        """Whether the previous exchange was about the open task."""

    def watch(self, event: Event) -> None:
        """Receive an event from the event bus."""
        self._removed.watch(event)
        if isinstance(event, ForgettingBegan):
            self._before = ""
        if isinstance(event, StateChanged) and event.kind in KINDS:
            self._rows[event.kind] = event.entries
            self._tasks = tasks_of(*(self._rows.get(kind, ()) for kind in KINDS))

    async def load(self) -> None:
        await self._refresh()
        over = [each.id for each in self._tasks if each.over(self._now())]
        if over:
            await asyncio.to_thread(self._store.remove, over)
            await self._refresh()

    @property
    def opened(self) -> datetime | None:
        task = self._open
        return task.opened if task is not None else None

    @property
    def name(self) -> str:
        task = self._open
        return _plan(self._title(task.name)) if task is not None else ""

    @property
    def heard(self) -> str:
        task = self._open
        return task.heard if task is not None else ""

    def block(self) -> str:
        task = self._open
        return block(task) if task is not None else ""

    async def takes(self, text: str) -> Act | None:
        """Return None: the language model answers everything that is said about a task."""
        del text
        return None

    def answered(self, exchange: str, answer: str) -> None:
        """Do nothing: `hear` takes the answer from the exchange."""

    async def hear(self, exchange: Exchange) -> None:
        task = self._open
        if self._off_record() or not self._english:
            self._before = ""
            return
        if task is not None and task.heard != exchange.id:
            new = settled(task, exchange, self._before, self._merging, on_topic=self._on_topic)
            await asyncio.to_thread(self._stored.settle, task.id, exchange, new)
            await self._refresh()
            self._on_topic = new.about
        self._before = exchange.assistant_text

    async def ask_on(self) -> Reply | None:
        """Ask what to do with a task that was closed without asking the user: nobody had spoken
        about it for long, or another was opened. Return None if there is none. Each task is asked
        about once.

        While a task is open, nothing is asked: the user and the model decide what to settle next.
        """
        await self._refresh()
        left = [each for each in self._tasks if each.unfinished(self._now())]
        if not left or self._open is not None or self._off_record() or self._statements is None:
            return None
        task = left[-1]
        said = f"We never finished {self._title(task.name).doing}."
        return replace(
            self._shall_remember(task, said, self._statements),
            when_heard=partial(self._close, task.id),
        )

    # -- opening --------------------------------------------------------------------------------

    async def open(self, command: Command) -> Reply | None:
        if self._off_record():
            return Reply(OFF_RECORD)
        name = plain_name(command.name or "")
        return await self._open_named(name) if name else Reply(WHAT, if_said=self._told_what)

    async def ask_to_open(self, command: Command) -> Reply | None:
        name = plain_name(command.name or "")
        if self._off_record() or not name:
            return None
        return Reply(f"Shall we {self._title(name).do}?", if_yes=partial(self._open_named, name))

    async def _told_what(self, words: str) -> Reply | None:
        """Take the answer to "What shall we plan?"."""
        if says_unknown(words):
            return Reply(NOTHING) if says_unknown(words, only=True) else None
        name = plain_name(words)
        return await self._open_named(name) if name else None

    async def _open_named(self, name: str) -> Reply:
        if self._off_record():  # perhaps only after the question was asked
            return Reply(OFF_RECORD)
        await self._refresh()
        found = called(name, self._tasks, self._lexicon)
        if found is not None and found == self._open:
            return await self.status()
        opening = await asyncio.to_thread(
            self._stored.resume if found is not None else self._stored.open,
            found.id if found is not None else name,
        )
        if opening is None:
            return Reply(GONE)
        await self._refresh()
        what = self._title(found.name if found is not None else name)
        if found is not None and found.lines:
            text = f"Okay, back to {what.doing}. {self._so_far(found)} {NEXT}"
        else:
            text = f"Okay, let's {what.do}. {SO_FAR}"
        self._before = text
        return Reply(
            text,
            undo=partial(self._take_back, opening),
            undo_question=partial(self._shall_take_back, opening, resumed=found is not None),
        )

    async def _take_back(self, opening: Opening) -> Reply:
        """Undo opening or resuming a task."""
        done = await asyncio.to_thread(self._stored.take_back, opening)
        await self._refresh()
        return Reply("All right, we'll leave it." if done else spoken_replies.NOTHING_TO_UNDO)

    async def _shall_take_back(self, opening: Opening, *, resumed: bool) -> str:
        """Return a question that asks whether to undo opening or resuming a task; empty if that is
        no longer possible."""
        await self._refresh()
        task = self._open
        if task is None or (task.lines and not resumed):
            return ""
        if opening.new not in ("", task.id):
            return ""
        did = "go back to" if resumed else "begin"
        return last_done(f"{did} {self._title(task.name).doing}", UNDO_IT)

    # -- telling --------------------------------------------------------------------------------

    async def status(self) -> Reply:
        await self._refresh()
        task = self._open
        if task is None:
            return Reply(NONE_OPEN)
        if not task.lines:
            text = f"We're {self._title(task.name).doing}. Nothing is settled yet. {SO_FAR}"
        else:
            text = f"{self._so_far(task)} {NEXT}"
        self._before = text
        return Reply(text)

    async def read_back(self) -> Reply:
        await self._refresh()
        task = self._open
        if task is None:
            return Reply(NONE_OPEN)
        what = self._title(task.name).what
        if not task.lines:
            return Reply(f"Nothing is settled yet for {what}.")
        return Reply(f"For {what}, we've settled this: {self._lines(task)}.")

    # -- closing --------------------------------------------------------------------------------

    async def cancel(self) -> Reply:
        await self._refresh()
        task = self._open
        if task is None:
            return Reply(NONE_OPEN)
        if not task.lines:
            return await self._throw_away(task.id, "All right, we'll leave it.")
        question = f"Shall I throw away what we settled for {self._title(task.name).what}?"
        act = partial(self._throw_away, task.id, "All right, I've thrown it away.")
        return Reply(question, if_yes=act, if_no=KEPT, deletes=1)

    async def finish(self) -> Reply:
        await self._refresh()
        task = self._open
        if task is None:
            return Reply(NONE_OPEN)
        if not task.lines:
            text = "All right. Nothing was settled, so there's nothing to keep."
            return await self._throw_away(task.id, text)
        await self._close(task.id)
        if self._statements is None:
            return Reply("All right. I'm not keeping anything in this session.")
        return self._shall_remember(task, "All right.", self._statements)

    async def _close(self, key: str) -> None:
        """Close a task that the user is now asked about. If they don't answer, it is kept for a
        week."""
        await asyncio.to_thread(self._stored.close, key)
        await self._refresh()

    def _shall_remember(self, task: Task, said: str, statements: RemembersWords) -> Reply:
        return Reply(
            f"{said} Shall I remember what we settled?",
            if_yes=partial(self._remember, statements, task.id),
            then_no=partial(self._throw_away, task.id, "All right, I've let it go."),
        )

    async def _remember(self, statements: RemembersWords, key: str) -> Reply:
        """Store what was settled as an ordinary memory."""
        if self._off_record():
            return Reply(OFF_RECORD)
        await self._refresh()
        task = next((each for each in self._tasks if each.id == key), None)
        if task is None or not task.lines:
            return Reply(GONE)
        try:
            stored = await statements.remember(memory_text(task))
        except SettingsError as error:
            return Reply(spoken(error))
        removal, _ = await asyncio.to_thread(self._removed.remove, [key])
        await self._refresh()
        return Reply(
            f"I'll remember what we settled for {self._title(task.name).what}.",
            undo=partial(self._unremember, statements, stored, removal),
            undo_question=partial(self._shall_unremember, statements, stored, removal),
        )

    async def _unremember(
        self, statements: RemembersWords, stored: StoredStatement, removal: str
    ) -> Reply:
        if not await statements.take_back(stored):
            return Reply(spoken_replies.NOTHING_TO_UNDO)
        back = await asyncio.to_thread(self._removed.restore, removal)
        await self._refresh()
        return Reply("All right, it's a plan again." if back else NOT_KEPT)

    async def _shall_unremember(
        self, statements: RemembersWords, stored: StoredStatement, removal: str
    ) -> str:
        what = self._removed_name(removal)
        there = await statements.text_of(stored.memories)
        return last_done(f"remember {what}", UNDO_IT) if there and what else ""

    async def _throw_away(self, key: str, text: str) -> Reply:
        removal, gone = await asyncio.to_thread(self._removed.remove, [key])
        await self._refresh()
        if not gone:
            return Reply(GONE)
        return Reply(
            text,
            undo=partial(self._bring_back, removal),
            undo_question=partial(self._shall_bring_back, removal),
        )

    async def _bring_back(self, removal: str) -> Reply:
        what = self._removed_name(removal)
        back = await asyncio.to_thread(self._removed.restore, removal)
        await self._refresh()
        if not back:
            return Reply(spoken_replies.NOTHING_TO_UNDO)
        return Reply(f"All right, {what} is back.")

    async def _shall_bring_back(self, removal: str) -> str:
        what = self._removed_name(removal)
        return last_done(f"throw away {what}", BRING_BACK) if what else ""

    def _removed_name(self, removal: str) -> str:
        """Return what a removed plan is called; empty if it can't be brought back."""
        kept = self._removed.kept(removal)
        names = [str(each.content["name"]) for each in kept if each.kind is EntryKind.TASK]
        return _plan(self._title(names[0])) if names else ""

    # -- inside ---------------------------------------------------------------------------------

    @property
    def _open(self) -> Task | None:
        """The open task."""
        now = self._now()
        return next((each for each in reversed(self._tasks) if each.is_open(now)), None)

    async def _refresh(self) -> None:
        """Read the tasks again. They may have been changed by a command or forgotten."""
        for kind in KINDS:
            self._rows[kind] = await asyncio.to_thread(self._store.entries, kind)
        self._tasks = tasks_of(*(self._rows[kind] for kind in KINDS))

    def _title(self, name: str) -> Title:
        return title(name, english=self._english)

    def _so_far(self, task: Task) -> str:
        return f"So far: {self._lines(task)}."

    def _lines(self, task: Task) -> str:
        today = self._now().astimezone().date()
        return read_aloud(task.lines, today, english=self._english)


def _plan(what: Title) -> str:
    """Return what the plan of a task is called in a sentence."""
    return what.what if "plan" in what.what.split() else f"the plan for {what.what}"
