"""The skill that cancels lasting wishes and names, and confirms aloud that a new wish has been
noted."""

import re
from collections.abc import Sequence
from functools import partial

from assistant.events import MemoryUsed, WishTaken
from assistant.intents import Command, CommandKind
from assistant.language.name_introduction import ADDRESS, NAME
from assistant.language.second_person import second_person
from assistant.language.sentences import as_sentence
from assistant.language.stemming import TextAnalyzer
from assistant.language.third_person import first_person
from assistant.memory import (
    AnsweredTurns,
    ForgettingExecutor,
    HiddenItems,
    UserStatements,
    origin_of,
)
from assistant.skills.skill import BRING_BACK, UNDO_IT, Choice, Reply, last_done

NO_SUCH = "I don't know of any such instruction."
KEPT = "All right, I'll carry on as before."
NAMED = 3
"""Maximum number of wishes that a question names."""
_WISH = re.compile(r"The user wants the assistant (?P<what>.+?)\.?$")
_NAME = re.compile(r"The user's name is (?P<name>.+)\.$")
_ADDRESS = re.compile(r"The user wants to be called (?P<name>.+)\.$")
_ORDER = re.compile(r"(?:from now on )?to (?:always )?(?P<do>.+)$")
_CLAUSE = re.compile(
    r"\b(how|what|where|when|why|if|that|because|whether|which|until) (the user [\w']+)",
    re.IGNORECASE,
)
"""Matches a clause whose subject is the user: "how the user feels"."""
_SPOKEN = {"user's": ("your", "my"), "user": ("you", "me"), "assistant's": ("my", "your")}
"""Word of a note → the words that the assistant and the user would say instead, in this order."""


class Lifting:
    """Takes back wishes and names. They are hidden like anything that is forgotten, and are not
    derived again. What the user said stays in the transcript.

    Args:
        turns: is told which wishes a reply names.
    """

    kinds = frozenset({CommandKind.LIFT})

    def __init__(
        self,
        statements: UserStatements,
        executor: ForgettingExecutor,
        lexicon: TextAnalyzer,
        turns: AnsweredTurns,
    ) -> None:
        self._statements = statements
        self._executor = executor
        self._lexicon = lexicon
        self._turns = turns

    async def carry_out(self, command: Command) -> Reply | None:
        found = self._meant(command.words)
        if not found:  # the wish may not have been a lasting one: then the model must answer
            return Reply(NO_SUCH) if command.names_wish else None
        if len(found) > 1:
            choices = tuple(Choice(spoken(each), partial(self._lift, each)) for each in found)
            names = [each.name for each in choices]
            text = f"Which one do you mean: {', '.join(names[:-1])}, or {names[-1]}?"
            return Reply(text, if_no=KEPT, choices=choices, deletes=len(found))
        if command.words is None or not self._covers(found[0], command.words):
            return self._asked(found[0])
        return await self._lift(found[0])

    async def ask(self, command: Command) -> Reply | None:
        found = self._meant(command.words)
        if len(found) > 1:
            return await self.carry_out(command)
        return self._asked(found[0]) if found else None

    async def noted(self, event: WishTaken) -> Reply | None:
        """Return the remark that confirms a new wish. It is said after the turn's answer. None if
        the wish is gone already."""
        notes = [each for each in self._statements.profile() if each.id in event.memories]
        if not notes:
            return None
        orders = "; ".join(_order(each) for each in notes)
        self._turns.spoke_of([origin_of(each.id), each.id] for each in notes)
        text = f"Got it, from now on: {orders}. Say undo to drop that."
        undo, question = partial(self._take_back, notes), partial(self._shall_drop, notes)
        return Reply(text, undo=undo, undo_question=question, offers_undo=True, undo_deletes=True)

    # -- inside ---------------------------------------------------------------------------------

    def _meant(self, words: str | None) -> list[MemoryUsed]:
        """Return the wishes and names that the words fit best, at most `NAMED`. If `words` is None,
        return any."""
        notes = [each for each in self._statements.profile() if _liftable(each)]
        if words is None:
            return notes[:NAMED]
        wanted = self._lexicon.content_and_numbers(words)
        shared = [len(wanted & self._lexicon.content_and_numbers(each.text)) for each in notes]
        best = max(shared, default=0)
        if not best:
            return []
        return [each for each, n in zip(notes, shared, strict=True) if n == best][:NAMED]

    def _covers(self, note: MemoryUsed, words: str) -> bool:
        """Return whether all content words of a request are in a wish's text."""
        wanted = self._lexicon.content_and_numbers(words)
        return wanted <= self._lexicon.content_and_numbers(note.text)

    def _asked(self, note: MemoryUsed) -> Reply:
        question = f"Shall I drop {_dropped(note)}?"
        if match := _ADDRESS.match(note.text):
            question = f"Shall I stop calling you {match['name']}?"
        return Reply(question, if_yes=partial(self._lift, note), if_no=KEPT, deletes=1)

    async def _take_back(self, notes: Sequence[MemoryUsed]) -> Reply:
        """Delete new wishes for good. This can't be undone, so the next "undo" takes back what was
        done before."""
        for each in notes:
            await self._hide(each, for_good=True)
        one = len(notes) == 1
        return Reply(
            self._lifted(notes[0]) if one else "All right, I've dropped those instructions."
        )

    async def _hide(self, note: MemoryUsed, *, for_good: bool = False) -> HiddenItems:
        ids = await self._statements.saying(note.text)
        self._turns.spoke_of([()])
        return await self._executor.hide((), [*ids, note.id], for_good=for_good)

    async def _lift(self, note: MemoryUsed) -> Reply:
        items = await self._hide(note)
        if not self._executor.gives_time:
            return Reply(self._lifted(note))
        return Reply(
            self._lifted(note),
            undo=partial(self._back, items.id, note),
            undo_question=partial(self._shall_bring_back, items, note),
        )

    async def _shall_bring_back(self, items: HiddenItems, note: MemoryUsed) -> str:
        back = items in self._executor.hidden and not items.over(self._executor.now())
        return last_done(f"drop {_dropped(note)}", BRING_BACK) if back else ""

    async def _shall_drop(self, notes: Sequence[MemoryUsed]) -> str:
        known = {each.id for each in self._statements.profile()}
        orders = "; ".join(_order(each) for each in notes if each.id in known)
        return last_done(f"note this: {orders}", UNDO_IT) if orders else ""

    async def _back(self, items: str, note: MemoryUsed) -> Reply:
        undone = await self._executor.undo(items)
        if undone is None:
            return Reply("It's too late to bring that instruction back. Please say it again.")
        back = [each.id for each in undone.memories]
        self._turns.spoke_of([[*map(origin_of, back), *back]])
        return Reply(f"All right, I've brought that back: {_order(note)}.")

    def _lifted(self, note: MemoryUsed) -> str:
        if match := _ADDRESS.match(note.text):
            older = next(filter(None, map(_ADDRESS.match, self._texts())), None)
            again = f" I'll call you {older['name']} again." if older is not None else ""
            return f"All right, I'll no longer call you {match['name']}.{again}"
        if match := _NAME.match(note.text):
            return f"All right, I've dropped the name {match['name']}."
        wish = _WISH.match(note.text)
        order = _ORDER.match(wish["what"]) if wish is not None else None
        if order is None or order["do"].startswith(("stop ", "never ", "not ")):
            return f"All right, I've dropped your instruction: “{as_sentence(_order(note))}”"
        return f"All right, I'll no longer {_said(order['do'], by_user=False)}."

    def _texts(self) -> list[str]:
        return [each.text for each in self._statements.profile()]


def spoken(note: MemoryUsed) -> str:
    """Return a phrase that names a wish or a name."""
    if match := _NAME.match(note.text):
        return f"the name {match['name']}"
    if match := _ADDRESS.match(note.text):
        return f"your instruction to call you {match['name']}"
    return f"your instruction “{_order(note)}”"


def _dropped(note: MemoryUsed) -> str:
    """Return a phrase for a wish or a name, for a question that offers to drop it."""
    if match := _ADDRESS.match(note.text):
        return f"the name {match['name']}"
    return spoken(note)


def _liftable(note: MemoryUsed) -> bool:
    return note.id.rpartition("-")[2] in (NAME, ADDRESS) or _WISH.match(note.text) is not None


def _order(note: MemoryUsed) -> str:
    """Return a wish as the user said it: "always answer in one sentence"."""
    if match := _ADDRESS.match(note.text):
        return f"call me {match['name']}"
    if match := _NAME.match(note.text):
        return f"my name is {match['name']}"
    match = _WISH.match(note.text)
    if match is None:
        return note.text
    said = re.sub(r"^(from now on )?(never )?to ", r"\1\2", match["what"])
    return _said(said, by_user=True)


def _said(text: str, *, by_user: bool) -> str:
    """Say a note's words about "the user" and "the assistant" in the first and second person."""

    def turn(match: re.Match[str]) -> str:
        return _SPOKEN[match[1].lower()][by_user]

    text = _CLAUSE.sub(lambda match: f"{match[1]} {_of_subject(match[2], by_user)}", text)
    plain = re.sub(r"\bthe (user's|user|assistant's)(?!\w)", turn, text, flags=re.IGNORECASE)
    return re.sub(r"\bthe assistant\b", "you" if by_user else "me", plain, flags=re.IGNORECASE)


def _of_subject(text: str, by_user: bool) -> str:
    """Say "the user feels" as "I feel" or "you feel"."""
    own = first_person(text)
    if by_user:
        return own
    turned = second_person(own) or own
    return f"{turned[:1].lower()}{turned[1:]}"
