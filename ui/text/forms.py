"""Filled-in forms as Markdown, and definitions of forms as lines of text."""

from collections.abc import Iterable, Iterator, Mapping

from assistant.forms import Form, Slot, shown, value_words
from assistant.ipc import Row
from ui.text.terminal_safe import plain

_SPECIAL = str.maketrans({each: f"\\{each}" for each in "\\`*_[]<>|"})


def markdown(rows: Iterable[Row], forms: Mapping[str, Form]) -> Iterator[str]:
    """Yield the lines of a Markdown document with filled-in forms.

    Args:
        rows: entries, each form before its slots.
        forms: definitions by their keys. Without one, values are written as they are stored.
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
            yield f"- **{_text(content['label'])}**: {_text(_shown(slot, content['value']))}"


def definition_line(form: Form) -> str:
    """Return the line for a form that can be filled in."""
    needed = sum(each.required for each in form.slots)
    many = "1 question" if len(form.slots) == 1 else f"{len(form.slots)} questions"
    count = f"{many}, {needed} required"
    return f"{plain(form.key)}: {plain(form.title)} ({count})"


def _shown(slot: Slot | None, value: object) -> str:
    if slot is not None:
        try:
            return shown(slot, value)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            return str(value)
    return value_words(value) if isinstance(value, str | int | float | list) else str(value)


def _text(text: str) -> str:
    return " ".join(plain(text).split()).translate(_SPECIAL)
