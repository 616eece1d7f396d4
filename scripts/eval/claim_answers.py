"""Asks language models for acts, as the product does: what no skill takes, the model answers."""

import asyncio
import hashlib
import json
import tempfile
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from random import Random
from typing import NamedTuple
from zoneinfo import ZoneInfo

from assistant.context.conversation import Conversation
from assistant.context.short_term import ShortTermMemory
from assistant.event_bus import EventBus
from assistant.intents.command import BY_MEANING, CommandKind
from assistant.paths import Home
from assistant.settings import Settings
from assistant.skills.registry import SkillRegistry
from assistant.voice.dialogue import Dialogue
from assistant.voice.dialogue_skill import DialogueSkill
from assistant.voice.latency import LatencyLog
from assistant.voice.ringing import Ringing
from assistant.voice.voice_control import VoiceControl
from data import located
from models.interfaces import Generation, LanguageModel
from scripts.common.session_skills import session_skills
from scripts.common.utterances import REQUESTS, Utterance, read_utterances
from scripts.eval.asking import Answers
from scripts.eval.intents import Understand

CLAIMS = "evaluation/claims.jsonl"
FROM_REQUESTS = 30
"""Number of requests to skills, and of requests for acts that no skill does, that are drawn from
`data/evaluation/requests.jsonl`."""
MOST_TOKENS = 90
"""Longest answer, in tokens. The product allows more, but no answer that is worth hearing is
longer."""
PARTS = ("dev", "test")
NOW = datetime(2026, 11, 18, 10, 20, tzinfo=ZoneInfo("Europe/London"))
UNBUILT = frozenset(kind for kind in CommandKind if kind.startswith(("form_", "task_")))
"""Kinds that are left out: forms and tasks change what the prompt contains."""


class Answered(NamedTuple):
    """A prompt, and what the language model answers; None if a skill takes the turn."""

    prompt: Utterance
    text: str | None


def read_prompts() -> list[Utterance]:
    """Requests to skills, requests for acts that no skill does, and ordinary prompts; one half of
    each is the part `dev`, the other the part `test`.

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


class Router:
    """Decides, as the product does, which utterances the language model answers."""

    def __init__(self, settings: Settings, llm: LanguageModel, understand: Understand) -> None:
        self._settings = settings
        self._llm = llm
        self._understand = understand

    async def handles(self, text: str) -> bool:
        """Whether a skill takes `text`, said first in a session without stored state."""
        intent = self._understand(text)
        if intent is None or intent.command.kind is CommandKind.WAKE:  # it is awake
            return False
        if intent.command.kind in DialogueSkill.kinds:
            return True
        async with AsyncExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            skills = await self._skills(Home(folder / "home").create(), stack)
            return await skills.carry_out(intent, text) is not None

    async def _skills(self, home: Home, stack: AsyncExitStack) -> SkillRegistry:
        settings, llm, bus = self._settings, self._llm, EventBus()
        window = short_term(settings, llm)
        dialogue = Dialogue(settings, bus, llm, window, LatencyLog(home.ledger))
        skills = await session_skills(
            *(home, settings, bus, dialogue, window, llm),
            VoiceControl(speed=1.0),
            Ringing(dialogue, speaks=False),
            None,
            stack,
        )
        return SkillRegistry(skills)


def short_term(settings: Settings, llm: LanguageModel) -> ShortTermMemory:
    """The memory of a new conversation, which is not stored."""
    conversation = Conversation.begin(settings.general.user)
    return ShortTermMemory(conversation, llm, settings, None, lambda _: None, now=lambda: NOW)


async def ask(
    llm: LanguageModel,
    prompts: Sequence[Utterance],
    understand: Understand,
    answers: Answers,
) -> list[Answered]:
    """Ask the model all prompts that no skill takes, each as the first of a conversation.

    Raises:
        ModelFailed: the model doesn't answer.
    """
    settings = Settings()
    router = Router(settings, llm, understand)
    found = []
    for prompt in prompts:
        text = None
        if not await router.handles(prompt.said):
            messages = short_term(settings, llm).prompt(prompt.said).messages
            request = Generation(messages, MOST_TOKENS, settings.llm.temperature)
            text = await _answer(llm, request, answers)
        found.append(Answered(prompt, text))
    return found


async def _answer(llm: LanguageModel, request: Generation, answers: Answers) -> str:
    parts = [llm.name, request.max_tokens, request.temperature]
    parts += [[each.role, each.content] for each in request.messages]
    key = hashlib.sha256(json.dumps(parts).encode()).hexdigest()
    if key not in answers.rows:
        text = "".join([chunk.text async for chunk in llm.stream(request)])
        await asyncio.to_thread(answers.keep, key, {"answer": text})
    return str(answers.rows[key]["answer"])
