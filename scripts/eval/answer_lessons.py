"""Makes the prompts that a language model learns to answer, as the product makes them.

People chat with the assistant on some days, and later ask about what they said, or they have
everyday conversations. The written answers stand in for a language model's. So the prompts contain
what the product's recall finds, and the earlier turns of a conversation.
"""

import asyncio
import json
import tempfile
from collections.abc import AsyncGenerator, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from random import Random
from typing import NamedTuple
from zoneinfo import ZoneInfo

from assistant.paths import Home
from data import located
from models.interfaces import Chunk, Generation, LanguageModel, Message
from models.llm.llama import LlamaCpp
from scripts.common.rows import InputUnusable, read_rows
from scripts.common.simulated_clock import local_zone, simulated_clock
from scripts.eval.answer_data import Expected, Person, Question, Session
from scripts.eval.answer_homes import ZONE, NoModel, live, open_home
from scripts.eval.answers import facts_shown, product_parts, require_encoders
from scripts.eval.asking import Answers
from scripts.eval.session_turns import SessionParts, open_session

PEOPLE = "training/answers_about_people.jsonl"
EVERYDAY = "training/answers_everyday.jsonl"
READS_PER_S = (60.0, 80.0, 120.0, 200.0)
"""Reading speeds of the machines that the prompts are for, in tokens per second. On faster
machines, prompts contain more notes."""


class Lesson(NamedTuple):
    """A prompt, and the answer to learn."""

    messages: tuple[Message, ...]
    answer: str


@dataclass(frozen=True, slots=True)
class Told:
    """A person, with the answer to each of their questions, and when they ask them."""

    person: Person
    answers: tuple[str, ...]
    now: datetime


@dataclass(frozen=True, slots=True)
class Everyday:
    """A conversation: what the user says, each time with the answer to learn."""

    turns: tuple[tuple[str, str], ...]
    now: datetime


class Dictated(NoModel):
    """Gives the answers that it is told to give, and counts tokens as another model does."""

    def __init__(self, counting: LanguageModel) -> None:
        self.name = counting.name
        self.context_tokens = counting.context_tokens
        self.answer = ""
        self._counting = counting

    async def stream(self, request: Generation) -> AsyncGenerator[Chunk]:
        yield Chunk(self.answer if request.max_tokens else "")

    def count(self, text: str) -> int:
        return self._counting.count(text)

    def count_messages(self, messages: Sequence[Message]) -> int:
        return self._counting.count_messages(messages)


def write(weights: Path, file: Path, seed: int) -> None:
    """Have all conversations, and write the lessons to `file`, one JSON object per line.

    Args:
        weights: the GGUF file of the model that will learn; its vocabulary counts the tokens.

    Raises:
        ModelError: the model or an encoder is missing or damaged.
        InputUnusable: a file can't be read, or a row can't be used.
    """
    require_encoders()
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(lessons(LlamaCpp(weights), Path(folder), Random(seed)))
    with file.open("w", encoding="utf-8") as lines:
        for each in found:
            messages = [{"role": said.role, "content": said.content} for said in each.messages]
            row = {"messages": messages, "answer": each.answer}
            lines.write(f"{json.dumps(row, ensure_ascii=False)}\n")


async def lessons(counting: LanguageModel, folder: Path, chance: Random) -> list[Lesson]:
    """The lessons of all conversations. `folder` is where the homes are created. Raises as `write`
    does."""
    found: list[Lesson] = []
    with product_parts(Answers(None)) as parts, local_zone(ZONE):
        for person in read_people():
            own = replace(parts, reads_per_s=chance.choice(READS_PER_S))
            found += await _about_person(own, folder / person.person.id, person, Dictated(counting))
        home = Home(folder / "everyday").create()
        for talk in read_everyday():
            own = replace(parts, reads_per_s=chance.choice(READS_PER_S))
            found += await _everyday(own, home, talk, Dictated(counting))
    return found


async def _about_person(
    parts: SessionParts, place: Path, told: Told, llm: Dictated
) -> list[Lesson]:
    """The lessons of one person's questions, each in a conversation of its own. Those that the
    language model isn't asked are left out, and those whose facts are not among the notes: a model
    must not learn to answer what it can't know."""
    found = []
    await live(place, told.person, parts, told.now)
    with simulated_clock(lambda: told.now):
        async with open_home(place, parts.settings) as memory:
            for question, answer in zip(told.person.questions, told.answers, strict=True):
                llm.answer = answer
                own = replace(parts, llm=llm, answers=Answers(None))
                async with open_session(own, Home(place), memory) as session:
                    turn = await session.turn(question.question)
                facts = told.person.facts(question)
                if turn.prompt is not None and (not facts or facts_shown(facts, turn)):
                    found.append(Lesson(turn.prompt.messages, answer))
    return found


async def _everyday(parts: SessionParts, home: Home, talk: Everyday, llm: Dictated) -> list[Lesson]:
    """The lessons of a conversation. Turns that the language model isn't asked are left out."""
    found = []
    own = replace(parts, llm=llm, answers=Answers(None))
    with simulated_clock(lambda: talk.now):
        async with open_session(own, home) as session:
            for said, answer in talk.turns:
                llm.answer = answer
                turn = await session.turn(said)
                if turn.prompt is not None:
                    found.append(Lesson(turn.prompt.messages, answer))
                    await session.keep(said, answer)
    return found


def read_people() -> Iterator[Told]:
    """Yields the people in `PEOPLE`. Raises InputUnusable: the file or a row can't be used."""
    for row in read_rows(located(PEOPLE), "id", "writer", "today", "sessions", "asks"):
        try:
            sessions = tuple(
                Session(int(each["days_ago"]), tuple(each["said"])) for each in row["sessions"]
            )
            questions = tuple(
                Question(
                    each["kind"],
                    each["said"],
                    tuple((int(session), int(turn)) for session, turn in each["facts"]),
                    Expected((), ()),
                )
                for each in row["asks"]
            )
            answers = tuple(str(each["answer"]) for each in row["asks"])
            now = _time(row["today"])
            person = Person(row["id"], row["writer"], sessions, questions)
            for each in questions:
                person.facts(each)
        except (LookupError, TypeError, ValueError) as error:
            raise InputUnusable(f"{row['id']} in {PEOPLE} can't be used: {error!r}.") from error
        yield Told(person, answers, now)


def read_everyday() -> Iterator[Everyday]:
    """Yields the conversations in `EVERYDAY`. Raises InputUnusable as `read_people` does."""
    for number, row in enumerate(read_rows(located(EVERYDAY), "writer", "today", "turns"), 1):
        try:
            turns = tuple((str(each["said"]), str(each["answer"])) for each in row["turns"])
            now = _time(row["today"])
        except (KeyError, TypeError, ValueError) as error:
            raise InputUnusable(f"Line {number} of {EVERYDAY} is wrong: {error!r}.") from error
        yield Everyday(turns, now)


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(ZONE))
