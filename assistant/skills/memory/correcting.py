"""The skill that corrects what the user said before, when they say that it is wrong."""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any

from assistant.context import ask_for_json, shipped
from assistant.errors import ModelFailed, SettingsError
from assistant.intents import Command, CommandKind
from assistant.language.second_person import spoken_phrase
from assistant.language.sentences import as_sentence
from assistant.language.speakers import USER
from assistant.memory import (
    AnsweredTurns,
    Correction,
    StoredStatement,
    UserStatements,
    is_worth_keeping,
    says_unknown,
    spoken_replies,
    stands_alone,
)
from assistant.skills.memory.remembering import shall_undo
from assistant.skills.skill import Choice, Reply, said
from assistant.skills.spoken_errors import spoken
from assistant.skills.spoken_statements import OFF_RECORD, that
from models.interfaces import LanguageModel

logger = logging.getLogger(__name__)

WHAT_IS_RIGHT = "Sorry about that. What should it be?"
WHAT_SHOULD_IT_BE = "I'm not sure what to change. What should it be?"
KEPT = "All right, I'll leave it as it is."
TAKEN_BACK = "All right, I've taken that back."
GONE = "That has been forgotten in the meantime, so there is nothing to correct."
MODEL_S = 2.0
"""Seconds to wait for the language model's proposal. After that, the user is asked."""
TOKENS = 64
"""Maximum length of a corrected sentence."""
REPEATED = 4
"""Number of most recent turns whose answers may have repeated what was wrong."""
CHOICES = 3
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"now": {"type": "string"}},
    "required": ["now"],
    "additionalProperties": False,
}


class Correcting:
    """Corrects what the last answer was based on, or what the user said last.

    The wrong statement is superseded and stays in the store. A correction is made without asking
    only if it is certain what changes, and nothing else that the user said is lost. Otherwise the
    user is asked. If there is nothing that could be wrong, the language model answers.

    Args:
        llm: puts a new value into the old sentence if the rules can't. The user is always asked
            whether the model's sentence is right. Without a model (None), the user is asked what is
            right.
        off_record: returns whether the session is off the record.
        english: whether the language is English. In other languages, the skill does nothing.
    """

    kinds = frozenset({CommandKind.CORRECT})

    def __init__(
        self,
        statements: UserStatements,
        turns: AnsweredTurns,
        llm: LanguageModel | None,
        off_record: Callable[[], bool],
        *,
        english: bool = True,
    ) -> None:
        self._statements = statements
        self._turns = turns
        self._llm = llm
        self._off_record = off_record
        self._english = english

    async def carry_out(self, command: Command) -> Reply | None:
        if not self._english:
            return None
        if self._off_record():
            return Reply(OFF_RECORD) if await self._concerns_stored(command.words) else None
        if command.words is not None:
            return await self._correct(command.words)
        meant = await self._statements.meant(self._turns.all())
        return Reply(WHAT_IS_RIGHT, if_said=self._answered) if meant else None

    async def ask(self, command: Command) -> Reply | None:
        if not self._english or self._off_record():
            return None
        turns = self._turns.all()
        if command.words is None:
            meant = await self._statements.meant(turns)
            if not meant:
                return None
            wrong = self._phrase(meant[0][0].text)
            again = Reply(WHAT_IS_RIGHT, if_said=self._answered)
            return Reply(f"Did I get this wrong: {wrong}?", if_yes=partial(said, again), if_no=KEPT)
        found = await self._statements.corrections(command.words, turns)
        if len(found) > 1:
            return self._choice(found)
        if not found:
            return None
        return self._shall_note(found[0])

    # -- inside ---------------------------------------------------------------------------------

    async def _concerns_stored(self, words: str | None) -> bool:
        """Return whether a correction refers to anything that is stored."""
        turns = self._turns.all()
        meant = await self._statements.meant(turns)
        if words is None:
            return bool(meant)
        if await self._statements.corrections(words, turns):
            return True
        may_be_value = self._statements.may_be_value
        return not stands_alone(words) and any(may_be_value(each[0].text, words) for each in meant)

    async def _correct(self, words: str, *, asked: bool = False) -> Reply | None:
        """Correct what the words refer to. Return None if they refer to nothing that is stored.

        Args:
            asked: whether the words answer a question. If so, the user isn't asked again what is
                right.
        """
        turns = self._turns.all()
        found = await self._statements.corrections(words, turns)
        if len(found) > 1:
            return self._choice(found)
        if found:
            return await self._do(found[0]) if found[0].certain else self._shall_note(found[0])
        meant = await self._statements.meant(turns)
        may_be_value = self._statements.may_be_value
        meant = [each for each in meant if may_be_value(each[0].text, words)]
        if not meant or stands_alone(words):
            return None
        if len(meant) == 1 and (made := await self._proposed(meant[0][0].text, words)) is not None:
            correction = self._statements.rewritten(made, meant[0], words)
            if correction is not None:
                return self._shall_note(correction)
        return None if asked else Reply(WHAT_SHOULD_IT_BE, if_said=self._answered)

    def _shall_note(self, correction: Correction) -> Reply:
        """Return a reply that asks whether to make a correction. If something else that the user
        said would be lost, the question names it."""
        told = f"You told me {self._that(correction.loses)}. " if correction.loses else ""
        new = self._that(correction.corrected.text)
        quoted = new.removeprefix("this: ")
        noted = f"{new} instead" if quoted == new else f"this instead: {quoted}"
        text = f"{told}Shall I note {noted}?"
        return Reply(text, if_yes=partial(self._do, correction), if_no=KEPT)

    async def _answered(self, words: str) -> Reply | None:
        """Process the answer to "What should it be?". A whole statement that corrects nothing is
        remembered as a new one."""
        if says_unknown(words):
            return Reply(KEPT) if says_unknown(words, only=True) else None
        reply = await self._correct(words, asked=True)
        if reply is not None or not is_worth_keeping(words):
            return reply
        if self._off_record():
            return Reply(OFF_RECORD)
        try:
            stored = await self._statements.remember(as_sentence(words))
        except SettingsError as error:
            return Reply(spoken(error))
        return Reply(
            f"I'll remember {self._that(words)}.",
            undo=partial(self._take_back, stored, ""),
            undo_question=self._shall_undo(stored, "remember"),
        )

    async def _proposed(self, old: str, words: str) -> str | None:
        """Let the language model rewrite the old sentence with the correction. Return None if it
        can't."""
        if self._llm is None:
            return None
        question = _question(old, words)
        prompt = await asyncio.to_thread(shipped, "correct", _example)
        try:
            async with asyncio.timeout(MODEL_S):
                answer = await ask_for_json(self._llm, prompt, question, SCHEMA, TOKENS)
        except (ModelFailed, TimeoutError) as error:
            logger.warning("the model proposed no correction: %r", error)
            return None
        made = answer.get("now") if isinstance(answer, Mapping) else None
        return made if isinstance(made, str) else None

    async def _do(self, correction: Correction) -> Reply:
        if self._off_record():  # perhaps only after the question was asked
            return Reply(OFF_RECORD)
        try:
            stored = await self._statements.correct(correction, self._turns.all()[-REPEATED:])
        except SettingsError as error:
            return Reply(spoken(error))
        if stored is None:
            return Reply(GONE)
        new, now, was = (
            self._phrase(correction.corrected.text),
            correction.corrected.now,
            correction.corrected.was,
        )
        instead = f", not {was}" if was and new.endswith(now) else ""
        undo = partial(self._take_back, stored, correction.old[0].text)
        question = self._shall_undo(stored, "note")
        return Reply(f"Got it: {new}{instead}.", undo=undo, undo_question=question)

    def _shall_undo(self, stored: StoredStatement, did: str) -> Callable[[], Awaitable[str]]:
        return partial(shall_undo, self._statements, stored, did, english=self._english)

    async def _take_back(self, stored: StoredStatement, old: str) -> Reply:
        if not await self._statements.take_back(stored):
            return Reply(spoken_replies.NOTHING_TO_UNDO)
        if not old:
            return Reply(TAKEN_BACK)
        self._turns.spoke_of([[each.id for each in stored.before if each.speaker == USER]])
        return Reply(f"All right: {self._phrase(old)}, as before.")

    def _choice(self, found: Sequence[Correction]) -> Reply:
        """Return a reply that asks which of several things is wrong."""
        some = found[:CHOICES]
        names = [self._phrase(each.old[0].text) for each in some]
        choices = [
            Choice(name, partial(self._do, each)) for name, each in zip(names, some, strict=True)
        ]
        text = f"Which is wrong: that {', that '.join(names[:-1])}, or that {names[-1]}?"
        return Reply(text, if_no=KEPT, choices=tuple(choices))

    def _that(self, text: str) -> str:
        return that(text, english=self._english)

    def _phrase(self, text: str) -> str:
        return spoken_phrase(text, english=self._english)


def _question(before: str, correction: str) -> str:
    return f"Before: {' '.join(before.split())}\nCorrection: {' '.join(correction.split())}"


def _example(raw: Mapping[str, str]) -> tuple[str, str]:
    return _question(raw["before"], raw["correction"]), json.dumps({"now": raw["now"]})
