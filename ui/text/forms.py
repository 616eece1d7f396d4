"""Filled-in forms as text and as Markdown, and definitions of forms as lines of text."""

from collections.abc import Iterable, Iterator, Mapping

from assistant.forms import UNKNOWN, Form, Slot, SlotType, shown, value_words
from assistant.ipc import Row
from assistant.language.enumerations import joined
from ui.text.terminal_safe import plain

_SPECIAL = str.maketrans({each: f"\\{each}" for each in "\\`*_[]<>|"})


def markdown(rows: Iterable[Row], forms: Mapping[str, Form]) -> Iterator[str]:
    """Yield the lines of a Markdown document with filled-in forms.

    Args:
        rows: entries, each form before its slots.
        forms: definitions by their keys. If a form's definition is missing, its values are written
            as they are stored.
    """
    form: Form | None = None
    first = True
    for row in rows:
        content = row["content"]
        if row["kind"] == "form":
            form = forms.get(content["form"])
            yield from [] if first else [""]
            yield from [f"# {_text(content['title'])}", ""]
            first = False
        elif row["kind"] == "slot":
            slot = form.slot(content["slot"]) if form is not None else None
            yield f"- **{_text(content['label'])}**: {_text(answer_words(slot, content['value']))}"


def answer_words(slot: Slot | None, value: object) -> str:
    """Return the value of a slot as text: "Saturday 3 May 1980", "90 minutes", "not known".

    Args:
        slot: the definition. Without it, the value is written as it is stored.
    """
    if slot is not None:
        try:
            return shown(slot, value)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            return str(value)
    return value_words(value) if isinstance(value, str | int | float | list) else str(value)


def answer_to_edit(slot: Slot, value: object) -> str:
    """Return the value of a slot as editable text, which would be parsed as the same value. Empty
    if the value is not known."""
    if value == UNKNOWN:
        return ""
    if slot.type is SlotType.DATE:
        return str(value)  # `answer_words` would add the weekday
    return answer_words(slot, value)


def what_fits(slot: Slot) -> str:
    """Return what the value of a slot must be: "a number of minutes, at least 1"."""
    match slot.type:
        case SlotType.NUMBER:
            return f"a number{f' of {slot.unit}' if slot.unit else ''}{_range(slot)}"
        case SlotType.DATE:
            examples = ("last Tuesday", "3 May 1980") if slot.past else ("next Tuesday", "3 May")
            return f"a date, such as “{examples[0]}” or “{examples[1]}”"
        case SlotType.TIME:
            return "a time of day, such as “half past nine” or “14:30”"
        case SlotType.CHOICE:
            return joined(slot.choices, "or")
        case SlotType.BOOL:
            return "yes or no"
        case SlotType.LIST:
            return "one thing or several, separated by commas, or “none”"
    return "anything, in your own words"


def _range(slot: Slot) -> str:
    low, high = slot.minimum, slot.maximum
    if low is not None and high is not None:
        return f" from {low:g} to {high:g}"
    if low is not None:
        return f", at least {low:g}"
    return f", at most {high:g}" if high is not None else ""


def definition_line(form: Form) -> str:
    """Return the line for a form that can be filled in."""
    needed = sum(each.required for each in form.slots)
    many = "1 question" if len(form.slots) == 1 else f"{len(form.slots)} questions"
    count = f"{many}, {needed} required"
    return f"{plain(form.key)}: {plain(form.title)} ({count})"


def _text(text: str) -> str:
    return " ".join(plain(text).split()).translate(_SPECIAL)
