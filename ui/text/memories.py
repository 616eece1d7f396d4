"""The text printed by `assistant memory`: the rows of answers as lines."""

import shutil
import textwrap
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from rich.cells import cell_len, set_cell_size

from assistant.ipc import Row
from assistant.language.calendar import relative_date
from assistant.language.speakers import ASSISTANT, USER
from assistant.memory import ADDED_BY_USER, short
from models.download import size_text
from ui.text import forgetting
from ui.text.forgetting import memories
from ui.text.terminal_safe import plain

LABEL = 14
IN_PROMPT = "Memories in the prompt:"
LEFT_OUT = "Recalled, but left out of the prompt:"
LEAST_WIDTH = 60


def lines(rows: Iterable[Row], least_score: float = 0.0, width: int | None = None) -> Iterator[str]:
    """Yield the lines to print for the rows of an answer.

    Args:
        least_score: minimum score for a memory to be recalled in a conversation. Default: none.
        width: width of a line, in cells. Default: the width of the terminal.
    """
    cells = width if width is not None else shutil.get_terminal_size((80, 24)).columns
    view = _View(max(LEAST_WIDTH, cells), least_score)
    for row in rows:
        yield from view.of(row)


class _View:
    def __init__(self, width: int, least_score: float) -> None:
        self._width = width
        self._least_score = least_score
        self._far = 0
        """The number of memories found with a score below the minimum."""
        self._now = datetime.now().astimezone()
        self._heading = ""

    def of(self, row: Row) -> Iterator[str]:
        match row["event"]:
            case "memory" if "exchanges" in row:
                yield from self._shown(row)
            case "memory":
                yield self._line(row)
            case "listed":
                yield from _listed(row)
            case "found":
                yield from self._found(row)
            case "searched":
                yield from self._searched(row)
            case "added":
                yield f"Added with the id {row['short']}."
            case "edited":
                yield f"Edited {row['short']}."
            case "marked":
                yield self._marked(row)
            case "going" | "changing" | "exchange":
                yield from self._in_preview(row)
            case "split":
                yield f"{memories(row['count'])} are separate now."
            case "imported":
                yield f"{memories(row['count'])} imported."
                if row["forgotten"]:
                    yield f"Left out, since you have forgotten them: {memories(row['forgotten'])}."
            case "rebuilt":
                yield f"Rebuilt: {memories(row['count'])}."
            case "answer" if "recalled" in row:
                yield from self._logged(row)
            case "answer" | "source" | "recalled":
                yield from self._explained(row)
            case "user":
                yield f"{plain(row['user']):<24}  {memories(row['memories'])}"
            case "receipt":
                yield forgetting.receipt_summary(row["receipt"])
            case "counted" if row["of"] == "receipts" and not row["count"]:
                yield "Nothing has been forgotten for good yet."
            case "counted" if row["of"] == "answers" and not row["count"]:
                yield "There are no answers yet."
            case "stats":
                yield from _stats(row)
            case "verified":
                yield from _verified(row)
            case _:
                yield from forgetting.lines(row)

    def _line(self, row: Row) -> str:
        head = f"{plain(row['short']):<10}  {self._when(row):<17}  {_kind(row):<10}  "
        marks = "[pinned] " if row.get("pinned") else ""
        marks += "[never recalled] " if row.get("never_recall") else ""
        return self._in_one(head, marks + row["text"])

    def _in_preview(self, row: Row) -> Iterator[str]:
        """Yield the lines for a row of a preview, below a heading.

        An exchange that has memories is skipped, because its memories are printed instead.
        """
        if row["event"] == "exchange":
            if row["remembered"]:
                return
            said = row["user"] or row["assistant"]
            of_it = {"short": short(row["id"]), "created": row["started"], "text": said}
            row = {"event": "going", **of_it, "kind": "exchange", "speaker": USER}
        heading = forgetting.HEADINGS[row["event"]]
        if heading != self._heading:
            self._heading = heading
            yield heading
        yield self._line(row)

    def _found(self, row: Row) -> Iterator[str]:
        self._far += row["score"] < self._least_score
        yield self._line(row)
        parts = ", ".join(f"{name} {value:+.2f}" for name, value in row["parts"].items() if value)
        words = f"; words: {', '.join(map(plain, row['words']))}" if row["words"] else ""
        reason = f"{row['score']:.2f} = {parts}{words}" if parts else f"{row['score']:.2f}{words}"
        yield from textwrap.wrap(
            reason, self._width, initial_indent=" " * 12, subsequent_indent=" " * 12
        )

    def _explained(self, row: Row) -> Iterator[str]:
        """Yield the lines for a row about what an answer was based on, below a heading."""
        if row["event"] == "answer":
            yield f"Turn {row['turn']}, {self._moment(row['started'])}"
            yield from self._wrapped(plain(row["user"]), f"  {USER:<11} ")
            heard = plain(row["assistant"]) or "(nothing was heard)"
            yield from self._wrapped(heard, f"  {ASSISTANT:<11} ")
            if row["from_model"]:
                yield "The answer came from the model alone, not from anything you had told it."
            if row["fixed"]:
                yield "This is a fixed reply. It came neither from the model nor from the memory."
            return
        if row["event"] == "source":
            heading = "The answer was based on:"
        else:
            heading = LEFT_OUT if row["left_out"] else IN_PROMPT
        if heading != self._heading:
            self._heading = heading
            yield heading
        if row["event"] == "source":
            yield from self._wrapped(
                plain(row["text"]), f"  {_speaker(row)}, {self._moment(row['told'])}: "
            )
            return
        yield self._line(row)
        score = "in every prompt" if row["score"] is None else f"{row['score']:.2f}"
        used = "the answer was based on it" if row["based_on"] else ""
        yield f"{'':12}{', '.join(filter(None, (score, row['left_out'], used)))}"

    def _logged(self, row: Row) -> Iterator[str]:
        """Yield one line for an answered question, and one for each memory recalled for it."""
        head = f"{plain(short(row['id']))}  {self._moment(row['started'])}: "
        yield self._in_one(head, row["user"])
        for each in row["recalled"]:
            if each["score"] is None:
                score, where = "", "in every prompt"
            else:
                score = f"{each['score']:.2f}"
                where = f"left out: {each['left_out']}" if each["left_out"] else "in the prompt"
            used = ", used" if each["based_on"] else ""
            yield self._in_one(f"  {score:>5}  {where + used:<26}  ", each["text"])

    def _searched(self, row: Row) -> Iterator[str]:
        found, far = row["found"], self._far
        if not found:
            yield "No memory matches."
        elif far and not row["by_words_alone"]:
            of_them = (
                "All score too low to be recalled in a conversation"
                if far == found
                else f"{far} of {found} score too low to be recalled in a conversation"
            )
            yield f"{of_them} (below {self._least_score:g})."
        if row["by_words_alone"]:
            yield "The encoder failed, so these were found by matching words only."

    def _shown(self, row: Row) -> Iterator[str]:
        yield from self._wrapped(plain(row["text"]), "")
        yield ""
        uses = {0: "never", 1: "once"}.get(row["uses"], f"{row['uses']} times")
        for label, value in (
            ("id", row["id"]),
            ("kind", row["kind"]),
            ("said by", _speaker(row)),
            ("when", self._moment(row["created"])),
            ("said again", self._told_again(row)),
            ("source", self._source(row)),
            ("conversation", row["conversation"]),
            ("context", row["context"]),
            ("importance", f"{row['importance']:.2f}"),
            ("confidence", f"{row['confidence']:.2f}"),
            ("used", uses + (f", last {self._moment(row['last_used'])}" if row["uses"] else "")),
            ("feedback", f"{row['feedback']:+d}" if row["feedback"] else "none"),
            ("pinned", "yes" if row["pinned"] else "no"),
            ("never recall", "yes" if row["never_recall"] else "no"),
            ("expires", self._moment(row["lasts_until"])),
            ("tier", row["tier"]),
        ):
            if value:
                yield from self._wrapped(plain(str(value)), f"{label:<{LABEL}}")
        yield from self._around(row)

    def _around(self, row: Row) -> Iterator[str]:
        related = [("before it", row["before"]), ("after it", row["after"])]
        related += [("replaces", each) for each in row["replaced"]]
        related.append(("replaced by", row["replaced_by"]))
        for label, other in related:
            if other:
                text = f"{other['short']}  {plain(other['text'])}"
                yield f"{label:<{LABEL}}{_cut(' '.join(text.split()), self._width - LABEL)}"
        for exchange in row["exchanges"]:
            yield ""
            yield f"Based on the exchange of {self._moment(exchange['started'])}:"
            yield from self._wrapped(plain(exchange["user"]), f"  {USER:<11} ")
            heard = plain(exchange["assistant"]) or "(nothing was heard)"
            more = " (interrupted)" if exchange["interrupted"] else ""
            yield from self._wrapped(heard + more, f"  {ASSISTANT:<11} ")

    def _told_again(self, row: Row) -> str:
        if not row["refreshed"]:
            return ""
        times = len(row["sources"]) - 1
        last = self._moment(row["refreshed"])
        return f"{times} times, last {last}" if times > 1 else last

    def _source(self, row: Row) -> str:
        if ADDED_BY_USER in row["sources"]:
            return "written down by you"
        kept = {exchange["id"] for exchange in row["exchanges"]}
        missing = [source for source in row["sources"] if source not in kept]
        if missing:
            return f"{', '.join(row['sources'])} (no longer in the transcript: {len(missing)})"
        return ", ".join(row["sources"]) or "unknown"

    def _marked(self, row: Row) -> str:
        state = [
            "pinned" if row["pinned"] else "not pinned",
            "never recalled" if row["never_recall"] else "can be recalled",
            f"feedback {row['feedback']:+d}" if row["feedback"] else "no feedback",
        ]
        return f"{row['short']} is {', '.join(state)}."

    def _when(self, row: Row) -> str:
        said = datetime.fromisoformat(row["created"])
        words = relative_date(said, self._now)
        if words == "today":
            return f"today, {said.astimezone(self._now.tzinfo):%H:%M}"
        return words or f"{said.astimezone(UTC):%Y-%m-%d}"

    def _moment(self, text: str | None) -> str:
        if text is None:
            return "never"
        said = datetime.fromisoformat(text)
        words = relative_date(said, self._now)
        local = f"{said.astimezone(self._now.tzinfo):%Y-%m-%d %H:%M}"
        return f"{local} ({words})" if words else local

    def _in_one(self, head: str, text: str) -> str:
        """Return a line with this text, shortened to what fits after `head`."""
        return head + _cut(" ".join(plain(text).split()), self._width - len(head))

    def _wrapped(self, text: str, label: str) -> Iterator[str]:
        indent = " " * len(label)
        for paragraph in text.splitlines() or [""]:
            wrapped = textwrap.wrap(paragraph, self._width - len(indent)) or [""]
            for line in wrapped:
                yield f"{label}{line}".rstrip()
                label = indent


def _cut(text: str, cells: int) -> str:
    """Shorten a text to this many cells of a terminal. Some characters, e.g. Chinese, take two."""
    if cell_len(text) <= cells:
        return text
    return set_cell_size(text, cells - 1).rstrip() + "…"


def _kind(row: Row) -> str:
    if row["kind"] != "exchange":
        return str(row["kind"])
    return {USER: "you said", ASSISTANT: "it said"}.get(row["speaker"], "said")


def _speaker(row: Row) -> str:
    speaker = str(row["speaker"])
    return {USER: "you", ASSISTANT: "the assistant"}.get(speaker, speaker)


def _listed(row: Row) -> Iterator[str]:
    if not row["total"] and row["filtered"]:
        yield "No memory matches."
    elif not row["total"]:
        yield "There are no memories yet. To write one down: assistant memory add TEXT"
    elif row["offset"]:
        first, last = row["offset"] + 1, row["offset"] + row["shown"]
        place = f"{first:,} to {last:,} of {row['total']:,}"
        yield f"Memories {place}, newest first; --offset N continues."
    elif row["shown"] < row["total"]:
        yield f"The newest {row['shown']} of {row['total']:,}; --limit N shows more."


def _verified(row: Row) -> Iterator[str]:
    yield from map(plain, row["found"])
    if not row["found"]:
        yield "No traces were found."
    if row["texts"]:
        size = size_text(row["bytes"])
        versions = "1 version" if row["versions"] == 1 else f"{row['versions']:,} versions"
        yield f"Searched: {row['files']:,} files and {versions} of the memories, {size}."
    for sentence in row["unprovable"]:
        yield f"Not proven: {plain(sentence)}"


def _stats(row: Row) -> Iterator[str]:
    yield f"{memories(row['total'])}, from {row['exchanges']:,} exchanges of the transcript"
    for kind, count in row["by_kind"].items():
        yield f"  {kind:<16}{count:>9,}"
    for name, label in (("pinned", "pinned"), ("never_recalled", "never recalled")):
        if row[name]:
            yield f"  {label:<16}{row[name]:>9,}"
    if row["by_tier"]:
        tiers = ", ".join(f"{count:,} {tier}" for tier, count in row["by_tier"].items())
        yield f"  tiers in the running assistant: {tiers}"
    for encoder, count in row["without_vector"].items():
        if count:
            yield f"  {count:,} still without a vector of {encoder}"
    if row["bytes_on_disk"] is None:
        yield f"In {row['store']}"
    else:
        yield f"On disk, all users together: {size_text(row['bytes_on_disk'])}, in {row['store']}"
