"""Timers, alarms, reminders, lists, notes, forms and tasks as lines of text."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from assistant.forms import value_words
from assistant.ipc import Row
from assistant.language.repeats import Repeat
from assistant.language.spoken_times import spoken_repeat
from assistant.memory import time_of
from assistant.skills import due_at
from assistant.tasks import Line, task_is_open
from ui.text.terminal_safe import plain

NOTHING = {
    "timer": "No timers are running.",
    "alarm": "No alarms are set.",
    "reminder": "There are no reminders.",
    "list": "There are no lists yet. To begin one: assistant lists add NAME ITEM",
    "note": "There are no notes yet. To write one: assistant notes add TEXT",
    "form": "No form has been filled in yet.",
    "task": "There are no tasks. To begin one, say “let's plan the trip to Lisbon”.",
}
MANY = {
    "timer": "timers",
    "alarm": "alarms",
    "reminder": "reminders",
    "list": "lists",
    "item": "items",
    "note": "notes",
    "form": "forms",
    "slot": "slots",
    "task": "tasks",
    "line": "lines",
}
DONE, OPEN = "[x]", "[ ]"
Content = Mapping[str, Any]


def lines(rows: Iterable[Row], now: datetime) -> Iterator[str]:
    """Yield the lines to print for the rows of an answer.

    Args:
        now: the current local time.
    """
    for row in rows:
        match row["event"]:
            case "entry":
                yield entry_line(row, now)
            case "listed" if not row["count"]:
                yield NOTHING[row["kind"]]
            case "added":
                yield f"Added {_named(row)}."
            case "changed":
                yield entry_line(row, now)
            case "removed":
                yield f"Removed {_named(row)}."
            case "earlier":
                yield f"{_moment(datetime.fromisoformat(row['until']), now)}  {_earlier(row)}"
            case "imported":
                yield f"{entries(row['count'])} imported."
                if row["forgotten"]:
                    yield f"Left out, since you have forgotten them: {entries(row['forgotten'])}."


def entry_line(row: Row, now: datetime) -> str:
    """Return the line for an entry, beginning with its id."""
    indent = "  " if row["kind"] in ("item", "slot", "line") else ""
    return f"{plain(row['short']):<8}  {indent}{plain(words(row['kind'], row['content'], now))}"


def words(kind: str, content: Content, now: datetime) -> str:
    """Return an entry in words: "pasta, 4:10 left", "tomorrow 06:30", "[ ] milk"."""
    match kind:
        case "timer":
            name, left = content.get("name", ""), left_words(content, now)
            return f"{name}, {left}" if name else left
        case "alarm" | "reminder":
            what = content.get("words") or content.get("name") or kind
            return f"{due_words(content, now)}  {what}"
        case "item":
            return f"{DONE if content.get('done') else OPEN} {content.get('text', '')}"
        case "list":
            return str(content.get("name", ""))
        case "form":
            return f"{content.get('title', '')} ({'closed' if content.get('closed') else 'open'})"
        case "slot":
            return f"{content.get('label', '')}: {value_words(content.get('value', ''))}"
        case "task":
            is_open = task_is_open(content, now)
            return f"{content.get('name', '')} ({'open' if is_open else 'closed'})"
        case "line":
            return settled_words(content, now)
    return str(content.get("text", ""))


def settled_words(content: Content, now: datetime) -> str:
    """Return a line of a task. After the day on which it was said, words such as "tomorrow" are
    replaced by dates, so that the line stays true."""
    line = Line("", str(content["text"]), time_of(content["said_at"]), "")
    return line.text if line.day == now.date() else line.shown


def left_words(content: Content, now: datetime) -> str:
    """Return how long a timer still runs: "4:10 left"."""
    seconds, paused = seconds_left(content, now), "left_s" in content
    if seconds <= 0 and not paused:
        return "over"
    return f"{clock(seconds)} left{' (paused)' if paused else ''}"


def seconds_left(content: Content, now: datetime) -> float:
    """Return how many seconds a timer still runs; 0 or less if it is over."""
    if "left_s" in content:
        return float(content["left_s"])
    until = due_at(content, None)
    return (until - now).total_seconds() if until is not None else 0.0


def clock(seconds: float) -> str:
    """Return a duration as text: "4:10", or "1:04:10" from an hour on. Seconds are rounded up, so
    that a timer shows its length when it starts, and 0:00 only when it ends."""
    minutes, rest = divmod(max(-int(-seconds // 1), 0), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def due_words(content: Content, now: datetime) -> str:
    """Return when an alarm or a reminder is due, in local time: "tomorrow 06:30, every day"."""
    due = due_at(content, None)
    if due is None:
        rang = content.get("rang_at")
        return f"was due {_moment(time_of(rang), now)}" if rang is not None else "never"
    text = _moment(due, now)
    if "snoozed_until" in content:
        text += " (snoozed)"
    if "repeat" in content:
        repeat = Repeat.from_json(content["repeat"])
        text += f", {spoken_repeat(repeat, datetime.fromisoformat(content['local']))}"
    return text


def entries(count: int) -> str:
    return "1 entry" if count == 1 else f"{count:,} entries"


def _moment(moment: datetime, now: datetime) -> str:
    """Return a day and a time in the zone of `now`: "today 18:00", "Fri 27 Nov 18:00"."""
    return f"{day_words(moment, now)} {moment.astimezone(now.tzinfo):%H:%M}"


def day_words(moment: datetime, now: datetime) -> str:
    """Return a day in the zone of `now`: "today", "Fri 27 Nov"."""
    local = moment.astimezone(now.tzinfo)
    names = {-1: "yesterday", 0: "today", 1: "tomorrow"}
    days = (local.date() - now.date()).days
    year = f" {local.year}" if local.year != now.year else ""
    return names.get(days, f"{local:%a} {local.day} {local:%b}{year}")


def _earlier(row: Row) -> str:
    """Return an earlier value of a slot or a line. For a slot, also return the user's words from
    which the value was taken, if they are known."""
    content = row["content"]
    if row["kind"] == "line":
        return plain(content["text"])
    said = plain(" ".join(str(content.get("said", "")).split()))
    was = f"{plain(content['label'])} was {plain(value_words(content['value']))}"
    return f'{was}, from "{said}"' if said else was


def _named(row: Row) -> str:
    """Return an entry in the words of a confirmation: "milk", "the timer “pasta”"."""
    content, kind = row["content"], row["kind"]
    names = ("text", "name", "words", "title", "label")
    text = next((content[each] for each in names if content.get(each)), "")
    text = plain(" ".join(str(text).split()))
    if kind == "item":
        return text
    if kind == "slot":
        return f"the answer to “{text}”"
    if kind in ("note", "reminder", "task", "line"):
        return f"the {kind}: {text.rstrip('.')}"
    return f"the {kind} “{text}”" if text else f"the {kind}"
