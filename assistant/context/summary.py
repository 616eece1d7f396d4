"""Summarizes the older part of the conversation in the background.

A summary is due when many messages or many tokens are not covered by a summary. It is written in
the background lane from a copy of the words, and takes effect only through `Conversation.apply`.
`run` may be cancelled at any time and called again later. The request then begins with the same
text, which the model does not have to re-read.
"""

import asyncio
import re
from collections.abc import Callable, Sequence
from contextlib import aclosing
from datetime import UTC, datetime

from assistant.context.conversation import Conversation, Exchange, Summary, new_id
from assistant.context.prompt import language_name, load_prompt, summary_text
from assistant.context.window import MARGIN, ContextWindow
from assistant.errors import ModelError, ModelFailed
from assistant.events import Event, Notice, Severity
from assistant.language.sentences import MARKS, Sentence, sentences
from assistant.settings import Settings
from models.interfaces import Generation, Lane, LanguageModel, Message

LONGEST_SUMMARY = 200
"""Maximum number of tokens of a summary. This is eighty words in most languages."""
SHORTEST_SUMMARY = 48
TIMEOUT_S = 180.0
"""Seconds after which a summary is abandoned, so that a hanging model can't block later
summaries."""
RETRY_AFTER = 4
"""Number of exchanges between a failed summary and the next attempt."""

_THINKING = re.compile(r"<think>.*?(</think>|$)", re.DOTALL)
_ENDED = re.compile(rf"[{MARKS}][\"'”’)]*$")
_LABEL = re.compile(r"^\W*summary\W*:\W*", re.IGNORECASE)


class Summarizer:
    """Decides when a summary is due, and writes it.

    Args:
        notify: receives a `Notice` when a summary fails.
    """

    def __init__(
        self,
        llm: LanguageModel,
        settings: Settings,
        window: ContextWindow,
        notify: Callable[[Event], None],
    ) -> None:
        self._llm = llm
        self._window = window
        self._notify = notify
        self._settings = settings.context
        own = settings.context.summary_prompt.strip()
        language = language_name(settings.persona.language)
        self._instructions = own or load_prompt("summary").replace("$language", language)
        self._not_before = 0
        most = min(settings.context.max_context_tokens, window.budget)
        self.trigger_tokens = most - 2 * window.reserve
        """Number of tokens above which a summary is due. It is below the window's limit, so that
        exchanges are summarized before they leave the window."""

    def due(self, conversation: Conversation) -> bool:
        """Return whether a summary is due and there are exchanges to summarize."""
        if len(conversation.exchanges) < self._not_before or not self._covered(conversation):
            return False
        messages = sum(exchange.message_count for exchange in conversation.uncovered)
        return (
            messages > self._settings.max_unsummarized_messages
            or self._window.unsummarized_tokens(conversation) > self.trigger_tokens
        )

    async def run(self, conversation: Conversation) -> Summary | None:
        """Summarize all messages except the last few. Does not change `conversation`.

        Return None after a failure. The failure is reported to `notify`, and some exchanges later a
        summary is due again. Cancelling stops the model at once.
        """
        covered = self._covered(conversation)
        if not covered:
            return None
        earlier = conversation.summary
        request = self._request(covered, earlier, self._longest(conversation, covered))
        try:
            async with asyncio.timeout(TIMEOUT_S):
                async with aclosing(self._llm.stream(request)) as chunks:
                    text = _cleaned("".join([chunk.text async for chunk in chunks]))
            if not text:
                raise ModelFailed("The model wrote nothing.")
        except ModelError as error:
            self._failed(conversation, error)
            return None
        except TimeoutError:
            self._failed(conversation, ModelFailed("The model took too long."))
            return None
        covers = (*(earlier.covers if earlier else ()), *(exchange.id for exchange in covered))
        return Summary(new_id(), text, covers, datetime.now(UTC))

    # -- what is summarized ---------------------------------------------------------------------

    def _covered(self, conversation: Conversation) -> tuple[Exchange, ...]:
        """Return the exchanges to summarize now: the oldest exchanges that no summary covers, as
        many as fit into one request. The last few messages are excluded."""
        exchanges = list(conversation.uncovered)
        kept = 0
        while exchanges and kept < self._settings.keep_last_messages:
            kept += exchanges.pop().message_count
        room = self._llm.context_tokens - LONGEST_SUMMARY - 2 * MARGIN
        room -= self._llm.count(self._instructions)
        if conversation.summary is not None:
            room -= self._llm.count(conversation.summary.text)
        fitting: list[Exchange] = []
        for exchange in exchanges:
            room -= self._llm.count(self._script(exchange)) + 1
            if room < 0 and fitting:
                break
            fitting.append(exchange)
        return tuple(fitting)

    def _longest(self, conversation: Conversation, covered: Sequence[Exchange]) -> int:
        """Return the maximum number of tokens of the summary, chosen so that the prompt stays
        within the target size if possible."""
        ids = {exchange.id for exchange in covered}
        rest = [each for each in conversation.uncovered if each.id not in ids]
        remaining = self._window.head_tokens(summary_text("")) + self._window.tokens_of(rest)
        target = min(self._settings.target_context_tokens, self._window.budget)
        return max(SHORTEST_SUMMARY, min(LONGEST_SUMMARY, target - remaining))

    # -- the model ------------------------------------------------------------------------------

    def _request(
        self, covered: Sequence[Exchange], earlier: Summary | None, longest: int
    ) -> Generation:
        opening = [f"What was said before: {earlier.text}"] if earlier is not None else []
        script = [*opening, *(self._script(exchange) for exchange in covered)]
        return Generation(
            messages=(
                Message("system", self._instructions),
                Message("user", "\n".join([*script, "", "Now write the summary."])),
            ),
            max_tokens=longest,
            temperature=0.2,
            lane=Lane.BACKGROUND,
        )

    def _script(self, exchange: Exchange) -> str:
        user = f"User: {' '.join(self._window.wording(exchange).split())}"
        answer = f"Assistant: {' '.join(exchange.assistant_text.split())}"
        return f"{user}\n{answer}" if exchange.assistant_text else user

    def _failed(self, conversation: Conversation, error: ModelError) -> None:
        self._not_before = len(conversation.exchanges) + RETRY_AFTER
        text = f"The earlier part of this conversation could not be summarized: {error}"
        self._notify(Notice(text, Severity.WARNING, error.mend))


def _cleaned(text: str) -> str:
    """Clean up the model's summary. Join its lines, and remove thinking, a label, repeated
    sentences (small models fall into loops) and an incomplete last sentence."""
    plain = _LABEL.sub("", " ".join(_THINKING.sub(" ", text).split()))
    first: dict[str, Sentence] = {}
    for each in sentences(plain):
        first.setdefault(each.text, each)
    kept = list(first.values())
    if len(kept) > 1 and not _ENDED.search(kept[-1].text):
        kept.pop()
    spaced = (each.text + " " * plain.startswith(" ", each.end) for each in kept)
    return "".join(spaced).rstrip()
