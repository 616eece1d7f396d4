"""Draws the entries of the organiser as lines, which are wrapped if they are too long for the
screen."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from assistant.events import StateEntry
from assistant.memory import time_of
from assistant.tasks import task_is_open
from ui.screen.organiser.sections import Forms, Kept, Section, definition
from ui.text.forms import answer_words
from ui.text.state import DONE, OPEN, day_words, words
from ui.text.terminal_safe import plain

INDENT = 4
MISSING = "–"
WIDEST_LABEL = 24
"""Maximum number of columns for the labels of a form. Longer labels shift their values."""
NARROWEST = 20
"""Minimum width, in columns, to which a text is wrapped."""
MOST_LINES = 8
"""Maximum number of lines for an entry."""


@dataclass(frozen=True, slots=True)
class Line:
    """A text, with `lead` before it and `more` after it. Lines that compare equal look the same."""

    text: str
    style: str = ""
    lead: str = "  "
    lead_style: str = ""
    more: str = ""
    """Dimmed words after the text."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        text = Text.assemble((self.text, self.style), (self.more, "dim"))
        before = cell_len(self.lead)
        found = list(text.wrap(console, max(options.max_width - before, NARROWEST)))
        if len(found) > MOST_LINES:
            found = found[:MOST_LINES]
            found[-1].append(" …")
        for number, each in enumerate(found):
            each.rstrip()
            lead = (self.lead, self.lead_style) if number == 0 else (" " * before, "")
            yield Text.assemble(lead, each, no_wrap=True, overflow="ellipsis")


def lines(section: Section, kept: Kept, forms: Forms, now: datetime) -> Iterator[tuple[str, Line]]:
    """Yield the ids of the entries of a section, each with its line."""
    slots = [entry for kind, entry in section.rows if kind == "slot"]
    widths: dict[str, int] = {}
    for each in slots:
        width = min(cell_len(_label(each)), WIDEST_LABEL)
        widths[each.parent] = max(width, widths.get(each.parent, 0))
    for kind, entry in section.rows:
        match kind:
            case "form":
                own = [each for each in slots if each.parent == entry.id]
                yield entry.id, _form(entry, own, now)
            case "slot":
                yield entry.id, _slot(entry, widths[entry.parent], kept, forms)
            case _:
                yield entry.id, _entry(kind, entry, now)


def _form(entry: StateEntry, slots: list[StateEntry], now: datetime) -> Line:
    """Return the line of a form: its title and the number of filled slots. If the form is closed,
    the day on which it was opened replaces this number."""
    if entry.content.get("closed"):
        more = day_words(time_of(entry.content["opened"]), now)
    else:
        more = f"{sum('value' in each.content for each in slots)} of {len(slots)}"
    return Line(plain(entry.content["title"]), "cyan", more=f"  {more}")


def _slot(entry: StateEntry, width: int, kept: Kept, forms: Forms) -> Line:
    label = _label(entry)
    lead = " " * INDENT + label + " " * (max(width - cell_len(label), 0) + 2)
    if "value" not in entry.content:
        return Line(MISSING, "dim", lead, "dim")
    form = definition(entry, kept, forms)
    slot = form.slot(entry.content["slot"]) if form is not None else None
    return Line(_flat(answer_words(slot, entry.content["value"])), "", lead, "dim")


def _entry(kind: str, entry: StateEntry, now: datetime) -> Line:
    text, lead = _flat(words(kind, entry.content, now)), " " * INDENT
    match kind:
        case "item":
            done = text.startswith(DONE)
            text = text.removeprefix(DONE).removeprefix(OPEN).strip()
            return Line(text, "dim strike" if done else "", f"{lead}{DONE if done else OPEN} ")
        case "line":
            return Line(text, lead=f"{lead}· ")
        case "task":
            more = "" if task_is_open(entry.content, now) else "  closed"
            return Line(_flat(entry.content["name"]), "cyan", more=more)
        case "list":
            return Line(text, "cyan")
    return Line(text)


def _label(entry: StateEntry) -> str:
    return _flat(entry.content["label"])


def _flat(text: str) -> str:
    """Return a text on one line, safe to show."""
    return plain(text.replace("\n", " ").replace("\t", " "))
