"""Builds the prompt for describing a line of a conversation and for writing questions that the line
answers. Also parses the model's answer. All functions are pure.

One call of the model returns everything that is wanted, because reading the lines takes as long as
writing the answer.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from assistant.context import FewShotPrompt, examples, load_prompt
from assistant.errors import ModelFailed
from assistant.language.sentences import stated
from assistant.language.stemming import TextAnalyzer
from assistant.memory.curation import without_unsupported

ABOUT, QUESTIONS = "about", "questions"
EVERYTHING = (ABOUT, QUESTIONS)
PARTS: Mapping[str, Mapping[str, Any]] = {
    ABOUT: {"type": "string", "maxLength": 140},
    QUESTIONS: {
        "type": "array",
        "items": {"type": "string", "maxLength": 80},
        "minItems": 2,
        "maxItems": 2,
    },
}
PROMPTS = {ABOUT: "describe", QUESTIONS: "expand"}
TOKENS = {ABOUT: 80, QUESTIONS: 100}
"""Maximum number of tokens of each part of the answer: enough for all characters that the part may
have."""
PROMPT_VERSION = 1
"""Version of the prompt files."""
SHOWN_BEFORE = 2
"""Number of lines shown before a line that refers back to them. Other lines are shown without
context, because small models confuse the context with the new line, and reading the context costs
as much time as writing a description."""
LEANS = re.compile(
    r"\b(?:he|she|it|they|him|her|his|hers|its|them|theirs?|there|that|this|those|these|ones?|"
    r"same|too|both)\b",
    re.IGNORECASE,
)
LONGEST_BEFORE, LONGEST_NEW = 240, 600
"""Maximum number of characters of an earlier line, and of the new line."""
LEAST_STATED = 4
"""A line is described only if it has at least this many words outside of questions."""


@dataclass(frozen=True, slots=True)
class SpokenLine:
    """What one speaker said in one turn."""

    speaker: str
    text: str

    def shown(self, longest: int) -> str:
        return f"{self.speaker}: {' '.join(self.text.split())[:longest]}"


@dataclass(frozen=True, slots=True)
class Made:
    """The parsed answer of the model."""

    about: str = ""
    questions: tuple[str, ...] = ()


def tells(text: str) -> bool:
    """Return whether the text contains enough statements to be described."""
    return stated(text) >= LEAST_STATED


def needs_context(text: str) -> bool:
    """Return whether the text refers to earlier lines, e.g. with a pronoun."""
    return LEANS.search(text) is not None


def shown(before: Sequence[SpokenLine], new: SpokenLine) -> Sequence[SpokenLine]:
    """Return the lines to show before the line `new`.

    Args:
        before: all lines of the conversation before `new`.
    """
    return before[-SHOWN_BEFORE:] if needs_context(new.text) else ()


def question(before: Sequence[SpokenLine], new: SpokenLine) -> str:
    """Return the question to the model.

    Args:
        before: the lines to show.
    """
    return _asked([line.shown(LONGEST_BEFORE) for line in before], new.shown(LONGEST_NEW))


def _asked(before: Sequence[str], new: str) -> str:
    return "\n".join([*(["Before:"] if before else []), *before, "New:", new])


def schema(wanted: Sequence[str] = EVERYTHING) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {part: PARTS[part] for part in wanted},
        "required": list(wanted),
        "additionalProperties": False,
    }


def tokens(wanted: Sequence[str] = EVERYTHING) -> int:
    return sum(TOKENS[part] for part in wanted)


def prompt(wanted: Sequence[str] = EVERYTHING) -> FewShotPrompt:
    """Load the prompt that ships with the project."""
    parts = [load_prompt(PROMPTS[part]) for part in wanted]
    shown = [_example(each, wanted) for each in examples("describe")]
    return FewShotPrompt("\n".join([load_prompt("describe_frame"), *parts]), shown)


def _example(raw: Mapping[str, Any], wanted: Sequence[str]) -> tuple[str, str]:
    return _asked(raw["before"], raw["new"]), json.dumps({part: raw[part] for part in wanted})


def made(answered: object) -> Made:
    """Parse the model's answer.

    Raises:
        ModelFailed: the answer has another form.
    """
    if not isinstance(answered, Mapping) or answered.keys().isdisjoint((ABOUT, QUESTIONS)):
        raise ModelFailed("The model's description is not in the requested form.")
    about, questions = answered.get(ABOUT, ""), answered.get(QUESTIONS, [])
    if not isinstance(about, str) or not isinstance(questions, list):
        raise ModelFailed("The model's description is not in the requested form.")
    asked = tuple(dict.fromkeys(each.strip() for each in questions if isinstance(each, str)))
    return Made(about.strip(), tuple(each for each in asked if each))


def grounded(made: Made, said: Sequence[SpokenLine], on: date, lexicon: TextAnalyzer) -> Made:
    """Remove everything that the spoken lines don't support."""
    sources = [f"{line.speaker} {line.text}" for line in said]
    about = without_unsupported(made.about, sources, on, lexicon)
    kept = (without_unsupported(each, sources, on, lexicon) for each in made.questions)
    return Made(about, tuple(dict.fromkeys(each for each in kept if each)))


def texts(made: Made) -> list[str]:
    """Return the texts to encode: the description, if any, then the questions."""
    return [*([made.about] if made.about else []), *made.questions]
