"""Requests to forget as JSON, and the rows they are answered with.

{"act": "forget", …}   one of "ids": […] (with "with_sources": true), "about": "my dog",
                       "minutes": 10, "last": true, "everything": true
    with "preview": true     → "going", "exchange" and "changing" rows, at most "limit" of each
                               and the newest first, then a "preview"; nothing is changed
    with "now": true         → "forgotten", with the receipt
    else                     → "forgetting": it is out of sight, and can be brought back
    with "seen": "1f0c…"     → refused if more or less would go than in the preview that said so
{"act": "undo", "id": "3b7e…"}  → "undone"; without an id the last
{"act": "pending"}              → "pending" rows, the oldest first, then a "pendings"
"""

from collections.abc import Iterator

from assistant.errors import SettingsError, StoreError
from assistant.ipc import LISTED, Request, Row
from assistant.memory.forgetting.resolver import DeskForgetting, ForgetRequest, Plan
from assistant.memory.json_rows import exchange_row, row
from assistant.memory.records.hidden import HiddenItems
from assistant.memory.records.memory import MemoryKind

FORMS = ("ids", "about", "minutes", "last", "everything")
LONGEST_MINUTES = 1e8
"""Two hundred years."""
HELP = "assistant memory forget --help"


def forget(desk: DeskForgetting, request: Request) -> Iterator[Row]:
    """
    Raises:
        SettingsError: the request is not as it must be.
        StoreError: there is nothing that it means, or what it means has changed; or as the desk.
    """
    wish, limit = wish_of(request), _limit(request)
    plan = desk.plan(wish)
    if request.get("preview") is True:
        yield from _preview(plan, limit, gives_time=desk.hiding.gives_time)
        return
    if request.get("seen") not in (None, plan.seen):
        raise StoreError(
            "What would go has changed since it was shown. Nothing was forgotten.",
            mend="Look at it again.",
        )
    if request.get("now") is True or not desk.hiding.gives_time:
        gone = desk.remove(plan)
        yield {
            "event": "forgotten",
            "memories": list(gone.memories),
            "exchanges": list(gone.exchanges),
            "staying": list(gone.staying),
            "receipt": gone.receipt.as_json(),
        }
        return
    hidden = desk.hide(plan)
    yield _hidden(hidden) | {
        "event": "forgetting",
        "memories": [each.id for each in plan.going],
        "staying": list(plan.staying),
        "attended": desk.hiding.attended,
    }


def undo(desk: DeskForgetting, request: Request) -> Iterator[Row]:
    """Raises StoreError: there is nothing, or it is over."""
    named = request.get("id")
    if not isinstance(named, str | None):
        raise SettingsError("The `id` of a request to undo is a text.", mend=HELP)
    yield {"event": "undone", **_hidden(desk.undo(named))}


def pending(desk: DeskForgetting) -> Iterator[Row]:
    now, found = desk.hiding.now(), desk.pending()
    for hidden in found:
        left = 0.0 if hidden.over(now) else (hidden.due - now).total_seconds()
        yield {"event": "pending", **_hidden(hidden), "left_s": round(left, 1)}
    yield {"event": "pendings", "count": len(found), "attended": desk.hiding.attended}


def wish_of(request: Request) -> ForgetRequest:
    """
    Raises:
        SettingsError: it names none of the forms, several, or one that is not as it must be.
    """
    given = [name for name in FORMS if request.get(name) is not None and request[name] is not False]
    if len(given) != 1:
        raise SettingsError(
            "Say what to forget: memories, a topic, a span of time, the last exchange or"
            " everything; and one of these.",
            mend=HELP,
        )
    if request.get("with_sources") is True and given != ["ids"]:
        raise SettingsError("`with_sources` goes with memories that are named.", mend=HELP)
    value = request[given[0]]
    match given[0], value:
        case "ids", list() if value and all(isinstance(each, str) for each in value):
            return ForgetRequest(ids=tuple(value), sources=request.get("with_sources") is True)
        case "about", str():
            return ForgetRequest(about=value)
        case "minutes", int() | float() if value is not True and value > 0:
            return ForgetRequest(minutes=float(min(value, LONGEST_MINUTES)))
        case "last", True:
            return ForgetRequest(last=True)
        case "everything", True:
            return ForgetRequest(everything=True)
    raise SettingsError(f"`{given[0]}` is not as it must be.", mend=HELP)


# -- inside -------------------------------------------------------------------------------------


def _preview(plan: Plan, limit: int, *, gives_time: bool) -> Iterator[Row]:
    remembered = {source for each in plan.going for source in each.sources}
    derived = _derived(plan)
    going, said, changing = plan.going[:limit], plan.said[:limit], plan.changing[:limit]
    for memory in going:
        yield row(memory, event="going", derived=memory.id in derived)
    for exchange in said:
        yield exchange_row(exchange, event="exchange", remembered=exchange.id in remembered)
    for memory in changing:
        yield row(memory, event="changing")
    yield {
        "event": "preview",
        "memories": len(plan.going),
        "derived": len(derived),
        "exchanges": len(plan.exchanges),
        "changing": len(plan.changing),
        "things": plan.things,
        "staying": list(plan.staying),
        "shown": {"going": len(going), "exchange": len(said), "changing": len(changing)},
        "by_words_alone": plan.by_words_alone,
        "undoable": gives_time,
        "seen": plan.seen,
    }


def _derived(plan: Plan) -> set[str]:
    """Ids of what was made of what goes."""
    exchanges = set(plan.exchanges)
    made = (each for each in plan.going if each.kind is not MemoryKind.EXCHANGE and each.sources)
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
        raise SettingsError("The limit is a number, 1 or more.", mend=HELP)
    return value
