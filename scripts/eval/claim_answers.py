"""Gives prompts to language models as the product does: only if no skill answers them."""

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from random import Random
from typing import NamedTuple
from zoneinfo import ZoneInfo

from assistant.context.conversation import Conversation
from assistant.context.short_term import ShortTermMemory
from assistant.intents.command import BY_MEANING, CommandKind
from assistant.paths import Home
from assistant.settings import Settings
from data import located
from models.interfaces import Generation, LanguageModel
from scripts.common.utterances import REQUESTS, Utterance, read_utterances
from scripts.eval.asking import Answers, written
from scripts.eval.intents import Understand
from scripts.eval.knowable import CannotKnow
from scripts.eval.session_turns import SessionParts, all_known, open_session

CLAIMS = "evaluation/claims.jsonl"
FROM_REQUESTS = 30
"""Number of requests drawn from `data/evaluation/requests.jsonl`: this many to skills, and this
many for acts that no skill does."""
MOST_TOKENS = 90
"""Maximum length of an answer, in tokens. The product allows more, but useful answers are
shorter."""
PARTS = ("dev", "test")
NOW = datetime(2026, 11, 18, 10, 20, tzinfo=ZoneInfo("Europe/London"))
UNBUILT = frozenset(kind for kind in CommandKind if kind.startswith(("form_", "task_")))
"""Kinds that are left out: forms and tasks change what the prompt contains."""


class Answered(NamedTuple):
    """A prompt and the language model's answer; None if the model isn't asked."""

    prompt: Utterance
    text: str | None


def read_prompts() -> list[Utterance]:
    """Requests to skills, requests for acts that no skill does, and ordinary prompts. Half of each
    are part `dev`, the others part `test`.

    Raises:
        InputUnusable: a file can't be read.
    """
    requests = read_utterances(located(REQUESTS), "dev")
    acts = [each for each in requests if each.kind is CommandKind.ACT and each.sure]
    kinds = BY_MEANING - UNBUILT - {CommandKind.ACT}
    others = [each for each in requests if each.kind in kinds]
    drawn = []
    for some in (acts, others):
        chosen = Random(0).sample(some, min(FROM_REQUESTS, len(some)))
        drawn += [replace(each, part=PARTS[at % 2]) for at, each in enumerate(chosen)]
    return [*read_utterances(located(CLAIMS)), *drawn]


def short_term(settings: Settings, llm: LanguageModel) -> ShortTermMemory:
    """The memory of a new conversation, which is not stored."""
    conversation = Conversation.begin(settings.general.user)
    return ShortTermMemory(conversation, llm, settings, None, lambda _: None, now=lambda: NOW)


async def ask(
    llm: LanguageModel,
    prompts: Sequence[Utterance],
    understand: Understand,
    answers: Answers,
    cannot_know: CannotKnow = all_known,
) -> list[Answered]:
    """Give the model each prompt that neither a skill nor a fixed reply answers, at the start of a
    new conversation.

    Args:
        cannot_know: as in `SessionParts`.

    Raises:
        ModelFailed: the model doesn't answer.
    """
    parts, found = SessionParts(Settings(), llm, understand, cannot_know=cannot_know), []
    with tempfile.TemporaryDirectory() as folder:
        home = Home(Path(folder)).create()
        for prompt in prompts:
            async with open_session(parts, home) as session:
                taken = await session.reply(prompt.said) is not None
            text = None if taken else await _answer(parts, prompt.said, answers)
            found.append(Answered(prompt, text))
    return found


async def _answer(parts: SessionParts, said: str, answers: Answers) -> str | None:
    memory = short_term(parts.settings, parts.llm)
    prompt = memory.prompt(said, not_known=parts.cannot_know(said))
    if prompt.reply:
        return None
    request = Generation(prompt.messages, MOST_TOKENS, parts.settings.llm.temperature)
    return await written(parts.llm, request, answers)
