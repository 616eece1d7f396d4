"""JSON requests to browse memories, and the rows that answer them.

{"act": "list", "offset": 0, "limit": 20}   → "memory" rows, newest first, then a "listed"
    with "kind", "since", "before", "state" → filters; times as ISO 8601
    with "light": true                      → only a table's columns, with shortened texts
    with "around": "1f0c…"                  → the page that contains this memory
    with "ids": true                        → "ids" of all matches at once
{"act": "grep", "text": "Max"}              → like "list", for memories containing the text
{"act": "version"}                          → changes whenever something visible changes
{"act": "users"}   {"act": "receipts"}      → rows, then a "counted"
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from assistant.errors import SettingsError
from assistant.ipc import Request, Row
from assistant.memory.browse import MemoryBrowser, MemoryEntry, MemoryFilter, MemoryPage
from assistant.memory.records.ids import short
from assistant.memory.records.memory import MemoryKind, MemoryState
from assistant.memory.records.validation import validated_text
from assistant.memory.retrieval.results import RecalledMemory

CUT = 200
"""Characters of text in a light row."""
FILTERED_FROM = 200
"""How many memories recall should find when a filter drops some of them."""
WHY = ("event", "score", "parts", "words")
"""Fields of a search result that a list row doesn't have."""
HELP = "assistant memory list --help"


def which_of(request: Request) -> MemoryFilter:
    """The filter that a request describes.

    Raises:
        SettingsError: it is malformed.
    """
    text = request.get("text") if request.get("act") == "grep" else ""
    if not isinstance(text, str):
        raise SettingsError("The request has no `text`.", mend=HELP)
    return MemoryFilter(
        kind=kind_of(request),
        since=_moment(request, "since"),
        before=_moment(request, "before"),
        standing=_standing(request),
        text=validated_text(text) if request.get("act") == "grep" else "",
    )


def is_filtered(request: Request) -> bool:
    return any(request.get(name) for name in ("kind", "since", "before", "state"))


def page_of(browsing: MemoryBrowser, request: Request, limit: int) -> MemoryPage:
    """Raises SettingsError as `which_of`, and StoreError."""
    offset = request.get("offset") or 0
    if not isinstance(offset, int) or offset < 0:
        raise SettingsError("The offset must be a number, 0 or more.", mend=HELP)
    around = request.get("around")
    which = which_of(request)
    return browsing.page(which, offset, limit, around if isinstance(around, str) else None)


def light_rows(browsing: MemoryBrowser, entries: Sequence[MemoryEntry]) -> Iterator[Row]:
    texts = browsing.texts([each.id for each in entries])
    for each in entries:
        yield _light(each, texts.get(each.id, ""))


def looked_at(request: Request, limit: int) -> int:
    """How many memories recall must find so that enough remain after filtering."""
    return max(limit, FILTERED_FROM) if is_filtered(request) else limit


def found_rows(
    browsing: MemoryBrowser, found: Sequence[RecalledMemory], request: Request, limit: int
) -> Iterator[Row]:
    """The matches that pass the request's filter, best first. Raises as `which_of`."""
    light = request.get("light") is True
    which = which_of({**request, "act": "list"})
    filtered = is_filtered(request)
    known = {each.id: each for each in browsing.chosen(which)} if filtered or light else {}
    wanted = [each for each in found if not filtered or each.id in known]
    for each in wanted[:limit]:
        row = _found(each)
        entry = known.get(each.id)
        if light and entry is not None:
            row = _light(entry, each.text) | {key: row[key] for key in WHY}
        yield row


def listed(browsing: MemoryBrowser, page: MemoryPage, request: Request) -> Row:
    return {
        "event": "listed",
        "shown": len(page.entries),
        "total": page.total,
        "offset": page.offset,
        "place": page.place,
        "filtered": is_filtered(request) or request.get("act") == "grep",
        "version": browsing.version(),
    }


def ids(browsing: MemoryBrowser, request: Request) -> Iterator[Row]:
    found = [each.id for each in browsing.chosen(which_of(request))]
    yield {"event": "ids", "ids": found}


def version(browsing: MemoryBrowser) -> Iterator[Row]:
    yield {"event": "version", "version": browsing.version()}


def users(browsing: MemoryBrowser) -> Iterator[Row]:
    found = browsing.users()
    for name, count in found:
        yield {"event": "user", "user": name, "memories": count}
    yield {"event": "counted", "of": "users", "count": len(found)}


def receipts(browsing: MemoryBrowser) -> Iterator[Row]:
    """All receipts, newest first."""
    found = browsing.receipts()
    for number, receipt in reversed(list(enumerate(found, start=1))):
        yield {"event": "receipt", "number": number, "receipt": receipt}
    yield {"event": "counted", "of": "receipts", "count": len(found)}


def kind_of(request: Request) -> MemoryKind | None:
    value = request.get("kind")
    if value is None:
        return None
    try:
        return MemoryKind(value)
    except ValueError:
        known = ", ".join(MemoryKind)
        raise SettingsError(
            f"There is no memory kind {value!r:.40}.", mend=f"Choose one of {known}."
        ) from None


# -- inside -------------------------------------------------------------------------------------


def _found(found: RecalledMemory) -> Row:
    return {
        "event": "found",
        "id": found.id,
        "short": short(found.id),
        "score": round(found.score, 4),
        "parts": {name: round(value, 4) for name, value in found.parts.items()},
        "words": list(found.words),
        "kind": found.kind.value,
        "speaker": found.speaker,
        "created": found.created.astimezone(UTC).isoformat(),
        "superseded_by": found.superseded_by,
        "sources": list(found.sources),
        "tier": found.tier,
        "text": found.text,
    }


def _light(entry: MemoryEntry, text: str, **more: Any) -> Row:
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
    """Dates without a time mean midnight in the local time zone."""
    value = request.get(name)
    if value is None:
        return None
    try:
        return datetime.fromisoformat(value).astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        raise SettingsError(
            f"{value!r:.40} is neither a date nor a time.",
            mend=f"assistant memory list --{name} 2026-11-22",
        ) from None


def _standing(request: Request) -> MemoryState | None:
    value = request.get("state")
    if value is None:
        return None
    try:
        return MemoryState(value)
    except ValueError:
        known = ", ".join(MemoryState)
        raise SettingsError(
            f"There is no memory state {value!r:.40}.", mend=f"Choose one of {known}."
        ) from None
