"""JSON requests about memories, and the rows that answer them. The command line and the socket
of a running assistant both use them.

    {"act": "search", "text": "my dog", "limit": 5}  →  {"id": …, "score": …, "text": …}, …
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict

from assistant.errors import SettingsError
from assistant.ipc import LISTED, Request, Row
from assistant.memory import browse_requests
from assistant.memory.admin import MemoryAdmin
from assistant.memory.browse_requests import kind_of
from assistant.memory.forget_requests import forget, pending, undo
from assistant.memory.json_rows import exchange_row, row
from assistant.memory.records.memory import MemoryKind

FOUND = 10


def handle_request(desk: MemoryAdmin, request: Request) -> Iterator[Row]:
    """Carry out a request and yield the rows that answer it.

    Raises:
        SettingsError: the request is malformed.
        StoreError, ModelError: as the methods of `desk`.
    """
    act = _ACTS.get(_text(request, "act"))
    if act is None:
        raise SettingsError(
            "The running assistant does not know this request.",
            mend="Restart it: it is a different version.",
        )
    return act(desk, request)


def _list(desk: MemoryAdmin, request: Request) -> Iterator[Row]:
    if request.get("ids") is True:
        yield from browse_requests.ids(desk.browsing, request)
        return
    page = browse_requests.page_of(desk.browsing, request, _count(request, LISTED))
    if request.get("light") is True:
        yield from browse_requests.light_rows(desk.browsing, page.entries)
    else:
        for memory in desk.memories(page.entries):
            yield row(memory, event="memory")
    yield browse_requests.listed(desk.browsing, page, request)


def _search(desk: MemoryAdmin, request: Request) -> Iterator[Row]:
    limit = _count(request, FOUND)
    found = desk.search(_text(request, "text"), browse_requests.looked_at(request, limit))
    rows = list(browse_requests.found_rows(desk.browsing, found.memories, request, limit))
    yield from rows
    yield {"event": "searched", "found": len(rows), "by_words_alone": found.missed}


def _show(desk: MemoryAdmin, request: Request) -> Iterator[Row]:
    shown = desk.show(_text(request, "id"))
    yield row(
        shown.memory,
        event="memory",
        exchanges=[exchange_row(each) for each in shown.exchanges],
        before=row(shown.before) if shown.before else None,
        after=row(shown.after) if shown.after else None,
        replaced=[row(each) for each in shown.supersedes],
        replaced_by=row(shown.superseded_by) if shown.superseded_by else None,
        tier=shown.tier,
        lasts_until=shown.expires.isoformat() if shown.expires else None,
    )


def _add(desk: MemoryAdmin, request: Request) -> Iterator[Row]:
    kind = kind_of(request) or MemoryKind.FACT
    yield row(desk.add(_text(request, "text"), kind), event="added")


def _edit(desk: MemoryAdmin, request: Request) -> Iterator[Row]:
    yield row(desk.edit(_text(request, "id"), _text(request, "text")), event="edited")


def _split(desk: MemoryAdmin, request: Request) -> Iterator[Row]:
    separate = desk.split(_text(request, "id"))
    for memory in separate:
        yield row(memory, event="memory")
    yield {"event": "split", "count": len(separate)}


def _mark(desk: MemoryAdmin, request: Request) -> Iterator[Row]:
    feedback = request.get("feedback", 0)
    memory = desk.mark(
        _text(request, "id"),
        pinned=_flag(request, "pinned"),
        never_recall=_flag(request, "never_recall"),
        feedback=feedback if feedback in (1, -1) else 0,
    )
    yield row(memory, event="marked")


def _export(desk: MemoryAdmin, request: Request) -> Iterator[Row]:
    del request
    return desk.export()


def _import(desk: MemoryAdmin, request: Request) -> Iterator[Row]:
    rows = request.get("rows")
    if not isinstance(rows, list):
        raise SettingsError("There is nothing to import.", mend="assistant memory export FILE")
    count = desk.import_(rows)
    left_out = len({row["id"] for row in rows}) - count
    yield {"event": "imported", "count": count, "forgotten": left_out}


def _stats(desk: MemoryAdmin, request: Request) -> Iterator[Row]:
    del request
    stats = asdict(desk.stats())
    stats["by_kind"] = {kind.value: count for kind, count in stats["by_kind"].items()}
    yield {"event": "stats", **stats}


def _rebuild(desk: MemoryAdmin, request: Request) -> Iterator[Row]:
    del request
    yield {"event": "rebuilt", "count": desk.rebuild()}


def _verify(desk: MemoryAdmin, request: Request) -> Iterator[Row]:
    texts = request.get("texts", [])
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise SettingsError("The request has no `texts`.", mend="assistant memory --help")
    verified = desk.verify_forgotten(texts, clean=request.get("clean") is True)
    yield {"event": "verified", "texts": len(texts), **verified.as_json()}


_ACTS: Mapping[str, Callable[[MemoryAdmin, Request], Iterator[Row]]] = {
    "list": _list,
    "grep": _list,
    "search": _search,
    "show": _show,
    "add": _add,
    "edit": _edit,
    "forget": forget,
    "undo": undo,
    "pending": lambda desk, _: pending(desk),
    "version": lambda desk, _: browse_requests.version(desk.browsing),
    "users": lambda desk, _: browse_requests.users(desk.browsing),
    "receipts": lambda desk, _: browse_requests.receipts(desk.browsing),
    "split": _split,
    "mark": _mark,
    "export": _export,
    "import": _import,
    "stats": _stats,
    "rebuild": _rebuild,
    "verify-forgotten": _verify,
}


def _text(request: Request, name: str) -> str:
    value = request.get(name)
    if not isinstance(value, str):
        raise SettingsError(f"The request has no `{name}`.", mend="assistant memory --help")
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
