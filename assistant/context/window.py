"""Selects the exchanges that the model sees, by exact token counts, and builds each turn's
prompt.

    [system prompt + profile + summary] [history …] | [state, date, memories, newest message, hint]
     stable: the same bytes each turn                | new each turn

When the window is full, the whole older half leaves. So the bytes before the bar stay the same
for many turns, and the model's KV cache remains valid. `settle` moves the window between turns,
shortly before it is full. `build` moves it only if a turn wouldn't fit otherwise. Important
exchanges leave last, and stay when a summary replaces the exchanges around them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from assistant.context.already_told import may_be_told
from assistant.context.conversation import (
    Conversation,
    Exchange,
    Importance,
    Summary,
    no_importance,
)
from assistant.context.memory_block import MemoryBlock, MemoryBudget, memory_block
from assistant.context.not_known import NotKnown, applicable, is_fixed
from assistant.context.prompt import (
    Newest,
    ProfilePart,
    Prompt,
    date_line,
    joined,
    state_line,
    summary_text,
    system_prompt,
)
from assistant.context.question_cues import QuestionCues
from assistant.context.rendering import Group, cut, group_exchanges, shortened
from assistant.errors import SettingsError
from assistant.events import MemoryUsed, Notice, PromptSection, Severity
from assistant.settings import Settings
from models.interfaces import LanguageModel, Message

MARGIN = 64
"""Number of tokens left free in the model's window. Templates may take a few more than counted."""
SMALLEST_ROOM = 64
"""Minimum number of tokens besides the system prompt. With fewer, no conversation is possible."""
LARGEST_RESERVE = 1024
"""Maximum number of tokens left free between turns for the next message and its memories."""
MIN_IMPORTANCE = 0.6
"""Minimum importance, in [0, 1], of an exchange that stays in the window longer than others."""
UNKNOWN_YET = "…"
SHORTENED = "That was too long to read in full; I used its beginning and its end."


def local_now() -> datetime:
    return datetime.now().astimezone()


@dataclass(frozen=True, slots=True)
class _Shown:
    """The part of a conversation that is in the window."""

    groups: list[Group]
    pending: tuple[Exchange, ...]

    @property
    def size(self) -> int:
        """The number of exchanges."""
        return len(self.exchanges)

    @property
    def exchanges(self) -> list[Exchange]:
        """All exchanges, oldest first."""
        return [*(each for group in self.groups for each in group.exchanges), *self.pending]


class ContextWindow:
    """Builds prompts. Stores only ids, token counts and cuts of exchanges, and the profile's text.

    Args:
        llm: counts tokens; must be loaded.
        now: returns the local wall time, for the date line.
        profile: returns the memories in every prompt, as the same tuple until they change.
        importance: rates exchanges for `context.keep_important_tokens`.

    Raises:
        SettingsError: the persona's instructions leave no room for a conversation.
    """

    def __init__(
        self,
        llm: LanguageModel,
        settings: Settings,
        now: Callable[[], datetime] = local_now,
        profile: Callable[[], Sequence[MemoryUsed]] = tuple,
        importance: Importance = no_importance,
    ) -> None:
        self._llm = llm
        self._now = now
        self._importance = importance
        self._max_turns = settings.context.max_turns
        self._language = settings.persona.language
        self._memory = settings.memory
        self.state: Callable[[], str] = str
        """Returns what the model is told about an open form or task. `read_ahead` includes it."""
        room = llm.context_tokens - settings.llm.max_answer_tokens - MARGIN
        self.budget = min(settings.context.max_context_tokens, room)
        """Maximum number of tokens of a prompt."""
        self._system = system_prompt(settings.persona)
        self._base = llm.count_messages([Message("system", self._system)])
        self._room = self.budget - self._base
        most = min(settings.memory.profile_tokens, self._room // 8)
        self._profile = ProfilePart(profile, llm.count, most)
        self.reserve = min(LARGEST_RESERVE, self._room // 8)
        if self._room < SMALLEST_ROOM:
            raise SettingsError(
                f"The persona's instructions take {self._base} tokens, and a prompt may have "
                f"{max(self.budget, 0)}: too little is left for a conversation.",
                mend="Shorten persona.instructions, or raise llm.context_tokens.",
            )
        self._important_room = min(settings.context.keep_important_tokens, self.reserve // 2)
        self._left: set[str] = set()
        """Ids of the exchanges that have left the window. They don't return to it."""
        self._kept = ("", frozenset[str]())
        """A summary's id, and the ids of important exchanges that it covers but that stay
        visible."""
        self._costs: dict[tuple[str, ...], int] = {}
        self._cuts: dict[str, tuple[int, int] | None] = {}
        self._heads: dict[tuple[str, str], int] = {}

    # -- called by others -----------------------------------------------------------------------

    def build(
        self,
        conversation: Conversation,
        newest_user_text: str,
        *,
        memories: Sequence[MemoryUsed] = (),
        reads_per_s: float | None = None,
        not_known: NotKnown | None = None,
    ) -> Prompt:
        """Build the prompt for a turn. Does not change the conversation, so it may be called
        before it is certain what the user said.

        Args:
            memories: best first; `Prompt.memories` contains the ones that fitted.
            reads_per_s: tokens that this model reads per second, if known.
            not_known: set if the user asks for something that the assistant can't know by itself.
        """
        words = newest_user_text.strip()
        # The rest of the window is left for the conversation.
        most = min(self._memory.max_tokens, self._room // 4)
        budget = MemoryBudget.of(most, reads_per_s, self._memory.prefill_ms)
        cues = QuestionCues.of(words, self._language)
        date = date_line(self._now()) if cues.dated else ""  # memories contain their own dates
        state = state_line(self.state())
        asked = applicable(not_known, words, memories, self._language)

        def newest_after(shown: _Shown) -> Newest:
            block = self._memory_block(shown, memories, cues, budget)
            newest = Newest(self._pending_text(shown), state, date, block, words, asked)
            told = asked is not None and self._told(newest, conversation.summary, shown)
            return replace(newest, not_known=None) if told else newest

        shown = self._shown(conversation)
        newest = newest_after(shown)
        head = self._head(conversation.summary)
        while shown.size and (self._too_many(shown) or self._too_much(head, shown, newest)):
            shown = self._halved(head, shown, self.budget - self._cost(newest.message))
            newest = newest_after(shown)
        newest, notice = self._fitted(head, newest)
        return self._prompt(conversation.summary, shown, newest, notice)

    def draft(self, conversation: Conversation, words: str, **told: Any) -> tuple[Message, ...]:
        """Return the messages of a prompt for words that may never become a turn, or nothing if
        exchanges would have to leave the window. Takes the other arguments of `build`, too."""
        left = set(self._left)
        messages = self.build(conversation, words, **told).messages
        moved, self._left = self._left != left, left
        return () if moved else messages

    def settle(self, conversation: Conversation) -> bool:
        """Make room between turns if the next turn might not fit. Return whether the window
        moved."""
        self._prune(conversation)
        shown = self._shown(conversation)
        head = self._head(conversation.summary)
        full = head + self._history_cost(shown) > self.budget - self.reserve
        if not shown.size or not (full or self._too_many(shown)):
            return False
        self._halved(head, shown, self.budget - self.reserve)
        return True

    def read_ahead(
        self, conversation: Conversation, user_text: str = "", answer: str = ""
    ) -> tuple[Message, ...]:
        """Return the next prompt with a placeholder for the user's words, to read into the model's
        cache before these words are known. The last message is a user message, because some engines
        would continue a final assistant message.

        Args:
            user_text, answer: an exchange whose answer is written, but still being spoken.
        """
        shown = self._shown(conversation)
        parts = [message for group in shown.groups for message in group.messages(self.wording)]
        pending = self._pending_text(shown)
        if user_text and answer.strip():
            parts.append(Message("user", joined(pending, user_text.strip())))
            parts.append(Message("assistant", answer.strip()))
            pending = ""
        last = Message("user", joined(pending, state_line(self.state()), UNKNOWN_YET))
        return (self._head_message(conversation.summary), *parts, last)

    def unsummarized_tokens(self, conversation: Conversation) -> int:
        """Count the tokens of a prompt with the summary and all exchanges that it does not cover,
        but without the newest message."""
        return self._head(conversation.summary) + self.tokens_of(conversation.uncovered)

    def head_tokens(self, summary: str) -> int:
        """Count the tokens of the system message including `summary`."""
        text = self._system + self._profile.text() + summary
        return self._llm.count_messages([Message("system", text)])

    def tokens_of(self, exchanges: Sequence[Exchange]) -> int:
        """Count the tokens of these exchanges in the history."""
        return self._history_cost(_Shown(*group_exchanges(exchanges)))

    def shown(self, conversation: Conversation) -> frozenset[str]:
        """Return the ids of the exchanges that the next prompt will contain word for word."""
        return frozenset(exchange.id for exchange in self._in_view(conversation))

    def wording(self, exchange: Exchange) -> str:
        """Return what the user said in `exchange` as the model sees it: a very long text is cut."""
        text = exchange.user_text.strip()
        if exchange.id not in self._cuts:
            self._cuts[exchange.id] = shortened(text, self._room // 4, self._llm.count)
        kept = self._cuts[exchange.id]
        return text if kept is None else cut(text, kept)

    # -- what is shown, and what leaves ---------------------------------------------------------

    def _shown(self, conversation: Conversation) -> _Shown:
        return _Shown(*group_exchanges(self._in_view(conversation)))

    def _in_view(self, conversation: Conversation) -> list[Exchange]:
        """Return the exchanges in the window, in order: those that the summary does not cover, and
        important ones that it covers. Exchanges that have left the window are omitted."""
        summary = conversation.summary
        covered = frozenset(summary.covers) if summary is not None else frozenset[str]()
        left = self._left
        if summary is not None and summary.id != self._kept[0]:
            older = [e for e in conversation.exchanges if e.id in covered and e.id not in left]
            groups = self._important(group_exchanges(older)[0])
            self._kept = (summary.id, frozenset(key for group in groups for key in group.ids))
        hidden = left | (covered - self._kept[1])
        return [exchange for exchange in conversation.exchanges if exchange.id not in hidden]

    def _important(self, groups: Sequence[Group]) -> list[Group]:
        """Return the most important groups that fit; newer ones first if equally important. Called
        only when the model has to re-read the history anyway."""
        room = self._important_room
        if not room:
            return []
        weights = self._importance([each for group in groups for each in group.exchanges])
        weighed = [
            (max(weights.get(key, 0.0) for key in group.ids), place, group)
            for place, group in enumerate(groups)
        ]
        chosen = []
        for weight, _, group in sorted(weighed, key=lambda each: each[:2], reverse=True):
            if weight >= MIN_IMPORTANCE and (cost := self._group_cost(group)) <= room:
                chosen.append(group)
                room -= cost
        return chosen

    def _too_much(self, head: int, shown: _Shown, newest: Newest) -> bool:
        groups = sum(self._group_cost(group) for group in shown.groups)
        return head + groups + self._cost(newest.message) > self.budget

    def _too_many(self, shown: _Shown) -> bool:
        return self._max_turns is not None and shown.size > self._max_turns

    def _halved(self, head: int, shown: _Shown, room: int) -> _Shown:
        """Remove the oldest groups until the history fills at most half its budget, and head and
        history fit `room`. Remove important groups only after all others."""
        limit = min((head + self.budget) // 2, room)
        keep = max(1, self._max_turns // 2) if self._too_many(shown) and self._max_turns else None
        groups, pending = list(shown.groups), shown.pending
        rest = _Shown(groups, pending)
        important = {group.ids for group in self._important(groups)}
        leaving = sorted(groups, key=lambda group: group.ids in important)
        while leaving and (
            head + self._history_cost(rest) > limit or (keep is not None and rest.size > keep)
        ):
            groups.remove(leaving[0])
            self._left.update(leaving.pop(0).ids)
        if not groups and head + self._history_cost(rest) > limit:
            self._left.update(exchange.id for exchange in pending)
            rest = _Shown([], ())
        return rest

    def _prune(self, conversation: Conversation) -> None:
        """Delete cached data about exchanges and summaries that no longer exist."""
        ids = {exchange.id for exchange in conversation.exchanges}
        self._left &= ids
        self._cuts = {key: kept for key, kept in self._cuts.items() if key in ids}
        self._heads.clear()
        self._costs = {key: cost for key, cost in self._costs.items() if ids.issuperset(key)}

    # -- tokens ---------------------------------------------------------------------------------

    def _head_message(self, summary: Summary | None) -> Message:
        known = self._system + self._profile.text()
        return Message("system", known + (summary_text(summary.text) if summary else ""))

    def _head(self, summary: Summary | None) -> int:
        key = (self._profile.text(), summary.id if summary else "")
        if key not in self._heads:
            self._heads[key] = self._llm.count_messages([self._head_message(summary)])
        return self._heads[key]

    def _cost(self, *messages: Message) -> int:
        """Count the tokens that `messages` add to a prompt, including their role marks."""
        return self._llm.count_messages([Message("system", self._system), *messages]) - self._base

    def _group_cost(self, group: Group) -> int:
        key = group.ids
        if key not in self._costs:
            self._costs[key] = self._cost(*group.messages(self.wording))
        return self._costs[key]

    def _history_cost(self, shown: _Shown) -> int:
        cost = sum(self._group_cost(group) for group in shown.groups)
        if shown.pending:
            cost += self._cost(Message("user", self._pending_text(shown)))
        return cost

    # -- words ----------------------------------------------------------------------------------

    def _pending_text(self, shown: _Shown) -> str:
        return "\n".join(self.wording(exchange) for exchange in shown.pending)

    def _told(self, newest: Newest, summary: Summary | None, shown: _Shown) -> bool:
        """Whether the prompt, apart from recalled memories, may answer the user's question."""
        said = [each.user_text for each in shown.exchanges]
        beside = [newest.state, *self._profile.memories()]
        answers = [each.assistant_text for each in shown.exchanges if not is_fixed(each)]
        told = said, answers, summary.text if summary else ""
        own = newest.not_known is not None and newest.not_known.about_user
        return may_be_told(newest.words, *told, beside=beside, about_user=own)

    def _memory_block(
        self,
        shown: _Shown,
        memories: Sequence[MemoryUsed],
        cues: QuestionCues,
        budget: MemoryBudget,
    ) -> MemoryBlock:
        if not memories:
            return MemoryBlock()
        texts = [text for each in shown.exchanges for text in (each.user_text, each.assistant_text)]
        present = [*texts, cues.words, *self._profile.memories()]
        return memory_block(memories, self._now(), self._llm.count, budget, cues, present)

    def _fitted(self, head: int, newest: Newest) -> tuple[Newest, Notice | None]:
        """Shorten the newest words if they alone exceed the window."""
        if head + self._cost(newest.message) <= self.budget:
            return newest, None
        without = replace(newest, pending="", words="…")
        room = self.budget - head - self._cost(without.message)
        kept = shortened(newest.words, max(room, 0), self._llm.count)
        words = newest.words if kept is None else cut(newest.words, kept)
        return replace(newest, pending="", words=words), Notice(SHORTENED, Severity.WARNING)

    def _prompt(
        self, summary: Summary | None, shown: _Shown, newest: Newest, notice: Notice | None
    ) -> Prompt:
        history = [message for group in shown.groups for message in group.messages(self.wording)]
        stable = (self._head_message(summary), *history)
        messages = (*stable, newest.message)
        tokens = self._llm.count_messages(messages)
        count = self._llm.count
        before = {
            "system": (self._system, self._base),
            "profile": (self._profile.text(), self._head(None) - self._base),
            "summary": (summary.text if summary else "", self._head(summary) - self._head(None)),
            "history": (
                "\n".join([*(f"{each.role}: {each.content}" for each in history), newest.pending]),
                sum(self._group_cost(group) for group in shown.groups) + count(newest.pending),
            ),
            "state": (newest.state_lines, count(newest.state_lines)),
            "memories": (newest.memories.text, newest.memories.tokens),
        }
        sections = [PromptSection(name, *part) for name, part in before.items() if part[0].strip()]
        rest = tokens - sum(section.tokens for section in sections)
        sections.append(PromptSection("newest message", newest.words, rest))
        read = (messages, stable, tuple(sections), tokens, self.budget, newest.memories)
        return Prompt(*read, notice, newest.reply)
