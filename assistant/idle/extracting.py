"""Facts, preferences, events and what the user is, taken from what the user said.

Rules find the statements and write them in the third person; the model, however small it is, only
judges which of them are worth remembering, and as what. So nothing can be made up, and what it
makes of a doubtful one is a memory too few or too many. The assistant's words are never read.
"""

import asyncio
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.resources import files
from typing import Any, Protocol

from assistant.context.conversation import Exchange
from assistant.context.prompt import load_prompt
from assistant.errors import ModelFailed
from assistant.idle.prompting import Prompt, answer
from assistant.memory import facts
from assistant.memory.days_meant import dated
from assistant.memory.derived import Derived, Output
from assistant.memory.facts import EXTRACTED, Fact, content_of, memories_of_facts
from assistant.memory.lexicon import Lexicon
from assistant.memory.record import Kind, Memory
from assistant.memory.renewal import MARKS
from assistant.memory.statements import statements
from assistant.memory.support import supported
from assistant.memory.third_person import third_person
from assistant.memory.transcript import Transcript
from models.interfaces import LanguageModel

logger = logging.getLogger(__name__)

KINDS = ("none", *(each.value for each in (Kind.FACT, Kind.PREFERENCE, Kind.EVENT, Kind.PROFILE)))
HEAVIEST = 5
TOKENS_EACH = 24
"""Of the answer, for each statement."""
CONFIDENCE = 0.8
"""The words are the user's; what they were taken for need not be."""


class Remembers(Protocol):
    """The long-term memory, as far as facts go there. Calls block; they raise StoreError."""

    user_id: str

    def put(self, memories: Sequence[Memory], *, told: bool = False) -> list[str]: ...

    def drop(self, memories: Sequence[Memory]) -> None: ...

    def known(self, ids: Sequence[str]) -> list[Memory]: ...


@dataclass(frozen=True, slots=True)
class Candidate:
    """A statement of the user's, and the fact that it would be."""

    quote: str
    text: str


@dataclass(frozen=True, slots=True)
class Candidates:
    """What may be facts, and how many were dropped since their words don't support them."""

    kept: tuple[Candidate, ...] = ()
    unsupported: int = 0


# -- what is asked, and what is made of the answer; pure ------------------------------------------


def candidates(said: str, started: datetime, lexicon: Lexicon) -> Candidates:
    """
    Args:
        started: when it was said; days are reckoned in this machine's time zone.
    """
    on = started.astimezone().date()
    found: dict[str, Candidate] = {}
    dropped = 0
    for quote in statements(said):
        meant = dated(quote, on)
        text = third_person(meant) if meant is not None else ""
        if supported(text, quote, said, on, lexicon):
            found.setdefault(text.casefold(), Candidate(quote, text))
        else:
            dropped += 1
    return Candidates(tuple(found.values()), dropped)


def question(said: str, quotes: Sequence[str]) -> str:
    numbered = [f"{number}. {quote}" for number, quote in enumerate(quotes, start=1)]
    return "\n".join([f'The user said: "{" ".join(said.split())}"', *numbered])


def schema(count: int) -> Mapping[str, Any]:
    """One judgement for each statement."""
    judgement = {
        "type": "object",
        "properties": {
            "kind": {"enum": list(KINDS)},
            "weight": {"type": "integer", "minimum": 1, "maximum": HEAVIEST},
        },
        "required": ["kind", "weight"],
        "additionalProperties": False,
    }
    names = [str(number) for number in range(1, count + 1)]
    return {
        "type": "object",
        "properties": dict.fromkeys(names, judgement),
        "required": names,
        "additionalProperties": False,
    }


def judged(found: Sequence[Candidate], answered: object) -> list[Fact]:
    """The statements that the model finds worth remembering.

    Raises:
        ModelFailed: that is no answer to the question.
    """
    made: list[Fact] = []
    for number, each in enumerate(found, start=1):
        judgement = answered.get(str(number)) if isinstance(answered, Mapping) else None
        kind = judgement.get("kind") if isinstance(judgement, Mapping) else None
        weight = judgement.get("weight") if isinstance(judgement, Mapping) else None
        if kind not in KINDS or not isinstance(weight, int) or not 1 <= weight <= HEAVIEST:
            raise ModelFailed("The model did not judge what it was asked to.")
        if kind != "none":
            importance = (weight - 1) / (HEAVIEST - 1)
            made.append(Fact(kind, each.text, each.quote, importance, CONFIDENCE))
    return made


def prompt() -> Prompt:
    """What ships with the project."""
    lines = (files("data") / "prompts" / "extract_examples.jsonl").read_text("utf-8").splitlines()
    return Prompt(load_prompt("extract"), [_example(json.loads(line)) for line in lines])


def _example(raw: Mapping[str, Any]) -> tuple[str, str]:
    judgements = {
        str(number): {"kind": kind, "weight": weight}
        for number, (kind, weight) in enumerate(raw["answer"], start=1)
    }
    return question(raw["said"], raw["statements"]), json.dumps(judgements)
