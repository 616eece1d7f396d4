"""The text printed by `assistant memory` for `forget`, `undo`, `pending` and `receipts`."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from assistant.ipc import Row
from models.download import size_text
from ui.process.console import runnable_hint

Receipt = Mapping[str, Any]
HEADINGS = {
    "going": "This would be forgotten:",
    "changing": "These would stay, without the parts that came from what you are forgetting:",
}
STAYING = (
    "The exchanges behind derived memories stay. To forget them too:"
    " assistant memory forget ID --sources"
)


def lines(row: Row) -> Iterator[str]:
    """Yield the lines to print for a row of an answer; none if it isn't about forgetting."""
    match row["event"]:
        case "preview":
            yield from _preview(row)
        case "forgetting":
            yield from _forgetting(row)
        case "forgotten":
            yield f"Forgotten: {what(row)}."
            yield from _staying(row)
            yield from _receipt(row["receipt"])
        case "undone":
            yield f"Brought back: {what(row)}."
        case "pending":
            yield _pending(row)
        case "pendings" if not row["count"]:
            yield "Nothing is waiting to be deleted."


def memories(count: int) -> str:
    return "1 memory" if count == 1 else f"{count:,} memories"


def exchanges(count: int) -> str:
    return "1 exchange" if count == 1 else f"{count:,} exchanges"


def what(row: Mapping[str, Any]) -> str:
    """Return the number of memories and exchanges in a row as text, e.g. "2 memories"."""
    return counted(len(row["memories"]), len(row["exchanges"]))


def counted(of_memories: int, of_exchanges: int) -> str:
    parts = [memories(of_memories)] if of_memories else []
    parts += [exchanges(of_exchanges)] if of_exchanges else []
    return " and ".join(parts) or "nothing"


def question(preview: Row) -> str:
    """Return the question to ask before the user's data is forgotten."""
    count = preview["things"]
    return "Forget it?" if count == 1 else f"Forget these {count:,} things?"


def _preview(row: Row) -> Iterator[str]:
    for name, total, one, many in (
        ("going", "memories", "memory", "memories"),
        ("changing", "changing", "memory that would change", "memories that would change"),
    ):
        more = row[total] - row["shown"][name]
        if more > 0:
            yield f"… and {more:,} more {one if more == 1 else many}"
    derived = f" ({row['derived']:,} of them derived)" if row["derived"] else ""
    yield f"{counted(row['memories'], row['exchanges'])} would be forgotten{derived}."
    yield from _staying(row)
    if row["by_words_alone"]:
        yield "The encoder is not available, so these were found by matching words only."


def _forgetting(row: Row) -> Iterator[str]:
    due = _moment(row["due"])
    when = f"at {due}" if row["attended"] else f"at the next start or command after {due}"
    yield f"Forgotten: {what(row)}. Hidden now, and gone for good {when}."
    yield runnable_hint(f"To undo this before {due}: assistant memory undo")
    yield from _staying(row)


def _pending(row: Row) -> str:
    asked, due = _moment(row["asked"]), _moment(row["due"])
    left = f"{row['left_s']:,.0f} s left" if row["left_s"] else "it is being deleted"
    return f"{row['id'][:8]}  {what(row)}, forgotten at {asked}; gone for good at {due} ({left})"


def _staying(row: Row) -> Iterator[str]:
    if row["staying"]:
        yield STAYING


def _receipt(receipt: Receipt) -> Iterator[str]:
    looked = f"Searched {receipt['files']:,} files ({receipt['bytes'] / 1e6:.1f} MB)"
    yield f"{looked}: {_found(receipt) or 'nothing found'}."
    yield from receipt["unprovable"]


def receipt_summary(receipt: Receipt) -> str:
    """Return one line about a receipt.

    The line has the time, the number of memories and exchanges, and whether traces were found.
    """
    at = datetime.fromisoformat(receipt["at"]).astimezone()
    what = f"{memories(receipt['memories'])}, {exchanges(receipt['exchanges'])}"
    nothing = "nothing found"
    if receipt["unprovable"]:
        nothing += ", but not everything can be proven"
    return f"{at:%Y-%m-%d %H:%M}  {what:<28}  {_found(receipt) or nothing}"


def receipt_details(receipt: Receipt) -> Iterator[str]:
    """Yield the lines of a receipt in full, with one line per searched store."""
    at = datetime.fromisoformat(receipt["at"]).astimezone()
    yield f"Gone for good at {at:%Y-%m-%d %H:%M:%S}:"
    yield f"{memories(receipt['memories'])} and {exchanges(receipt['exchanges'])}."
    yield ""
    yield "Searched:"
    for each in receipt["searched"]:
        counts = ((each["files"], "file"), (each["versions"], "version"))
        looked = [f"{count:,} {name}{'s'[: count > 1]}" for count, name in counts if count]
        looked.append(size_text(each["bytes"]))
        where = f"still found in {', '.join(each['found'])}" if each["found"] else "nothing found"
        yield f"  {each['name']:<20} {', '.join(looked)}: {where}"
    yield ""
    if receipt["clean"]:
        yield "Nothing was found."
    else:
        yield "Traces were found. To clean up and search again:"
        yield "assistant memory verify-forgotten --clean"
    for sentence in receipt["unprovable"]:
        yield f"Not proven: {sentence}"


def _found(receipt: Receipt) -> str:
    """Say in which stores traces were found; return an empty text if none were found."""
    found = [each["name"] for each in receipt["searched"] if each["found"]]
    return f"still found in {', '.join(found)}" if found else ""


def _moment(text: str) -> str:
    """Return a time as local time, with seconds if it is today, otherwise with the date."""
    then = datetime.fromisoformat(text).astimezone()
    today = then.date() == datetime.now().astimezone().date()
    return f"{then:%H:%M:%S}" if today else f"{then:%Y-%m-%d %H:%M}"
