"""Handles JSON requests about memories, and yields the JSON rows that answer them.

The command line and the socket of a running assistant both send such requests. Requests to forget
are handled in `forget_requests`.

{"act": "list", "offset": 0, "limit": 20}   → "memory" rows, newest first, then a "listed" row
    with "kind", "since", "before", "state" → filters; times as ISO 8601
    with "light": true                      → only the columns of a list, with shortened texts
    with "around": "1f0c…"                  → the page that contains this memory
    with "ids": true                        → one row with the "ids" of all matches
{"act": "grep", "text": "Max"}              → like "list", for memories containing the text
{"act": "search", "text": "my dog"}         → "found" rows, best first, then a "searched" row;
                                              takes "limit", "light" and the filters
{"act": "why", "turn": "3"}                 → an "answer" row, then "source" and "recalled" rows;
                                              without "turn": the last answer; a turn is a number
                                              in the last conversation, or an exchange's id
{"act": "log", "limit": 10}                 → "answer" rows, newest first, each with its "recalled"
                                              rows in a list, then a "counted" row
{"act": "version"}                          → a string that changes when a visible memory changes
{"act": "users"}   {"act": "receipts"}      → rows, then a "counted" row
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import TypeVar

from assistant.errors import SettingsError
from assistant.ipc import LISTED, Request, Row
from assistant.memory.admin import MemoryAdmin
from assistant.memory.browse import MemoryFilter
from assistant.memory.forget_requests import forget, pending, undo
from assistant.memory.json_rows import (
    answer_row,
    found_row,
    light_row,
    recalled_row,
    row,
    source_row,
)
from assistant.memory.records.memory import MemoryKind, MemoryState
from assistant.memory.records.validation import validated_text

FOUND = 10
LOGGED = 10
FILTERED_FROM = 200
"""Minimum number of results to request from a search if they are filtered afterwards."""
HELP = "assistant memory --help"
LIST_HELP = "assistant memory list --help"

Choice = TypeVar("Choice", bound=StrEnum)


def handle_request(admin: MemoryAdmin, request: Request) -> Iterator[Row]:
    """Carry out a request and yield the rows that answer it.

    Raises:
        SettingsError: the request is malformed.
        StoreError: a store failed, or no memory has the given id.
        ModelError: the request needs an encoder, and none is available.
    """
    act = _ACTS.get(_text(request, "act"))
    if act is None:
        raise SettingsError(
            "The running assistant does not know this request.",
            mend="Restart the assistant: its version differs from this command's.",
        )
    return act(admin, request)


def _list(admin: MemoryAdmin, request: Request) -> Iterator[Row]:
    which = _filter(request)
    if request.get("ids") is True:
        yield {"event": "ids", "ids": [each.id for each in admin.browsing.chosen(which)]}
        return
    limit, offset = _count(request, LISTED), request.get("offset") or 0
    if not isinstance(offset, int) or offset < 0:
        raise SettingsError("The offset must be a number, 0 or more.", mend=LIST_HELP)
    found, around = admin.browsing.chosen(which), request.get("around")
    place = next((at for at, each in enumerate(found) if each.id == around), None)
    if place is not None:
        offset = place // limit * limit
    page = found[offset : offset + limit]
    ids = [each.id for each in page]
    if request.get("light") is True:
        texts = admin.browsing.texts(ids)
        for each in page:
            yield light_row(each, texts.get(each.id, ""))
    else:
        for memory in admin.memories(ids):
            yield row(memory, event="memory")
    yield {
        "event": "listed",
        "shown": len(page),
        "total": len(found),
        "offset": offset,
        "place": place,
        "filtered": which != MemoryFilter(),
        "version": admin.browsing.version(),
    }


def _search(admin: MemoryAdmin, request: Request) -> Iterator[Row]:
    limit, which, light = _count(request, FOUND), _filter(request), request.get("light") is True
    filtered = which != MemoryFilter()
    found = admin.search(_text(request, "text"), max(limit, FILTERED_FROM) if filtered else limit)
    matching = admin.browsing.chosen(which) if filtered or light else ()
    entries = {each.id: each for each in matching}
    wanted = [each for each in found.memories if not filtered or each.id in entries][:limit]
    for each in wanted:
        yield found_row(each, entries.get(each.id) if light else None)
    yield {"event": "searched", "found": len(wanted), "by_words_alone": found.missed}


def _why(admin: MemoryAdmin, request: Request) -> Iterator[Row]:
    turn = _text(request, "turn") if request.get("turn") is not None else None
    found = admin.resolver.explaining.stored(turn)
    yield answer_row(found)
    for told in found.sources:
        yield source_row(told)
    for each in found.recalled:
        yield recalled_row(each)


def _log(admin: MemoryAdmin, request: Request) -> Iterator[Row]:
    count = 0
    for found in admin.resolver.explaining.newest(_count(request, LOGGED)):
        yield answer_row(found, recalled=[recalled_row(each) for each in found.recalled])
        count += 1
    yield {"event": "counted", "of": "answers", "count": count}


def _add(admin: MemoryAdmin, request: Request) -> Iterator[Row]:
    kind = _choice(request, "kind", MemoryKind) or MemoryKind.FACT
    yield row(admin.add(_text(request, "text"), kind), event="added")


def _edit(admin: MemoryAdmin, request: Request) -> Iterator[Row]:
    yield row(admin.edit(_text(request, "id"), _text(request, "text")), event="edited")


def _split(admin: MemoryAdmin, request: Request) -> Iterator[Row]:
    separate = admin.split(_text(request, "id"))
    for memory in separate:
        yield row(memory, event="memory")
    yield {"event": "split", "count": len(separate)}


def _mark(admin: MemoryAdmin, request: Request) -> Iterator[Row]:
    feedback = request.get("feedback", 0)
    memory = admin.mark(
        _text(request, "id"),
        pinned=_flag(request, "pinned"),
        never_recall=_flag(request, "never_recall"),
        feedback=feedback if feedback in (1, -1) else 0,
    )
    yield row(memory, event="marked")


def _import(admin: MemoryAdmin, request: Request) -> Iterator[Row]:
    rows = request.get("rows")
    if not isinstance(rows, list):
        raise SettingsError(
            "There is nothing to import.",
            mend="Write a file to import first: assistant memory export FILE",
        )
    count = admin.import_(rows)
    left_out = len({row["id"] for row in rows}) - count
    yield {"event": "imported", "count": count, "forgotten": left_out}


def _users(admin: MemoryAdmin, _: Request) -> Iterator[Row]:
    found = admin.users()
    for name, count in found:
        yield {"event": "user", "user": name, "memories": count}
    yield {"event": "counted", "of": "users", "count": len(found)}


def _receipts(admin: MemoryAdmin, _: Request) -> Iterator[Row]:
    """Yield all receipts, newest first, then their number."""
    found = admin.receipts()
    for number, receipt in reversed(list(enumerate(found, start=1))):
        yield {"event": "receipt", "number": number, "receipt": receipt}
    yield {"event": "counted", "of": "receipts", "count": len(found)}


def _verify(admin: MemoryAdmin, request: Request) -> Iterator[Row]:
    texts = request.get("texts", [])
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise SettingsError("The request has no `texts`.", mend=HELP)
    verified = admin.verify_forgotten(texts, clean=request.get("clean") is True)
    yield {"event": "verified", "texts": len(texts), **verified.as_json()}


def _one(answer: Callable[[MemoryAdmin, Request], Row]) -> "_Act":
    """Make a request handler that yields a single row."""

    def act(admin: MemoryAdmin, request: Request) -> Iterator[Row]:
        yield answer(admin, request)

    return act


_Act = Callable[[MemoryAdmin, Request], Iterator[Row]]
_ACTS: Mapping[str, _Act] = {
    "list": _list,
    "grep": _list,
    "search": _search,
    "why": _why,
    "log": _log,
    "show": _one(lambda admin, request: admin.show(_text(request, "id"))),
    "add": _add,
    "edit": _edit,
    "forget": forget,
    "undo": undo,
    "pending": lambda admin, _: pending(admin),
    "version": _one(lambda admin, _: {"event": "version", "version": admin.browsing.version()}),
    "users": _users,
    "receipts": _receipts,
    "split": _split,
    "mark": _mark,
    "export": lambda admin, _: admin.export(),
    "import": _import,
    "stats": _one(lambda admin, _: admin.stats()),
    "rebuild": _one(lambda admin, _: {"event": "rebuilt", "count": admin.rebuild()}),
    "verify-forgotten": _verify,
}


# -- reading requests; these raise SettingsError ---------------------------------------------------


def _filter(request: Request) -> MemoryFilter:
    return MemoryFilter(
        kind=_choice(request, "kind", MemoryKind),
        since=_moment(request, "since"),
        before=_moment(request, "before"),
        state=_choice(request, "state", MemoryState),
        text=validated_text(_text(request, "text")) if request.get("act") == "grep" else "",
    )


def _choice(request: Request, name: str, choices: type[Choice]) -> Choice | None:
    value = request.get(name)
    if value is None:
        return None
    try:
        return choices(value)
    except ValueError:
        raise SettingsError(
            f"There is no memory {name} {value!r:.40}.",
            mend=f"Choose one of {', '.join(choices)}.",
        ) from None


def _moment(request: Request, name: str) -> datetime | None:
    """Parse a date or time of the request. A date without a time means midnight in local time."""
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


def _text(request: Request, name: str) -> str:
    value = request.get(name)
    if not isinstance(value, str):
        raise SettingsError(f"The request has no `{name}`.", mend=HELP)
    return value


def _count(request: Request, default: int) -> int:
    value = request.get("limit") or default
    if not isinstance(value, int) or value < 1:
        raise SettingsError(
            "The limit must be a number, 1 or more.", mend="assistant memory list --limit 20"
        )
    return value


def _flag(request: Request, name: str) -> bool | None:
    value = request.get(name)
    return value if isinstance(value, bool) else None
