"""Connects the conversation with the transcript and long-term memory. Exchanges are stored in both,
and recall leaves out the exchanges that the prompt already contains."""

from collections.abc import Callable, Collection, Sequence
from datetime import UTC, datetime

from assistant.context import Conversation, Exchange, Summary
from assistant.events import Event, Latency, MemoryUsed, SpeechIgnored, TurnHeard, WishTaken
from assistant.language.stemming import TextAnalyzer
from assistant.memory.retrieval.question import Earlier, follows_up
from assistant.memory.retrieval.question_vectors import FURTHEST
from assistant.memory.retrieval.recap import parse_recap_question
from assistant.memory.retrieval.reranking import Reranking
from assistant.memory.retrieval.results import RecalledForTurn, RecalledMemory
from assistant.memory.retrieval.user_profile import is_wish_note
from assistant.memory.transcript.database import Transcript
from assistant.memory.user_memory import UserMemory

BRIEF_LESS = 0.1
"""Amount by which the minimum score is lowered after a brief search, i.e. one shortened for lack of
time. Of 141 correct memories found by brief searches, 7 scored below 0.5 and none below 0.4."""


class Archive:
    """Stores exchanges in the transcript, then in long-term memory.

    Args:
        emit: receives a `WishTaken` if an exchange contains a new wish. Called on the thread that
            stores.
    """

    def __init__(
        self,
        transcript: Transcript,
        memory: UserMemory,
        emit: Callable[[Event], object] = lambda _: None,
    ) -> None:
        self._transcript = transcript
        self._memory = memory
        self._emit = emit

    def store(
        self,
        conversation: Conversation,
        exchange: Exchange,
        latency: Latency | None = None,
        memories: Sequence[MemoryUsed] = (),
        near_misses: Sequence[tuple[str, float, str]] = (),
    ) -> None:
        """Store an exchange in the transcript and in long-term memory.

        Args:
            memories: the memories in the exchange's prompt, which are recorded as used.
            near_misses: as in `TurnEnded`.

        Raises:
            StoreError: the transcript could not be written. Long-term memory is unchanged too.
        """
        if not self._transcript.store(conversation, exchange, latency, memories, near_misses):
            return
        known = {each.text for each in self._memory.profile()}
        self._memory.remember(conversation.id, exchange)
        new = (each for each in self._memory.profile() if each.text not in known)
        if taken := tuple(each.id for each in new if is_wish_note(each)):
            self._emit(WishTaken(taken))
        self._memory.mark_used([memory.id for memory in memories], datetime.now(UTC))

    def store_summary(self, conversation: Conversation, summary: Summary) -> None:
        """Store a summary in the transcript.

        Raises:
            StoreError: the summary could not be written.
        """
        self._transcript.store_summary(conversation, summary)


class TurnRecall:
    """Recalls memories for the voice loop.

    Args:
        shown: returns the ids of the exchanges that are already in the prompt.
        exchanges: returns the exchanges of the running conversation, oldest first. A question may
            refer to them.
        least_score: the minimum score of a memory in the prompt.
        reranking: judges the memories found for a question.
    """

    def __init__(
        self,
        memory: UserMemory,
        shown: Callable[[], Collection[str]],
        exchanges: Callable[[], Sequence[Exchange]] = tuple,
        least_score: float = 0.0,
        reranking: Reranking | None = None,
    ) -> None:
        self._memory = memory
        self._shown = shown
        self._exchanges = exchanges
        self._least_score = least_score
        self._reranking = reranking or Reranking()

    async def load(self) -> None:
        """Load the model that judges memories. Until then, memories are not judged."""
        await self._reranking.load()

    def close(self) -> None:
        """End the threads."""
        self._reranking.close()

    def ahead(self, words: str) -> None:
        """Prepare a recall for `words`, the beginning of what the user is saying. Returns
        immediately."""
        self._memory.asking.ahead(words)

    async def recall(
        self, query: str, deadline_s: float, *, about_user: bool = False, draft: bool = False
    ) -> RecalledForTurn:
        """Return the memories relevant to `query` that were found within `deadline_s` seconds.

        Args:
            about_user: whether `query` asks for something that the assistant can know only from the
                user. A model then judges which memories answer it, which takes a few milliseconds.
            draft: whether `query` is the beginning of what the user is saying.
        """
        earlier = self._earlier()
        recalled = await self._memory.recall(query, deadline_s, self._shown(), earlier, draft=draft)
        # Scores are lower if the search was by words only, and a little lower if it was brief.
        least = float("-inf") if recalled.missed else self._least_score
        least -= BRIEF_LESS if recalled.brief else 0.0
        used = tuple(_used(each, least) for each in recalled.memories)
        if about_user and _stands_alone(query, earlier):
            used = await self._reranking.ranked(query, used)
        return RecalledForTurn(used, recalled.missed, recalled.stand_in, recalled.brief)

    def _earlier(self) -> list[Earlier]:
        over = [each for each in self._exchanges()[-FURTHEST - 1 :] if not each.open]
        return [Earlier(each.user_text.strip(), each.assistant_text.strip()) for each in over]

    def watch(self, event: Event) -> None:
        """Receive an event from the event bus. When speech ends, tell the question encoder the
        turn's text, or that there was no turn."""
        if isinstance(event, TurnHeard):
            self._memory.asking.over(event.text)
        elif isinstance(event, SpeechIgnored):
            self._memory.asking.over(None)


def _stands_alone(question: str, earlier: Collection[Earlier]) -> bool:
    """Whether a question can be judged by its own words, and asks for something in particular. A
    question that asks for a recap doesn't: every memory in the recap answers it."""
    if parse_recap_question(question, datetime.now().astimezone().date()) is not None:
        return False
    return not (earlier and follows_up(question, TextAnalyzer("en").content(question)))


def _used(found: RecalledMemory, least: float) -> MemoryUsed:
    return MemoryUsed(
        id=found.id,
        text=found.text,
        score=found.score,
        kind=found.kind.value,
        speaker=found.speaker,
        said=found.created,
        superseded_by=found.superseded_by,
        parts=tuple(found.parts.items()),
        words=found.words,
        near=found.score >= least or found.corrects,
        corrects=found.corrects,
    )
