"""What a new memory means for those that are there: nothing, the same again, or another state of
things. Pure, and the one place where that is decided, whoever made the memory."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from assistant.language.stemming import TextAnalyzer
from assistant.memory.curation.conflicts import changes, supersedes
from assistant.memory.curation.duplicates import complete, same_telling
from assistant.memory.curation.fact_equivalence import LIKE_ENOUGH, derived, same_fact
from assistant.memory.records.ids import ADDED_BY_USER
from assistant.memory.records.memory import Memory, MemoryKind

DUPLICATE_COSINE = 0.92
"""From which on two memories may be the same."""
RELATED_COSINE = 0.2
"""From which on one may supersede another: both are about the same thing."""


@dataclass(frozen=True, slots=True)
class Distinct:
    """It stands for itself."""


@dataclass(frozen=True, slots=True)
class Repeats:
    """It tells `old` again."""

    old: Memory


@dataclass(frozen=True, slots=True)
class Replaces:
    """Since it was said, `old` is no longer so."""

    old: tuple[Memory, ...]


@dataclass(frozen=True, slots=True)
class ReplacedBy:
    """It was said before `by`, since which it is no longer so: what is derived comes late."""

    by: Memory


Decision = Distinct | Repeats | Replaces | ReplacedBy


def may_matter(new: Memory, lexicon: TextAnalyzer) -> bool:
    """Whether it need be compared at all: most of what is said to an assistant are questions."""
    if new.separate:
        return False
    if derived(new) or ADDED_BY_USER in new.sources:
        return True
    return complete(new, lexicon) or changes(new, lexicon)


def least_cosine(new: Memory, lexicon: TextAnalyzer, duplicate_cosine: float) -> float:
    """What is less like it need not be compared with it."""
    if derived(new):
        return RELATED_COSINE
    # Who says no change may repeat something, and is compared with few.
    return -1.0 if changes(new, lexicon) else duplicate_cosine


def reconcile(
    new: Memory,
    near: Sequence[tuple[Memory, float]],
    lexicon: TextAnalyzer,
    duplicate_cosine: float = DUPLICATE_COSINE,
) -> Decision:
    """
    Args:
        near: what was there before it, nearest first, with the cosines to it.
    """
    if new.separate:
        return Distinct()
    current = [
        (old, cosine)
        for old, cosine in near
        if old.id != new.id
        and (old.user_id, old.speaker) == (new.user_id, new.speaker)
        and (old.superseded_by is None or (derived(new) and new.told <= old.told))
    ]
    for old, cosine in current:
        if duplicate_cosine <= cosine and duplicate_cosine < 1 and _repeats(new, old, lexicon):
            return Repeats(old)
    for old, cosine in current:
        if cosine >= LIKE_ENOUGH and duplicate_cosine < 1 and same_fact(old, new, lexicon):
            return Repeats(old)
    if derived(new):
        for old, cosine in current:
            if cosine >= RELATED_COSINE and _may_end(old, new) and supersedes(old, new, lexicon):
                return ReplacedBy(old)
    if not changes(new, lexicon):
        return Distinct()
    ended = tuple(
        old
        for old, cosine in current
        if old.superseded_by is None
        and cosine >= RELATED_COSINE
        and _may_end(new, old)
        and supersedes(new, old, lexicon)
    )
    return Replaces(ended) if ended else Distinct()


def _repeats(new: Memory, old: Memory, lexicon: TextAnalyzer) -> bool:
    if new.kind is not old.kind:
        return False  # a derived memory and its source are about the same, and both are wanted
    if ADDED_BY_USER in (*new.sources, *old.sources):
        # No transcript has these words: merged, only what is the same to the letter loses nothing.
        return new.text.strip().casefold() == old.text.strip().casefold()
    if new.kind is MemoryKind.SUMMARY:
        return False
    same_words = set(lexicon.content(new.text)) == set(lexicon.content(old.text))
    if new.kind is not MemoryKind.EXCHANGE and not same_words:
        return False  # no transcript has these words: merged, either may lose its source
    return same_telling(old, new, lexicon)


def tells_of_change(new: Memory, old: Memory, lexicon: TextAnalyzer) -> bool:
    """Of two derived facts that say the same, the one that also says that it was otherwise before
    stays, and ends what was before, in whatever order they are extracted."""
    return (
        derived(new)
        and old.superseded_by is None
        and not old.supersedes
        and changes(new, lexicon)
        and not changes(old, lexicon)
    )


def _may_end(new: Memory, old: Memory) -> bool:
    return (
        not old.pinned
        and MemoryKind.SUMMARY not in (new.kind, old.kind)
        and old.told <= new.told
        and (ADDED_BY_USER in new.sources or set(new.sources).isdisjoint(old.sources))
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
