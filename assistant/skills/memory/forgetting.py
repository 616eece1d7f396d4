"""The skill that forgets on request, and brings back what was forgotten."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime
from functools import partial

from assistant.errors import SettingsError, StoreError
from assistant.events import Event, ForgettingDone, ForgettingUndone
from assistant.intents import DELETING, Command, CommandKind, period
from assistant.language.calendar import Period
from assistant.language.word_lists import listed, words_of
from assistant.memory import (
    AnsweredTurns,
    ForgetPlan,
    ForgetRequest,
    ForgettingExecutor,
    HiddenItems,
    NothingMeant,
    Resolver,
    spoken_replies,
)
from assistant.skills.skill import BRING_BACK, Choice, Reply, last_done
from assistant.skills.spoken_errors import notice, spoken

EVERYTHING = "everything I knew about you"


class Forgetting:
    """Carries out one user's commands to forget.

    A single thing is forgotten without asking. The user is asked first if several things would be
    forgotten, and always if the request concerns a day, a person or everything.

    Args:
        english: whether the language is English, so that replies may rephrase what was said.
    """

    kinds = DELETING | {CommandKind.UNDO}

    def __init__(
        self,
        executor: ForgettingExecutor,
        resolver: Resolver,
        turns: AnsweredTurns,
        *,
        english: bool = True,
    ) -> None:
        self._executor = executor
        self._resolver = resolver
        self._turns = turns
        self._english = english
        self._named: dict[str, str] = {}
        """Descriptions of what was forgotten and can still be brought back, by the id of the
        deletion."""

    def watch(self, event: Event) -> None:
        """Receive an event from the event bus. Once a deletion is complete or undone, drop its
        description."""
        if isinstance(event, ForgettingDone | ForgettingUndone):
            self._named.pop(event.id, None)

    async def carry_out(self, command: Command) -> Reply | None:
        if command.kind is CommandKind.UNDO:
            return await self._undo()
        request = self._request(command)
        if request is None:
            return Reply(spoken_replies.WHICH_TIME)
        try:
            plan = await self._resolved(request)
        except NothingMeant as error:
            return Reply(str(error))
        except SettingsError:
            return Reply(spoken_replies.UNCLEAR)
        if plan.alternatives:
            return self._choice(plan)
        wish = wish_of(command, request, english=self._english)
        if plan.needs_confirmation or concerns_much(request):
            return self._asking(plan, wish, spoken_replies.question(plan, english=self._english))
        return await self._forget(plan, wish)

    async def ask(self, command: Command) -> Reply | None:
        if command.kind is CommandKind.UNDO:
            left = self._undoable()
            return Reply(spoken_replies.SHALL_UNDO, if_yes=self._undo) if left else None
        request = self._request(command)
        if request is None:
            return None
        try:
            plan = await self._resolved(request)
        except (NothingMeant, SettingsError):
            return None
        if plan.alternatives:
            return self._choice(plan)
        wish = wish_of(command, request, english=self._english)
        return self._asking(plan, wish, spoken_replies.doubt(plan, wish, english=self._english))

    # -- inside ---------------------------------------------------------------------------------

    def _request(self, command: Command) -> ForgetRequest | None:
        if command.kind is CommandKind.FORGET_THAT:
            return ForgetRequest(that=True, named=self._turns.named)
        return request_of(command, self._executor.now())

    async def _resolved(self, request: ForgetRequest) -> ForgetPlan:
        """Resolve the request in a thread, so as not to block the event loop."""
        return await asyncio.to_thread(self._resolver.resolve, request, self._turns.all())

    async def _forget(self, plan: ForgetPlan, wish: str = "", *, chosen: bool = False) -> Reply:
        """Forget the things in a plan. If the user has chosen them from what was named, "that"
        still refers to the rest. Otherwise, "that" refers to nothing any more, not even to older
        things."""
        if not (chosen and self._turns.named):
            self._turns.spoke_of([()])
        try:
            items = await self._executor.hide(plan.exchanges, plan.memories)
        except StoreError as error:
            return Reply(f"{spoken_replies.NOT_NOTED}{spoken(error)}", notice=notice(error))
        undoable = self._executor.gives_time
        text = spoken_replies.forgotten(plan, undoable=undoable, english=self._english)
        if not undoable:
            return Reply(text)
        known = {each.id for each in self._executor.hidden}
        self._named = {key: what for key, what in self._named.items() if key in known}
        self._named[items.id] = wish or self._contents(plan)
        ask = partial(self._shall_undo, items)
        return Reply(text, undo=self._undo, undo_question=ask, offers_undo=True)

    def _contents(self, plan: ForgetPlan) -> str:
        listed = spoken_replies.listed(plan, english=self._english)
        counted = listed == spoken_replies.counted(plan.count)
        return EVERYTHING if plan.everything else listed if counted else f"this: {listed}"

    def _undoable(self) -> list[HiddenItems]:
        now = self._executor.now()
        return [each for each in self._executor.hidden if not each.over(now)]

    async def _shall_undo(self, items: HiddenItems) -> str:
        """Return a question that offers to bring something back, or an empty text if it is gone."""
        left = self._undoable()
        if items not in left:
            return ""
        if items != left[-1] or items.id not in self._named:  # e.g. forgotten on the command line
            return spoken_replies.SHALL_UNDO
        return last_done(f"forget {self._named[items.id]}", BRING_BACK)

    async def _undo(self) -> Reply:
        undone = await self._executor.undo()
        if undone is not None:
            back = {each.id for each in undone.exchanges}
            others = [each for each in undone.memories if back.isdisjoint(each.sources)]
            ids = [each.id for each in undone.exchanges] + [each.id for each in others]
            self._turns.spoke_of([key] for key in ids)
        return Reply(spoken_replies.brought_back(undone, english=self._english))

    def _asking(self, plan: ForgetPlan, wish: str, question: str) -> Reply:
        return Reply(
            question,
            if_yes=self._do(plan, wish),
            if_no=spoken_replies.KEPT,
            deletes=2 if plan.everything else plan.count,
        )

    def _choice(self, plan: ForgetPlan) -> Reply:
        """Return a reply that asks which of several things is meant."""
        names = [spoken_replies.listed(each, english=self._english) for each in plan.alternatives]
        choices = [
            Choice(name, self._do(each, chosen=True))
            for name, each in zip(names, plan.alternatives, strict=True)
        ]
        return Reply(
            spoken_replies.either(names),
            if_no=spoken_replies.KEPT,
            choices=(*choices, Choice("", self._do(plan))),
            deletes=len(names),
        )

    def _do(
        self, plan: ForgetPlan, wish: str = "", *, chosen: bool = False
    ) -> Callable[[], Awaitable[Reply]]:
        return partial(self._forget, plan, wish, chosen=chosen)


def request_of(command: Command, now: datetime) -> ForgetRequest | None:
    """Convert a command to forget, other than "forget that", to a request. Return None if the
    period that it names can't be read."""
    match command.kind:
        case CommandKind.FORGET_CONVERSATION:
            return ForgetRequest(conversation=True)
        case CommandKind.FORGET_ALL:
            return ForgetRequest(everything=True)
        case CommandKind.FORGET_ABOUT:
            return ForgetRequest(about=command.words or "")
        case CommandKind.FORGET_SPAN:
            return ForgetRequest(period=Period.last(command.minutes or 0, now))
    words = "today" if command.kind is CommandKind.FORGET_TODAY else command.words or ""
    meant = period(words, now)
    return ForgetRequest(period=meant) if meant is not None else None


def concerns_much(request: ForgetRequest) -> bool:
    """Return whether a request concerns a day, a person or everything. The user is then asked even
    if little would be forgotten."""
    if request.everything:
        return True
    if request.period is not None:
        return request.period.days
    return request.about is not None and names_person(request.about)


def names_person(topic: str) -> bool:
    """Return whether a topic may be a person: it has a name, or a word such as "sister".

    A name may be typed or recognised without a capital. So any noun at the beginning, or after
    "with" and the like ("my lunch with anna"), counts as a name if no word such as "my" precedes
    it. It is better to ask once too often.
    """
    people = words_of("words", "persons") - words_of("words", "animals")
    words = [word.strip(".,!?'’").removesuffix("'s").removesuffix("’s") for word in topic.split()]
    begins = True
    for word in words:
        plain = word.lower()
        named = plain not in NO_NAMES and (word[:1].isupper() or (begins and word[:1].isalpha()))
        if named or plain in people:
            return True
        begins = plain in BEFORE_NAMES
    return False


NO_NAMES = frozenset(
    listed(
        "i i'm i've my our the a an your his her their its it this that these those all any every "
        "each some no me you him them us we he she they what where when how why who which whose "
        "whether if not one two three"
    )
)
"""Words that are not names, whether or not they are capitalised."""
BEFORE_NAMES = frozenset({"and", "or", "with", "about", "where", "when", "why", "what"})
"""Words that a name may follow."""


def wish_of(command: Command, request: ForgetRequest, *, english: bool) -> str:
    """Return a phrase that describes what a command asks to forget, for use in a question; empty if
    the things must be listed instead."""
    match command.kind:
        case CommandKind.FORGET_CONVERSATION:
            return spoken_replies.THIS_CONVERSATION
        case CommandKind.FORGET_ABOUT:
            return spoken_replies.told_about(command.words or "", english=english)
    if request.period is not None and command.words:
        return spoken_replies.said_then(command.words)
    return ""
