"""Requests to leaf through memories as JSON, and the rows they are answered with.

{"act": "list", "offset": 0, "limit": 20}   → "memory" rows, the newest first, then a "listed"
    with "kind", "since", "before", "state" → those alone; times as ISO 8601
    with "light": true                      → rows of what a table shows, their texts cut
    with "around": "1f0c…"                  → the page that has this memory
    with "ids": true                        → "ids", of all of them at once
{"act": "grep", "text": "Max"}              → as "list": those that have these letters
{"act": "version"}                          → another one once there is something else to see
{"act": "users"}   {"act": "receipts"}      → rows, then a "counted"
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from assistant.errors import SettingsError
from assistant.memory.browsing import Browsing, Entry, Page, Standing, Which
from assistant.memory.naming import short
from assistant.memory.record import Kind
from assistant.memory.taking_in import checked
from assistant.memory.user_index import Found

Request = Mapping[str, Any]
Row = dict[str, Any]

CUT = 200
"""Characters of a text in a light row."""
HELP = "assistant memory list --help"


def which_of(request: Request) -> Which:
    """
    Raises:
        SettingsError: it is not as it must be.
    """
    text = request.get("text") if request.get("act") == "grep" else ""
    if not isinstance(text, str):
        raise SettingsError("The request has no `text`.", mend=HELP)
    return Which(
        kind=kind_of(request),
        since=_moment(request, "since"),
        before=_moment(request, "before"),
        standing=_standing(request),
        text=checked(text) if request.get("act") == "grep" else "",
    )


def is_filtered(request: Request) -> bool:
    return any(request.get(name) for name in ("kind", "since", "before", "state"))


def page_of(browsing: Browsing, request: Request, limit: int) -> Page:
    """Raises SettingsError as `which_of`, and StoreError."""
    offset = request.get("offset") or 0
    if not isinstance(offset, int) or offset < 0:
        raise SettingsError("The offset is a number, 0 or more.", mend=HELP)
    around = request.get("around")
    which = which_of(request)
    return browsing.page(which, offset, limit, around if isinstance(around, str) else None)


def light_rows(browsing: Browsing, entries: Sequence[Entry]) -> Iterator[Row]:
    texts = browsing.texts([each.id for each in entries])
    for each in entries:
        yield _light(each, texts.get(each.id, ""))


def light_found(browsing: Browsing, found: Sequence[Found], row: Row) -> Row:
    """What recall found, as a table shows it."""


def listed(browsing: Browsing, page: Page, request: Request) -> Row:
    return {
        "event": "listed",
        "shown": len(page.entries),
        "total": page.total,
        "offset": page.offset,
        "place": page.place,
        "filtered": is_filtered(request) or request.get("act") == "grep",
        "version": browsing.version(),
    }


def ids(browsing: Browsing, request: Request) -> Iterator[Row]:
    found = [each.id for each in browsing.chosen(which_of(request))]
    yield {"event": "ids", "ids": found}


def version(browsing: Browsing) -> Iterator[Row]:
    yield {"event": "version", "version": browsing.version()}


def users(browsing: Browsing) -> Iterator[Row]:
    found = browsing.users()
    for name, count in found:
        yield {"event": "user", "user": name, "memories": count}
    yield {"event": "counted", "of": "users", "count": len(found)}


def receipts(browsing: Browsing) -> Iterator[Row]:
    """The newest first."""
    found = browsing.receipts()
    for number, receipt in reversed(list(enumerate(found, start=1))):
        yield {"event": "receipt", "number": number, "receipt": receipt}
    yield {"event": "counted", "of": "receipts", "count": len(found)}


def kind_of(request: Request) -> Kind | None:
    value = request.get("kind")
    if value is None:
        return None
    try:
        return Kind(value)
    except ValueError:
        known = ", ".join(Kind)
        raise SettingsError(
            f"There is no kind {value!r:.40} of memories.", mend=f"Choose one of {known}."
        ) from None


# -- inside -------------------------------------------------------------------------------------


def _light(entry: Entry, text: str, **more: Any) -> Row:
    return {
        "event": "memory",
        "id": entry.id,
        "short": short(entry.id),
        "kind": entry.kind.value,
        "speaker": entry.speaker,
        "created": entry.created.astimezone(UTC).isoformat(),
        "pinned": entry.pinned,
        "never_recall": entry.never_recall,
        "superseded_by": entry.superseded_by,
        "text": text[:CUT],
        **more,
    }


def _moment(request: Request, name: str) -> datetime | None:
    """A day begins at midnight where this machine stands."""
    value = request.get(name)
    if value is None:
        return None
    try:
        return datetime.fromisoformat(value).astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        raise SettingsError(
            f"{value!r:.40} is no day and no time.", mend=f"assistant memory list --{name} 2026-11-22"
        ) from None


def _standing(request: Request) -> Standing | None:
    value = request.get("state")
    if value is None:
        return None
    try:
        return Standing(value)
    except ValueError:
        known = ", ".join(Standing)
        raise SettingsError(
            f"There is no state {value!r:.40} of memories.", mend=f"Choose one of {known}."
        ) from None
