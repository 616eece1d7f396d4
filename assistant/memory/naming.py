"""How a person names a memory: by its id, or by the beginning of it."""

from collections.abc import Collection

from assistant.errors import SettingsError, StoreError

BY_HAND = "you"
"""The source of what the user wrote down, in place of an exchange's id."""
FACT = "fact"
"""Its number follows."""
SUMMARY = "summary"
"""The number of its first turn follows."""
LEAST_PREFIX = 6
"""Characters of an id by which a memory may be named."""
NAMED_AT_ONCE = 4
"""Of the ids that a prefix may mean."""


def short(key: str, length: int = 8) -> str:
    """The beginning of an id, by which it can be named: `1f0c9a2b`, or `1f0c9a2b-u` and `-a` for
    the user's and the assistant's turn of one exchange, `-fact0` for what was derived of it,
    `-summary13` for what a conversation was about from a turn on."""
    head, dash, tail = key.partition("-")
    if not (dash and tail):
        return head[:length]
    return f"{head[:length]}-{tail if tail.startswith((FACT, SUMMARY)) else tail[:1]}"


def matching(ids: Collection[str], named: str, *, exchange: bool = False) -> list[str]:
    """The id that `named` is, or that alone begins so; with `exchange`, all of one exchange's."""
    if named in ids:
        return [named]
    if len(named) < LEAST_PREFIX:
        raise SettingsError(
            f"{named!r} is too short: {LEAST_PREFIX} or more characters of an id name a memory.",
            mend="assistant memory list",
        )
    head, dash, tail = named.partition("-")
    found = [
        key
        for key in ids
        if key.startswith(named)
        or (dash and key.startswith(head) and key.partition("-")[2].startswith(tail))
    ]
    if not found:
        raise unknown(named)
    of_one = len({key.partition("-")[0] for key in found}) == 1
    if len(found) > 1 and not (exchange and of_one):
        length = next(
            (n for n in range(8, 64) if len({short(key, n) for key in found}) == len(found)), 64
        )
        some = ", ".join(short(key, length) for key in sorted(found)[:NAMED_AT_ONCE])
        more = " and others" if len(found) > NAMED_AT_ONCE else ""
        raise StoreError(
            f"{named[:40]!r} may mean {len(found)} memories: {some}{more}.",
            mend="Name it by more of its id.",
        )
    return found


def unknown(named: str) -> StoreError:
    return StoreError(f"There is no memory {named[:40]!r}.", mend="assistant memory list")
