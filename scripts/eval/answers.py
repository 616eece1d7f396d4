"""Asks a language model what people say in everyday life, and what they ask about what they said
weeks ago, in the product's own way, and counts how good the answers are."""

import asyncio
import math
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path
from statistics import fmean
from typing import Any

from assistant.paths import Home
from assistant.settings import Settings
from assistant.voice.claims import NOT_DONE, ClaimDetector
from assistant.voice.dialogue import LEAST_MEASURED
from models.interfaces import Generation, LanguageModel
from models.llm import OpenAICompatible
from models.selection import select_models
from scripts.common.simulated_clock import local_zone, simulated_clock
from scripts.common.statistics import rounded, rounded_interval
from scripts.eval.answer_data import (
    EVERYDAY,
    FOLLOW_UP,
    MEMORIES,
    NEVER,
    UNKNOWABLE,
    Person,
    Question,
    Talk,
)
from scripts.eval.answer_homes import NOW, ZONE, NoModel, live, open_home
from scripts.eval.answer_rules import Verdict, judged
from scripts.eval.asking import Answers, language_model
from scripts.eval.claims import Remembered
from scripts.eval.intents import loaded_classifier, with_classifier
from scripts.eval.session_turns import SessionParts, Turn, open_session

UNKNOWN = frozenset({NEVER, UNKNOWABLE})
"""Kinds of questions that can't be answered, so that every name in the answer may be invented."""
SPEED = "reads_per_s"
"""Key under which a model's speed is kept beside its answers, so that later prompts are alike."""
FLAGS = ("person", "repeats", "echoes", "too_short", "too_long")


@dataclass(frozen=True, slots=True)
class Judged:
    """An answer and its judgement.

    Attributes:
        of: the conversation or the person.
        shown: whether all statements that the answer needs were among the notes; None if it needs
            none.
    """

    of: str
    kind: str
    asked: str
    turn: Turn
    verdict: Verdict
    shown: bool | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked, of which both lists may be empty."""

    talks: Sequence[Talk] = ()
    people: Sequence[Person] = ()


Found = dict[str, list[Judged]]
"""The judged answers of one model, by the name of the set."""


async def measured(
    models: Sequence[Callable[[], AbstractAsyncContextManager[LanguageModel]]],
    asked: Asked,
    folder: Path,
    answers: Answers,
    reads_per_s: float | None = None,
) -> dict[str, Found]:
    """Ask each model everything. Return the judged answers by the name of the model.

    Args:
        models: each opens a loaded model.
        folder: for the homes.
        reads_per_s: tokens that every model reads per second; None measures it.

    Raises:
        ModelError: a model is missing or fails.
    """
    settings = product_settings()
    classifier = Remembered(loaded_classifier())
    detector = ClaimDetector(classifier, deadline_s=math.inf)  # the machine's load changes nothing
    parts = SessionParts(settings, NoModel(), with_classifier(classifier), detector, answers)
    found: dict[str, Found] = {}
    try:
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
                    found[llm.name] = {EVERYDAY: talked, MEMORIES: told}
    finally:
        detector.close()
    return found


def product_settings() -> Settings:
    """The default settings, but answers that don't change."""
    return Settings.model_validate({"llm": {"temperature": 0}, "encryption": {"mode": "off"}})


def require_encoders(settings: Settings) -> None:
    """Check that both of the profile's encoders are on this machine: with one of them, other
    memories would be found. Raises ModelError."""
    selection = select_models(settings)
    for name in selection.profile.encoders:
        selection.store.location(name)


@asynccontextmanager
async def local(name: str, threads: int) -> AsyncIterator[LanguageModel]:
    """A language model of the catalogue, with the product's own window."""
    context = product_settings().llm.context_tokens
    async with language_model(name, threads, context) as llm:
        yield llm


@asynccontextmanager
async def served(endpoint: str, name: str | None) -> AsyncIterator[LanguageModel]:
    """A language model on an OpenAI-compatible server. Raises ModelFailed."""
    settings = product_settings().llm
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
    reads the system prompt. None if the model doesn't tell."""
    assert parts.answers is not None
    key = f"{SPEED} {llm.name}"
    if key in parts.answers.rows:
        known: float | None = parts.answers.rows[key][SPEED]
        return known
    async with open_session(replace(parts, llm=llm), Home(folder).create()) as session:
        request = Generation(session.read_ahead(), max_tokens=0)
    began, read = time.perf_counter(), 0
    async for chunk in llm.stream(request):
        read = chunk.usage.read_tokens if chunk.usage is not None else read
    speed = read / (time.perf_counter() - began) if read >= LEAST_MEASURED else None
    await asyncio.to_thread(parts.answers.keep, key, {SPEED: rounded(speed)})
    return rounded(speed)


async def talk_with(parts: SessionParts, folder: Path, talk: Talk) -> Judged:
    """Say everything of a conversation, and judge the last answer."""
    async with open_session(parts, Home(folder).create()) as session:
        for said in talk.turns:
            turn = await session.turn(said)
            if turn.prompt is not None:  # what a skill replies is no exchange
                await session.keep(said, turn.text)
    verdict = judged(
        turn.text,
        turn.spoken,
        talk.expected,
        said=said,
        facts=talk.turns if talk.kind == FOLLOW_UP else (),
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
    notes = {each.text for each in turn.notes}
    shown = all(each.strip() in notes for each in facts) if facts else None
    return Judged(person.id, question.kind, question.question, turn, verdict, shown)


def _read(turn: Turn) -> str:
    """What the model has read."""
    return "\n".join(each.content for each in turn.prompt.messages) if turn.prompt else ""


def figures(found: Sequence[Judged]) -> dict[str, Any]:
    """The share of right answers, with an interval over conversations or people, and how often an
    answer has each fault. `invented` counts among the questions that can't be answered, `shown`
    among those that can."""
    of: dict[str, list[Judged]] = {}
    kinds: dict[str, list[Judged]] = {}
    for each in found:
        of.setdefault(each.of, []).append(each)
        kinds.setdefault(each.kind, []).append(each)
    groups = list(of.values())
    needing = [each for each in found if each.shown is not None]
    unknown = [each for each in found if each.kind in UNKNOWN]
    told: dict[str, Any] = {
        "answers": len(found),
        "right": share(found, _right),
        "interval": rounded_interval(groups, _share_of_groups, digits=3),
        "by_kind": {
            kind: {"answers": len(some), "right": share(some, _right)}
            for kind, some in sorted(kinds.items())
        },
    }
    if needing:
        told["shown"] = share(needing, lambda each: each.shown)
        told["right_of_shown"] = share([each for each in needing if each.shown], _right)
    prompts = [each.turn.prompt for each in found if each.turn.prompt is not None]
    return told | {
        **{name: share(found, attrgetter(f"verdict.{name}")) for name in FLAGS},
        "unspeakable": share(found, lambda each: each.verdict.unspeakable),
        "invented": share(unknown, lambda each: each.verdict.invented),
        "cut": share(found, lambda each: each.turn.text.endswith(NOT_DONE)),
        "by_skill": share(found, lambda each: each.turn.prompt is None),
        "seconds": mean([each.verdict.seconds for each in found]),
        "prompt_tokens": mean([each.tokens for each in prompts]),
        "note_tokens": mean([each.memories.tokens for each in prompts]),
        "notes": mean([len(each.memories.used) for each in prompts]),
    }


def share(some: Sequence[Judged], holds: Callable[[Judged], object]) -> float | None:
    return rounded(sum(bool(holds(each)) for each in some) / len(some), 3) if some else None


def mean(values: Sequence[float]) -> float | None:
    return rounded(fmean(values)) if values else None


def _right(each: Judged) -> bool:
    return each.verdict.right


def _share_of_groups(groups: Sequence[Sequence[Judged]]) -> float | None:
    return share([each for group in groups for each in group], _right)


def table(found: dict[str, dict[str, Any]]) -> str:
    """The figures of all models as text for a person."""
    wide = max(map(len, found))
    kinds = sorted({kind for each in found.values() for kind in each["by_kind"]})
    heads = ["right", *kinds]
    rows = [[each["right"], *(_of(each, kind) for kind in kinds)] for each in found.values()]
    lines = _lines(wide, heads, dict(zip(found, rows, strict=True)))
    lines += [f"95 % of {name}: {each['interval']}" for name, each in found.items()]
    left = {"answers", "right", "interval", "by_kind"}
    names = [name for name in next(iter(found.values())) if name not in left]
    return "\n".join(
        [*lines, "", *_lines(wide, names, {k: [v[n] for n in names] for k, v in found.items()})]
    )


def _of(found: dict[str, Any], kind: str) -> float | None:
    value: float | None = found["by_kind"].get(kind, {}).get("right")
    return value


def _lines(wide: int, heads: Sequence[str], rows: dict[str, list[float | None]]) -> list[str]:
    widths = [max(len(head), 6) + 2 for head in heads]
    lines = [" " * wide + "".join(f"{h:>{w}}" for h, w in zip(heads, widths, strict=True))]
    for name, row in rows.items():
        cells = (f"{'' if v is None else v:>{w}}" for v, w in zip(row, widths, strict=True))
        lines.append(f"{name:{wide}}" + "".join(cells))
    return lines


def shown(each: Judged) -> str:
    """An answer with its judgement, for a person to check."""
    verdict, turn = each.verdict, each.turn
    how = "right" if verdict.right else f"WRONG: {verdict.wrong}"
    flags = [name for name in FLAGS if getattr(verdict, name)]
    flags += [f"unspeakable ({verdict.unspeakable})"] if verdict.unspeakable else []
    flags += [f"invented ({', '.join(verdict.invented)})"] if verdict.invented else []
    by = "" if turn.prompt is not None else " by a skill"
    lost = {None: "", True: ", shown", False: ", NOT SHOWN"}[each.shown]
    lines = [f"[{each.of} {each.kind}{by}{lost}] {each.asked}"]
    lines += [f"    - {note.text}" for note in turn.notes]
    lines.append(f"    {turn.text!r}")
    return "\n".join([*lines, f"    {', '.join([how, *flags])}"])
