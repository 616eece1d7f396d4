"""What a new memory means for those that are there: nothing, the same again, or another state of
things. Pure, and the one place where that is decided, whoever made the memory."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from assistant.memory.conflicts import changes, supersedes
from assistant.memory.duplicates import complete, same_telling
from assistant.memory.lexicon import Lexicon
from assistant.memory.naming import BY_HAND
from assistant.memory.record import Kind, Memory
from assistant.memory.same_fact import LIKE_ENOUGH, derived, same_fact

DUPLICATE_COSINE = 0.92
"""From which on two memories may be the same."""
RELATED_COSINE = 0.2
"""From which on one may supersede another: both are about the same thing."""


@dataclass(frozen=True, slots=True)
class New:
    """It stands for itself."""


@dataclass(frozen=True, slots=True)
class Refreshes:
    """It tells `old` again."""

    old: Memory


@dataclass(frozen=True, slots=True)
class Supersedes:
    """Since it was said, `old` is no longer so."""

    old: tuple[Memory, ...]


@dataclass(frozen=True, slots=True)
class Superseded:
    """It was said before `by`, since which it is no longer so: what is derived comes late."""

    by: Memory


Decision = New | Refreshes | Supersedes | Superseded


def may_matter(new: Memory, lexicon: Lexicon) -> bool:
    """Whether it need be compared at all: most of what is said to an assistant are questions."""
    if new.separate:
        return False
    if derived(new) or BY_HAND in new.sources:
        return True
    return complete(new, lexicon) or changes(new, lexicon)


def least_cosine(new: Memory, lexicon: Lexicon, duplicate_cosine: float) -> float:
    """What is less like it need not be compared with it."""
    if derived(new):
        return RELATED_COSINE
    # Who says no change may repeat something, and is compared with few.
    return -1.0 if changes(new, lexicon) else duplicate_cosine


def reconcile(
    new: Memory,
    near: Sequence[tuple[Memory, float]],
    lexicon: Lexicon,
    duplicate_cosine: float = DUPLICATE_COSINE,
) -> Decision:
    """
    Args:
        near: what was there before it, nearest first, with the cosines to it.
    """
    if new.separate:
        return New()
    current = [
        (old, cosine)
        for old, cosine in near
        if old.id != new.id
        and (old.user_id, old.speaker) == (new.user_id, new.speaker)
        and (old.superseded_by is None or (derived(new) and new.told <= old.told))
    ]
    for old, cosine in current:
        if duplicate_cosine <= cosine and duplicate_cosine < 1 and _repeats(new, old, lexicon):
            return Refreshes(old)
    for old, cosine in current:
        if cosine >= LIKE_ENOUGH and duplicate_cosine < 1 and same_fact(old, new, lexicon):
            return Refreshes(old)
    if derived(new):
        for old, cosine in current:
            if cosine >= RELATED_COSINE and _may_end(old, new) and supersedes(old, new, lexicon):
                return Superseded(old)
    if not changes(new, lexicon):
        return New()
    ended = tuple(
        old
        for old, cosine in current
        if old.superseded_by is None
        and cosine >= RELATED_COSINE
        and _may_end(new, old)
        and supersedes(new, old, lexicon)
    )
    return Supersedes(ended) if ended else New()


def _repeats(new: Memory, old: Memory, lexicon: Lexicon) -> bool:
    if new.kind is not old.kind:
        return False  # a derived memory and its source are about the same, and both are wanted
    if BY_HAND in (*new.sources, *old.sources):
        # No transcript has these words: merged, only what is the same to the letter loses nothing.
        return new.text.strip().casefold() == old.text.strip().casefold()
    if new.kind is Kind.SUMMARY:
        return False
    if new.kind is not Kind.EXCHANGE and _stems(new, lexicon) != _stems(old, lexicon):
        return False  # no transcript has these words: merged, either may lose its source
    return same_telling(old, new, lexicon)


def tells_of_change(new: Memory, old: Memory, lexicon: Lexicon) -> bool:
    """Of two derived facts that say the same, the one that also says that it was otherwise before
    stays, and ends what was before, in whatever order they are extracted."""
    return (
        derived(new)
        and old.superseded_by is None
        and not old.supersedes
        and changes(new, lexicon)
        and not changes(old, lexicon)
    )


def _stems(memory: Memory, lexicon: Lexicon) -> set[str]:
    return set(lexicon.content(memory.text))


def _may_end(new: Memory, old: Memory) -> bool:
    return (
        not old.pinned
        and Kind.SUMMARY not in (new.kind, old.kind)
        and old.told <= new.told
        and (BY_HAND in new.sources or set(new.sources).isdisjoint(old.sources))
    )


def refreshed(old: Memory, new: Memory) -> Memory:
    """`old`, told again as `new`. Its text, its id and when it was first told stay."""
    used = [each for each in (old.last_used, new.last_used) if each is not None]
    limits = [each for each in (old.expires, new.expires) if each is not None]
    return replace(
        old,
        sources=tuple(dict.fromkeys(old.sources + new.sources)),
        refreshed=max(old.told, new.told),
        importance=max(old.importance, new.importance),
        confidence=max(old.confidence, new.confidence),
        uses=old.uses + new.uses,
        last_used=max(used, default=None),
        feedback=old.feedback + new.feedback,
        # A telling without a limit has none, whatever the other one had.
        expires=max(limits) if len(limits) == 2 else None,
        supersedes=tuple(dict.fromkeys(old.supersedes + new.supersedes)),
        pinned=old.pinned or new.pinned,
        never_recall=old.never_recall or new.never_recall,
    )


def superseded(new: Memory, ended: Sequence[Memory]) -> list[Memory]:
    """The new memory and those that it supersedes, each naming the other."""
    ids = tuple(old.id for old in ended)
    first = replace(new, supersedes=tuple(dict.fromkeys(new.supersedes + ids)))
    return [first, *(replace(old, superseded_by=new.id) for old in ended)]
