"""Removes forgotten exchanges and memories from a recorded conversation.

All events of a forgotten turn are deleted. In the events of other turns, quotes of forgotten texts
are replaced by `MARK`. If a value still contains part of such a text after that, the whole value is
replaced. Summaries and the assistant's remarks may paraphrase the texts, so they are removed
whenever they may be based on forgotten items.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assistant.ipc import Row
from assistant.memory.forgetting.pattern_search import SearchPatterns
from assistant.memory.forgetting.verify import patterns_of
from assistant.memory.transcript.database import Transcript
from assistant.memory.transcript.recorded_texts import FIXED, texts_of

MARK = "[forgotten]"
"""Text that replaces removed words."""
ANSWERED = ("AnswerText", "AnswerHeard")
WORD = re.compile(r"[^\W\d_]{3,}|\d+")


@dataclass(frozen=True, slots=True)
class Redaction:
    """The items to remove from recordings.

    `exchanges` and `memories` are ids. `turns` maps each conversation's id to the turn numbers of
    its exchanges. The object contains user text, so it is never written to disk.
    """

    user: str
    exchanges: frozenset[str]
    memories: frozenset[str]
    turns: Mapping[str, frozenset[int]]
    patterns: SearchPatterns

    @classmethod
    def of(
        cls,
        transcript: Transcript,
        user: str,
        exchanges: Collection[str],
        memories: Collection[str],
        patterns: SearchPatterns,
    ) -> "Redaction":
        """Create a redaction. Must be called before the exchanges are deleted from the transcript.

        Raises:
            StoreError: the transcript can't be read.
        """
        turns: dict[str, frozenset[int]] = {}
        for conversation, exchange in transcript.exchanges(user, set(exchanges)):
            turns[conversation] = turns.get(conversation, frozenset()) | {exchange.turn}
        return cls(user, frozenset(exchanges), frozenset(memories), turns, patterns)

    def without(self, conversation: str, rows: Sequence[Row]) -> list[Row] | None:
        """Return the rows of a recording without the forgotten items; None if nothing changes.

        Args:
            conversation: id of the recorded conversation; "" if unknown.
        """
        turns = self._turns(conversation, rows)
        left = [row for row in rows if row["event"].get("turn") not in turns]
        left = [_without_memories(row, self.memories) for row in left]
        here = bool(self.exchanges) and (conversation in self.turns or not conversation)
        if turns or here:
            left = [_without_summary(row) for row in left]
        left = [row for row in left if not self._remarked(row)]
        if self.patterns:
            left = self._cleaned(left)
        return None if left == list(rows) else left

    # -- inside ---------------------------------------------------------------------------------

    def _turns(self, conversation: str, rows: Sequence[Row]) -> set[int]:
        """Return the numbers of the forgotten turns in a recording.

        A turn is identified by the id of its exchange, because turn numbers may repeat after a
        restart. If the process was killed before it recorded this id, the conversation and the turn
        number identify the turn.
        """
        ended = {
            row["event"]["turn"]: row["event"]["exchange"]
            for row in rows
            if row["event"].get("type") == "TurnEnded" and row["event"].get("exchange")
        }
        noted = {turn for turn, exchange in ended.items() if exchange in self.exchanges}
        return noted | (set(self.turns.get(conversation, ())) - set(ended))

    def _remarked(self, row: Row) -> bool:
        """Whether a row is a remark by the assistant that may be about forgotten items."""
        event = row["event"]
        aloud = event.get("type") == "AnswerText" and not event.get("turn")
        if event.get("type") != "Remarked" and not aloud:
            return False
        mine = _words(self.patterns.texts)
        return bool(mine & _words([str(event.get("text", ""))]))

    def _cleaned(self, rows: Sequence[Row]) -> list[Row]:
        """Remove forgotten words from events.

        An answer is recorded in pieces, and any piece may reveal the answer. So if an answer
        contains forgotten words, all of its pieces are removed.
        """
        hit = set(self._found([texts_of(row) for row in rows]))
        answers = _answers(rows)
        turns = list(answers)
        found = {turns[at] for at in self._found([[text] for text in answers.values()])}
        found |= {
            rows[at]["event"].get("turn") for at in hit if rows[at]["event"].get("type") in ANSWERED
        }
        return [
            {**row, "event": self._clean(row["event"])} if at in hit else row
            for at, row in enumerate(rows)
            if row["event"].get("type") not in ANSWERED or row["event"].get("turn") not in found
        ]

    def _found(self, texts: Sequence[list[str]], begin: int = 0) -> Iterator[int]:
        """Yield the positions of texts that contain forgotten words. Bisects, because few texts
        contain any.
        """
        if not texts or not self.patterns.found_in_text(text for some in texts for text in some):
            return
        if len(texts) == 1:
            yield begin
            return
        middle = len(texts) // 2
        yield from self._found(texts[:middle], begin)
        yield from self._found(texts[middle:], begin + middle)

    def _clean(self, value: Any) -> Any:
        """Return the value without forgotten words. The names of its fields don't change."""
        if isinstance(value, str):
            return self._cut(value)
        if isinstance(value, list):
            return [self._clean(each) for each in value]
        if isinstance(value, dict):
            return {
                name: each if name in FIXED else self._clean(each) for name, each in value.items()
            }
        return value

    def _cut(self, text: str) -> str:
        if not self.patterns.found_in_text([text]):
            return text
        for gone in sorted(self.patterns.texts, key=len, reverse=True):
            text = text.replace(gone, MARK)
        return MARK if self.patterns.found_in_text([text]) else text


def without_hidden(transcript: Transcript, conversation: str, rows: Sequence[Row]) -> Sequence[Row]:
    """Return the rows of a recording without currently hidden items.

    Raises:
        StoreError: the transcript can't be read, so the hidden items are unknown.
    """
    for user in transcript.hiding():
        for hidden in transcript.hidden(user):
            patterns = patterns_of(transcript, user, hidden.exchanges)
            gone = Redaction.of(transcript, user, hidden.exchanges, hidden.memories, patterns)
            left = gone.without(conversation, rows)
            rows = rows if left is None else left
    return rows


def _answers(rows: Sequence[Row]) -> dict[Any, str]:
    """Return the text of each turn's answer, joined from its recorded pieces."""
    answers: dict[Any, str] = {}
    for row in rows:
        event = row["event"]
        if event.get("type") == "AnswerText":
            turn = event.get("turn")
            answers[turn] = answers.get(turn, "") + str(event.get("text", ""))
    return answers


def _without_memories(row: Row, gone: Collection[str]) -> Row:
    """Return the row, with these memories removed from the lists of its event."""
    event = row["event"]
    kept = {
        name: [each for each in event[name] if _id_of(each) not in gone]
        for name in ("memories", "left_out", "near_misses")
        if isinstance(event.get(name), list)
    }
    return {**row, "event": event | kept}


def _id_of(each: Any) -> Any:
    """Return the id of a memory, given as an object or as a list that begins with the id."""
    if isinstance(each, dict):
        return each.get("id")
    return each[0] if isinstance(each, list) and each else None


def _without_summary(row: Row) -> Row:
    event = row["event"]
    if event.get("type") != "PromptBuilt" or not isinstance(event.get("sections"), list):
        return row
    sections = [
        {**each, "text": MARK} if isinstance(each, dict) and each.get("name") == "summary" else each
        for each in event["sections"]
    ]
    return {**row, "event": event | {"sections": sections}}


def _words(texts: Iterable[str]) -> set[str]:
    return {word.casefold() for text in texts for word in WORD.findall(text)}
