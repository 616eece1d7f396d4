"""Decides how much of the conversation the model sees, in exact tokens; builds each turn's prompt.

    [system prompt + profile + summary] [history …] | [date, memories, state + newest message]
     stable: the same bytes each turn                | new each turn

The window moves in large steps: when it is full, the older half leaves at once. So the bytes before
the bar stay the same for many turns, and the model's KV cache remains valid. `settle` moves the
window between turns, shortly before it is full; `build` does so only if a turn wouldn't fit.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from assistant.context.conversation import Conversation, Exchange, Summary
from assistant.context.eviction import EvictionPolicy, Importance, no_importance
from assistant.context.note import Note
from assistant.context.notes import NotesBlock, NotesBudget, QuestionCues, notes_block
from assistant.context.prompt import (
    CoreMemoryPart,
    Prompt,
    asks_about_past,
    asks_something,
    asks_when,
    date_line,
    joined,
    may_need_date,
    state_block,
    summary_text,
    system_prompt,
)
from assistant.context.rendering import Group, cut, group_exchanges, shortened
from assistant.errors import SettingsError
from assistant.events import Notice, PromptSection, Severity
from assistant.settings import Settings
from models.interfaces import LanguageModel, Message

MARGIN = 64
"""Tokens left free in the model's window, as templates may take a few more than counted."""
SMALLEST_ROOM = 64
"""Tokens besides the system prompt below which no conversation is possible."""
LARGEST_RESERVE = 1024
"""Tokens kept free between turns for the next message and its memories."""
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
        """Number of exchanges."""
        return sum(len(group.exchanges) for group in self.groups) + len(self.pending)


@dataclass(frozen=True, slots=True)
class _Newest:
    """The parts of the newest message."""

    pending: str
    date: str
    notes: NotesBlock
    state: str
    words: str

    @property
    def message(self) -> Message:
        return Message(
            "user", joined(self.pending, self.date, self.notes.text, self.state, self.words)
        )


@dataclass(frozen=True, slots=True)
class _Beside:
    """What accompanies the newest words."""

    notes: Sequence[Note]
    state: str | None
    room: NotesBudget


class ContextWindow:
    """Builds prompts. Of exchanges it stores only ids, counts and where to cut; of the profile the
    current text.

    Args:
        llm: counts tokens; must be loaded.
        now: local wall time, for the date line.
        profile: what is always shown about the user; the same tuple until it changes.
        importance: rates exchanges for `context.keep_important_tokens`.

    Raises:
        SettingsError: the persona's instructions leave no room for a conversation.
    """

    def __init__(
        self,
        llm: LanguageModel,
        settings: Settings,
        now: Callable[[], datetime] = local_now,
        profile: Callable[[], Sequence[Note]] = tuple,
        importance: Importance = no_importance,
    ) -> None:
        self._llm = llm
        self._now = now
        self._max_turns = settings.context.max_turns
        self._language = settings.persona.language
        self._memory = settings.memory
        room = llm.context_tokens - settings.llm.max_answer_tokens - MARGIN
        self.budget = min(settings.context.max_context_tokens, room)
        """Maximum number of tokens of a prompt."""
        self._system = system_prompt(settings.persona)
        self._base = llm.count_messages([Message("system", self._system)])
        self._room = self.budget - self._base
        most = min(settings.memory.profile_tokens, self._room // 8)
        self._profile = CoreMemoryPart(profile, llm.count, most)
        self.reserve = min(LARGEST_RESERVE, self._room // 8)
        if self._room < SMALLEST_ROOM:
            raise SettingsError(
                f"The persona's instructions take {self._base} tokens, and a prompt may have "
                f"{max(self.budget, 0)}: too little is left for a conversation.",
                mend="Shorten persona.instructions, or raise llm.context_tokens.",
            )
        room = min(settings.context.keep_important_tokens, self.reserve // 2)
        self._kept = EvictionPolicy(importance, self._group_cost, room)
        self._left: set[str] = set()
        self._costs: dict[tuple[str, ...], int] = {}
        self._cuts: dict[str, tuple[int, int] | None] = {}
        self._heads: dict[tuple[int, str], int] = {}

    # -- called by others -----------------------------------------------------------------------

    def build(
        self,
        conversation: Conversation,
        newest_user_text: str,
        *,
        turn: int | None = None,
        memories: Sequence[Note] = (),
        state: str | None = None,
        reads_per_s: float | None = None,
    ) -> Prompt:
        """The prompt for a turn. Does not change the conversation, so it may be built for words
        that are still uncertain.

        Args:
            turn: the turn being answered, if its exchange is already open in `conversation`;
                default: the last exchange, if open.
            memories: best first; `Prompt.notes` has those that fitted.
            state: structured state, a few lines.
            reads_per_s: tokens that this model reads per second, if known.
        """
        beside = _Beside(memories, state, self._notes_room(reads_per_s))
        shown = self._shown(conversation, turn)
        newest = self._newest(shown, newest_user_text.strip(), beside)
        head = self._head(conversation.summary)
        while shown.size and (self._too_many(shown) or self._too_much(head, shown, newest)):
            shown = self._halved(head, shown, self.budget - self._cost(newest.message))
            newest = self._newest(shown, newest.words, beside)
        newest, notice = self._fitted(head, newest)
        return self._prompt(conversation.summary, shown, newest, notice)

    def settle(self, conversation: Conversation) -> bool:
        """Between turns: move the window if the next turn might not fit. True if it moved."""
        self._prune(conversation)
        shown = self._shown(conversation, None)
        head = self._head(conversation.summary)
        full = head + self._history_cost(shown) > self.budget - self.reserve
        if not shown.size or not (full or self._too_many(shown)):
            return False
        self._halved(head, shown, self.budget - self.reserve)
        return True

    def read_ahead(
        self, conversation: Conversation, user_text: str = "", answer: str = ""
    ) -> tuple[Message, ...]:
        """What can be read into the model's cache before the next turn's words are known: the next
        prompt with a placeholder for the user's words. It ends in a user message, because some
        engines would continue a final assistant message.

        Args:
            user_text, answer: an exchange in progress (its answer is written, but not yet heard to
                the end) that the next prompt will probably contain.
        """
        summary = conversation.summary
        shown = self._shown(conversation, None)
        parts = [message for group in shown.groups for message in self._messages(group)]
        pending = [self.wording(exchange) for exchange in shown.pending]
        if user_text and answer.strip():
            parts.append(Message("user", "\n".join([*pending, user_text.strip()])))
            parts.append(Message("assistant", answer.strip()))
            pending = []
        last = Message("user", joined(*pending, UNKNOWN_YET))
        return (self._head_message(summary), *parts, last)

    def unsummarized_tokens(self, conversation: Conversation) -> int:
        """Tokens of a prompt with the summary and everything that it does not cover, without the
        newest message. Decides whether to summarize."""
        groups, pending = group_exchanges(
            [each for each in conversation.uncovered if not each.open]
        )
        return self._head(conversation.summary) + self._history_cost(_Shown(groups, pending))

    def head_tokens(self, summary: str) -> int:
        """Tokens of the system message including `summary`."""
        text = self._system + self._profile.text() + summary
        return self._llm.count_messages([Message("system", text)])

    def tokens_of(self, exchanges: Sequence[Exchange]) -> int:
        """Tokens that these exchanges take in the history."""
        return self._history_cost(_Shown(*group_exchanges(exchanges)))

    # -- what is shown --------------------------------------------------------------------------

    def shown(self, conversation: Conversation) -> frozenset[str]:
        """Ids of the exchanges that the next prompt will contain verbatim."""
        view = self._kept.in_view(conversation, self._left)
        return frozenset(each.id for each in view if each.id not in self._left)

    def _shown(self, conversation: Conversation, turn: int | None) -> _Shown:
        exchanges = self._kept.in_view(conversation, self._left)
        if turn is not None:
            exchanges = [each for each in exchanges if not (each.open and each.turn == turn)]
        elif exchanges and exchanges[-1].open:
            exchanges.pop()
        return _Shown(*group_exchanges([each for each in exchanges if each.id not in self._left]))

    def _too_much(self, head: int, shown: _Shown, newest: _Newest) -> bool:
        groups = sum(self._group_cost(group) for group in shown.groups)
        return head + groups + self._cost(newest.message) > self.budget

    def _too_many(self, shown: _Shown) -> bool:
        return self._max_turns is not None and shown.size > self._max_turns

    def _halved(self, head: int, shown: _Shown, room: int) -> _Shown:
        """Remove the oldest until the history takes half of its room and everything fits into
        `room`; remove important ones only when nothing else is left."""
        limit = min((head + self.budget) // 2, room)
        keep = max(1, self._max_turns // 2) if self._too_many(shown) and self._max_turns else None
        groups, pending = list(shown.groups), shown.pending
        rest, leaving = _Shown(groups, pending), self._kept.leaving(groups)
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
        """Drop what is stored about exchanges and summaries that no longer exist."""
        ids = {exchange.id for exchange in conversation.exchanges}
        if conversation.summary is not None:
            ids.add(conversation.summary.id)
        self._left &= ids
        self._cuts = {key: kept for key, kept in self._cuts.items() if key in ids}
        self._heads.clear()
        self._costs = {key: cost for key, cost in self._costs.items() if ids.issuperset(key)}

    # -- tokens ---------------------------------------------------------------------------------

    def _head_message(self, summary: Summary | None) -> Message:
        known = self._system + self._profile.text()
        return Message("system", known + (summary_text(summary.text) if summary else ""))

    def _head(self, summary: Summary | None) -> int:
        message = self._head_message(summary)
        key = (self._profile.version, summary.id if summary else "")
        if key not in self._heads:
            self._heads[key] = self._llm.count_messages([message])
        return self._heads[key]

    def _cost(self, *messages: Message) -> int:
        """Tokens that `messages` add to a prompt, including their role marks."""
        if not messages:
            return 0
        system = Message("system", self._system)
        return self._llm.count_messages([system, *messages]) - self._base

    def _group_cost(self, group: Group) -> int:
        if any(exchange.open for exchange in group.exchanges):
            return self._cost(*self._messages(group))
        key = group.ids
        if key not in self._costs:
            self._costs[key] = self._cost(*self._messages(group))
        return self._costs[key]

    def _history_cost(self, shown: _Shown) -> int:
        cost = sum(self._group_cost(group) for group in shown.groups)
        if shown.pending:
            cost += self._cost(Message("user", self._pending_text(shown)))
        return cost

    # -- words ----------------------------------------------------------------------------------

    def wording(self, exchange: Exchange) -> str:
        """The user's words of `exchange` as the model may see them: shortened if very long."""
        text = exchange.user_text.strip()
        if exchange.id not in self._cuts:
            self._cuts[exchange.id] = shortened(text, self._room // 4, self._llm.count)
        kept = self._cuts[exchange.id]
        return text if kept is None else cut(text, kept)

    def _messages(self, group: Group) -> tuple[Message, ...]:
        return group.messages(self.wording)

    def _pending_text(self, shown: _Shown) -> str:
        return "\n".join(self.wording(exchange) for exchange in shown.pending)

    def _newest(self, shown: _Shown, words: str, beside: _Beside) -> _Newest:
        return _Newest(
            pending=self._pending_text(shown),
            date=self._date(words, beside.state),
            notes=self._notes(shown, words, beside),
            state=state_block(beside.state),
            words=words,
        )

    def _notes(self, shown: _Shown, words: str, beside: _Beside) -> NotesBlock:
        if not beside.notes:
            return NotesBlock()
        exchanges = [*(each for group in shown.groups for each in group.exchanges), *shown.pending]
        texts = [text for each in exchanges for text in (each.user_text, each.assistant_text)]
        return notes_block(
            beside.notes,
            self._now(),
            self._llm.count,
            beside.room,
            QuestionCues(
                words,
                asks=asks_something(words, self._language),
                exact=asks_when(words),
                past=asks_about_past(words),
            ),
            [*texts, words, *self._profile.told()],
        )

    def _notes_room(self, reads_per_s: float | None) -> NotesBudget:
        """At most a quarter of the window, so that memories never crowd out the conversation."""
        most = min(self._memory.max_tokens, self._room // 4)
        if reads_per_s is None:
            return NotesBudget(most, most)
        return NotesBudget(most, int(reads_per_s * self._memory.prefill_ms / 1000))

    def _date(self, words: str, state: str | None) -> str:
        """The date, if the words or the state may depend on it. Notes contain their own."""
        needed = bool(state) or may_need_date(words, self._language)
        return date_line(self._now()) if needed else ""

    def _fitted(self, head: int, newest: _Newest) -> tuple[_Newest, Notice | None]:
        """Shorten the newest words if they alone exceed the window."""
        if head + self._cost(newest.message) <= self.budget:
            return newest, None
        without = _Newest("", newest.date, newest.notes, newest.state, "…")
        room = self.budget - head - self._cost(without.message)
        kept = shortened(newest.words, max(room, 0), self._llm.count)
        words = newest.words if kept is None else cut(newest.words, kept)
        fitted = _Newest("", newest.date, newest.notes, newest.state, words)
        return fitted, Notice(SHORTENED, Severity.WARNING)

    def _prompt(
        self, summary: Summary | None, shown: _Shown, newest: _Newest, notice: Notice | None
    ) -> Prompt:
        history = [message for group in shown.groups for message in self._messages(group)]
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
            "memories": (newest.notes.text, newest.notes.tokens),
            "state": (joined(newest.date, newest.state), count(joined(newest.date, newest.state))),
        }
        sections = [PromptSection(name, *part) for name, part in before.items() if part[0].strip()]
        rest = tokens - sum(section.tokens for section in sections)
        sections.append(PromptSection("newest message", newest.words, rest))
        return Prompt(messages, stable, tuple(sections), tokens, self.budget, newest.notes, notice)
