"""Handles JSON requests to forget, and yields the JSON rows that answer them.

{"act": "forget", …}   one of "ids": […] (with "with_sources": true), "about": "my dog",
                       "minutes": 10, "last": true, "everything": true
    with "ask": true         → carried out, unless the user must confirm first: then the same as
                               "preview", and "confirm" is true in the "preview" row
    with "preview": true     → "going", "exchange" and "changing" rows, newest first and at most
                               "limit" of each, then a "preview" row; nothing is changed
    with "now": true         → everything is deleted immediately; a "forgotten" row with the receipt
    otherwise                → everything is hidden but can be brought back; a "forgetting" row
    with "seen": "1f0c…"     → refused if the selection has changed since the preview that returned
                               this "seen"
{"act": "undo", "id": "3b7e…"}  → "undone"; without an id, the latest deletion is undone
{"act": "pending"}              → "pending" rows, oldest first, then a "pendings" row
"""

from collections.abc import Iterator, Sequence
from datetime import datetime

from assistant.errors import SettingsError, StoreError
from assistant.ipc import LISTED, Request, Row
from assistant.language.calendar import Period
from assistant.memory.admin import MemoryAdmin
from assistant.memory.forgetting.resolver import ForgetPreview, ForgetRequest
from assistant.memory.forgetting.spoken_replies import NOTHING_TO_UNDO
from assistant.memory.json_rows import exchange_row, row
from assistant.memory.records.hidden import HiddenItems
from assistant.memory.records.memory import MemoryKind

FORMS = ("ids", "about", "minutes", "last", "everything")
LEAST_NAME = 4
"""Minimum number of characters of an id prefix that identifies a pending deletion."""
PENDING = "assistant memory pending"
LONGEST_MINUTES = 1e8
"""Maximum time span of a request, in minutes: about two hundred years."""
HELP = "assistant memory forget --help"


def forget(admin: MemoryAdmin, request: Request) -> Iterator[Row]:
    """Carry out a request to forget, or preview what it would forget.

    Raises:
        SettingsError: the request is malformed.
        StoreError: nothing matches, the matches have changed since the preview, or a store failed.
    """
    executor = admin.forgetting
    wish, limit = forget_request_of(request, executor.now()), _limit(request)
    preview = admin.resolver.preview(wish, executor.turns())
    ask_first = request.get("ask") is True and preview.plan.needs_confirmation
    if request.get("preview") is True or ask_first:
        yield from _preview(preview, limit, gives_time=executor.gives_time)
        return
    if request.get("seen") not in (None, preview.fingerprint):
        raise StoreError(
            "What would be forgotten has changed since it was shown. Nothing was forgotten.",
            mend="Check what would be forgotten now, and confirm it again.",
        )
    going = preview.plan.exchanges, preview.plan.memories
    if request.get("now") is True or not executor.gives_time:
        gone = executor.wait_for(executor.purge_now(*going))
        yield {
            "event": "forgotten",
            "memories": list(gone.memories),
            "exchanges": list(gone.exchanges),
            "staying": list(gone.staying),
            "receipt": gone.receipt.as_json(),
        }
        return
    yield _hidden(executor.wait_for(executor.hide(*going))) | {
        "event": "forgetting",
        "memories": [each.id for each in preview.deleted],
        "staying": list(preview.staying),
        "attended": executor.attended,
    }


def undo(admin: MemoryAdmin, request: Request) -> Iterator[Row]:
    """Undo the last pending deletion, or the one whose id begins with the given prefix.

    Raises:
        SettingsError: the request is malformed.
        StoreError: no pending deletion matches, it is too late to undo it, or a store failed.
    """
    named = request.get("id")
    if not isinstance(named, str | None):
        raise SettingsError("The `id` of an undo request must be a string.", mend=HELP)
    executor, run = admin.forgetting, admin.forgetting.wait_for
    result = run(executor.undo(_named(named, run(executor.pending()), executor.now())))
    if result is None or not (result.exchanges or result.memories):
        what = NOTHING_TO_UNDO if named is None else f"{named[:40]!r} can't be brought back."
        raise StoreError(what, mend=PENDING)
    yield _hidden(result.items) | {
        "event": "undone",
        "exchanges": [each.id for each in result.exchanges],
        "memories": [each.id for each in result.memories],
    }


def pending(admin: MemoryAdmin) -> Iterator[Row]:
    executor = admin.forgetting
    now, found = executor.now(), executor.wait_for(executor.pending())
    for hidden in found:
        left = 0.0 if hidden.over(now) else (hidden.due - now).total_seconds()
        yield {"event": "pending", **_hidden(hidden), "left_s": round(left, 1)}
    yield {"event": "pendings", "count": len(found), "attended": executor.attended}


def forget_request_of(request: Request, now: datetime) -> ForgetRequest:
    """Parse what a request asks to forget.

    Raises:
        SettingsError: the request has none or several of the `FORMS`, or a value is invalid.
    """
    given = [name for name in FORMS if request.get(name) is not None and request[name] is not False]
    if len(given) != 1:
        raise SettingsError(
            "Say what to forget: memories, a topic, a span of time, the last exchange or"
            " everything; exactly one of these.",
            mend=HELP,
        )
    if request.get("with_sources") is True and given != ["ids"]:
        raise SettingsError("`with_sources` needs `ids`.", mend=HELP)
    value = request[given[0]]
    match given[0], value:
        case "ids", list() if value and all(isinstance(each, str) for each in value):
            return ForgetRequest(ids=tuple(value), sources=request.get("with_sources") is True)
        case "about", str():
            return ForgetRequest(about=value)
        case "minutes", int() | float() if value is not True and value > 0:
            return ForgetRequest(period=Period.last(min(value, LONGEST_MINUTES), now))
        case "last", True:
            return ForgetRequest(last=True)
        case "everything", True:
            return ForgetRequest(everything=True)
    raise SettingsError(f"The value of `{given[0]}` is invalid.", mend=HELP)


# -- inside -------------------------------------------------------------------------------------


def _named(name: str | None, found: Sequence[HiddenItems], now: datetime) -> str | None:
    """Return the id of a pending deletion that begins with `name`; `name` itself if none does."""
    if name is None:
        return None
    left = [each.id for each in found if not each.over(now) and each.id.startswith(name)]
    if len(left) > 1 and len(name) >= LEAST_NAME:
        raise StoreError(f"{name[:40]!r} matches {len(left)} pending deletions.", mend=PENDING)
    return left[0] if left and len(name) >= LEAST_NAME else name


def _preview(preview: ForgetPreview, limit: int, *, gives_time: bool) -> Iterator[Row]:
    plan = preview.plan
    remembered = {source for each in preview.deleted for source in each.sources}
    derived = _derived(preview)
    going, said = preview.deleted[:limit], preview.exchanges[:limit]
    changing = preview.changed[:limit]
    for memory in going:
        yield row(memory, event="going", derived=memory.id in derived)
    for exchange in said:
        yield exchange_row(exchange, event="exchange", remembered=exchange.id in remembered)
    for memory in changing:
        yield row(memory, event="changing")
    yield {
        "event": "preview",
        "memories": len(preview.deleted),
        "derived": len(derived),
        "exchanges": len(plan.exchanges),
        "changing": len(preview.changed),
        "things": plan.count,
        "confirm": plan.needs_confirmation,
        "staying": list(preview.staying),
        "shown": {"going": len(going), "exchange": len(said), "changing": len(changing)},
        "by_words_alone": plan.by_words_alone,
        "undoable": gives_time,
        "seen": preview.fingerprint,
    }


def _derived(preview: ForgetPreview) -> set[str]:
    """Return the ids of memories derived only from exchanges that are to be deleted."""
    exchanges = set(preview.plan.exchanges)
    made = (
        each for each in preview.deleted if each.kind is not MemoryKind.EXCHANGE and each.sources
    )
    return {each.id for each in made if exchanges.issuperset(each.sources)}


def _hidden(hidden: HiddenItems) -> Row:
    return {
        "id": hidden.id,
        "exchanges": list(hidden.exchanges),
        "memories": list(hidden.memories),
        "asked": hidden.asked.isoformat(),
        "due": hidden.due.isoformat(),
    }


def _limit(request: Request) -> int:
    value = request.get("limit") or LISTED
    if not isinstance(value, int) or value < 1:
        raise SettingsError("The limit must be a number, 1 or more.", mend=HELP)
    return value
