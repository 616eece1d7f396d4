"""Receipts of purges in words, for the command line and the screen."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from models.download import size_text
from ui.text.forgetting import exchanges, memories

Receipt = Mapping[str, Any]


def summary(receipt: Receipt) -> str:
    """One line: when, what, and whether anything was found."""
    at = datetime.fromisoformat(receipt["at"]).astimezone()
    what = f"{memories(receipt['memories'])}, {exchanges(receipt['exchanges'])}"
    return f"{at:%Y-%m-%d %H:%M}  {what:<28}  {outcome(receipt)}"


def outcome(receipt: Receipt) -> str:
    found = [each["name"] for each in receipt["searched"] if each["found"]]
    if found:
        return f"still found in {', '.join(found)}"
    return (
        "nothing found, but not everything can be proven"
        if receipt["unprovable"]
        else "nothing found"
    )


def details(receipt: Receipt) -> Iterator[str]:
    """Store by store."""
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
