"""Has everyday conversations with language models, and asks them about what people said weeks ago,
as the product does."""

import asyncio
import math
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from assistant.compose.adapted_models import build_reranker
from assistant.memory import Reranking
from assistant.paths import Home
from assistant.settings import Settings
from assistant.voice.cache_warming import LEAST_READ
from assistant.voice.claims import ClaimDetector
from models.hardware import usable_cores
from models.interfaces import Generation, LanguageModel
from models.llm import OpenAICompatible
from models.selection import select_models
from scripts.common.simulated_clock import local_zone, simulated_clock
from scripts.common.statistics import rounded
from scripts.eval.answer_data import EVERYDAY, FOLLOW_UP, MEMORIES, Person, Question, Talk
from scripts.eval.answer_figures import UNKNOWN, Judged
from scripts.eval.answer_homes import NOW, ZONE, NoModel, live, open_home
from scripts.eval.answer_rules import judged, shows
from scripts.eval.asking import Answers, language_model
from scripts.eval.claims import Remembered
from scripts.eval.intents import loaded_classifier, with_classifier
from scripts.eval.knowable import by_classifier
from scripts.eval.session_turns import SessionParts, Turn, open_session

SPEED = "reads_per_s"
"""Prefix of the key of a model's reading speed. The speed is stored with the model's answers, so
that later runs have the same prompts."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The conversations to have and the people whose questions to ask; either may be empty."""

    talks: Sequence[Talk] = ()
    people: Sequence[Person] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """One model's answers.

    Attributes:
        judged: the judged answers, by the name of the set.
        reads_per_s: the tokens that the model reads per second, as measured or given; None if
            unknown.
    """

    judged: Mapping[str, Sequence[Judged]]
    reads_per_s: float | None


OpenModel = Callable[[], AbstractAsyncContextManager[LanguageModel]]
"""Opens a loaded language model."""


@contextmanager
def product_parts(answers: Answers) -> Iterator[SessionParts]:
    """The parts of the product's sessions, without a language model yet. Raises ModelError: an
    encoder is missing or damaged."""
    settings = Settings.model_validate({"llm": {"temperature": 0}})
    reranking = Reranking(build_reranker(select_models(settings), settings), timeout_s=math.inf)
    classifier = Remembered(loaded_classifier())
    detector = ClaimDetector(classifier, deadline_s=math.inf)  # so that load has no effect
    try:
        yield SessionParts(
            settings,
            NoModel(),
            with_classifier(classifier),
            detector,
            answers,
            cannot_know=by_classifier(classifier),
            reranking=reranking,
        )
    finally:
        detector.close()
        reranking.close()


async def measured(
    models: Sequence[OpenModel],
    asked: Asked,
    folder: Path,
    parts: SessionParts,
    reads_per_s: float | None = None,
) -> dict[str, Found]:
    """Ask each model everything.

    Args:
        folder: where the homes are created.
        parts: the parts of the sessions, without a language model.
        reads_per_s: tokens that every model reads per second; None measures it.

    Returns:
        The answers by the model's name.

    Raises:
        ModelError: a model is missing or fails.
    """
    found = {}
    with local_zone(ZONE):
        for person in asked.people:
            await live(folder / person.id, person, parts)
        for opened in models:
            async with opened() as llm:
                speed = reads_per_s or await reading_speed(llm, parts, folder)
                own = replace(parts, llm=llm, reads_per_s=speed)
                with simulated_clock(lambda: NOW):
                    talked = [await talk_with(own, folder, talk) for talk in asked.talks]
                    told = [
                        each
                        for person in asked.people
                        for each in await questioned(own, folder, person)
                    ]
                found[llm.name] = Found({EVERYDAY: talked, MEMORIES: told}, speed)
    return found


def require_encoders() -> None:
    """Check that both encoders of the profile `default` are on this machine: with only one, recall
    would find other memories. Raises ModelError: one is missing or damaged."""
    selection = select_models(Settings())
    for name in selection.profile.encoders:
        selection.store.location(name)


@asynccontextmanager
async def local(name: str, threads: int, *, adapted: bool = True) -> AsyncIterator[LanguageModel]:
    """A language model of the catalogue, with the product's own window."""
    window = Settings().llm.context_tokens
    async with language_model(name, threads, window, adapted=adapted) as llm:
        yield llm


@asynccontextmanager
async def served(endpoint: str, name: str | None) -> AsyncIterator[LanguageModel]:
    """A language model on an OpenAI-compatible server. Raises ModelFailed."""
    settings = Settings().llm
    llm = OpenAICompatible(
        endpoint, name, api_key=settings.api_key, context_tokens=settings.context_tokens
    )
    try:
        await llm.load()
        yield llm
    finally:
        await llm.close()


async def reading_speed(llm: LanguageModel, parts: SessionParts, folder: Path) -> float | None:
    """How many tokens the model reads per second, measured as at the start of a session: while it
    reads the system prompt. None if it read too few tokens to tell.

    The speed is stored for this number of usable cores, since one thread per core reads the prompt.
    """
    key = f"{SPEED} {llm.name} {usable_cores()}"
    if key in parts.answers.rows:
        known: float | None = parts.answers.rows[key][SPEED]
        return known
    async with open_session(replace(parts, llm=llm), Home(folder).create()) as session:
        request = Generation(session.read_ahead(), max_tokens=0)
    began, read = time.perf_counter(), 0
    async for chunk in llm.stream(request):
        read = chunk.usage.read_tokens if chunk.usage is not None else read
    speed = read / (time.perf_counter() - began) if read >= LEAST_READ else None
    await asyncio.to_thread(parts.answers.keep, key, {SPEED: rounded(speed)})
    return rounded(speed)


async def talk_with(parts: SessionParts, folder: Path, talk: Talk) -> Judged:
    """Say all turns of a conversation, and judge the last answer."""
    async with open_session(parts, Home(folder).create()) as session:
        for said in talk.turns:
            turn = await session.turn(said)
            if not turn.by_skill:  # a skill's reply is not an exchange
                await session.keep(said, turn.text)
    verdict = judged(
        turn.text,
        turn.spoken,
        talk.expected,
        said=said,
        facts=talk.turns[:-1] if talk.kind == FOLLOW_UP else (),
        known=_read(turn) if talk.kind in UNKNOWN else None,
    )
    return Judged(talk.id, talk.kind, said, turn, verdict)


async def questioned(parts: SessionParts, folder: Path, person: Person) -> list[Judged]:
    """Ask all questions of a person, each in a conversation of its own, and judge the answers."""
    found, place = [], folder / person.id
    async with open_home(place, parts.settings) as memory:
        for question in person.questions:
            async with open_session(parts, Home(place), memory) as session:
                turn = await session.turn(question.question)
            found.append(_judged(person, question, turn))
    return found


def _judged(person: Person, question: Question, turn: Turn) -> Judged:
    facts = person.facts(question)
    verdict = judged(
        turn.text,
        turn.spoken,
        question.expected,
        said=question.question,
        facts=facts or [said for each in person.sessions for said in each.said],
        known=_read(turn) if question.kind in UNKNOWN else None,
    )
    shown = facts_shown(facts, turn) if facts else None
    return Judged(person.id, question.kind, question.question, turn, verdict, shown)


def facts_shown(facts: Sequence[str], turn: Turn) -> bool:
    """Whether the model has read all these facts: in the system message, which ends with the
    profile, or in the notes of the newest message. The rest of the newest message doesn't count,
    because the question itself contains words of the facts."""
    if turn.prompt is None:
        return False
    read = f"{turn.prompt.messages[0].content}\n{turn.prompt.memories.text}"
    return all(shows(read, each) for each in facts)


def _read(turn: Turn) -> str | None:
    """What the model has read; None if it wasn't asked."""
    return "\n".join(each.content for each in turn.prompt.messages) if turn.prompt else None
