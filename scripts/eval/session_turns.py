"""Answers the turns of a session as the product does. A skill replies if it can. If the assistant
can't know the answer, it may give a fixed reply. Otherwise, the language model answers, and
`AnswerCheck` ends the answer where it claims an act.

Only the text of the answers is measured, so nothing is heard or spoken, and recall has all the time
that it needs.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC

from assistant.compose.conversation import open_short_term_memory
from assistant.context.prompt import Prompt
from assistant.context.short_term import ShortTermMemory
from assistant.context.window import local_now
from assistant.event_bus import EventBus
from assistant.events import Latency, MemoryUsed, TurnEnded
from assistant.intents.command import CommandKind
from assistant.memory.retrieval.reranking import Reranking
from assistant.memory.service import MemoryService
from assistant.paths import Home
from assistant.settings import Settings
from assistant.skills.registry import SkillRegistry
from assistant.skills.skill import Reply
from assistant.voice.answer_check import AnswerCheck, CheckedText
from assistant.voice.claims import ClaimDetector
from assistant.voice.dialogue import Dialogue
from assistant.voice.dialogue_skill import DialogueSkill
from assistant.voice.latency import LatencyLog
from assistant.voice.ringing import Ringing
from assistant.voice.speech.clauses import clauses_of
from assistant.voice.voice_control import VoiceControl
from models.interfaces import Generation, LanguageModel, Message
from scripts.common.session_skills import session_skills
from scripts.eval.asking import Answers, written
from scripts.eval.intents import Understand
from scripts.eval.knowable import CannotKnow

RECALL_S = 30.0
"""Maximum seconds of a recall."""


@dataclass(frozen=True, slots=True)
class Turn:
    """The answer in a turn.

    Attributes:
        text: the part of the written answer that is spoken.
        spoken: the same text as it is read aloud.
        prompt: what the language model read; None if it wasn't asked.
        fixed: whether this is the fixed reply to a question that the assistant can't answer.
    """

    text: str
    spoken: str
    prompt: Prompt | None = None
    fixed: bool = False

    @property
    def by_skill(self) -> bool:
        return self.prompt is None and not self.fixed


def all_known(_: str) -> None:
    """Return None: the assistant counts as knowing everything."""
    return


@dataclass(frozen=True, slots=True)
class SessionParts:
    """What all sessions with one language model share.

    Attributes:
        llm: the language model, already loaded.
        understand: recognises commands and requests to skills.
        detector: finds claims; None if answers aren't checked.
        cannot_know: decides whether the assistant can't know what is asked.
        reranking: judges the recalled memories; None if they aren't judged.
        answers: stores what the model has written.
        reads_per_s: tokens that the model reads per second; None if unknown.
    """

    settings: Settings
    llm: LanguageModel
    understand: Understand
    detector: ClaimDetector | None = None
    answers: Answers = field(default_factory=lambda: Answers(None))
    reads_per_s: float | None = None
    cannot_know: CannotKnow = all_known
    reranking: Reranking | None = None


class Session:
    """A session with its own conversation."""

    def __init__(
        self,
        parts: SessionParts,
        bus: EventBus,
        window: ShortTermMemory,
        dialogue: Dialogue,
        skills: SkillRegistry,
        memory: MemoryService | None,
    ) -> None:
        self._parts = parts
        self._bus = bus
        self._window = window
        self._dialogue = dialogue
        self._skills = skills
        self._recall = None
        if memory is not None:
            self._recall = memory.turn_recall(
                window.shown, lambda: window.conversation.exchanges, parts.reranking
            )
        self._pending = 0.0
        """The probability that an earlier turn asked for an act, if the assistant replied with a
        question. `Think` has the same attribute."""

    async def turn(self, said: str) -> Turn:
        """Answer what is said, without adding it to the conversation. Raises ModelFailed."""
        reply = await self.reply(said)
        if reply is not None:
            return Turn(reply.text, read_aloud(reply.text, self._parts.settings))
        return await self._ordinary_turn(said)

    async def reply(self, said: str) -> Reply | None:
        """The reply of a skill; None if the language model answers the turn."""
        names, skills = self._dialogue.attention.names, self._skills
        act = skills.answer(said, names)
        intent = self._parts.understand(said) if act is None else None
        if act is None and intent is None and skills.takes_words(said):
            reply = await skills.said(said)
            if reply is not None:
                return reply
        if intent is not None and intent.command.kind is CommandKind.WAKE:  # it is awake
            intent = None
        elif act is None:
            act = await skills.takes(said, intent)
        reply = None
        if act is not None:
            reply = await act()
        elif intent is not None:
            reply = await skills.carry_out(intent, said, names)
        if reply is None:
            skills.turn_began()
        else:
            self._dialogue.last_said.say(reply.text, lasts=True)
        return reply

    async def _ordinary_turn(self, said: str) -> Turn:
        parts = self._parts
        await self._dialogue.cache.cool()
        memories: Sequence[MemoryUsed] = ()
        not_known = parts.cannot_know(said)
        about_user = not_known is not None and not_known.about_user
        if self._recall is not None:
            found = await self._recall.recall(said, RECALL_S, about_user=about_user)
            memories = found.memories
        prompt = self._window.prompt(said, memories, parts.reads_per_s, not_known=not_known)
        if prompt.reply:
            self._pending = 0.0
            return Turn(prompt.reply, read_aloud(prompt.reply, parts.settings), fixed=True)
        llm = parts.settings.llm
        request = Generation(prompt.messages, llm.max_answer_tokens, llm.temperature)
        text = await written(parts.llm, request, parts.answers)
        check = AnswerCheck(parts.detector, parts.settings.persona.language, said, self._pending)
        pieces = [*await check.feed(text), *await check.finish()]
        kept = text_of(pieces)
        self._pending = await check.request() if kept.rstrip().endswith("?") else 0.0
        return Turn(kept, spoken_of(pieces), prompt)

    def read_ahead(self) -> tuple[Message, ...]:
        """What the model reads before anything is said."""
        return self._window.read_ahead()

    async def keep(self, said: str, answer: str) -> None:
        """Add a turn to the conversation, and store it if the session has a memory."""
        number, now = self._window.turns + 1, local_now().astimezone(UTC)
        ended = TurnEnded(number, said, answer, interrupted=False, latency_ms=Latency())
        await self._window.keep(ended, now)
        self._bus.emit(ended)
        self._dialogue.last_said.say(answer, lasts=True)


@asynccontextmanager
async def open_session(
    parts: SessionParts, home: Home, memory: MemoryService | None = None
) -> AsyncIterator[Session]:
    """A session, which begins a new conversation unless the last one in the memory was recent.

    Args:
        memory: the memory of the home; None if the session has none.
    """
    settings, llm, bus = parts.settings, parts.llm, EventBus()
    async with AsyncExitStack() as stack:
        window = await open_short_term_memory(memory, llm, settings, bus)
        dialogue = Dialogue(settings, bus, llm, window, LatencyLog(home.ledger))
        stack.push_async_callback(dialogue.cache.cool)
        controls = DialogueSkill(dialogue)
        stack.callback(controls.close)
        skills = await session_skills(
            *(home, settings, bus, dialogue, window, llm),
            VoiceControl(speed=1.0),
            Ringing(dialogue, speaks=False),
            None,
            stack,
            memory=memory,
        )
        registry = SkillRegistry([controls, *skills])
        if parts.reranking is not None:
            await parts.reranking.load()
        yield Session(parts, bus, window, dialogue, registry, memory)


def read_aloud(text: str, settings: Settings) -> str:
    """A text as it is read aloud."""
    return " ".join(each.spoken for each in clauses_of(text, settings.persona.language))


def text_of(pieces: Sequence[CheckedText]) -> str:
    return "".join(each.text for each in pieces)


def spoken_of(pieces: Sequence[CheckedText]) -> str:
    """The checked text as it is read aloud."""
    return " ".join(clause.spoken for each in pieces for clause in each.clauses)
