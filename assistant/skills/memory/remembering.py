"""The skill that remembers what the user asks the assistant to remember."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from assistant.errors import SettingsError
from assistant.intents import Command, CommandKind
from assistant.language.dialogue_acts import is_courtesy, is_question
from assistant.language.second_person import spoken_phrase
from assistant.memory import (
    AnsweredTurns,
    StoredStatement,
    UserStatements,
    says_unknown,
    spoken_replies,
    stands_alone,
)
from assistant.skills.skill import UNDO_IT, Choice, Reply, last_done
from assistant.skills.spoken_errors import spoken
from assistant.skills.spoken_statements import (
    NOT_KEPT,
    NOTHING,
    OFF_RECORD,
    introduced,
    sentence,
    that,
)

BACK = 3
"""Maximum number of turns to go back to find what "that" refers to."""
WHAT = "What should I remember?"
AS_BEFORE = "All right, I'll treat it like anything else you've told me."


@dataclass(frozen=True, slots=True)
class _Statement:
    """Something that the user has said, and the memories that contain it."""

    memories: tuple[str, ...]
    text: str


class Remembering:
    """Stores what the user asks the assistant to remember: a new statement, or an earlier one.

    Args:
        off_record: returns whether the session is off the record.
        english: whether the language is English, so that replies may rephrase what was said.
    """

    kinds = frozenset({CommandKind.REMEMBER})

    def __init__(
        self,
        statements: UserStatements,
        turns: AnsweredTurns,
        off_record: Callable[[], bool],
        *,
        english: bool = True,
    ) -> None:
        self._statements = statements
        self._turns = turns
        self._off_record = off_record
        self._english = english

    async def carry_out(self, command: Command) -> Reply | None:
        if self._off_record():
            return Reply(OFF_RECORD)
        if command.words is not None:
            return await self._remember(command.words, for_good=command.for_good)
        found = await self._that()
        keep = partial(self._keep, for_good=command.for_good)
        if not found:
            ask = partial(self._answered, for_good=command.for_good)
            return Reply(WHAT, if_said=ask)
        if len(found) == 1:
            return await keep(found)
        names = [spoken_phrase(each.text, english=self._english) for each in found]
        choices = [
            Choice(name, partial(keep, [each])) for name, each in zip(names, found, strict=True)
        ]
        every = Choice("", partial(keep, found))
        return Reply(spoken_replies.either(names), if_no=NOT_KEPT, choices=(*choices, every))

    async def ask(self, command: Command) -> Reply | None:
        if self._off_record():
            return None
        found = await self._that() if command.words is None else None
        if found and len(found) > 1:
            return await self.carry_out(command)
        text = sentence(command.words) if command.words is not None else found and found[0].text
        if not text:
            return None
        question = f"Shall I remember {that(text, english=self._english)}?"
        return Reply(question, if_yes=partial(self._again, command))

    # -- inside ---------------------------------------------------------------------------------

    async def _again(self, command: Command) -> Reply:
        return await self.carry_out(command) or Reply(WHAT)

    async def _that(self) -> list[_Statement]:
        """Return the statements that "that" may refer to: those that the assistant has just named,
        or the user's last one. The list is empty if there are none."""
        if self._turns.named:
            return [
                _Statement(tuple(each.id for each in same), same[0].text)
                for same in await self._statements.named()
            ]
        over = [turn.exchange for turn in self._turns.all() if not turn.exchange.open]
        for exchange in over[: -BACK - 1 : -1]:
            said = exchange.user_text
            if said.strip() and not (is_question(said) or is_courtesy(said)):
                found = await self._statements.said_in(exchange.id)
                return [_Statement(tuple(each.id for each in found), said)] if found else []
        return []

    async def _answered(self, words: str, *, for_good: bool) -> Reply | None:
        """Process the answer to "What should I remember?". Return None if it is not a statement."""
        if says_unknown(words):
            return Reply(NOTHING) if says_unknown(words, only=True) else None
        first, rest = introduced(words)
        states = bool(rest) if first == "to" else stands_alone(rest if first else words)
        return await self._remember(words, for_good=for_good) if states else None

    async def _remember(self, words: str, *, for_good: bool) -> Reply:
        if self._off_record():  # perhaps only after the question was asked
            return Reply(OFF_RECORD)
        text = sentence(words)
        try:
            stored = await self._statements.remember(text, for_good=for_good)
        except SettingsError as error:
            return Reply(spoken(error))
        return self._done(stored, [text], for_good=for_good)

    async def _keep(self, statements: Sequence[_Statement], *, for_good: bool) -> Reply:
        things = tuple(each.memories for each in statements)
        stored = await self._statements.keep(things, for_good=for_good)
        return self._done(stored, [each.text for each in statements], for_good=for_good)

    def _done(self, stored: StoredStatement, texts: Sequence[str], *, for_good: bool) -> Reply:
        will = "I'll always keep in mind" if for_good else "I'll remember"
        what = ", and ".join(that(each, english=self._english) for each in texts)
        return Reply(
            f"{will} {what}.",
            undo=partial(self._take_back, stored),
            undo_question=partial(
                shall_undo, self._statements, stored, "remember", english=self._english
            ),
        )

    async def _take_back(self, stored: StoredStatement) -> Reply:
        if not await self._statements.take_back(stored):
            return Reply(spoken_replies.NOTHING_TO_UNDO)
        return Reply(NOT_KEPT if stored.new else AS_BEFORE)


async def shall_undo(
    statements: UserStatements, stored: StoredStatement, did: str, *, english: bool
) -> str:
    """Return a question that asks whether to undo what was stored; empty if nothing of it is left.

    Args:
        did: what the assistant did with the statement: "remember", "note".
    """
    text = await statements.text_of(stored.memories)
    return last_done(f"{did} {that(text, english=english)}", UNDO_IT) if text else ""
