"""The pane that shows all details of one memory, e.g. its source, its versions and its score."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import Static

from assistant.ipc import Row
from assistant.language.calendar import relative_date
from assistant.language.speakers import ASSISTANT, USER
from assistant.memory import ADDED_BY_USER
from ui.screen.memory.columns import marks_of, what
from ui.screen.widgets.keys import keys_of
from ui.session.state import Turn
from ui.text.terminal_safe import plain

EMPTY = "The memory under the cursor appears here: its text, its source and its history."
FORGETTING = (
    "This is being forgotten. It is hidden everywhere else; the {key[undo]} key brings it back."
)
LABEL = 12


class MemoryDetail(VerticalScroll, can_focus=True):
    """Shows all details of one memory.

    Args:
        now: returns the current local time, from which ages are computed.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "scroll_down", "Down", show=False, id="detail.down"),
        Binding("k", "scroll_up", "Up", show=False, id="detail.up"),
        Binding("g", "scroll_home", "Go to the top", show=False, id="detail.top"),
        Binding("G", "scroll_end", "Go to the end", show=False, id="detail.bottom"),
    ]
    DEFAULT_CSS = """
    MemoryDetail { border: round $primary; padding: 0 1; height: 1fr; }
    MemoryDetail:focus { border: round $accent; }
    MemoryDetail > Static { height: auto; }
    """
    BORDER_TITLE = "Memory"

    def __init__(self, now: Callable[[], datetime]) -> None:
        super().__init__(id="detail")
        self._now = now
        self.row: Row | None = None
        """The memory shown, as returned by the request `show`, or as its row of the table if it is
        being forgotten."""

    def compose(self) -> ComposeResult:
        yield Static(EMPTY, markup=False)

    def show(self, row: Row | None, found: Row | None = None, turn: Turn | None = None) -> None:
        """Show a memory, or a placeholder if `row` is None.

        Args:
            row: the memory as returned by the request `show`, or a row of the table.
            found: the memory's row of the table, with a score if the row is a search result.
            turn: the turn of this conversation in which the memory's text was said.
        """
        other = row is None or self.row is None or row["id"] != self.row["id"]
        self.row = row
        self.border_title = f"Memory {plain(row['short'])}" if row is not None else "Memory"
        text = Text(EMPTY)
        if row is not None:
            text = memory_text(row, found, turn, self._now(), keys_of(self))
        self.query_one(Static).update(text)
        if other:
            self.scroll_home(animate=False)


def memory_text(
    row: Row, found: Row | None, turn: Turn | None, now: datetime, key: Mapping[str, str]
) -> Text:
    """Return the text that describes a memory in full, with the keys as `keys_of` returns them."""
    text = Text()
    text.append(plain(row["text"]), style="bold")
    if marks := marks_of(row):
        text.append(f"\n[{'] ['.join(marks)}]", style="dim bold")
    text.append("\n")
    if found is not None and "score" in found:
        _add(text, "Found by", [_reason(found)])
    if "exchanges" not in row:
        _add(text, "State", [FORGETTING.format(key=key)])
        return text
    text.append("\n")
    for label, value in _facts(row, now):
        text.append(f"{label:<{LABEL}}", style="dim")
        text.append(f"{plain(value)}\n")
    for heading, lines in _around(row, turn, now, key):
        _add(text, heading, lines)
    return text


def of_this_conversation(row: Row, turns: Sequence[Turn]) -> Turn | None:
    """Return the turn of the current conversation in which a memory's text was said, if any."""
    said = {(each["turn"], each["user"].strip()) for each in row.get("exchanges", ())}
    return next((turn for turn in turns if (turn.number, turn.user.strip()) in said), None)


def _add(text: Text, heading: str, lines: Sequence[str]) -> None:
    text.append(f"\n{heading}\n", style="underline")
    for line in lines:
        text.append(f"{line}\n")


def _reason(found: Row) -> str:
    parts = ", ".join(f"{name} {value:+.2f}" for name, value in found["parts"].items() if value)
    words = f"; words: {', '.join(map(plain, found['words']))}" if found["words"] else ""
    return f"{found['score']:.2f}{' = ' if parts else ''}{parts}{words}"


def _facts(row: Row, now: datetime) -> Iterator[tuple[str, str]]:
    speaker = str(row["speaker"])
    used = f"{row['uses']:,} times" if row["uses"] else "never"
    if row["uses"]:
        used += f", last {_moment(row['last_used'], now)}"
    yield "kind", row["kind"]
    yield "said by", {USER: "you", ASSISTANT: "the assistant"}.get(speaker, speaker)
    yield "when", _moment(row["created"], now)
    if row["refreshed"]:
        yield "said again", f"last {_moment(row['refreshed'], now)}"
    yield "comes from", _source(row)
    if row["context"]:
        yield "context", row["context"]
    yield "importance", f"{row['importance']:.2f}"
    yield "confidence", f"{row['confidence']:.2f}"
    yield "used", used
    if row["feedback"]:
        yield "feedback", f"{row['feedback']:+d}"
    yield "expires", _moment(row["lasts_until"], now)
    if row["tier"]:
        yield "tier", row["tier"]
    yield "id", row["id"]


def _source(row: Row) -> str:
    if ADDED_BY_USER in row["sources"]:
        return "written down by you"
    kept, all_of_them = len(row["exchanges"]), len(row["sources"])
    if not all_of_them:
        return "unknown"
    exchanges = "1 exchange" if all_of_them == 1 else f"{all_of_them:,} exchanges"
    missing = all_of_them - kept
    return exchanges + (f"; {missing:,} no longer in the transcript" if missing else "")


def _around(
    row: Row, turn: Turn | None, now: datetime, key: Mapping[str, str]
) -> Iterator[tuple[str, list[str]]]:
    for exchange in row["exchanges"]:
        heading = f"Based on the exchange of {_moment(exchange['started'], now)}"
        heard = plain(exchange["assistant"]) or "(nothing was heard)"
        cut = " (interrupted)" if exchange["interrupted"] else ""
        lines = [f"you: {plain(exchange['user'])}", f"assistant: {heard}{cut}"]
        if turn is not None and turn.number == exchange["turn"]:
            lines.append(f"{key['memory.turn']} goes to turn {turn.number}.")
        yield heading, lines
    before, after = f"Before it ({key['memory.before']})", f"After it ({key['memory.after']})"
    for label, other in ((before, row["before"]), (after, row["after"])):
        if other:
            yield label, [_line(other, now)]
    if row["replaced"]:
        yield f"Replaces ({key['memory.older']})", [_line(each, now) for each in row["replaced"]]
    if row["replaced_by"]:
        yield f"Replaced by ({key['memory.newer']})", [_line(row["replaced_by"], now)]


def _line(row: Row, now: datetime) -> str:
    return f"{what(row)}, {_moment(row['created'], now)}: {' '.join(plain(row['text']).split())}"


def _moment(text: str | None, now: datetime) -> str:
    if text is None:
        return "never"
    said = datetime.fromisoformat(text)
    local = f"{said.astimezone(now.tzinfo):%Y-%m-%d %H:%M}"
    words = relative_date(said, now)
    return f"{local} ({words})" if words else local
